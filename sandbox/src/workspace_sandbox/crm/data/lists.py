"""Lists of records, maintained manually or by a filter."""

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, field
from typing import Any

from workspace_sandbox.crm.arguments import read_list
from workspace_sandbox.crm.data.object_types import ObjectType
from workspace_sandbox.crm.data.records import Record
from workspace_sandbox.crm.error_responses import invalid
from workspace_sandbox.kit.clock import format_timestamp

PROCESSING = ("MANUAL", "SNAPSHOT", "DYNAMIC")
Test = Callable[[Record], bool]


@dataclass(slots=True)
class ObjectList:
    """A list of records. The members of a dynamic list are computed on access."""

    id: int
    name: str
    kind: ObjectType
    processing: str
    branch: Mapping[str, Any] | None
    user_id: int
    created: float
    updated: float
    version: int = 1
    deleted: float | None = None
    joined: dict[int, float] = field(default_factory=dict)
    """The time when each record was added, for lists that are not dynamic."""

    def copy(self) -> "ObjectList":
        """Return an independent copy."""
        new = copy(self)
        new.joined = dict(self.joined)
        return new

    def to_json(self, size: int, *, with_filters: bool = False) -> dict[str, Any]:
        """Return the vendor's JSON."""
        raw: dict[str, Any] = {
            "listId": str(self.id),
            "listVersion": self.version,
            "name": self.name,
            "objectTypeId": self.kind.type_id,
            "processingType": self.processing,
            "processingStatus": "COMPLETE",
            "createdById": str(self.user_id),
            "updatedById": str(self.user_id),
            "createdAt": format_timestamp(self.created),
            "updatedAt": format_timestamp(self.updated),
            "filtersUpdatedAt": format_timestamp(self.updated),
            "size": size,
        }
        if self.deleted is not None:
            raw["deletedAt"] = format_timestamp(self.deleted)
        return raw | ({"filterBranch": self.branch} if with_filters and self.branch else {})


def build_test(branch: Any) -> Test:
    """Return the test of a filter branch. Raises an error if it is invalid or has unsupported filters."""
    if not isinstance(branch, Mapping) or branch.get("filterBranchType") not in {"OR", "AND"}:
        raise invalid("filterBranch must be of the type OR or AND")
    parts = [*map(build_test, read_list(branch, "filterBranches")), *map(_filter, read_list(branch, "filters"))]
    if not parts:
        raise invalid("filterBranch has neither branches nor filters")
    matches = any if branch["filterBranchType"] == "OR" else all
    return lambda record: matches(part(record) for part in parts)


def _filter(raw: Any) -> Test:
    if not isinstance(raw, Mapping) or raw.get("filterType") != "PROPERTY":
        raise invalid("filterType must be PROPERTY")
    name, operation = raw.get("property"), raw.get("operation")
    if not isinstance(name, str) or not isinstance(operation, Mapping):
        raise invalid("A filter of a property needs property and operation")
    kind, operator = str(operation.get("operationType")), str(operation.get("operator"))
    if operator in PRESENCE_TESTS:
        return lambda record: PRESENCE_TESTS[operator](record.properties.get(name))
    accepts = OPERATORS.get((FAMILIES.get(kind, kind), operator))
    if accepts is None:
        raise invalid(f"operator {operator} is not valid for the operation type {kind}")
    expected = read_list(operation, "values") or [operation.get("value")]
    if kind == "NUMBER" and _number(expected[0]) is None:
        raise invalid(f"operator {operator} needs a number as its value")
    without = operation.get("includeObjectsWithNoValueSet") is True
    operands = [str(one).lower() for one in expected]

    def matches(record: Record) -> bool:
        value = record.properties.get(name)
        return accepts(value.lower(), operands) if value else without

    return matches


PRESENCE_TESTS: Mapping[str, Callable[[str | None], bool]] = {
    "IS_KNOWN": bool,
    "IS_UNKNOWN": lambda value: not value,
    "IS_NOT_BLANK": bool,
    "IS_BLANK": lambda value: not value,
}

FAMILIES = {"STRING": "TEXT", "MULTISTRING": "TEXT", "BOOL": "TEXT", "ENUMERATION": "CHOICE"}
"""Operation types with the same comparison."""


def _numbers(compare: Callable[[float, float], bool]) -> Callable[[str, list[str]], bool]:
    def matches(value: str, expected: list[str]) -> bool:
        number, other = _number(value), _number(expected[0])
        return number is not None and other is not None and compare(number, other)

    return matches


def _number(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


OPERATORS: Mapping[tuple[str, str], Callable[[str, list[str]], bool]] = {
    ("TEXT", "IS_EQUAL_TO"): lambda value, expected: value in expected,
    ("TEXT", "IS_NOT_EQUAL_TO"): lambda value, expected: value not in expected,
    ("TEXT", "CONTAINS"): lambda value, expected: any(one in value for one in expected),
    ("TEXT", "DOES_NOT_CONTAIN"): lambda value, expected: not any(one in value for one in expected),
    ("TEXT", "STARTS_WITH"): lambda value, expected: value.startswith(tuple(expected)),
    ("TEXT", "ENDS_WITH"): lambda value, expected: value.endswith(tuple(expected)),
    ("CHOICE", "IS_ANY_OF"): lambda value, expected: not set(value.split(";")).isdisjoint(expected),
    ("CHOICE", "IS_NONE_OF"): lambda value, expected: set(value.split(";")).isdisjoint(expected),
    ("CHOICE", "IS_EXACTLY"): lambda value, expected: set(value.split(";")) == set(expected),
    ("CHOICE", "CONTAINS_ALL"): lambda value, expected: set(value.split(";")) >= set(expected),
    ("NUMBER", "IS_EQUAL_TO"): _numbers(lambda value, expected: value == expected),
    ("NUMBER", "IS_NOT_EQUAL_TO"): _numbers(lambda value, expected: value != expected),
    ("NUMBER", "IS_GREATER_THAN"): _numbers(lambda value, expected: value > expected),
    ("NUMBER", "IS_GREATER_THAN_OR_EQUAL_TO"): _numbers(lambda value, expected: value >= expected),
    ("NUMBER", "IS_LESS_THAN"): _numbers(lambda value, expected: value < expected),
    ("NUMBER", "IS_LESS_THAN_OR_EQUAL_TO"): _numbers(lambda value, expected: value <= expected),
}
