"""Record lists: parameters of both request forms, views, order, filters, and pages that expire."""

import re
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from multidict import MultiMapping

from workspace_sandbox.kit.error_responses import require
from workspace_sandbox.tables import error_responses
from workspace_sandbox.tables.data.cell_values import Reader, stored_value, value_to_text
from workspace_sandbox.tables.data.state import Field, Record, Table, View, find
from workspace_sandbox.tables.formulas.parser import parse
from workspace_sandbox.tables.formulas.values import Row

MAX_PER_PAGE = 100
MAX_ITERATORS = 1000
SORT = re.compile(r"sort\[(\d+)\]\[(field|direction)\]")
DIGITS = re.compile(r"\d{1,9}")
TRUE_WORDS = frozenset({"1", "true"})


@dataclass(frozen=True, slots=True)
class ListQuery:
    """The parameters of a record list."""

    fields: tuple[str, ...] = ()
    sorts: tuple[tuple[str, bool], ...] = ()
    """Field names or ids, each with whether it is descending."""

    view: str | None = None
    formula: str | None = None
    page_size: int = MAX_PER_PAGE
    max_records: int | None = None
    offset: str | None = None
    by_id: bool = False
    text: bool = False
    comments: bool = False
    """Whether the number of comments is included."""

    def columns(self, table: Table) -> list[Field]:
        """Return the requested fields, in the table's order."""
        requested = {get_column(table, name).id for name in self.fields}
        return [column for column in table.fields if not requested or column.id in requested]


def from_query(query: MultiMapping[str]) -> ListQuery:
    """Parse the parameters of a GET. Names are the vendor's, and lists have brackets."""
    sorts: dict[int, dict[str, str]] = {}
    for name, value in query.items():
        # The index determines the order, because clients may sort the parameters of a URL.
        if match := SORT.fullmatch(name):
            sorts.setdefault(int(match[1]), {})[match[2]] = value
    params: dict[str, Any] = {name: query[name] for name in query}
    params["fields"] = list_parameter(query, "fields")
    params["recordMetadata"] = list_parameter(query, "recordMetadata")
    params["sort"] = [sorts[index] for index in sorted(sorts)]
    for name in ("pageSize", "maxRecords"):
        if name in query:
            params[name] = int(query[name]) if DIGITS.fullmatch(query[name]) else query[name]
    params["returnFieldsByFieldId"] = query.get("returnFieldsByFieldId", "").casefold() in TRUE_WORDS
    return from_body(params)


def list_parameter(query: MultiMapping[str], name: str) -> list[str]:
    """Return the values of a list: ``name[]``, ``name[0]`` … or ``name``."""
    keys = re.compile(rf"{name}(\[\d*\])?")
    return [value for key, value in query.items() if keys.fullmatch(key)]


def from_body(params: Mapping[str, Any]) -> ListQuery:
    """Validate the same parameters in a JSON body."""
    text = params.get("cellFormat", "json") == "string"
    _check(params.get("cellFormat", "json") in ("json", "string"))
    # The reference requires a zone and a locale for text, because both affect the format.
    _check(not text or (bool(params.get("timeZone")) and bool(params.get("userLocale"))))
    page_size = _positive_int(params, "pageSize")
    _check(page_size is None or page_size <= MAX_PER_PAGE)
    return ListQuery(
        fields=tuple(_texts(params.get("fields") or ())),
        sorts=tuple(_sort(sort) for sort in _items(params.get("sort") or ())),
        view=_text(params, "view"),
        formula=_text(params, "filterByFormula"),
        page_size=page_size or MAX_PER_PAGE,
        max_records=_positive_int(params, "maxRecords"),
        offset=_text(params, "offset"),
        by_id=params.get("returnFieldsByFieldId") is True,
        text=text,
        comments="commentCount" in _texts(params.get("recordMetadata") or ()),
    )


def _check(met: object) -> None:
    if not met:
        raise error_responses.invalid_request()


def _text(params: Mapping[str, Any], name: str) -> str | None:
    value = params.get(name)
    _check(value is None or isinstance(value, str))
    return value or None


def _positive_int(params: Mapping[str, Any], name: str) -> int | None:
    value = params.get(name)
    _check(value is None or (isinstance(value, int) and not isinstance(value, bool) and value >= 1))
    return value


def _items(value: Any) -> Sequence[Any]:
    _check(isinstance(value, list | tuple))
    return list(value)


def _texts(value: Any) -> Iterable[str]:
    _check(all(isinstance(item, str) for item in _items(value)))
    return list(value)


def _sort(item: Any) -> tuple[str, bool]:
    _check(isinstance(item, Mapping) and isinstance(item.get("field"), str))
    _check(item.get("direction", "asc") in ("asc", "desc"))
    return item["field"], item.get("direction") == "desc"


def get_column(table: Table, name: str) -> Field:
    """Return the field with that name or id. Raises an error if there is none."""
    return require(find(table.fields, name), error_responses.unknown_field(name))


def select(query: ListQuery, table: Table, reader: Reader) -> list[Record]:
    """Return all records that match *query*, in its order, the view's, or the table's."""
    view = _view(table, query.view)
    columns = [(get_column(table, name), falls) for name, falls in query.sorts or view.sorts]
    matches = parse(query.formula, table) if query.formula else None
    rows = [
        record
        for record in table.records.values()
        if view.matches(record.cells) and (matches is None or matches(Row(reader, table, record)))
    ]
    for column, falls in reversed(columns):
        rows.sort(key=_order(column, table, reader), reverse=falls)
    return rows[: query.max_records]


def _view(table: Table, key: str | None) -> View:
    if key is None:
        return View("", "")
    return require(find(table.views, key), error_responses.no_such_view(key))


def _order(column: Field, table: Table, reader: Reader) -> Callable[[Record], tuple[int, float, str]]:
    """Return the sort key of records: empty values first, options in their own order, text regardless of case."""
    ranks = {name: rank for rank, name in enumerate(column.choices())}

    def key(record: Record) -> tuple[int, float, str]:
        value = stored_value(reader.base, table, column, record)
        if value is None:
            return 0, 0.0, ""
        if isinstance(value, int | float):
            return 1, float(value), ""
        if isinstance(value, str):
            return 2, float(ranks.get(value, 0)), value.casefold()
        return 2, 0.0, value_to_text(reader.cell(table, column, record)).casefold()

    return key


@dataclass(slots=True)
class ListIterator:
    """A snapshot of a list that a client pages through."""

    table: str
    ids: list[str]
    used_at: float


@dataclass(slots=True)
class ListIterators:
    """The active list iterators. The oldest are discarded first."""

    stored: OrderedDict[str, ListIterator] = field(default_factory=OrderedDict)

    def begin(self, identifier: str, table: Table, ids: list[str], now: float) -> None:
        """Store a list for the pages after the first."""
        self.stored[identifier] = ListIterator(table.id, ids, now)
        # A client that abandons lists must not exhaust the memory.
        if len(self.stored) > MAX_ITERATORS:
            self.stored.popitem(last=False)

    def resume(self, offset: str, table: Table, now: float, seconds: float) -> tuple[str, list[str]]:
        """Return the list of an offset and its remaining ids. Raises an error if it was unused for *seconds*."""
        identifier, _, record = offset.partition("/")
        iterator = self.stored.get(identifier)
        if (
            iterator is None
            or iterator.table != table.id
            or now - iterator.used_at > seconds
            or record not in iterator.ids
        ):
            raise error_responses.expired_offset()
        iterator.used_at = now
        return identifier, iterator.ids[iterator.ids.index(record) :]
