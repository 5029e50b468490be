"""The settings file: ``.env`` in the working directory, or the path in ``GATEWAY_ENV_FILE``."""

import os
import re
import secrets
from collections.abc import Mapping
from pathlib import Path

import click

from connector_gateway.settings_reader import PREFIX
from connector_gateway.storage.sql.sqlite_files import write_private

PATH_SETTING = f"{PREFIX}ENV_FILE"
DEFAULT_PATH = Path(".env")
SETTING = re.compile(rf"^(?:export\s+)?({PREFIX}\w+)\s*=\s*(.*)$")


def env_file() -> Path:
    """Return the path of the settings file, which may not exist."""
    return Path(os.environ.get(PATH_SETTING) or DEFAULT_PATH)


def read_settings() -> dict[str, str]:
    """Return the settings in the file. Other lines are ignored."""
    path = env_file()
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        if not os.environ.get(PATH_SETTING):
            return {}
        raise click.ClickException(f"{PATH_SETTING} is {path}, which does not exist.") from error
    except OSError as error:
        raise click.ClickException(f"The settings in {path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise click.ClickException(f"The settings in {path} cannot be read: it is not valid UTF-8.") from error
    matches = (SETTING.match(line.strip()) for line in text.splitlines())
    return {match[1]: _unquote(match[2].strip()) for match in matches if match}


def new_settings(database_url: str) -> dict[str, str]:
    """Return the settings of a new installation: new secrets and the URL of its database."""
    return {
        f"{PREFIX}SECRET_KEYS": secrets.token_urlsafe(32),
        f"{PREFIX}OPERATOR_TOKEN": f"op_{secrets.token_urlsafe(32)}",
        f"{PREFIX}DATABASE_URL": database_url,
    }


def append_settings(settings: Mapping[str, str]) -> Path:
    """Append *settings* to the file and return its path."""
    path = env_file().resolve()
    # Replacing a device such as /dev/null with a file would break the machine.
    if path.exists() and not path.is_file():
        raise click.ClickException(f"{path} is not a regular file, so it cannot store settings.")
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    lines = "".join(f"{name}='{value}'\n" for name, value in settings.items())
    write_private(path, (before and before.rstrip("\n") + "\n") + lines)
    return path


def _unquote(value: str) -> str:
    quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "'\""
    return value[1:-1] if quoted else value
