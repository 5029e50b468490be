"""The file that settings are kept in: ``.env`` in the working folder, or the one that ``GATEWAY_ENV_FILE`` names."""

import os
import re
import secrets
from collections.abc import Mapping
from pathlib import Path

import click

from connector_gateway.environment import PREFIX
from connector_gateway.storage.sql.sqlite_files import write_private

NAMED_BY = f"{PREFIX}ENV_FILE"
USUAL = Path(".env")
SETTING = re.compile(rf"^(?:export\s+)?({PREFIX}\w+)\s*=\s*(.*)$")


def env_file() -> Path:
    """Where the file is, or would be."""
    return Path(os.environ.get(NAMED_BY) or USUAL)


def read_settings() -> dict[str, str]:
    """The settings in the file; lines about anything else are ignored."""
    path = env_file()
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as missing:
        if not os.environ.get(NAMED_BY):
            return {}
        raise click.ClickException(f"{NAMED_BY} names {path}, which is not there.") from missing
    except OSError as fault:
        raise click.ClickException(f"The settings in {path} cannot be read: {fault.strerror}.") from fault
    except UnicodeDecodeError as fault:
        raise click.ClickException(f"The settings in {path} cannot be read: it is not UTF-8 text.") from fault
    found = (SETTING.match(line.strip()) for line in text.splitlines())
    return {match[1]: _unquoted(match[2].strip()) for match in found if match}


def new_settings(database_url: str) -> dict[str, str]:
    """The settings of a new installation: secrets of its own, and where its database is."""
    return {
        f"{PREFIX}SECRET_KEYS": secrets.token_urlsafe(32),
        f"{PREFIX}OPERATOR_TOKEN": f"op_{secrets.token_urlsafe(32)}",
        f"{PREFIX}DATABASE_URL": database_url,
    }


def append_settings(settings: Mapping[str, str]) -> Path:
    """Add *settings* to the file; returns where that is."""
    path = env_file().resolve()
    # To replace a device such as /dev/null by a file would break the machine for everybody on it.
    if path.exists() and not path.is_file():
        raise click.ClickException(f"{path} is no file that settings can be kept in.")
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    lines = "".join(f"{name}='{value}'\n" for name, value in settings.items())
    write_private(path, (before and before.rstrip("\n") + "\n") + lines)
    return path


def _unquoted(value: str) -> str:
    quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "'\""
    return value[1:-1] if quoted else value
