"""Between the vendor's JSON and our shapes: pure functions."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import unquote
from uuid import UUID

from pydantic_core import from_json

from connector_gateway.connectors.notes import casts
from connector_gateway.connectors.notes.casts import plain_text, rich_text
from connector_gateway.connectors.notes.models import CreatedPage, FoundPage, NotesDatabase, UpdatedPage
from connector_gateway.kit.errors import (
    AmbiguousDatabase,
    InvalidParameters,
    PropertyNotFound,
    UnsupportedBlock,
)

Raw = Mapping[str, Any]

BLOCKS_PER_REQUEST = 100
BYTES_PER_REQUEST = 400_000
"""The vendor takes 500 KB a request; what surrounds the text is left room."""

MAX_EVENT_TEXT = 10_000
"""Longer texts are cut off in events; whether they changed is told by all of them."""

MAX_HANDSHAKE_BYTES = 1000

BLOCK_KINDS = ("paragraph", "bulleted_list_item", "callout")


# Databases


def databases(sources: Iterable[Raw], titles: Mapping[str, str]) -> list[NotesDatabase]:
    """The databases that *sources* belong to, each once, last edited first; properties of its sources together.

    One is called like its source unless *titles* says otherwise.
    """
    grouped: dict[str, list[Raw]] = {}
    for raw in sources:
        if not raw.get("in_trash") and raw.get("object") == "data_source":
            grouped.setdefault(raw["parent"]["database_id"], []).append(raw)
    found = [database(database_id, parts, titles.get(database_id)) for database_id, parts in grouped.items()]
    return sorted(found, key=lambda item: (item.last_edited_at, item.database_id), reverse=True)


def database(database_id: str, sources: Sequence[Raw], title: str | None) -> NotesDatabase:
    """The database of *sources*, titled like the first where no *title* is known."""
    names = dict.fromkeys(name for raw in sources for name in raw["properties"])
    return NotesDatabase(
        database_id=database_id,
        title=plain_text(sources[0]["title"]) if title is None else title,
        properties=list(names),
        last_edited_at=max(instant(raw["last_edited_time"]) for raw in sources),
    )


def choose_source(sources: Sequence[Raw], names: Iterable[str]) -> Raw:
    """The only source, or the first that has all of *names*."""
    wanted = set(names)
    if len(sources) == 1:
        return sources[0]
    for raw in sources:
        if wanted <= raw["properties"].keys():
            return raw
    raise AmbiguousDatabase(
        "The database has several data sources, and no single one has all these properties.",
        *({"data_source": plain_text(raw["title"]), "properties": list(raw["properties"])} for raw in sources),
    )


# Writing properties


def writable(schema: Raw, properties: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The vendor's form of *properties* by property id, and the names of those that are computed.

    ``PropertyNotFound``, ``SelectOptionMissing`` or ``LossyCast`` name every property that cannot be written.
    """
    unknown = [name for name in properties if name not in schema]
    if unknown:
        raise PropertyNotFound(
            f"The database has no property {', '.join(map(repr, unknown))}.",
            *({"property": name, "allowed": list(schema)} for name in unknown),
        )
    skipped = [name for name in properties if schema[name]["type"] not in casts.CASTS]
    return {
        unquote(schema[name]["id"]): {schema[name]["type"]: casts.cast(name, schema[name], value)}
        for name, value in properties.items()
        if name not in skipped
    }, skipped


def new_page(source: Raw, properties: Mapping[str, Any], blocks: Sequence[Raw]) -> dict[str, Any]:
    """A page to be made in a data source with its first *blocks*, and the names of properties that are computed.

    ``statuses`` says what the vendor gives a status that is not written: it does not tell, but by default the first.
    """
    schema = source["properties"]
    written, skipped = writable(schema, properties)
    statuses = {unquote(item["id"]): item["status"]["options"] for item in schema.values() if item["type"] == "status"}
    page = {
        "source_id": source["id"],
        "properties": written,
        "children": list(blocks),
        "statuses": {uid: options[0]["id"] for uid, options in statuses.items() if options and uid not in written},
    }
    return {"page": page, "skipped": skipped}


