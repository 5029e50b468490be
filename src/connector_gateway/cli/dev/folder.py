"""The folder of ``dev``: what it keeps there, who may use it, and what a fresh start removes.

Tools read ``dev.json``, which describes the installation that is running. All that outlives a run is in
``secrets.json``, by which a folder is known as one of ``dev``: only files that ``dev`` has made are ever removed.
"""

import os
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import click
from pydantic_core import from_json, to_json

from connector_gateway.storage.sql.sqlite_files import (
    DatabaseInUse,
    FileLock,
    UnusableDatabase,
    make_private_folder,
    write_private,
)

USUAL_FOLDER = Path(".data")
DESCRIPTION, STATE, FORMER_STATE = "dev.json", "secrets.json", "kept.json"
SANDBOX = "sandbox"
SECRETS = ("secret_key", "operator_token")
MADE = (
    DESCRIPTION,
    FORMER_STATE,
    "gateway.db",
    "gateway.db-wal",
    "gateway.db-shm",
    "gateway.db.epoch",
    STATE,
)
"""The files that hold state, the proof of ownership last; locks stay, since the next process relies on them."""

State = Mapping[str, Any]
"""What outlives a run: secrets, and which workspace, keys and connections were set up."""


def describe(data: Path) -> Mapping[str, Any]:
    """Return the description of the installation that runs in *data*, or ran there last; empty if none did."""
    return _read(data / DESCRIPTION)


def _read(path: Path) -> dict[str, Any]:
    try:
        content = from_json(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def state_of(data: Path) -> State | None:
    """Return the state kept in *data*, or None if ``dev`` has never run there.

    Raises ``ClickException`` if the file is not one of ``dev``.
    """
    path = data / STATE
    try:
        state = from_json(path.read_bytes())
        secrets = {name: str(state[name]) for name in SECRETS}
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise click.ClickException(f"{path} cannot be read: {error.strerror}.") from error
    except (ValueError, TypeError, KeyError) as error:
        raise click.ClickException(
            f"{path} does not hold the secrets of an installation. Name another folder with --data."
        ) from error
    # Earlier versions kept the rest of it in a file of its own.
    return {**_read(data / FORMER_STATE), **state, **secrets}


def keep(data: Path, state: State) -> None:
    """Keep *state* in *data*."""
    write(data / STATE, state)
    (data / FORMER_STATE).unlink(missing_ok=True)


def write(path: Path, content: Any) -> None:
    """Write JSON that only this user may read."""
    write_private(path, to_json(content, indent=2).decode())


def is_installed(data: Path) -> bool:
    """Return True if ``dev`` keeps an installation in *data*."""
    try:
        return state_of(data) is not None
    except click.ClickException:
        return False


def is_running(data: Path) -> bool:
    """Return True if ``dev`` is running on *data* now."""
    lock = FileLock(data / "dev", checked=False)
    try:
        lock.take()
    except DatabaseInUse:
        return True
    except UnusableDatabase:
        return False
    lock.release()
    return False


def how_to_start(data: Path) -> str:
    """Return the command that starts ``dev`` on *data*."""
    return "make run" if data == USUAL_FOLDER else f'make run ARGS="--data {data}"'


def _answering(data: Path) -> str | None:
    """Return the URL at which the installation that *data* describes takes connections, or None if it does not."""
    base_url: str | None = describe(data).get("base_url")
    address = urlsplit(base_url or "")
    with socket.socket() as probe:
        if not address.hostname or probe.connect_ex((address.hostname, address.port or 80)):
            return None
    return base_url


@contextmanager
def lock_folder(data: Path, seconds: float) -> Iterator[None]:
    """Hold the folder, which is made if need be; a process that is just ending has *seconds* to release it."""
    _check_writable(data)
    _check_owner(data)
    _make_folder(data)
    deadline = time.monotonic() + seconds
    with _held(FileLock(data / "dev", what=f"The folder {data}", checked=False), deadline, data):
        with _held(_serving(data), deadline):
            pass
        yield


def clear(data: Path) -> None:
    """Remove what earlier runs have kept, and nothing else; no gateway may be running on it."""
    # The lock of a gateway that serves: its holder has the database open.
    with _held(_serving(data), 0.0):
        for name in MADE:
            try:
                (data / name).unlink(missing_ok=True)
            except OSError as error:
                raise click.ClickException(f"{data / name} cannot be removed: {error.strerror}.") from error


def _make_folder(data: Path) -> None:
    try:
        make_private_folder(data, "gateway.db")
    except FileExistsError as error:
        raise click.ClickException(f"{data} is a file; name a folder with --data.") from error
    except OSError as error:
        raise click.ClickException(
            f"The folder {data} cannot be made: {error.strerror}. Name another with --data."
        ) from error


def _serving(data: Path) -> FileLock:
    return FileLock((data / "gateway.db").resolve(), checked=False)


def _check_writable(data: Path) -> None:
    if data.is_dir() and not os.access(data, os.R_OK | os.W_OK | os.X_OK):
        raise click.ClickException(f"The folder {data} cannot be written to by this user. Name another with --data.")


def _check_owner(data: Path) -> None:
    """Reject a folder whose files have the names of ours and were not made by ``dev``."""
    present = [name for name in MADE if (data / name).exists()]
    if present and state_of(data) is None:
        raise click.ClickException(
            f"In {data} there is {', '.join(present)}, which dev has not made. Name another folder with --data."
        )


@contextmanager
def _held(lock: FileLock, deadline: float, data: Path | None = None) -> Iterator[None]:
    """Hold *lock*, after waiting for it until *deadline* at most, or as long as ``dev`` does not serve on *data*."""
    while True:
        try:
            lock.take()
            break
        except UnusableDatabase as error:
            raise click.ClickException(str(error)) from error
        except DatabaseInUse as taken:
            if data is not None and (base_url := _answering(data)):
                raise click.ClickException(
                    f"dev is running in {data} already, at {base_url}. Use that one, stop it, or name another folder "
                    "with --data and other ports with --port and --sandbox-port."
                ) from taken
            if time.monotonic() > deadline:
                raise click.ClickException(str(taken)) from taken
            time.sleep(0.05)
    try:
        yield
    finally:
        lock.release()
