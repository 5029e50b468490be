"""The search: its own, lagging copy of the records, and the queries that run over it."""

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from workspace_sandbox.crm.arguments import digits, list_in
from workspace_sandbox.crm.definitions import Definition
from workspace_sandbox.crm.records import Record
from workspace_sandbox.crm.values import milliseconds
from workspace_sandbox.crm.wire import PropertyFault, invalid, invalid_search, malformed, unknown_property
from workspace_sandbox.kit.clock import has_passed
from workspace_sandbox.kit.refusals import require

DEFAULT_PAGE = 10
LARGEST_PAGE = 200
LONGEST_QUERY = 3_000
MOST_GROUPS = 5
MOST_FILTERS_A_GROUP = 6
MOST_FILTERS = 18
ASSOCIATED = "associations."
WORDS = re.compile(r"\w+")

Key = Callable[[str], Any]
Test = Callable[[str | None], bool]


class SearchIndex:
    """What the search sees: every write, some time after it happened."""

    def __init__(self, documents: Mapping[str, Mapping[int, Record]] | None = None) -> None:
        self._documents = {plural: dict(found) for plural, found in (documents or {}).items()}
        self._pending: deque[tuple[float, Record]] = deque()

    def copy(self) -> "SearchIndex":
        """An independent copy of the documents, without what is still pending."""
        return SearchIndex(self._documents)

    def load(self, record: Record) -> None:
        """Index *record* at once."""
        documents = self._documents.setdefault(record.kind.plural, {})
        documents[record.id] = record
        if record.archived_at is not None:
            del documents[record.id]

    def note(self, record: Record, at: float) -> None:
        """Index *record* or remove it from the index, once the lag has passed."""
        self._pending.append((at, record))

    def documents(self, plural: str, now: float, lag_seconds: float) -> Iterable[Record]:
        """What can be found now."""
        # A search reads a copy that lags; reading by identifier does not ("CRM search"). This is what makes doubles.
        while self._pending and has_passed(lag_seconds, self._pending[0][0], now):
            self.load(self._pending.popleft()[1])
        return self._documents.get(plural, {}).values()


@dataclass(frozen=True, slots=True)
class Filter:
    """One condition of a query."""

    name: str
    operator: str
    value: str | None
    high_value: str | None
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Query:
    """A search as it was asked for; groups are alternatives, the filters of a group all hold."""

    groups: tuple[tuple[Filter, ...], ...]
    words: tuple[str, ...]
    sort: str | None
    descending: bool
    properties: tuple[str, ...]
    limit: int
    after: int


def parse(raw: Mapping[str, Any], cap: int) -> Query:
    """The query of a request body; refused when it breaks one of the vendor's rules."""
    groups = tuple(_group(group) for group in list_in(raw, "filterGroups"))
    _count(groups)
    sort, descending = _sort(list_in(raw, "sorts"))
    limit = _limit(raw.get("limit"))
    after = _after(raw.get("after"))
    # Past the cap the answer is a 400, not an empty page: a walk that goes on until nothing comes ends in an error.
    if after + limit > cap:
        raise invalid(f"Paging through search results is limited to {cap} records.")
    words = tuple(str(raw.get("query") or "").lower().split())
    properties = tuple(str(name) for name in list_in(raw, "properties"))
    return Query(groups, words, sort, descending, properties, limit, after)


def run(
    query: Query,
    documents: Iterable[Record],
    definitions: Mapping[str, Definition],
    searched: Iterable[str],
    associated: Callable[[Record, str], Iterable[int]],
) -> list[Record]:
    """Every record the query finds, in its order."""
    tests = [[_record_test(one, definitions, associated) for one in group] for group in query.groups]
    searched = tuple(searched)
    found = [
        record
        for record in documents
        if (not tests or any(all(test(record) for test in group) for group in tests))
        and _has_words(record, query.words, searched)
    ]
    return _sorted(found, query, definitions)


def _sorted(found: list[Record], query: Query, definitions: Mapping[str, Definition]) -> list[Record]:
    # Without a sort, the oldest come first. The identifier decides between records of the same instant.
    found.sort(key=lambda record: (record.created_at, record.id))
    if query.sort is None:
        return found
    name = query.sort
    key = _key(definitions, name)
    present = [record for record in found if record.properties.get(name)]
    absent = [record for record in found if not record.properties.get(name)]
    present.sort(key=lambda record: key(record.properties[name]), reverse=query.descending)
    return present + absent


def _record_test(
    wanted: Filter, definitions: Mapping[str, Definition], associated: Callable[[Record, str], Iterable[int]]
) -> Callable[[Record], bool]:
    if wanted.name.startswith(ASSOCIATED):
        return _associated_test(wanted, associated)
    test = OPERATORS[wanted.operator](wanted, _key(definitions, wanted.name))
    return lambda record: test(record.properties.get(wanted.name))


def _associated_test(wanted: Filter, associated: Callable[[Record, str], Iterable[int]]) -> Callable[[Record], bool]:
    """A test of the ids that a record is associated with; of none, it is the test of an absent value."""
    target = wanted.name.removeprefix(ASSOCIATED)
    test = OPERATORS[wanted.operator](wanted, str)

    def hold(record: Record) -> bool:
        ids: list[str | None] = [str(one) for one in associated(record, target)]
        return any(test(one) for one in ids or [None])

    return hold


def _key(definitions: Mapping[str, Definition], name: str) -> Key:
    definition = require(definitions.get(name), invalid_search(unknown_property(name)))

    def key(text: str) -> Any:
        try:
            return KEYS.get(definition.type, str.lower)(text)
        except ValueError:
            fault = PropertyFault(name, "INVALID_LONG", f"{text} was not a valid long.")
            raise invalid_search(fault) from None

    return key