def updates(raw: Raw, written: Mapping[str, Any], *, archived: bool | None) -> list[dict[str, Any]]:
    """The requests of an update, in order: a page leaves the trash before it is written to, or enters it afterwards.

    What already is as it should be is not asked for: the vendor refuses to trash a page twice.
    """
    properties = [{"body": {"properties": written}, "told": {"updated": names(raw, written)}}] if written else []
    moved = archived not in {None, raw["in_trash"]}
    trash = [{"body": {"in_trash": archived}, "told": {"archived": archived}}] if moved else []
    return properties + trash if archived else trash + properties


def names(raw: Raw, written: Mapping[str, Any]) -> list[str]:
    """The names of the properties written, in the order they were given."""
    known = {unquote(value["id"]): name for name, value in raw["properties"].items()}
    return [known[property_id] for property_id in written if property_id in known]


# Body blocks


def block_groups(children: Sequence[Any]) -> list[list[dict[str, Any]]]:
    """The vendor's form of body blocks, in groups that one request may carry; at least one, perhaps empty."""
    groups: list[list[dict[str, Any]]] = [[]]
    size = 0
    for index, child in enumerate(children):
        made, weight = block(index, child)
        if len(groups[-1]) == BLOCKS_PER_REQUEST or size + weight > BYTES_PER_REQUEST:
            groups.append([])
            size = 0
        groups[-1].append(made)
        size += weight
    return groups


def block(index: int, child: Any) -> tuple[dict[str, Any], int]:
    """The vendor's form of one body block, and about how many bytes it weighs."""
    described = {"type": "paragraph", "text": child} if isinstance(child, str) else child
    where = f"children.{index}"
    if not isinstance(described, dict):
        raise InvalidParameters(
            f"{where} is neither a string nor an object.", {"parameter": where, "message": "Should be text or a block"}
        )
    kind = described.get("type")
    if kind not in BLOCK_KINDS:
        raise UnsupportedBlock(
            f"{where} is of kind {kind!r}.", {"parameter": f"{where}.type", "index": index, "allowed": BLOCK_KINDS}
        )
    if described.keys() != {"type", "text"} or not isinstance(described["text"], str):
        raise InvalidParameters(
            f"{where} needs type and text, and nothing else.",
            {"parameter": f"{where}.text", "message": "A block has the fields type and text"},
        )
    try:
        content = {"rich_text": rich_text(described["text"])}
    except ValueError as fault:
        raise InvalidParameters(
            f"{where} is too long.", {"parameter": f"{where}.text", "message": str(fault)}
        ) from fault
    weight = 200 + len(described["text"].encode()) + 80 * len(content["rich_text"])
    return {"object": "block", "type": kind, kind: content}, weight


# Results


def kept_page(raw: Raw) -> dict[str, Any]:
    """What is kept of a page that was made; of one whose vendor failed over telling it, the identifier."""
    return {"id": raw["id"]} if raw.keys() == {"id"} else {name: raw[name] for name in ("id", "url", "created_time")}


def told_page(kept: Raw) -> dict[str, Any]:
    """What callers are told of a page that was made when something else fails."""
    return {"page_id": kept["id"]}


def created_page(kept: Raw, planned: Raw) -> CreatedPage:
    """The result of a creation."""
    return CreatedPage(
        page_id=kept["id"],
        url=kept["url"],
        created_at=instant(kept["created_time"]),
        properties_written=len(planned["page"]["properties"]),
        properties_skipped=planned["skipped"],
    )


def kept_state(raw: Raw) -> dict[str, Any]:
    """What is kept of a page that is changed: how it is now."""
    return {name: raw[name] for name in ("id", "in_trash", "last_edited_time")}


def told_change(kept: Raw) -> dict[str, Any]:
    """What callers are told of a change when another one fails."""
    return {"page_id": kept["id"], **kept["told"]}


def updated_page(kept: Raw, planned: Raw) -> UpdatedPage:
    """The result of an update."""
    return UpdatedPage(
        page_id=kept["id"],
        updated=planned["names"],
        archived=kept["in_trash"],
        last_edited_at=instant(kept["last_edited_time"]),
    )


def found_page(raw: Raw, matched_on: str) -> FoundPage:
    """A match of a search."""
    return FoundPage(page_id=raw["id"], title=title(raw), matched_on=matched_on)


def title(raw: Raw) -> str:
    """The text of a page's title property."""
    titles = [value["title"] for value in raw["properties"].values() if value["type"] == "title"]
    return plain_text(titles[0]) if titles else ""


