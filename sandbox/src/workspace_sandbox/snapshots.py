"""Snapshots of the sandbox's state, in memory or in a folder that outlives the process."""

import fcntl
import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from secrets import token_hex
from typing import Any

from workspace_sandbox.kit.input_validation import InvalidInput
from workspace_sandbox.version import fingerprint

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}\Z")
ABOUT = "sandbox.json"
CURRENT = "now"
"""The name of the current state in a folder, with which the next start continues."""

MIB = 1024 * 1024
MAX_BYTES = 64 * MIB
"""Maximum total size of snapshots in memory, which is enough for about a dozen of all six emulators."""

Saved = Mapping[str, bytes]
"""A serialized state: file contents by name, one for each emulator and one for the clock."""


class UnusableFolder(Exception):
    """A folder cannot be used. The message is one sentence with the reason."""


class StateFolder:
    """A folder with the state of one sandbox at a time. Closing it releases it for another sandbox.

    Its state is discarded if *fresh* is set, or if another version wrote it and *replace* is set. Otherwise, the state
    of another version raises ``UnusableFolder``.
    """

    def __init__(self, path: Path, *, fresh: bool = False, replace: bool = False) -> None:
        self._path = path
        self._fresh, self._replace = fresh, replace
        self.state = token_hex(8)
        """An identifier of the state, which changes when it is discarded or reset, or if a sandbox was killed."""

        path.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._lock = os.open(path / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            self._claim()
        except UnusableFolder:
            self.close()
            raise

    def open(self) -> None:
        """Discard the state that must not be continued, and claim the rest."""
        if self._fresh:
            for name in (CURRENT, "snapshots"):
                shutil.rmtree(self._path / name, ignore_errors=True)
        # No name until the folder is closed, because a sandbox that is killed has not written its complete state.
        self._write_about(None)

    def new_state(self) -> None:
        """Assign a new identifier to the state, which does not continue the previous one."""
        self.state = token_hex(8)

    def release(self) -> None:
        """Release the folder so that another sandbox can continue with its state."""
        self._write_about(self.state)
        self.close()

    def close(self) -> None:
        """Release the folder."""
        os.close(self._lock)

    def _write_about(self, state: str | None) -> None:
        (self._path / ABOUT).write_text(json.dumps({"written_by": fingerprint(), "state": state}))

    def replace(self, name: str, saved: Saved) -> None:
        """Store exactly *saved* under *name*, and delete all other files of that name."""
        folder = self._folder_for(name)
        for file in folder.iterdir() if folder.is_dir() else ():
            if file.name not in saved:
                file.unlink()
        self.write(name, saved)

    def remove(self, name: str) -> None:
        """Delete the files under *name*."""
        shutil.rmtree(self._folder_for(name))

    def write(self, name: str, saved: Saved) -> None:
        """Store the files of *saved* under *name*. Other files remain."""
        folder = self._folder_for(name)
        folder.mkdir(parents=True, exist_ok=True)
        for file, content in saved.items():
            # Written to a new file and moved, so that the old file stays complete if the sandbox is killed.
            new_file = folder / f"{file}.new"
            new_file.write_bytes(content)
            new_file.replace(folder / file)

    def read(self, name: str) -> Saved | None:
        """Return the files under *name*, or None if there are none."""
        folder = self._folder_for(name)
        if not folder.is_dir():
            return None
        # A file with this suffix was incomplete when a sandbox was killed.
        return {file.name: file.read_bytes() for file in folder.iterdir() if file.suffix != ".new"}

    def names(self) -> Iterator[str]:
        """Return the names of all snapshots in the folder."""
        snapshots = self._path / "snapshots"
        return (folder.name for folder in sorted(snapshots.iterdir())) if snapshots.is_dir() else iter(())

    def _folder_for(self, name: str) -> Path:
        return self._path / CURRENT if name == CURRENT else self._path / "snapshots" / name

    def _claim(self) -> None:
        try:
            # The system releases the lock when the process ends, even if it is killed.
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UnusableFolder(f"Another sandbox uses the folder {self._path}.") from None
        about = self._path / ABOUT
        if about.exists():
            self._check_version(about)
        # A mistyped path must not mix state into other files of the user.
        elif any(file.name != "lock" for file in self._path.iterdir()):
            raise UnusableFolder(
                f"The folder {self._path} contains other files and no state of a sandbox; name an empty folder."
            )

    def _check_version(self, about: Path) -> None:
        try:
            data = json.loads(about.read_text())
            written_by, state = str(data["written_by"]), data.get("state")
        except (ValueError, KeyError, TypeError, AttributeError):
            raise UnusableFolder(f"The folder {self._path} contains a {about.name} that cannot be read.") from None
        # The state consists of pickled objects of this code, which another version may not read correctly.
        is_foreign = written_by != fingerprint()
        if is_foreign and not (self._fresh or self._replace):
            raise UnusableFolder(
                f"The folder {self._path} was written by workspace-sandbox {written_by}, and this is {fingerprint()}: "
                "name another folder, or discard the state with --fresh."
            )
        self._fresh = self._fresh or is_foreign
        if state and not self._fresh:
            self.state = state


class Snapshots:
    """Snapshots by name, in a folder if there is one, otherwise in memory with a size limit."""

    def __init__(self, folder: StateFolder | None) -> None:
        self._folder = folder
        self._saved: dict[str, Saved] = {}

    def names(self) -> list[str]:
        """Return the names of all snapshots."""
        return sorted(self._folder.names() if self._folder else self._saved)

    def save(self, name: str, saved: Saved) -> None:
        """Store *saved* under *name*, replacing any previous snapshot."""
        if self._folder:
            self._folder.replace(name, saved)
            return
        others = sum(_size(one) for other, one in self._saved.items() if other != name)
        if others + _size(saved) > MAX_BYTES:
            raise InvalidInput(
                f"Snapshots in memory take {MAX_BYTES // MIB} MiB at most; existing: {', '.join(self.names())}. "
                "Delete one, or name a folder with --data."
            )
        self._saved[name] = saved

    def load(self, name: str) -> Saved:
        """Return the snapshot *name*."""
        saved = self._folder.read(name) if self._folder else self._saved.get(name)
        if saved is None:
            raise self._unknown(name)
        return saved

    def forget(self, name: str) -> None:
        """Delete the snapshot *name*."""
        if name not in self.names():
            raise self._unknown(name)
        if self._folder:
            self._folder.remove(name)
        else:
            del self._saved[name]

    def _unknown(self, name: str) -> InvalidInput:
        return InvalidInput(f"Unknown snapshot {name!r}; existing: {', '.join(self.names()) or 'none'}.")


def _size(saved: Saved) -> int:
    return sum(len(content) for content in saved.values())


def parse_snapshot_name(value: Any) -> str:
    """Return *value* if it is a valid snapshot name."""
    if not isinstance(value, str) or not NAME.match(value):
        raise ValueError("must be 1 to 64 letters, digits, dots, hyphens and underscores")
    return value
