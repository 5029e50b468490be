"""Listing records: parameters of both forms, views, order, filters, and pages that can be read for a while."""

import re
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from multidict import MultiMapping

from workspace_sandbox.kit.refusals import require
from workspace_sandbox.tables import wire
from workspace_sandbox.tables.formula import parse
from workspace_sandbox.tables.operands import Row
from workspace_sandbox.tables.state import Field, Record, Table, View, find
from workspace_sandbox.tables.values import Reader, kept, text_of

MOST_PER_PAGE = 100
MOST_ITERATORS = 1000
SORT = re.compile(r"sort\[(\d+)\]\[(field|direction)\]")
WHOLE = re.compile(r"\d{1,9}")
TRUE_WORDS = frozenset({"1", "true"})


@dataclass(frozen=True, slots=True)
class ListQuery:
    """What of a table is asked for."""

    fields: tuple[str, ...] = ()
    sorts: tuple[tuple[str, bool], ...] = ()
    """Field names or ids, and whether each falls."""

    view: str | None = None
    formula: str | None = None
    page_size: int = MOST_PER_PAGE
    max_records: int | None = None
    offset: str | None = None
    by_id: bool = False
    text: bool = False
    comments: bool = False
    """Whether the number of comments is told."""

    def columns(self, table: Table) -> list[Field]:
        """The fields to show, in the table's order."""
        wanted = {column_of(table, name).id for name in self.fields}
        return [column for column in table.fields if not wanted or column.id in wanted]


def from_query(query: MultiMapping[str]) -> ListQuery:
    """The parameters of a GET; names are the vendor's, lists with brackets."""
    sorts: dict[int, dict[str, str]] = {}
    for name, value in query.items():
        # The index counts and not the order: clients may sort the parameters of an address.
        if found := SORT.fullmatch(name):
            sorts.setdefault(int(found[1]), {})[found[2]] = value
    given: dict[str, Any] = {name: query[name] for name in query}
    given["fields"] = listed(query, "fields")
    given["recordMetadata"] = listed(query, "recordMetadata")
    given["sort"] = [sorts[index] for index in sorted(sorts)]
    for name in ("pageSize", "maxRecords"):
        if name in query:
            given[name] = int(query[name]) if WHOLE.fullmatch(query[name]) else query[name]
    given["returnFieldsByFieldId"] = query.get("returnFieldsByFieldId", "").casefold() in TRUE_WORDS
    return from_body(given)


def listed(query: MultiMapping[str], name: str) -> list[str]:
    """The values of a list: ``name[]``, ``name[0]`` … or ``name``."""
    keys = re.compile(rf"{name}(\[\d*\])?")
    return [value for key, value in query.items() if keys.fullmatch(key)]


def from_body(given: Mapping[str, Any]) -> ListQuery:
    """The same parameters as JSON, checked."""
    text = given.get("cellFormat", "json") == "string"
    _require(given.get("cellFormat", "json") in ("json", "string"))
    # The reference asks for a zone and a locale with texts, since both decide how values are written.
    _require(not text or (bool(given.get("timeZone")) and bool(given.get("userLocale"))))
    page_size = _whole(given, "pageSize")
    _require(page_size is None or page_size <= MOST_PER_PAGE)
    return ListQuery(
        fields=tuple(_texts(given.get("fields") or ())),
        sorts=tuple(_sort(sort) for sort in _items(given.get("sort") or ())),
        view=_text(given, "view"),
        formula=_text(given, "filterByFormula"),
        page_size=page_size or MOST_PER_PAGE,
        max_records=_whole(given, "maxRecords"),
        offset=_text(given, "offset"),
        by_id=given.get("returnFieldsByFieldId") is True,
        text=text,
        comments="commentCount" in _texts(given.get("recordMetadata") or ()),
    )


def _require(met: object) -> None:
    if not met:
        raise wire.invalid_request()


def _text(given: Mapping[str, Any], name: str) -> str | None:
    value = given.get(name)
    _require(value is None or isinstance(value, str))
    return value or None


def _whole(given: Mapping[str, Any], name: str) -> int | None:
    value = given.get(name)
    _require(value is None or (isinstance(value, int) and not isinstance(value, bool) and value >= 1))
    return value


def _items(value: Any) -> Sequence[Any]:
    _require(isinstance(value, list | tuple))
    return list(value)


def _texts(value: Any) -> Iterable[str]:
    _require(all(isinstance(item, str) for item in _items(value)))
    return list(value)


def _sort(given: Any) -> tuple[str, bool]:
    _require(isinstance(given, Mapping) and isinstance(given.get("field"), str))
    _require(given.get("direction", "asc") in ("asc", "desc"))
    return given["field"], given.get("direction") == "desc"


def column_of(table: Table, name: str) -> Field:
    """The field of that name or id; refused if there is none."""
    return require(find(table.fields, name), wire.unknown_field(name))


def select(query: ListQuery, table: Table, reader: Reader) -> list[Record]:
    """All records that *query* asks for, in its order, else in the view's, else in the table's."""
    view = _view(table, query.view)
    columns = [(column_of(table, name), falls) for name, falls in query.sorts or view.sorts]
    matches = parse(query.formula, table) if query.formula else None
    rows = [
        record
        for record in table.records.values()
        if view.keeps(record.cells) and (matches is None or matches(Row(reader, table, record)))
    ]
    for column, falls in reversed(columns):
        rows.sort(key=_order(column, table, reader), reverse=falls)
    return rows[: query.max_records]


def _view(table: Table, wanted: str | None) -> View:
    if wanted is None:
        return View("", "")
    return require(find(table.views, wanted), wire.no_such_view(wanted))


def _order(column: Field, table: Table, reader: Reader) -> Callable[[Record], tuple[int, float, str]]:
    """How records are compared: empty ones first, options in their own order, texts without regard to case."""
    ranks = {name: rank for rank, name in enumerate(column.choices())}

    def key(record: Record) -> tuple[int, float, str]:
        value = kept(reader.base, table, column, record)
        if value is None:
            return 0, 0.0, ""
        if isinstance(value, int | float):
            return 1, float(value), ""
        if isinstance(value, str):
            return 2, float(ranks.get(value, 0)), value.casefold()
        return 2, 0.0, text_of(reader.cell(table, column, record)).casefold()

    return key


@dataclass(slots=True)
class Iterator:
    """A list that a client goes through, as it was when it began."""

    table: str
    ids: list[str]
    used_at: float


@dataclass(slots=True)
class Iterators:
    """The lists under way; the oldest are given up first."""

    kept: OrderedDict[str, Iterator] = field(default_factory=OrderedDict)

    def begin(self, identifier: str, table: Table, ids: list[str], now: float) -> None:
        """Keep a list for the pages after the first."""
        self.kept[identifier] = Iterator(table.id, ids, now)
        # A client that begins lists and leaves them must not fill the memory.
        if len(self.kept) > MOST_ITERATORS:
            self.kept.popitem(last=False)

    def resume(self, offset: str, table: Table, now: float, seconds: float) -> tuple[str, list[str]]:
        """The list of an offset and what is left of it; refused when it was not used for *seconds*."""
        identifier, _, record = offset.partition("/")
        iterator = self.kept.get(identifier)
        if (
            iterator is None
            or iterator.table != table.id
            or now - iterator.used_at > seconds
            or record not in iterator.ids
        ):
            raise wire.expired_offset()
        iterator.used_at = now
        return identifier, iterator.ids[iterator.ids.index(record) :]