def instant(text: str) -> datetime:
    """The instant of a vendor's timestamp, in whichever of its two forms."""
    return datetime.fromisoformat(text)


# Searching


def matches(value: Raw, wanted: str, match: str) -> bool:
    """Whether a property value is (``exact``) or holds (``contains``) the trimmed text *wanted*."""
    found = [text.strip() for text in casts.texts(value)]
    if not wanted:
        return match == "contains" or not any(found)
    if match == "contains":
        return any(wanted in text for text in found)
    return any(same(value["type"], text, wanted) for text in found)


def same(kind: str, text: str, wanted: str) -> bool:
    """Whether two texts say the same: numbers by value, identifiers with or without dashes, others by character."""
    if text == wanted:
        return True
    if kind in {"number", "formula", "rollup"}:
        return _numerically_equal(text, wanted)
    if kind in {"people", "relation", "created_by", "last_edited_by"}:
        return text.replace("-", "").lower() == wanted.replace("-", "").lower()
    return False


def _numerically_equal(text: str, wanted: str) -> bool:
    try:
        return casts.exact_number(text) == casts.exact_number(wanted)
    except ValueError:
        return False


def search_filter(described: Raw, wanted: str, match: str) -> dict[str, Any] | None:
    """A vendor's filter that lets every match through, so that fewer rows are read; None where there is none."""
    kind = described["type"]
    condition: dict[str, Any] | None = None
    if wanted and kind in {"title", "rich_text", "url", "email", "phone_number"}:
        condition = {"contains": wanted}
    elif match == "exact" and kind in {"select", "status", "multi_select"}:
        known = wanted in {option["name"] for option in described[kind]["options"]}
        condition = {"contains" if kind == "multi_select" else "equals": wanted} if known else None
    elif match == "exact" and kind == "checkbox" and wanted in {"true", "false"}:
        condition = {"equals": wanted == "true"}
    elif match == "exact" and kind == "number":
        condition = _equal_number(wanted)
    return None if condition is None else {"property": described["id"], kind: condition}


def _equal_number(wanted: str) -> dict[str, Any] | None:
    try:
        return {"equals": casts.exact_number(wanted)}
    except ValueError:
        return None


def hopeless(described: Raw, wanted: str, match: str) -> bool:
    """Whether no row can match, so that none needs to be read."""
    kind = described["type"]
    if match == "contains" or not wanted:
        return False
    if kind in {"select", "status", "multi_select"}:
        return all(option["name"].strip() != wanted for option in described[kind]["options"])
    return (kind == "checkbox" and wanted not in {"true", "false"}) or (
        kind == "number" and _equal_number(wanted) is None
    )


# Recognising what a write has made


def by_id(raw: Raw) -> dict[str, Raw]:
    """The property values that a page shows, by their ids, which stay when they are renamed."""
    return {unquote(value["id"]): value for value in raw["properties"].values()}


def bears(raw: Raw, written: Mapping[str, Any]) -> bool:
    """Whether a page holds every value of *written*, the vendor's form by property id."""
    held = by_id(raw)
    return all(
        property_id in held and casts.holds(held[property_id], kind, content)
        for property_id, payload in written.items()
        for kind, content in payload.items()
    )


def is_new_page(raw: Raw, wanted: Raw) -> bool:
    """Whether a page shows what was *wanted* of it, and nothing else: neither another value nor icon nor cover."""
    others = [value for property_id, value in by_id(raw).items() if property_id not in wanted["properties"]]
    return (
        raw.get("icon") is None
        and raw.get("cover") is None
        and bears(raw, wanted["properties"])
        and all(casts.blank(value, wanted["statuses"].get(unquote(value["id"]))) for value in others)
    )


def is_body(blocks: Sequence[Raw], wanted: Sequence[Raw]) -> bool:
    """Whether blocks of a page are those *wanted*, and no others."""
    return [signature(raw) for raw in blocks] == [signature(raw) for raw in wanted]


def signature(raw: Raw) -> tuple[str, str, bool]:
    """What is the same of a block whether it is written or read: its type and text, and whether others lie in it."""
    kind = raw["type"]
    return kind, plain_text((raw.get(kind) or {}).get("rich_text") or []), bool(raw.get("has_children"))


