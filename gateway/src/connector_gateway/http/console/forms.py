"""Forms built from declared parameters, and the values entered in them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from pydantic_core import from_json, to_json

from connector_gateway.core.calls.response_envelope import error_payload
from connector_gateway.kit.errors import GatewayError
from connector_gateway.kit.operation import AnyConnector
from connector_gateway.management.field_descriptions import Field, describe_fields

MAX_CHOICES = 200
"""The maximum number of objects that a form offers by name. If there are more, users enter identifiers."""

ALWAYS_VISIBLE = {"name", "url"}
"""Optional fields that are listed with the required ones."""

Choices = Sequence[tuple[str, str]]
"""Values and their labels."""


@dataclass(frozen=True, slots=True)
class Control:
    """One field of a form."""

    field: Field
    value: str
    choices: Choices | None
    """The choices, or None if any value can be entered."""

    error: str
    is_fixed: bool
    """Whether the page determines the value."""

    is_main: bool
    """Whether the field is always visible. Other options are folded until the user opens them."""

    @property
    def name(self) -> str:
        """The name of the field in the submitted form."""
        return self.field.name

    @property
    def hint(self) -> str:
        """The first paragraph of the description, and the expected format."""
        words = self.field.description.partition("\n\n")[0]
        if self.field.kind == "instant":
            words = f"{words.replace('ISO 8601 date and time', 'Time')} In UTC."
        return f"{words} One per line.".lstrip() if self.field.kind == "list" and self.choices is None else words

    @property
    def chosen(self) -> Sequence[str]:
        """The lines of the value, which are the items of a list."""
        return self.value.splitlines()


@dataclass(frozen=True, slots=True)
class Form:
    """A form with the values known so far."""

    action: str
    """The path to which the form is sent. Empty for the path of the page."""

    button: str
    controls: Sequence[Control]
    note: str = ""
    """The statement that the user confirms by sending the form."""

    rest: Sequence[Mapping[str, Any]] = ()
    """Error details that concern none of the fields."""

    @property
    def fixed(self) -> Sequence[Control]:
        """The hidden fields."""
        return [control for control in self.controls if control.is_fixed]

    @property
    def main(self) -> Sequence[Control]:
        """The fields that are always visible."""
        return [control for control in self.controls if control.is_main and not control.is_fixed]

    @property
    def more(self) -> Sequence[Control]:
        """The folded fields."""
        return [control for control in self.controls if not control.is_main and not control.is_fixed]

    @property
    def is_open(self) -> bool:
        """Whether a folded field has a value or an error."""
        return any(one.error or one.value not in {"", to_field_text(one.field.default)} for one in self.more)


def leaf_fields(fields: Sequence[Field], connector: AnyConnector | None) -> Iterator[Field]:
    """Yield *fields*, with credentials and settings replaced by the fields of *connector*."""
    for field in fields:
        if connector is None or field.name not in {"credentials", "settings"}:
            yield field
        elif field.name == "credentials":
            yield from (
                _part(field, name, kind="text", is_required=field.is_required) for name in connector.credentials
            )
        else:
            yield from (replace(one, name=f"{field.name}.{one.name}") for one in describe_fields(connector.settings))


def _part(field: Field, name: str, **more: Any) -> Field:
    return replace(field, name=f"{field.name}.{name}", description="", default=None, **more)


def to_field_text(value: Any) -> str:
    """Return *value* as the text of a field."""
    if value is None or value is False:
        return ""
    if isinstance(value, datetime):
        return value.replace(tzinfo=None).isoformat(timespec="minutes")
    if isinstance(value, Mapping):
        return to_json(value, indent=1).decode() if value else ""
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "\n".join(map(str, value))
    return "true" if value is True else str(value)


def parse_form(fields: Sequence[Field], form: Mapping[str, str], *, include_empty: bool) -> dict[str, Any]:
    """Return the values of a submitted form of *fields*, as the management routes accept them.

    Empty fields are omitted, unless they replace a current value (*include_empty*).
    """
    values: dict[str, Any] = {}
    for field in fields:
        text = form.get(field.name, "")
        if (
            text
            or field.kind in {"boolean", "list"}
            or (include_empty and field.kind == "text" and not field.is_secret)
        ):
            _set_path(values, field.name.split("."), _value(field, text))
        elif field.is_required and "." in field.name:
            # Send empty credentials, which are rejected. Without any, the route would create a connect link.
            values.setdefault(field.name.partition(".")[0], {})
    return {name: value for name, value in values.items() if include_empty or value not in ([], "")}


def _set_path(values: dict[str, Any], path: Sequence[str], value: Any) -> None:
    *parents, last = path
    for name in parents:
        values = values.setdefault(name, {})
    values[last] = value


def _value(field: Field, text: str) -> Any:
    """Return the value of one field. Text that is not of its kind stays text, and the declaration rejects it."""
    if field.kind == "boolean":
        return bool(text)
    if field.kind == "list":
        return [line.strip() for line in text.splitlines() if line.strip()]
    if field.kind == "integer":
        return int(text) if text.isascii() and text.removeprefix("-").isdigit() and len(text) < 20 else text
    if field.kind == "instant":
        return f"{text}Z" if text[-1:].isdigit() else text
    return _object(text) if field.kind == "object" else text


def _object(text: str) -> Any:
    try:
        return from_json(text)
    except ValueError:
        return text


def build_controls(
    fields: Sequence[Field],
    values: Mapping[str, str],
    choices: Mapping[str, Choices],
    *,
    fixed: Mapping[str, str],
    suggested: Mapping[str, Any],
    folded: bool,
    problem: GatewayError | None,
) -> Sequence[Control]:
    """Return the controls of *fields*, with *values* entered and the errors of *problem*."""
    errors = _errors(problem, [field.name for field in fields])
    return [
        Control(
            field,
            fixed.get(field.name, _initial_value(field, values, choices.get(field.name, ()), suggested)),
            choices.get(field.name),
            errors.get(field.name, ""),
            field.name in fixed,
            not folded or field.is_required or field.name in suggested or _is_always_visible(field),
        )
        for field in fields
    ]


def _initial_value(field: Field, values: Mapping[str, str], choices: Choices, suggested: Mapping[str, Any]) -> str:
    """Return the initial value of a field: the entered one unless it is secret, or the only choice if required."""
    if field.is_secret:
        return ""
    if field.name in values:
        return values[field.name]
    if field.is_required and len(choices) == 1:
        return choices[0][0]
    return to_field_text(suggested.get(field.name, field.default))


def _is_always_visible(field: Field) -> bool:
    return field.name.rpartition(".")[2] in ALWAYS_VISIBLE or (field.kind == "choice" and field.default is not None)


def _errors(problem: GatewayError | None, names: Sequence[str]) -> Mapping[str, str]:
    payload = {} if problem is None else error_payload(problem)
    details = [(_find_field(str(one.get("parameter", "")), names), one) for one in payload.get("details", ())]
    return {name: str(one.get("message", payload["message"])) for name, one in reversed(details) if name}


def _find_field(parameter: str, names: Sequence[str]) -> str:
    """Return the name of the field that contains a parameter, or is a part of it."""
    matches = (name for name in names if f"{parameter}.".startswith(f"{name}.") or name.startswith(f"{parameter}."))
    return next(matches, "") if parameter else ""


def unassigned_details(problem: GatewayError, names: Sequence[str]) -> Sequence[Mapping[str, Any]]:
    """Return the details of *problem* that concern none of the fields *names*."""
    details: Sequence[Mapping[str, Any]] = error_payload(problem)["details"]
    return [one for one in details if "message" in one and not _find_field(str(one.get("parameter", "")), names)]
