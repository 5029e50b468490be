"""Observes changes: reads edited rows again and compares them with what they were like before."""

import hmac
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import msgspec

from connector_gateway.connectors.notes import casts, mapping, wire
from connector_gateway.connectors.notes.client import NotesClient
from connector_gateway.kit.clock import instant
from connector_gateway.kit.errors import (
    DatabaseNotShared,
    GatewayError,
    InvalidJson,
    InvalidSignature,
    PageNotFound,
    UpstreamError,
    UpstreamForbidden,
    UpstreamRefused,
    UpstreamTimeout,
    UpstreamUnexpected,
)
from connector_gateway.kit.observing import FORMER, RENEWED_AT, Delivery, Observation, Receipt, Snapshot, Watch

NotesWatch = Watch[NotesClient]
Kept = Mapping[str, Any]
"""What is remembered: JSON of our own."""

SIGNATURE = "x-notion-signature"

SOURCES = "source"
"""The scope in which data sources are remembered; the scope of a page is its data source."""

MINUTE_SECONDS = 60.0
OVERLAP_SECONDS = 120.0
"""How far the vendor's clock may be behind ours."""

LISTED_SECONDS = 600.0
"""How long it may be until data sources are listed again and the time is noted."""

SOURCES_AT_ONCE = 30
"""Data sources that one poll reads without a sign of change; the next poll continues with others."""

MAX_SEARCHED = 1000
"""Pages edited lately of which a search is asked for signs of change."""

PAGES_AT_ONCE = 100
"""Upstream pages that are read of a new data source before others get their turn."""

MAX_WALKS = 3
MAX_FAULTS = 3
"""When so many data sources cannot be read, the poll ends: the fault lies elsewhere."""

OWN_FAULTS = (UpstreamError, UpstreamForbidden, UpstreamRefused, UpstreamTimeout, UpstreamUnexpected)
"""Errors that may concern one data source while others can be read."""


async def poll(watch: NotesWatch) -> None:
    """Look for changes in the data sources that are shared, or only where deliveries say that there are some."""
    if "user_id" not in watch.state:
        await _begin(watch)
    tour = _Tour(watch)
    # Where deliveries point comes first: callers wait for these changes.
    await tour.visit(watch.wakes)
    if watch.whole:
        # The vendor floors times to the minute, and its search lags: a little is read twice, so that nothing is missed.
        since = _minute(watch.state.get("listed_at", _began(watch))) - OVERLAP_SECONDS
        await tour.list_sources()
        await tour.visit(await _edited(watch, since))
        await tour.visit_in_turn()
    if tour.faults:
        raise tour.faults[0]


async def _begin(watch: NotesWatch) -> None:
    """Find out whose account it is, and continue with the former state if the account is the same."""
    me, ahead = await watch.upstream.introduce(watch.clock.now())
    state = watch.state.get(FORMER, {})
    if state.get("user_id") != me.id:
        state = {"user_id": me.id, "began_at": watch.state.get(RENEWED_AT, watch.behind_since)}
    await watch.keep(state={**state, "ahead": ahead}, account=me.id)


def receive(delivery: Delivery, secrets: Sequence[str]) -> Receipt:
    """Read a delivery, which only says where something changed, or hands over the secret of all others."""
    token = mapping.deliveries.verification_token(delivery.body)
    if token is not None and not secrets:
        return Receipt(secret=token)
    # A handshake may come again before somebody has confirmed it; with the same secret it is genuine.
    if token is not None and _is_among(token, secrets):
        return Receipt()
    given = delivery.headers.get(SIGNATURE, "")
    if not _is_among(given, [_signature(secret, delivery.body) for secret in secrets]):
        raise InvalidSignature("The delivery is not signed with a secret that is known here.")
    if not mapping.deliveries.is_object(delivery.body):
        raise InvalidJson("The delivery is no JSON object.")
    source_id, accounts = mapping.deliveries.data_source_id(delivery.body), mapping.deliveries.bots(delivery.body)
    # Without accounts, whoever watches the data source is concerned.
    about = (SOURCES, source_id) if source_id and not accounts else None
    return Receipt(accounts=accounts, wakes=[source_id] if source_id else [], about=about)


