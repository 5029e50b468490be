"""The secrets that ``dev`` keeps in its folder."""

from collections.abc import Mapping
from pathlib import Path

import click
from pydantic_core import from_json

NAMES = ("secret_key", "operator_token")


def secrets_of(data: Path) -> Mapping[str, str] | None:
    """The secrets kept in *data*; None if ``dev`` has never run there, ``ClickException`` if they are not its own."""
    path = data / "secrets.json"
    try:
        kept = from_json(path.read_bytes())
        return {name: str(kept[name]) for name in NAMES}
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as fault:
        raise click.ClickException(f"{path} cannot be read: {fault.strerror}.") from fault
    except (ValueError, TypeError, KeyError) as fault:
        raise click.ClickException(
            f"{path} does not hold the secrets of an installation. Name another folder with --data."
        ) from fault


def is_installed(data: Path) -> bool:
    """Whether ``dev`` keeps an installation in *data*."""
    try:
        return secrets_of(data) is not None
    except click.ClickException:
        return False