KEYS: Mapping[str, Key] = {
    "number": float,
    "date": milliseconds,
    "datetime": milliseconds,
    "enumeration": str,
    "bool": str,
}
"""What values are compared as; text is compared without regard to case."""


def _compared(accepts: Callable[[Any, Any], bool]) -> Callable[[Filter, Key], Test]:
    def build(wanted: Filter, key: Key) -> Test:
        operand = key(_needed(wanted, wanted.value))
        return lambda stored: bool(stored) and accepts(key(stored or ""), operand)

    return build


def _between(wanted: Filter, key: Key) -> Test:
    low, high = key(_needed(wanted, wanted.value)), key(_needed(wanted, wanted.high_value))
    return lambda stored: bool(stored) and low <= key(stored or "") <= high


def _among(wanted: Filter, key: Key) -> Test:
    """One of the values, which the vendor wants in lower case where case does not matter."""
    if not wanted.values:
        raise invalid(f"operator {wanted.operator} requires values")
    return lambda stored: bool(stored) and (key(stored or "") in wanted.values or stored in wanted.values)


def _not_among(wanted: Filter, key: Key) -> Test:
    among = _among(wanted, key)
    return lambda stored: not among(stored)


def _present(wanted: Filter, key: Key) -> Test:
    del wanted, key
    return bool


def _absent(wanted: Filter, key: Key) -> Test:
    del wanted, key
    return lambda stored: not stored


def _has_token(wanted: Filter, key: Key) -> Test:
    del key
    patterns = _needed(wanted, wanted.value).lower().split()
    return lambda stored: bool(stored) and all(_matches(tokens(stored or ""), pattern) for pattern in patterns)


def _has_no_token(wanted: Filter, key: Key) -> Test:
    has_token = _has_token(wanted, key)
    return lambda stored: not has_token(stored)


OPERATORS: Mapping[str, Callable[[Filter, Key], Test]] = {
    "EQ": _compared(lambda stored, operand: bool(stored == operand)),
    "NEQ": _compared(lambda stored, operand: bool(stored != operand)),
    "LT": _compared(lambda stored, operand: bool(stored < operand)),
    "LTE": _compared(lambda stored, operand: bool(stored <= operand)),
    "GT": _compared(lambda stored, operand: bool(stored > operand)),
    "GTE": _compared(lambda stored, operand: bool(stored >= operand)),
    "BETWEEN": _between,
    "IN": _among,
    "NOT_IN": _not_among,
    "HAS_PROPERTY": _present,
    "NOT_HAS_PROPERTY": _absent,
    "CONTAINS_TOKEN": _has_token,
    "NOT_CONTAINS_TOKEN": _has_no_token,
}


def tokens(text: str) -> set[str]:
    """The words that a text is found by: those between blanks or semicolons, and the plain ones within."""
    lowered = text.lower()
    return {*lowered.replace(";", " ").split(), *WORDS.findall(lowered), lowered}


def _matches(words: set[str], pattern: str) -> bool:
    return pattern in words or ("*" in pattern and any(fnmatchcase(word, pattern) for word in words))


def _has_words(record: Record, words: tuple[str, ...], searched: tuple[str, ...]) -> bool:
    if not words:
        return True
    there = {token for name in searched for token in tokens(record.properties.get(name) or "")}
    return all(any(token.startswith(word) for token in there) for word in words)


def _needed(wanted: Filter, value: str | None) -> str:
    if value is None:
        raise invalid(f"operator {wanted.operator} requires a value for property {wanted.name}")
    return value


def _group(raw: Any) -> tuple[Filter, ...]:
    if not isinstance(raw, dict):
        raise malformed("Cannot deserialize value of type `FilterGroup`")
    return tuple(_filter(one) for one in list_in(raw, "filters"))


def _filter(raw: Any) -> Filter:
    if not isinstance(raw, dict) or not isinstance(raw.get("propertyName"), str):
        raise malformed('Some required fields were not set: ["propertyName"]')
    operator = str(raw.get("operator"))
    if operator not in OPERATORS:
        raise malformed(f"Cannot deserialize value of type `Operator` from String {operator!r}")
    values = tuple(str(value) for value in list_in(raw, "values"))
    return Filter(raw["propertyName"], operator, _text(raw.get("value")), _text(raw.get("highValue")), values)


def _text(given: Any) -> str | None:
    return given if given is None or isinstance(given, str) else str(given).lower()


def _count(groups: tuple[tuple[Filter, ...], ...]) -> None:
    if len(groups) > MOST_GROUPS:
        raise invalid(f"a maximum of {MOST_GROUPS} filterGroups can be included, received {len(groups)}")
    if any(len(group) > MOST_FILTERS_A_GROUP for group in groups):
        raise invalid(f"a maximum of {MOST_FILTERS_A_GROUP} filters can be included in each filterGroup")
    if sum(len(group) for group in groups) > MOST_FILTERS:
        raise invalid(f"a maximum of {MOST_FILTERS} filters can be included in total")


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


def _limit(given: Any) -> int:
    limit = DEFAULT_PAGE if given is None else given
    if not isinstance(limit, int) or isinstance(limit, bool) or not 0 <= limit <= LARGEST_PAGE:
        raise invalid(f"limit must be between 0 and {LARGEST_PAGE}, received {given}")
    return limit


def _after(given: Any) -> int:
    # In a search ``after`` is a position. In a listing, the same word means the identifier of the last record.
    return require(digits(str(given or 0)), invalid(f"after must be an integer, received {given}"))


def results(query: Query, found: list[Record]) -> tuple[Iterator[Record], str | None]:
    """The page the query asks for, and where the next one starts."""
    end = query.after + query.limit
    return iter(found[query.after : end]), str(end) if end < len(found) else None