def _signature(secret: str, body: bytes) -> str:
    return "sha256=" + hmac.new(secret.encode(), body, "sha256").hexdigest()


def _is_among(given: str, expected: Sequence[str]) -> bool:
    """Whether *given* is one of *expected*, compared in constant time."""
    return any(hmac.compare_digest(given.encode(), one.encode()) for one in expected)


@dataclass(frozen=True, slots=True)
class _Known:
    """What is remembered of a data source."""

    since: float
    """Rows that are not remembered are new if they were created from then on."""

    watermark: float
    """When the last poll began that found anything; edits from before are known."""

    reached: str | None = ""
    """The creation of the row up to which rows were read for the first time, newest first; None after the last one."""

    missed: float = 0.0
    """Until when more was edited than could be listed."""

    gone: bool = False
    """Whether it is no longer shared."""

    unseen_from: float | None = None
    """From when on edits of rows are changes that nobody saw, until all rows have been read for the first time."""


async def _edited(watch: NotesWatch, since: float) -> Sequence[str]:
    """Data sources in which pages were edited *since*, as far as a search tells; none where all are visited anyway."""
    known = await watch.recall(SOURCES)
    # All of them are visited anyway, so that a search would tell nothing new.
    if len(known) <= SOURCES_AT_ONCE:
        return []
    found: dict[str, None] = {}
    count = 0
    async for page in watch.upstream.search_pages():
        count += 1
        if page.last_edited_time.timestamp() < since or count > MAX_SEARCHED:
            break
        found[page.parent.data_source_id or ""] = None
    return [source_id for source_id in found if source_id in known]


@dataclass
class _Tour:
    """One poll, which visits data sources one after the other."""

    watch: NotesWatch
    listed: dict[str, wire.DataSource] = field(default_factory=dict)
    visited: set[str] = field(default_factory=set)
    faults: list[GatewayError] = field(default_factory=list)

    async def list_sources(self) -> None:
        """List the shared data sources, and remember those that were never seen before."""
        watch, now = self.watch, self.watch.clock.now()
        async for source in watch.upstream.search_data_sources():
            if not source.in_trash:
                self.listed[source.id] = source
        known = await watch.recall(SOURCES, self.listed)
        fresh = [source for source_id, source in self.listed.items() if source_id not in known]
        if fresh or now > watch.state.get("listed_at", 0.0) + LISTED_SECONDS:
            snapshots = [Snapshot(SOURCES, source.id, asdict(_first_sight(watch, source))) for source in fresh]
            await watch.keep(snapshots=snapshots, state={**watch.state, "listed_at": now})

    async def visit_in_turn(self) -> None:
        """Visit the data sources whose rows were not all read yet, and a limited number of others in turn."""
        watch, known = self.watch, await self.watch.recall(SOURCES)
        await self.visit([source_id for source_id in self.listed if known[source_id]["reached"] is not None])
        others = sorted(name for name, remembered in known.items() if name in self.listed or not remembered["gone"])
        first = bisect_right(others, watch.state.get("turn", ""))
        in_turn = [*others[first:], *others[:first]][:SOURCES_AT_ONCE]
        if len(in_turn) < len(others):
            await watch.keep(state={**watch.state, "turn": in_turn[-1]})
        await self.visit(in_turn)

    async def visit(self, source_ids: Iterable[str]) -> None:
        """Poll each data source once, and in between those that deliveries have named since."""
        for source_id in source_ids:
            if source_id not in self.visited:
                await self.enter(source_id)
                for wake in await self.watch.overhear():
                    await self.enter(wake)

    async def enter(self, source_id: str) -> None:
        """Poll one data source; its error is kept, to be raised after the others were polled."""
        self.visited.add(source_id)
        try:
            await _look_at(self.watch, source_id, self.listed.get(source_id))
        except OWN_FAULTS as fault:
            self.faults.append(fault)
            # One data source may be at fault by itself; several mean that the vendor is away.
            if len(self.faults) == MAX_FAULTS:
                raise


