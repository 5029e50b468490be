"""Between the vendor's shapes and ours: pure functions."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote
from uuid import UUID

from connector_gateway.connectors.notes import casts, wire
from connector_gateway.connectors.notes.casts import plain_text, rich_text
from connector_gateway.connectors.notes.models import BLOCK_KINDS, CreatedPage, FoundPage, NotesDatabase, UpdatedPage
from connector_gateway.kit.errors import (
    AmbiguousDatabase,
    GatewayError,
    InvalidParameters,
    LossyCast,
    PropertyNotFound,
    SelectOptionMissing,
    UnsupportedBlock,
    UpstreamUnexpected,
)
from connector_gateway.kit.faults import gathered
from connector_gateway.kit.wire import T, UnexpectedShape, decoded
from connector_gateway.kit.writing import Intent

Kept = dict[str, Any]
"""A plan, or what a step's answer told, as JSON of our own; stored until the call has ended."""

Schema = Mapping[str, wire.Property]
"""The properties of a data source by their names."""

BLOCKS_PER_REQUEST = 100
BYTES_PER_REQUEST = 400_000
"""The vendor takes 500 KB a request; what surrounds the text is left room."""

MAX_EVENT_TEXT = 10_000
"""Longer texts are cut in events; changes are still detected by the whole text."""

MAX_HANDSHAKE_BYTES = 1000


# Databases


def databases(sources: Iterable[wire.DataSource], titles: Mapping[str, str]) -> list[NotesDatabase]:
    """The databases that *sources* belong to, each once, last edited first; properties of its sources together.

    One is called like its source unless *titles* says otherwise.
    """
    grouped: dict[str, list[wire.DataSource]] = {}
    for source in sources:
        if not source.in_trash:
            grouped.setdefault(database_id(source), []).append(source)
    found = [database(uid, parts, titles.get(uid)) for uid, parts in grouped.items()]
    return sorted(found, key=lambda item: (item.last_edited_at, item.database_id), reverse=True)


def database_id(source: wire.DataSource) -> str:
    """The database that a data source belongs to."""
    if source.parent.database_id is None:
        raise UpstreamUnexpected("The application lists a data source without its database.")
    return source.parent.database_id


def database(database_id: str, sources: Sequence[wire.DataSource], title: str | None) -> NotesDatabase:
    """The database of *sources*, titled like the first where no *title* is known."""
    names = dict.fromkeys(name for source in sources for name in source.properties)
    return NotesDatabase(
        database_id=database_id,
        title=plain_text(sources[0].title) if title is None else title,
        properties=list(names),
        last_edited_at=max(source.last_edited_time for source in sources),
    )


def choose_source(sources: Sequence[wire.DataSource], names: Iterable[str]) -> wire.DataSource:
    """The only source, or the first that has all of *names*.

    ``PropertyNotFound`` names all that no source has; otherwise ``AmbiguousDatabase`` lists the sources.
    """
    wanted = dict.fromkeys(names)
    for source in sources:
        if len(sources) == 1 or wanted.keys() <= source.properties.keys():
            return source
    known = dict.fromkeys(name for source in sources for name in source.properties)
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise gathered([no_property(name, known) for name in unknown])
    raise AmbiguousDatabase(
        "The database has several data sources, and no single one has all these properties.",
        *({"data_source": plain_text(source.title), "properties": list(source.properties)} for source in sources),
    )


def sources_with(sources: Sequence[wire.DataSource], name: str) -> list[wire.DataSource]:
    """All sources that have a property of that name; ``PropertyNotFound`` where none has."""
    found = [source for source in sources if name in source.properties]
    if not found:
        raise no_property(name, dict.fromkeys(known for source in sources for known in source.properties))
    return found


def no_property(name: str, known: Iterable[str]) -> PropertyNotFound:
    """The refusal of a name that no property has."""
    return PropertyNotFound(f'The database has no property "{name}".', {"property": name, "allowed": list(known)})


# Writing properties


