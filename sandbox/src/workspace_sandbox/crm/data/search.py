"""The search, with a delayed index of the records and its queries."""

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from workspace_sandbox.crm.arguments import parse_digits, read_list
from workspace_sandbox.crm.data.property_definitions import Definition
from workspace_sandbox.crm.data.property_values import milliseconds
from workspace_sandbox.crm.data.records import Record
from workspace_sandbox.crm.error_responses import (
    PropertyViolation,
    invalid,
    invalid_search,
    malformed,
    unknown_property,
)
from workspace_sandbox.kit.clock import has_passed
from workspace_sandbox.kit.error_responses import require

DEFAULT_PAGE = 10
LARGEST_PAGE = 200
MAX_QUERY_LENGTH = 3_000
MAX_GROUPS = 5
MAX_FILTERS_PER_GROUP = 6
MAX_FILTERS = 18
ASSOCIATED = "associations."
WORDS = re.compile(r"\w+")

Key = Callable[[str], Any]
Test = Callable[[str | None], bool]


class SearchIndex:
    """The search index, which includes every write after a delay."""

    def __init__(self, documents: Mapping[str, Mapping[int, Record]] | None = None) -> None:
        self._documents = {plural: dict(by_id) for plural, by_id in (documents or {}).items()}
        self._pending: deque[tuple[float, Record]] = deque()

    def copy(self) -> "SearchIndex":
        """Return an independent copy of the documents, without pending writes."""
        return SearchIndex(self._documents)

    def add(self, record: Record) -> None:
        """Add *record* to the index immediately."""
        documents = self._documents.setdefault(record.kind.plural, {})
        documents[record.id] = record
        if record.archived_at is not None:
            del documents[record.id]

    def schedule(self, record: Record, at: float) -> None:
        """Add *record* to the index or remove it after the delay."""
        self._pending.append((at, record))

    def documents(self, plural: str, now: float, lag_seconds: float) -> Iterable[Record]:
        """Return the documents that can be found now."""
        # The index lags behind, unlike reads by ID ("CRM search"), which causes duplicates in clients.
        while self._pending and has_passed(lag_seconds, self._pending[0][0], now):
            self.add(self._pending.popleft()[1])
        return self._documents.get(plural, {}).values()


@dataclass(frozen=True, slots=True)
class Filter:
    """A condition of a query."""

    name: str
    operator: str
    value: str | None
    high_value: str | None
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RecordSearch:
    """A search query. A record matches if all filters of any group match."""

    groups: tuple[tuple[Filter, ...], ...]
    words: tuple[str, ...]
    sort: str | None
    descending: bool
    properties: tuple[str, ...]
    limit: int
    after: int


def parse(raw: Mapping[str, Any], max_results: int) -> RecordSearch:
    """Parse the query in a request body. Raises an error if it violates a rule of the vendor."""
    groups = tuple(_group(group) for group in read_list(raw, "filterGroups"))
    _count(groups)
    sort, descending = _sort(read_list(raw, "sorts"))
    limit = _limit(raw.get("limit"))
    after = _after(raw.get("after"))
    # Beyond the limit, the response is a 400 and not an empty page, so a loop until the first empty page fails.
    if after + limit > max_results:
        raise invalid(f"Paging through search results is limited to {max_results} records.")
    words = tuple(str(raw.get("query") or "").lower().split())
    properties = tuple(str(name) for name in read_list(raw, "properties"))
    return RecordSearch(groups, words, sort, descending, properties, limit, after)


def find_records(
    query: RecordSearch,
    documents: Iterable[Record],
    definitions: Mapping[str, Definition],
    searched: Iterable[str],
    associated: Callable[[Record, str], Iterable[int]],
) -> list[Record]:
    """Return all records that match the query in its order."""
    tests = [[_record_test(one, definitions, associated) for one in group] for group in query.groups]
    searched = tuple(searched)
    matches = [
        record
        for record in documents
        if (not tests or any(all(test(record) for test in group) for group in tests))
        and _has_words(record, query.words, searched)
    ]
    return _sorted(matches, query, definitions)


