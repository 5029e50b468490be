"""The folder of ``dev``: who may use it, and what a fresh start removes.

Only what ``dev`` has made is ever removed. A folder is known as its own by the secrets that it keeps there.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from connector_gateway.cli.secrets_file import secrets_of
from connector_gateway.storage.files import AlreadyServed, FileLock, Unusable, make_private_folder

MADE = (
    "dev.json",
    "kept.json",
    "gateway.db",
    "gateway.db-wal",
    "gateway.db-shm",
    "gateway.db.epoch",
    "secrets.json",
)
"""The files that hold state, the proof of ownership last; locks stay, since whoever opens one next relies on it."""


@contextmanager
def claimed(data: Path, seconds: float) -> Iterator[None]:
    """Hold the folder, which is made if need be; a process that is just ending has *seconds* to release it."""
    _refuse_read_only(data)
    _refuse_strangers(data)
    _make_folder(data)
    deadline = time.monotonic() + seconds
    with _held(FileLock(data / "dev", what=f"The folder {data}", checked=False), deadline):
        with _held(_serving(data), deadline):
            pass
        yield


def empty(data: Path) -> None:
    """Remove what earlier runs have kept, and nothing else; no gateway may be running on it."""
    # The lock of a gateway that serves: whoever holds it has the database open.
    with _held(_serving(data), 0.0):
        for name in MADE:
            try:
                (data / name).unlink(missing_ok=True)
            except OSError as fault:
                raise click.ClickException(f"{data / name} cannot be removed: {fault.strerror}.") from fault


def _make_folder(data: Path) -> None:
    try:
        make_private_folder(data, "gateway.db")
    except FileExistsError as fault:
        raise click.ClickException(f"{data} is a file; name a folder with --data.") from fault
    except OSError as fault:
        raise click.ClickException(
            f"The folder {data} cannot be made: {fault.strerror}. Name another with --data."
        ) from fault


def _serving(data: Path) -> FileLock:
    return FileLock((data / "gateway.db").resolve(), checked=False)


def _refuse_read_only(data: Path) -> None:
    if data.is_dir() and not os.access(data, os.R_OK | os.W_OK | os.X_OK):
        raise click.ClickException(f"The folder {data} cannot be written to by this user. Name another with --data.")


def _refuse_strangers(data: Path) -> None:
    """Refuse a folder whose files have the names of ours and were not made by ``dev``."""
    present = [name for name in MADE if (data / name).exists()]
    if present and secrets_of(data) is None:
        raise click.ClickException(
            f"In {data} there is {', '.join(present)}, which dev has not made. Name another folder with --data."
        )


@contextmanager
def _held(lock: FileLock, deadline: float) -> Iterator[None]:
    """Hold *lock*, after waiting for it until *deadline* at most."""
    while True:
        try:
            lock.take()
            break
        except Unusable as fault:
            raise click.ClickException(str(fault)) from fault
        except AlreadyServed as taken:
            if time.monotonic() > deadline:
                raise click.ClickException(str(taken)) from taken
            time.sleep(0.05)
    try:
        yield
    finally:
        lock.release()
