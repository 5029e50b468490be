"""What several commands take: a connector, JSON objects, and options that may be left out."""

from typing import Any

import click

from connector_gateway.cli.json_text import value_of
from connector_gateway.connectors import CONNECTORS

connector = click.Choice(list(CONNECTORS))
connector_argument = click.argument("connector", type=connector, metavar="CONNECTOR")
limit = click.option("--limit", type=click.IntRange(1, 1000), default=50, show_default=True, help="How many to show.")
cursor = click.option("--cursor", help="The next_cursor of the list before this one.")
CHOICES = f"CONNECTOR is one of {', '.join(CONNECTORS)}."


def given(**options: Any) -> dict[str, Any]:
    """Those of *options* that were given."""
    return {name: value for name, value in options.items() if value is not None}


def json_object(text: str, source: str) -> dict[str, Any]:
    """The JSON object in *text*, which came from *source*."""
    try:
        value = value_of(text)
    except ValueError as fault:
        raise click.BadParameter(f"It is not JSON: {fault}.", param_hint=source) from fault
    if not isinstance(value, dict):
        raise click.BadParameter("A JSON object is expected.", param_hint=source)
    return value
