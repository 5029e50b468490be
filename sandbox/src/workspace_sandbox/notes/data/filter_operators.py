"""The filter operators by kind of value: how the operand is parsed, and when the condition holds."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from workspace_sandbox.kit.error_responses import require
from workspace_sandbox.notes import validation
from workspace_sandbox.notes.data import dates

Predicate = Callable[[Any], bool]


@dataclass(frozen=True, slots=True)
class Operator:
    """A filter operator: the parser of its operand, and its comparison with a value."""

    read: Callable[[Any, str], Any]
    matches: Callable[[Any, Any], bool]


def _empty(value: Any) -> bool:
    return value in (None, "", [])


EMPTINESS = {
    "is_empty": Operator(validation.true, lambda value, _: _empty(value)),
    "is_not_empty": Operator(validation.true, lambda value, _: not _empty(value)),
}


def _text_operator(matches: Callable[[str, str], bool]) -> Operator:
    """Return an operator that compares text regardless of case."""
    return Operator(validation.string, lambda value, operand: matches((value or "").casefold(), operand.casefold()))


TEXT = EMPTINESS | {
    "equals": _text_operator(lambda value, operand: value == operand),
    "does_not_equal": _text_operator(lambda value, operand: value != operand),
    "contains": _text_operator(lambda value, operand: operand in value),
    "does_not_contain": _text_operator(lambda value, operand: operand not in value),
    "starts_with": _text_operator(lambda value, operand: value.startswith(operand)),
    "ends_with": _text_operator(lambda value, operand: value.endswith(operand)),
}


def _number_operator(matches: Callable[[Any, Any], bool]) -> Operator:
    return Operator(validation.number, lambda value, operand: value is not None and matches(value, operand))


COUNT = {
    "equals": _number_operator(lambda value, operand: value == operand),
    "does_not_equal": Operator(validation.number, lambda value, operand: value != operand),
    "greater_than": _number_operator(lambda value, operand: value > operand),
    "less_than": _number_operator(lambda value, operand: value < operand),
    "greater_than_or_equal_to": _number_operator(lambda value, operand: value >= operand),
    "less_than_or_equal_to": _number_operator(lambda value, operand: value <= operand),
}
NUMBER = EMPTINESS | COUNT

CHECKBOX = {
    "equals": Operator(validation.boolean, lambda value, operand: value is operand),
    "does_not_equal": Operator(validation.boolean, lambda value, operand: value is not operand),
}


def _names(raw: Any, path: str) -> list[str]:
    """Parse an option, or an array of options of which any may match."""
    if isinstance(raw, list):
        return [
            validation.string(item, f"{path}[{position}]") for position, item in enumerate(validation.array(raw, path))
        ]
    return [validation.string(raw, path)]


CHOICE = EMPTINESS | {
    "equals": Operator(_names, lambda value, operand: value in operand),
    "does_not_equal": Operator(_names, lambda value, operand: value not in operand),
}


def _list_operators(read: Callable[[Any, str], Any]) -> Mapping[str, Operator]:
    return EMPTINESS | {
        "contains": Operator(read, lambda value, operand: operand in value),
        "does_not_contain": Operator(read, lambda value, operand: operand not in value),
    }


CHOICES = _list_operators(validation.string)
MEMBERS = _list_operators(validation.uid)


def _date_operator(matches: Callable[[int], bool]) -> Operator:
    return Operator(
        dates.check_iso, lambda value, operand: value is not None and matches(dates.compare(value, operand))
    )


def _check_no_keys(raw: Any, path: str) -> None:
    for key in validation.obj(raw, path):
        raise validation.invalid_field(f"{path}.{key}", "not present", raw[key])


DATE = EMPTINESS | {
    "equals": _date_operator(lambda order: order == 0),
    "before": _date_operator(lambda order: order < 0),
    "after": _date_operator(lambda order: order > 0),
    "on_or_before": _date_operator(lambda order: order <= 0),
    "on_or_after": _date_operator(lambda order: order >= 0),
}

VERIFICATION = {
    "status": Operator(
        lambda raw, path: validation.one_of(raw, path, ("verified", "expired", "none")),
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
"""The types with direct filters. Formulas and rollups are filtered by the type of their result."""


def condition(kind: str, raw: Any, path: str, now: float) -> Predicate:
    """Return the predicate of a condition on a value of *kind*."""
    name, operand = validation.sole(validation.obj(raw, path), path)
    if KINDS[kind] is DATE and name in dates.WINDOWS:
        _check_no_keys(operand, f"{path}.{name}")
        return lambda value: value is not None and dates.is_in_window(name, value, now)
    operator = require(KINDS[kind].get(name), validation.invalid_field(f"{path}.{name}", "not present", operand))
    parsed = operator.read(operand, f"{path}.{name}")
    return lambda value: operator.matches(value, parsed)
