"""The operators of filters by kind of value: what each takes, and when it holds."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from workspace_sandbox.kit.refusals import require
from workspace_sandbox.notes import checks, times

Holds = Callable[[Any], bool]


@dataclass(frozen=True, slots=True)
class Operator:
    """How the operand is read, and how it is held against a value."""

    read: Callable[[Any, str], Any]
    holds: Callable[[Any, Any], bool]


def _empty(value: Any) -> bool:
    return value in (None, "", [])


EMPTINESS = {
    "is_empty": Operator(checks.true, lambda value, _: _empty(value)),
    "is_not_empty": Operator(checks.true, lambda value, _: not _empty(value)),
}


def _words(holds: Callable[[str, str], bool]) -> Operator:
    """Text is compared without regard to case."""
    return Operator(checks.string, lambda value, operand: holds((value or "").casefold(), operand.casefold()))


TEXT = EMPTINESS | {
    "equals": _words(lambda value, operand: value == operand),
    "does_not_equal": _words(lambda value, operand: value != operand),
    "contains": _words(lambda value, operand: operand in value),
    "does_not_contain": _words(lambda value, operand: operand not in value),
    "starts_with": _words(lambda value, operand: value.startswith(operand)),
    "ends_with": _words(lambda value, operand: value.endswith(operand)),
}


def _figures(holds: Callable[[Any, Any], bool]) -> Operator:
    return Operator(checks.number, lambda value, operand: value is not None and holds(value, operand))


COUNT = {
    "equals": _figures(lambda value, operand: value == operand),
    "does_not_equal": Operator(checks.number, lambda value, operand: value != operand),
    "greater_than": _figures(lambda value, operand: value > operand),
    "less_than": _figures(lambda value, operand: value < operand),
    "greater_than_or_equal_to": _figures(lambda value, operand: value >= operand),
    "less_than_or_equal_to": _figures(lambda value, operand: value <= operand),
}
NUMBER = EMPTINESS | COUNT

CHECKBOX = {
    "equals": Operator(checks.boolean, lambda value, operand: value is operand),
    "does_not_equal": Operator(checks.boolean, lambda value, operand: value is not operand),
}


def _names(raw: Any, path: str) -> list[str]:
    """One option, or an array of them of which any will do."""
    if isinstance(raw, list):
        return [checks.string(item, f"{path}[{position}]") for position, item in enumerate(checks.array(raw, path))]
    return [checks.string(raw, path)]


CHOICE = EMPTINESS | {
    "equals": Operator(_names, lambda value, operand: value in operand),
    "does_not_equal": Operator(_names, lambda value, operand: value not in operand),
}


def _holding(read: Callable[[Any, str], Any]) -> Mapping[str, Operator]:
    return EMPTINESS | {
        "contains": Operator(read, lambda value, operand: operand in value),
        "does_not_contain": Operator(read, lambda value, operand: operand not in value),
    }


CHOICES = _holding(checks.string)
MEMBERS = _holding(checks.uid)


def _days(holds: Callable[[int], bool]) -> Operator:
    return Operator(times.iso, lambda value, operand: value is not None and holds(times.order(value, operand)))


def _nothing(raw: Any, path: str) -> None:
    for key in checks.obj(raw, path):
        raise checks.unfit(f"{path}.{key}", "not present", raw[key])


DATE = EMPTINESS | {
    "equals": _days(lambda order: order == 0),
    "before": _days(lambda order: order < 0),
    "after": _days(lambda order: order > 0),
    "on_or_before": _days(lambda order: order <= 0),
    "on_or_after": _days(lambda order: order >= 0),
}

VERIFICATION = {
    "status": Operator(
        lambda raw, path: checks.one_of(raw, path, ("verified", "expired", "none")),
        lambda value, operand: {"verified": "verified"}.get(value, "none") == operand,
    )
}

KINDS: dict[str, Mapping[str, Operator]] = {
    "title": TEXT,
    "rich_text": TEXT,
    "url": TEXT,
    "email": TEXT,
    "phone_number": TEXT,
    "number": NUMBER,
    "unique_id": COUNT,
    "checkbox": CHECKBOX,
    "select": CHOICE,
    "status": CHOICE,
    "multi_select": CHOICES,
    "date": DATE,
    "created_time": DATE,
    "last_edited_time": DATE,
    "people": MEMBERS,
    "created_by": MEMBERS,
    "last_edited_by": MEMBERS,
    "relation": MEMBERS,
    "files": EMPTINESS,
    "verification": VERIFICATION,
}
"""The types that can be filtered on directly; formulas and rollups are filtered by what they come out as."""


def condition(kind: str, raw: Any, path: str, now: float) -> Holds:
    """What a condition of *kind* asks of a value."""
    name, operand = checks.sole(checks.obj(raw, path), path)
    if KINDS[kind] is DATE and name in times.WINDOWS:
        _nothing(operand, f"{path}.{name}")
        return lambda value: value is not None and times.within(name, value, now)
    operator = require(KINDS[kind].get(name), checks.unfit(f"{path}.{name}", "not present", operand))
    read = operator.read(operand, f"{path}.{name}")
    return lambda value: operator.holds(value, read)