def appended(page_id: str, groups: Sequence[Sequence[Raw]]) -> list[dict[str, Any]]:
    """What is to be appended to a page that has the first of *groups*: where each of the others begins.

    ``unique`` says that the same blocks do not stand further up, so that they are known wherever they are found.
    """
    steps: list[dict[str, Any]] = []
    above = list(groups[0])
    for group in groups[1:]:
        unique = not is_run(group, above)
        steps.append({"page_id": page_id, "start": len(above), "children": list(group), "unique": unique})
        above += group
    return steps


def is_run(wanted: Sequence[Raw], blocks: Sequence[Raw]) -> bool:
    """Whether the blocks *wanted* stand together somewhere within others."""
    sought, there = [signature(raw) for raw in wanted], [signature(raw) for raw in blocks]
    return any(there[at : at + len(sought)] == sought for at in range(len(there) - len(sought) + 1))


def is_appended(ours: Sequence[Raw], wanted: Raw) -> bool:
    """Whether the blocks of a page that are *ours* go beyond those that were there before.

    The vendor takes the blocks of a request all together or not at all. Where people took some of ours away, or put
    them elsewhere, the blocks wanted are known by what they say, unless the same is said further up.
    """
    return len(ours) > wanted["start"] or (wanted["unique"] and is_run(wanted["children"], ours))


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


def entries(raw: Raw) -> dict[str, Entry]:
    """What the properties of a page are like by their ids, without those that are as they are on a new page."""
    found = {property_id: entry(value) for property_id, value in observable(raw)}
    return {property_id: made for property_id, made in found.items() if made != _blank(made[0], {})}


def observable(raw: Raw) -> Iterator[tuple[str, Raw]]:
    """The property values of a page whose changes are observed, by their ids."""
    return ((property_id, value) for property_id, value in by_id(raw).items() if value["type"] in casts.ONE_TEXT)


def entry(value: Raw) -> Entry:
    """What a property value is like."""
    text, mark = casts.text(value), casts.mark(value)
    shown = text if len(text) <= MAX_EVENT_TEXT else text[:MAX_EVENT_TEXT] + "…"
    kept = mark if len(mark) <= MAX_EVENT_TEXT else hashlib.sha256(mark.encode()).hexdigest()
    return [value["type"], shown] if kept == shown else [value["type"], shown, kept]


def changes(raw: Raw, known: Mapping[str, Entry], schema: Raw) -> list[Change]:
    """How the properties of a page differ from what is *known* of them; what has another type now is no change."""
    described = {unquote(item["id"]): item for item in schema.values()}
    names = {unquote(value["id"]): name for name, value in raw["properties"].items()}
    found = []
    for property_id, value in observable(raw):
        after = entry(value)
        before = known.get(property_id) or _blank(value["type"], described.get(property_id, {})) or after
        if before[0] == after[0] and before[-1] != after[-1]:
            found.append(Change(property_id, names[property_id], before[1], after[1]))
    return found


def _blank(kind: str, described: Raw) -> Entry | None:
    """What a property is like on a new page, as far as its description tells: a status is the first of its options."""
    if kind == "status":
        first = next(iter(described.get("status", {}).get("options", [])), None)
        return first and entry({"type": kind, kind: first})
    return entry({"type": kind, kind: False if kind == "checkbox" else None})


# Deliveries


def verification_token(body: bytes) -> str | None:
    """The token of a delivery that is nothing but the handshake of a subscription."""
    try:
        raw = from_json(body) if len(body) <= MAX_HANDSHAKE_BYTES else None
    except ValueError:
        return None
    token = raw.get("verification_token") if isinstance(raw, dict) and len(raw) == 1 else None
    return token if isinstance(token, str) and token.startswith("secret_") else None


def bots(raw: Raw) -> list[str]:
    """The authorisations through which the object of a delivery can be seen; only public connections are told."""
    return [user["id"] for user in raw.get("accessible_by") or () if user.get("type") == "bot"]


def data_source_id(raw: Raw) -> str | None:
    """The data source that a delivery is about, or in which the page lies that it is about."""
    entity, parent = raw.get("entity") or {}, (raw.get("data") or {}).get("parent") or {}
    named = entity.get("id") if entity.get("type") == "data_source" else parent.get("data_source_id")
    try:
        return str(UUID(named))
    except (ValueError, TypeError, AttributeError):
        return None
