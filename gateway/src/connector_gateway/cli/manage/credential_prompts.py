"""Credentials of connections, from prompts without echo or from standard input as JSON."""

import sys
from collections.abc import Mapping, Sequence

import click

from connector_gateway.cli.field_options import parse_json

MAX_CREDENTIALS = 1_000_000
"""The maximum number of characters, so that an endless input does not exhaust memory."""

SOURCE = "standard input"


def read_credentials(names: Sequence[str]) -> Mapping[str, str]:
    """Read the credentials *names*."""
    if sys.stdin.isatty():
        return {name: click.prompt(f"{name} (hidden)", hide_input=True, err=True) for name in names}
    text = sys.stdin.read(MAX_CREDENTIALS + 1)
    if len(text) > MAX_CREDENTIALS:
        raise click.BadParameter(f"It has more than {MAX_CREDENTIALS:,} characters.", param_hint=SOURCE)
    return _parse(text, names)


def _parse(text: str, names: Sequence[str]) -> Mapping[str, str]:
    example = ", ".join(f'"{name}": "…"' for name in names)
    expected = f"Expected a JSON object of strings: {{{example}}}."
    try:
        value = parse_json(text)
    except ValueError as error:
        raise click.BadParameter(f"It is not JSON: {error}. {expected}", param_hint=SOURCE) from error
    if not (isinstance(value, dict) and all(isinstance(one, str) for one in value.values())):
        raise click.BadParameter(expected, param_hint=SOURCE)
    return value
