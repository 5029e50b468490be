"""Options and arguments of commands, built from declared fields."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import click
from typing_extensions import override

from connector_gateway.core.calls.arguments import decode
from connector_gateway.kit.errors import InvalidJson
from connector_gateway.kit.models import OffsetMissing, parse_instant
from connector_gateway.management.field_descriptions import Field


def parse_json(text: str) -> Any:
    """Return the value of a JSON text. Raises ``ValueError`` with the reason if it is invalid."""
    try:
        return decode(text.encode())
    except InvalidJson as error:
        raise ValueError(error.message.partition(": ")[2].rstrip(".")) from error


REPEATABLE = "Can be repeated."


class FieldOption(click.Option):
    """An option for a declared field, whose help includes the default of the service and the limits."""

    def __init__(self, field: Field, names: Sequence[str], remark: str = "", **attributes: Any) -> None:
        parts = (to_single_line(field.description), remark or (REPEATABLE if attributes.get("multiple") else ""))
        super().__init__(names, help=" ".join(part for part in parts if part), **attributes)
        self._field = field

    @override
    def get_help_extra(self, ctx: click.Context) -> click.types.OptionHelpExtra:
        """Return the remarks in brackets."""
        extra = super().get_help_extra(ctx)
        default, limit = self._field.default, self._field.max_length
        if self.secondary_opts and default:
            extra["default"] = self.opts[0].lstrip("-")
        elif default is not None and default is not False and default != "":
            extra.setdefault("default", str(default).lower())
        if limit is not None and self._field.kind in {"text", "list"} and self._field.resource is None:
            extra["range"] = f"at most {limit} {'items' if self._field.kind == 'list' else 'characters'}"
        return extra


class Instant(click.ParamType[datetime]):
    """The type of an ISO 8601 date, or date and time."""

    name = "instant"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        """Return the time. A date means midnight in UTC."""
        try:
            return parse_instant(value)
        except OffsetMissing:
            self.fail(f"{value!r} has no UTC offset. Add Z for UTC, or an offset such as +01:00.", param, ctx)
        except (ValueError, OverflowError):
            self.fail(f"{value!r} is not an ISO 8601 date and time, such as 2026-11-02T09:30:00Z.", param, ctx)


class Json(click.ParamType[Any]):
    """The type of a JSON value, such as a list or an object."""

    name = "json"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the value of the JSON text."""
        if not isinstance(value, str):
            return value
        try:
            return parse_json(value)
        except ValueError as error:
            self.fail(f"{value!r} is not JSON: {error}.", param, ctx)


def to_param_type(field: Field) -> click.ParamType[Any]:
    """Return the type of an integer, a choice or a text."""
    if field.kind == "integer":
        bounds = field.minimum, field.maximum
        return click.INT if bounds == (None, None) else click.IntRange(*bounds)
    return click.Choice(list(field.choices)) if field.choices else click.STRING


def to_single_line(text: str) -> str:
    """Return a description on one line, without code markup."""
    return " ".join(text.replace("``", "").split())


def without_code_markup(text: str) -> str:
    """Return a description with its paragraphs, without code markup."""
    return text.replace("``", "")