async def _look_at(watch: NotesWatch, source_id: str, listed: wire.DataSource | None) -> None:
    """Poll one data source, unless it is no longer shared."""
    remembered = (await watch.recall(SOURCES, [source_id])).get(source_id)
    try:
        source = listed or await watch.upstream.retrieve_data_source(source_id)
        if not source.in_trash:
            await _Source(watch, source, _Known(**remembered) if remembered else _first_sight(watch, source)).poll()
            return
    except DatabaseNotShared:
        pass
    if remembered:
        await watch.keep(snapshots=[Snapshot(SOURCES, source_id, {**remembered, "gone": True})])


def _first_sight(watch: NotesWatch, source: wire.DataSource) -> _Known:
    """What to remember of a data source seen for the first time.

    Rows are new that were made since the watch began; where data sources were listed before, since that was done;
    where it was made since then itself, all. Rows of the very minute may have been there before, but count as new:
    an event too many is of a page that was just made, and one too few would be lost for good.
    """
    now, began = watch.clock.now(), _minute(_began(watch))
    listed_at = watch.state.get("listed_at")
    if listed_at is None:
        return _Known(since=began, watermark=now, unseen_from=began)
    shared = _minute(listed_at) - OVERLAP_SECONDS
    return _Known(since=0.0 if source.created_time.timestamp() >= shared else max(began, shared), watermark=now)


def _began(watch: NotesWatch) -> float:
    """When the watch began, by the vendor's clock."""
    began: float | None = watch.state.get("began_at", watch.behind_since)
    return (watch.clock.now() if began is None else began) + float(watch.state.get("ahead", 0.0))


@dataclass
class _Source:
    """A data source under poll."""

    watch: NotesWatch
    source: wire.DataSource
    known: _Known
    told: bool = False
    """Whether it was told that changes were not seen."""

    async def poll(self) -> None:
        """Read what was edited, and go on with reading what was never read."""
        if self.known.gone:
            await self.remember(gone=False)
        if self.known.reached != "":
            await self.follow()
        if self.known.reached is not None:
            await self.discover()

    async def follow(self) -> None:
        """Read the rows that were edited since the last poll that found any."""
        # A row that is edited meanwhile may be passed by, but not by the next poll, which asks for edits from now on.
        # A row that enters the trash moves others up, so that one may slip to the upstream page that was read before.
        # Whoever reads several pages therefore reads them again, until nothing from before this poll is new.
        began = self.watch.clock.now()
        since = _minute(self.known.watermark) - OVERLAP_SECONDS
        condition = {"timestamp": "last_edited_time", "last_edited_time": {"on_or_after": instant(since).isoformat()}}
        for _ in range(MAX_WALKS):
            pages, slipped = 0, False
            async for rows in self.watch.upstream.rows(self.source.id, condition, newest_first=True):
                if not rows:
                    await self.miss(since, began)
                    continue
                edited = await self.absorb(rows, self.known)
                pages, slipped = pages + 1, slipped or any(at < _minute(began) for at in edited)
            if pages <= 1 or not slipped:
                break
        # Where nothing was edited, the next poll may as well ask from the same instant on.
        if pages:
            await self.remember(watermark=began)

    async def discover(self) -> None:
        """Read all rows for the first time, newest first, from where that was left."""
        begun, began, pages = self.known.reached, self.watch.clock.now(), 0
        start = mapping.pages.instant(begun) if begun else None
        async for rows in self.watch.upstream.rows(self.source.id, newest_first=True, reached=start):
            if not rows:
                await self.miss(self.known.watermark, began)
                continue
            pages += 1
            reached = mapping.pages.stamp(rows[-1].created_time)
            changes: dict[str, Any] = {"reached": reached}
            if not self.known.reached:
                # All later rows are on this page: one that is not has been created since.
                changes["since"] = self.earliest(rows[-1].created_time.timestamp() + MINUTE_SECONDS, began)
            await self.absorb(rows, replace(self.known, **changes))
            if pages >= PAGES_AT_ONCE and reached != begun:
                self.watch.unfinished = True
                return
        since = self.earliest(0.0, began) if not begun and pages <= 1 else self.known.since
        await self.remember(reached=None, since=since, unseen_from=None)

    def earliest(self, since: float, began: float) -> float:
        """From when on unknown rows are new, after rows created from *since* on were read in a poll that began then."""
        return min(self.known.since, max(since, _minute(began) - OVERLAP_SECONDS))

    async def absorb(self, rows: Sequence[wire.Page], known: _Known) -> list[float]:
        """Commit what is new about *rows*, with what is then *known*; when those were edited in which anything is."""
        pages = await self.watch.recall(self.source.id, [row.id for row in rows])
        observations: list[Observation] = []
        snapshots: list[Snapshot] = []
        edited: list[float] = []
        for row in sorted(rows, key=lambda row: (row.last_edited_time, row.created_time)):
            try:
                page = await _whole(self.watch.upstream, row)
            except PageNotFound:
                continue
            if page.id not in pages and self.was_edited_unseen(page):
                await self.tell_unseen()
            before = pages.get(page.id)
            found, now = _compare(self.source, page, before, self.known.since)
            if now is not before:
                observations += found
                snapshots.append(Snapshot(self.source.id, page.id, now))
                edited.append(page.last_edited_time.timestamp())
        if known != self.known:
            snapshots.append(self.note(known))
        if snapshots:
            await self.watch.keep(observations, snapshots)
        self.known = known
        return edited

    def was_edited_unseen(self, page: wire.Page) -> bool:
        """Whether a row that was there before the watch began may have been edited after that, before it was read."""
        began = self.known.unseen_from
        return began is not None and page.created_time.timestamp() < began <= page.last_edited_time.timestamp()

    async def tell_unseen(self) -> None:
        """Note that rows were edited of which nobody knows what they were like before."""
        if not self.told and self.known.unseen_from is not None:
            self.told = True
            title = casts.reading.plain_text(self.source.title)
            why = f"Pages of the data source {title!r} were edited about when the watch began, before they were read."
            await self.watch.miss(self.known.unseen_from, self.watch.clock.now(), why)

    async def miss(self, since: float, until: float) -> None:
        """Note, once for the same edits, that more rows were created in a minute than can be listed."""
        if since >= self.known.missed:
            title = casts.reading.plain_text(self.source.title)
            why = f"More pages of the data source {title!r} were created in one minute than the application lists."
            await self.watch.miss(since, until, why)
            await self.remember(missed=until)

    async def remember(self, **changes: Any) -> None:
        """Commit what is known now."""
        known = replace(self.known, **changes)
        if known != self.known:
            await self.watch.keep(snapshots=[self.note(known)])
            self.known = known

    def note(self, known: _Known) -> Snapshot:
        return Snapshot(SOURCES, self.source.id, asdict(known))