def writable(schema: Schema, properties: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The vendor's form of *properties* by property id, and the names of those that are computed.

    ``PropertyNotFound``, ``SelectOptionMissing`` or ``LossyCast`` tells everything that cannot be written.
    """
    written: dict[str, Any] = {}
    skipped: list[str] = []
    faults: list[GatewayError] = []
    for name, value in properties.items():
        described = schema.get(name)
        if described is None:
            faults.append(no_property(name, schema))
        elif described.type not in casts.CASTS:
            skipped.append(name)
        else:
            try:
                written[described.id] = {described.type: casts.cast(name, described, value)}
            except (SelectOptionMissing, LossyCast) as fault:
                faults.append(fault)
    if faults:
        raise gathered(faults)
    return written, skipped


def shown_schema(page: wire.Page) -> Schema:
    """The properties that a page shows, which tells no more than their types."""
    return {name: wire.Property(id=value.id, name=name, type=value.type) for name, value in page.properties.items()}


def new_page(source: wire.DataSource, properties: Mapping[str, Any], blocks: Sequence[Kept]) -> Kept:
    """A page to be made in a data source with its first *blocks*, and the names of properties that are computed.

    ``statuses`` says what the vendor gives a status that is not written: it does not tell, but by default the first.
    """
    written, skipped = writable(source.properties, properties)
    statuses = {item.id: casts.options(item) for item in source.properties.values() if item.type == "status"}
    page = {
        "source_id": source.id,
        "properties": written,
        "references": references(source.properties, written),
        "children": list(blocks),
        "statuses": {uid: options[0].id for uid, options in statuses.items() if options and uid not in written},
    }
    return {"page": page, "skipped": skipped}


def updates(page: wire.Page, written: Mapping[str, Any], *, archived: bool | None) -> list[Kept]:
    """The requests of an update, in order: a page leaves the trash before it is written to, or enters it afterwards.

    What already is as it should be is not asked for: the vendor refuses to trash a page twice.
    """
    told = {"updated": names(page, written)}
    named = references(shown_schema(page), written)
    properties = [{"body": {"properties": written}, "references": named, "told": told}] if written else []
    moved = archived not in {None, page.in_trash}
    trash = [{"body": {"in_trash": archived}, "told": {"archived": archived}}] if moved else []
    return properties + trash if archived else trash + properties


def references(schema: Schema, written: Mapping[str, Any]) -> dict[str, list[str]]:
    """Kind and name of the properties in which pages or people are named, by the identifiers of these."""
    names = {described.id: name for name, described in schema.items()}
    return {
        item["id"]: [kind, names[property_id]]
        for property_id, payload in written.items()
        for kind, content in payload.items()
        if kind in {"relation", "people"}
        for item in content
    }


def names(page: wire.Page, written: Mapping[str, Any]) -> list[str]:
    """The names of the properties written, in the order they were given."""
    known = {value.id: name for name, value in page.properties.items()}
    return [known[property_id] for property_id in written if property_id in known]


# Body blocks


def block_groups(children: Sequence[Any]) -> list[list[dict[str, Any]]]:
    """The vendor's form of body blocks, in groups that one request may carry; at least one, perhaps empty.

    ``UnsupportedBlock`` or ``InvalidParameters`` tells of every block that cannot be one.
    """
    groups: list[list[dict[str, Any]]] = [[]]
    faults: list[GatewayError] = []
    size = 0
    for index, child in enumerate(children):
        try:
            made, weight = block(index, child)
        except (UnsupportedBlock, InvalidParameters) as fault:
            faults.append(fault)
            continue
        if len(groups[-1]) == BLOCKS_PER_REQUEST or size + weight > BYTES_PER_REQUEST:
            groups.append([])
            size = 0
        groups[-1].append(made)
        size += weight
    if faults:
        raise gathered(faults)
    return groups


def block(index: int, child: Any) -> tuple[dict[str, Any], int]:
    """The vendor's form of one body block, and about how many bytes it weighs."""
    described = {"type": "paragraph", "text": child} if isinstance(child, str) else child
    where = f"children.{index}"
    if not isinstance(described, dict):
        raise _no_block(where, child, "Should be text or a block")
    kind = described.get("type")
    if kind not in BLOCK_KINDS:
        raise UnsupportedBlock(
            f"{where} is of another kind than {', '.join(BLOCK_KINDS)}.",
            {"parameter": f"{where}.type", "index": index, "value": kind, "allowed": list(BLOCK_KINDS)},
        )
    if described.keys() != {"type", "text"} or not isinstance(described["text"], str):
        raise _no_block(f"{where}.text", described.get("text"), "A block has the fields type and text, which is a text")
    try:
        content = {"rich_text": rich_text(described["text"])}
    except ValueError as fault:
        raise _no_block(f"{where}.text", described["text"], f"Cannot be written: {fault}") from fault
    weight = 200 + len(described["text"].encode()) + 80 * len(content["rich_text"])
    return {"object": "block", "type": kind, kind: content}, weight


def _no_block(where: str, value: Any, message: str) -> InvalidParameters:
    return InvalidParameters(
        f"{where} cannot be used as given.", {"parameter": where, "message": message, "value": value}
    )


# Results


def kept_page(page: wire.NewPage | wire.Page | wire.Reference) -> Kept:
    """What is kept of a page that was made; of one whose vendor failed over telling it, the identifier."""
    if isinstance(page, wire.Reference):
        return {"id": page.id}
    return {"id": page.id, "url": page.url, "created_time": stamp(page.created_time)}


def told_page(kept: Kept) -> Kept:
    """What callers are told of a page that was made when something else fails."""
    return {"page_id": kept["id"]}


def created_page(kept: Kept, planned: Kept) -> CreatedPage:
    """The result of a creation."""
    return CreatedPage(
        page_id=kept["id"],
        url=kept["url"],
        created_at=instant(kept["created_time"]),
        properties_written=len(planned["page"]["properties"]),
        properties_skipped=planned["skipped"],
    )


def kept_state(page: wire.PageState) -> Kept:
    """What is kept of a page that is changed: how it is now."""
    return {"id": page.id, "in_trash": page.in_trash, "last_edited_time": stamp(page.last_edited_time)}


def told_change(kept: Kept) -> Kept:
    """What callers are told of a change when another one fails."""
    return {"page_id": kept["id"], **kept["told"]}


def updated_page(kept: Kept, planned: Kept) -> UpdatedPage:
    """The result of an update."""
    return UpdatedPage(
        page_id=kept["id"],
        updated=planned["names"],
        archived=kept["in_trash"],
        last_edited_at=instant(kept["last_edited_time"]),
    )


def found_page(page: wire.Page, matched_on: str) -> FoundPage:
    """A match of a search."""
    return FoundPage(page_id=page.id, title=title(page), matched_on=matched_on)


def title(page: wire.Page) -> str:
    """The text of a page's title property."""
    titles = [value.title for value in page.properties.values() if value.type == "title"]
    return plain_text(titles[0] or ()) if titles else ""


def stamp(moment: datetime) -> str:
    """An instant as it is kept, and as the vendor writes most of them: in UTC, to the millisecond."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def instant(text: str) -> datetime:
    """The instant of something that was kept."""
    return datetime.fromisoformat(text)


# Searching


def matches(value: wire.Value, wanted: str, match: str) -> bool:
    """Whether a property value is (``exact``) or holds (``contains``) the trimmed text *wanted*."""
    found = [text.strip() for text in casts.texts(value)]
    if not wanted:
        return match == "contains" or not any(found)
    if match == "contains":
        return any(wanted in text for text in found)
    return any(same(value.type, text, wanted) for text in found) or _is_date(value, wanted)


def same(kind: str, text: str, wanted: str) -> bool:
    """Whether two texts say the same: numbers by value, identifiers with or without dashes, others by character."""
    if text == wanted:
        return True
    if kind in {"number", "formula", "rollup"}:
        return _numerically_equal(text, wanted)
    if kind in {"people", "relation", "created_by", "last_edited_by"}:
        return text.replace("-", "").lower() == wanted.replace("-", "").lower()
    return False


def _is_date(value: wire.Value, wanted: str) -> bool:
    """Whether a value is the day, instant or period *wanted*, however either is written."""
    return any(_same_period(text, wanted) for text in casts.dates(value))


def _same_period(text: str, wanted: str) -> bool:
    ours, theirs = wanted.split("/"), text.split("/")
    return len(ours) == len(theirs) and all(map(_same_moment, theirs, ours))


def _same_moment(text: str, wanted: str) -> bool:
    """Whether a vendor's day or time is the instant *wanted*, or lies on the day *wanted* where it is told."""
    found, sought = casts.moment(text), casts.moment(wanted)
    if found is None or sought is None:
        return False
    if not isinstance(sought, datetime):
        return (found.date() if isinstance(found, datetime) else found) == sought
    return isinstance(found, datetime) and _in_utc(found) == _in_utc(sought)


def _in_utc(moment: datetime) -> datetime:
    """An instant; one without an offset is read as UTC."""
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _numerically_equal(text: str, wanted: str) -> bool:
    try:
        return casts.exact_number(text) == casts.exact_number(wanted)
    except ValueError:
        return False


def search_filter(described: wire.Property, wanted: str, match: str) -> dict[str, Any] | None:
    """A vendor's filter that lets every match through, so that fewer rows are read; None where there is none."""
    kind = described.type
    condition: dict[str, Any] | None = None
    if wanted and kind in {"title", "rich_text", "url", "email", "phone_number"}:
        condition = {"contains": wanted}
    elif match == "exact" and kind in {"select", "status", "multi_select"}:
        known = wanted in {option.name for option in casts.options(described)}
        condition = {"contains" if kind == "multi_select" else "equals": wanted} if known else None
    elif match == "exact" and kind == "checkbox" and wanted in {"true", "false"}:
        condition = {"equals": wanted == "true"}
    elif match == "exact" and kind == "number":
        condition = _equal_number(wanted)
    return None if condition is None else {"property": described.id, kind: condition}


def _equal_number(wanted: str) -> dict[str, Any] | None:
    try:
        return {"equals": casts.exact_number(wanted)}
    except ValueError:
        return None


def hopeless(described: wire.Property, wanted: str, match: str) -> bool:
    """Whether no row can match, so that none needs to be read."""
    kind = described.type
    if match == "contains" or not wanted:
        return False
    if kind in {"select", "status", "multi_select"}:
        return all(option.name.strip() != wanted for option in casts.options(described))
    return (kind == "checkbox" and wanted not in {"true", "false"}) or (
        kind == "number" and _equal_number(wanted) is None
    )


# Recognising what a write has made


def by_id(page: wire.Page) -> dict[str, wire.Value]:
    """The property values that a page shows, by their ids, which stay when they are renamed."""
    return {value.id: value for value in page.properties.values()}


def bears(page: wire.Page, written: Mapping[str, Any]) -> bool:
    """Whether a page holds every value of *written*, the vendor's form by property id."""
    held = by_id(page)
    return all(
        property_id in held and casts.holds(held[property_id], kind, content)
        for property_id, payload in written.items()
        for kind, content in payload.items()
    )


def is_new_page(page: wire.Page, wanted: Intent) -> bool:
    """Whether a page shows what was *wanted* of it, and nothing else: neither another value nor icon nor cover."""
    others = [value for property_id, value in by_id(page).items() if property_id not in wanted["properties"]]
    return (
        page.icon is None
        and page.cover is None
        and bears(page, wanted["properties"])
        and all(casts.blank(value, wanted["statuses"].get(value.id)) for value in others)
    )


Signature = tuple[str, str, bool]
"""The signature of a block, equal whether it is written or read: its kind, its text, and whether it has children."""


def is_body(blocks: Sequence[wire.Block], wanted: Sequence[Kept]) -> bool:
    """Whether blocks of a page are those *wanted*, and no others."""
    return [signature(block) for block in blocks] == [signature_written(block) for block in wanted]


def signature(block: wire.Block) -> Signature:
    """The signature of a block of a page; kinds that are never written here are told by their name alone."""
    says: wire.Text | None = getattr(block, block.type) if block.type in BLOCK_KINDS else None
    return block.type, plain_text(says.rich_text) if says else "", block.has_children


def signature_written(block: Kept) -> Signature:
    """The signature of a block that was to be made."""
    kind = block["type"]
    return kind, casts.written_text(block[kind]["rich_text"]), False


def appended(page_id: str, groups: Sequence[Sequence[Kept]]) -> list[Kept]:
    """What is to be appended to a page that has the first of *groups*: where each of the others begins.

    ``unique`` says that the same blocks do not stand further up, so that they are known wherever they are found.
    """
    steps: list[Kept] = []
    above = list(groups[0])
    for group in groups[1:]:
        unique = not is_run(_signatures(group), _signatures(above))
        steps.append({"page_id": page_id, "start": len(above), "children": list(group), "unique": unique})
        above += group
    return steps


def _signatures(blocks: Iterable[Kept]) -> list[Signature]:
    return [signature_written(block) for block in blocks]


def is_run(sought: Sequence[Signature], there: Sequence[Signature]) -> bool:
    """Whether the blocks *sought* stand together somewhere within others."""
    return any(there[at : at + len(sought)] == sought for at in range(len(there) - len(sought) + 1))


def is_appended(ours: Sequence[Signature], wanted: Intent) -> bool:
    """Whether a page has more blocks that are *ours* than before, so that the request was carried out.

    The vendor takes the blocks of a request all together or not at all. If people removed or moved some of ours, the
    wanted blocks are recognised by their content, unless the same content stands further up.
    """
    return len(ours) > wanted["start"] or (wanted["unique"] and is_run(_signatures(wanted["children"]), ours))


# Observing

Entry = Sequence[str]
"""What a property value was like: its type, its text, and what tells it apart where that is not its text."""


@dataclass(frozen=True, slots=True)
class Change:
    """A property that has another value than before."""

    property_id: str
    name: str
    before: str
    after: str


def entries(page: wire.Page) -> dict[str, Entry]:
    """What the properties of a page are like by their ids, without those that are as they are on a new page."""
    found = {property_id: entry(value) for property_id, value in observable(page)}
    return {property_id: made for property_id, made in found.items() if made != _blank(made[0], None)}


def observable(page: wire.Page) -> Iterator[tuple[str, wire.Value]]:
    """The property values of a page whose changes are observed, by their ids, which are kept decoded."""
    return ((unquote(value.id), value) for value in page.properties.values() if value.type in casts.ONE_TEXT)


def entry(value: wire.Value) -> Entry:
    """What a property value is like."""
    text, mark = casts.text(value), casts.mark(value)
    shown = text if len(text) <= MAX_EVENT_TEXT else text[:MAX_EVENT_TEXT] + "…"
    kept = mark if len(mark) <= MAX_EVENT_TEXT else hashlib.sha256(mark.encode()).hexdigest()
    return [value.type, shown] if kept == shown else [value.type, shown, kept]


def changes(page: wire.Page, known: Mapping[str, Entry], schema: Schema) -> list[Change]:
    """The differences between the properties of a page and what is *known* of them; a change of type does not count."""
    described = {unquote(item.id): item for item in schema.values()}
    names = {unquote(value.id): name for name, value in page.properties.items()}
    found = []
    for property_id, value in observable(page):
        after = entry(value)
        before = known.get(property_id) or _blank(value.type, described.get(property_id)) or after
        if before[0] == after[0] and before[-1] != after[-1]:
            found.append(Change(property_id, names[property_id], before[1], after[1]))
    return found


def _blank(kind: str, described: wire.Property | None) -> Entry | None:
    """What a property is like on a new page, as far as its description tells: a status is the first of its options."""
    if kind == "status":
        choices = described and described.status
        return entry(wire.Value(type=kind, status=choices.options[0])) if choices and choices.options else None
    return entry(wire.Value(type=kind, checkbox=False))


# Deliveries


def verification_token(body: bytes) -> str | None:
    """The token of a delivery that is nothing but the handshake of a subscription."""
    found = _glance(body, wire.Handshake) if len(body) <= MAX_HANDSHAKE_BYTES else None
    return found.verification_token if found and found.verification_token.startswith("secret_") else None


def is_object(body: bytes) -> bool:
    """Whether a delivery is a JSON object, of any shape."""
    return _glance(body, wire.Present) is not None


def bots(body: bytes) -> list[str]:
    """The authorisations through which the object of a delivery can be seen; only public connections are told."""
    told = _glance(body, wire.Audience)
    return [] if told is None else [viewer.id for viewer in told.accessible_by or () if viewer.type == "bot"]


def data_source_id(body: bytes) -> str | None:
    """The data source that a delivery is about, or in which the page lies that it is about."""
    told = _glance(body, wire.Subject) or wire.Subject()
    entity, parent = told.entity or wire.Entity(), (told.data and told.data.parent) or wire.Parent()
    named = entity.id if entity.type == "data_source" else parent.data_source_id or ""
    try:
        return str(UUID(named))
    except ValueError:
        return None


def _glance(body: bytes, shape: type[T]) -> T | None:
    """*body* as *shape*, or None if it has another one, which is no error for something that only wakes."""
    try:
        return decoded(body, shape)
    except UnexpectedShape:
        return None
