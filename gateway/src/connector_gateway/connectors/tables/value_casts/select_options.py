"""The options of a field."""

from collections.abc import Iterator
from typing import Any

from connector_gateway.connectors.tables.vendor_models import Field
from connector_gateway.kit.casts import create_lossy_cast, create_missing_options_error
from connector_gateway.kit.errors import GatewayError, SelectOptionMissing


def missing_options(field: Field, written: Any) -> list[str]:
    """Return the options in *written*, in the vendor's form, that the select *field* lacks."""
    if written is None or field.type not in {"singleSelect", "multipleSelects"}:
        return []
    names = [written] if isinstance(written, str) else written
    existing = options(field)
    return [name for name in names if name not in existing]


def options(field: Field) -> list[str]:
    """Return the names of a select's options."""
    return [choice.name for choice in field.options().choices]


def option_errors(field: Field, written: Any, *, new_options: bool) -> Iterator[GatewayError]:
    """Yield the errors of *written* for a select: options it lacks, or cannot gain if *new_options* are allowed."""
    for missing in missing_options(field, written):
        if not new_options:
            yield create_missing_options_error(SelectOptionMissing, "field", field.name, [missing], options(field))
        elif missing != missing.strip() or not missing:
            yield create_lossy_cast(
                "field", field.name, field.type, missing, "an option's name has no surrounding blanks"
            )