async def _whole(upstream: NotesClient, page: wire.Page) -> wire.Page:
    """A page with those values read whole of which it shows only a part."""
    properties = dict(page.properties)
    for name, value in page.properties.items():
        if casts.reading.truncated(value):
            items = [item async for item in upstream.retrieve_page_property(page.id, value.id)]
            properties[name] = casts.reading.completed(value, items)
    return msgspec.structs.replace(page, properties=properties)


def _compare(
    source: wire.DataSource, page: wire.Page, before: Kept | None, since: float
) -> tuple[list[Observation], Kept]:
    """What is new about a page, and what to remember of it; *before* itself where nothing is."""
    values = mapping.changes.entries(page)
    if before is None:
        is_new = page.created_time.timestamp() >= since
        return [_created(page)] if is_new else [], {"changes": 0, "values": values}
    if values == before["values"]:
        return [], before
    changes = mapping.changes.changes(page, before["values"], source.properties)
    number = before["changes"] + bool(changes)
    return [_updated(source, page, number, change) for change in changes], {"changes": number, "values": values}


def _created(page: wire.Page) -> Observation:
    data = {"page_id": page.id, "property": None, "from": None, "to": None}
    return Observation(("created", page.id), "page.created", data)


def _updated(source: wire.DataSource, page: wire.Page, number: int, change: mapping.changes.Change) -> Observation:
    """A change; the *number* of the page's changes tells it from an earlier one between the same values."""
    data = {"page_id": page.id, "property": change.name, "from": change.before, "to": change.after}
    identity = (source.id, page.id, change.property_id, str(number))
    return Observation(identity, "page.property_updated", data)


def _minute(at: float) -> float:
    """The beginning of the minute, which is all that the vendor tells of an instant."""
    return at - at % MINUTE_SECONDS