def _sorted(matches: list[Record], query: RecordSearch, definitions: Mapping[str, Definition]) -> list[Record]:
    # The default order is oldest first. The ID decides between records of the same time.
    matches.sort(key=lambda record: (record.created_at, record.id))
    if query.sort is None:
        return matches
    name = query.sort
    key = _key(definitions, name)
    present = [record for record in matches if record.properties.get(name)]
    absent = [record for record in matches if not record.properties.get(name)]
    present.sort(key=lambda record: key(record.properties[name]), reverse=query.descending)
    return present + absent


def _record_test(
    condition: Filter, definitions: Mapping[str, Definition], associated: Callable[[Record, str], Iterable[int]]
) -> Callable[[Record], bool]:
    if condition.name.startswith(ASSOCIATED):
        return _associated_test(condition, associated)
    test = OPERATORS[condition.operator](condition, _key(definitions, condition.name))
    return lambda record: test(record.properties.get(condition.name))


def _associated_test(condition: Filter, associated: Callable[[Record, str], Iterable[int]]) -> Callable[[Record], bool]:
    """Return a test of the IDs that a record is associated with. Without any, the value is missing."""
    target = condition.name.removeprefix(ASSOCIATED)
    test = OPERATORS[condition.operator](condition, str)

    def matches(record: Record) -> bool:
        ids: list[str | None] = [str(one) for one in associated(record, target)]
        return any(test(one) for one in ids or [None])

    return matches


def _key(definitions: Mapping[str, Definition], name: str) -> Key:
    definition = require(definitions.get(name), invalid_search(unknown_property(name)))

    def key(text: str) -> Any:
        try:
            return KEYS.get(definition.type, str.lower)(text)
        except ValueError:
            error = PropertyViolation(name, "INVALID_LONG", f"{text} was not a valid long.")
            raise invalid_search(error) from None

    return key


KEYS: Mapping[str, Key] = {
    "number": float,
    "date": milliseconds,
    "datetime": milliseconds,
    "enumeration": str,
    "bool": str,
}
"""The keys for comparing values. Text is compared case-insensitively."""


def _compared(accepts: Callable[[Any, Any], bool]) -> Callable[[Filter, Key], Test]:
    def build(condition: Filter, key: Key) -> Test:
        operand = key(_needed(condition, condition.value))
        return lambda stored: bool(stored) and accepts(key(stored or ""), operand)

    return build


def _range_test(condition: Filter, key: Key) -> Test:
    low, high = key(_needed(condition, condition.value)), key(_needed(condition, condition.high_value))
    return lambda stored: bool(stored) and low <= key(stored or "") <= high


def _any_test(condition: Filter, key: Key) -> Test:
    """Return a test for one of several values, which must be lower-case if comparison is case-insensitive."""
    if not condition.values:
        raise invalid(f"operator {condition.operator} requires values")
    return lambda stored: bool(stored) and (key(stored or "") in condition.values or stored in condition.values)


def _none_test(condition: Filter, key: Key) -> Test:
    among = _any_test(condition, key)
    return lambda stored: not among(stored)


def _present(condition: Filter, key: Key) -> Test:
    del condition, key
    return bool


def _absent(condition: Filter, key: Key) -> Test:
    del condition, key
    return lambda stored: not stored


def _has_token(condition: Filter, key: Key) -> Test:
    del key
    patterns = _needed(condition, condition.value).lower().split()
    return lambda stored: bool(stored) and all(_matches(tokens(stored or ""), pattern) for pattern in patterns)


def _has_no_token(condition: Filter, key: Key) -> Test:
    has_token = _has_token(condition, key)
    return lambda stored: not has_token(stored)


OPERATORS: Mapping[str, Callable[[Filter, Key], Test]] = {
    "EQ": _compared(lambda stored, operand: bool(stored == operand)),
    "NEQ": _compared(lambda stored, operand: bool(stored != operand)),
    "LT": _compared(lambda stored, operand: bool(stored < operand)),
    "LTE": _compared(lambda stored, operand: bool(stored <= operand)),
    "GT": _compared(lambda stored, operand: bool(stored > operand)),
    "GTE": _compared(lambda stored, operand: bool(stored >= operand)),
    "BETWEEN": _range_test,
    "IN": _any_test,
    "NOT_IN": _none_test,
    "HAS_PROPERTY": _present,
    "NOT_HAS_PROPERTY": _absent,
    "CONTAINS_TOKEN": _has_token,
    "NOT_CONTAINS_TOKEN": _has_no_token,
}


def tokens(text: str) -> set[str]:
    """Return the searchable words of a text: those between spaces or semicolons, and the alphanumeric parts of them."""
    lowered = text.lower()
    return {*lowered.replace(";", " ").split(), *WORDS.findall(lowered), lowered}


def _matches(words: set[str], pattern: str) -> bool:
    return pattern in words or ("*" in pattern and any(fnmatchcase(word, pattern) for word in words))


def _has_words(record: Record, words: tuple[str, ...], searched: tuple[str, ...]) -> bool:
    if not words:
        return True
    present = {token for name in searched for token in tokens(record.properties.get(name) or "")}
    return all(any(token.startswith(word) for token in present) for word in words)


def _needed(condition: Filter, value: str | None) -> str:
    if value is None:
        raise invalid(f"operator {condition.operator} requires a value for property {condition.name}")
    return value


def _group(raw: Any) -> tuple[Filter, ...]:
    if not isinstance(raw, dict):
        raise malformed("Cannot deserialize value of type `FilterGroup`")
    return tuple(_filter(one) for one in read_list(raw, "filters"))


def _filter(raw: Any) -> Filter:
    if not isinstance(raw, dict) or not isinstance(raw.get("propertyName"), str):
        raise malformed('Some required fields were not set: ["propertyName"]')
    operator = str(raw.get("operator"))
    if operator not in OPERATORS:
        raise malformed(f"Cannot deserialize value of type `Operator` from String {operator!r}")
    values = tuple(str(value) for value in read_list(raw, "values"))
    return Filter(raw["propertyName"], operator, _text(raw.get("value")), _text(raw.get("highValue")), values)


def _text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else str(value).lower()


def _count(groups: tuple[tuple[Filter, ...], ...]) -> None:
    if len(groups) > MAX_GROUPS:
        raise invalid(f"a maximum of {MAX_GROUPS} filterGroups can be included, received {len(groups)}")
    if any(len(group) > MAX_FILTERS_PER_GROUP for group in groups):
        raise invalid(f"a maximum of {MAX_FILTERS_PER_GROUP} filters can be included in each filterGroup")
    if sum(len(group) for group in groups) > MAX_FILTERS:
        raise invalid(f"a maximum of {MAX_FILTERS} filters can be included in total")


def _sort(raw: list[Any]) -> tuple[str | None, bool]:
    if len(raw) > 1:
        raise invalid("only one sort can be applied")
    for one in raw:
        if isinstance(one, str):
            return one.removeprefix("-"), one.startswith("-")
        if isinstance(one, dict) and isinstance(one.get("propertyName"), str):
            return one["propertyName"], one.get("direction") == "DESCENDING"
        raise malformed("Cannot deserialize value of type `Sort`")
    return None, False


def _limit(value: Any) -> int:
    limit = DEFAULT_PAGE if value is None else value
    if not isinstance(limit, int) or isinstance(limit, bool) or not 0 <= limit <= LARGEST_PAGE:
        raise invalid(f"limit must be between 0 and {LARGEST_PAGE}, received {value}")
    return limit


def _after(value: Any) -> int:
    # In searches, ``after`` is an offset. In lists, it is the ID of the last record.
    return require(parse_digits(str(value or 0)), invalid(f"after must be an integer, received {value}"))


def paginate(query: RecordSearch, matches: list[Record]) -> tuple[Iterator[Record], str | None]:
    """Return the requested page and the offset of the next one."""
    end = query.after + query.limit
    return iter(matches[query.after : end]), str(end) if end < len(matches) else None
