"""What a sandbox holds, saved by name and loaded again; with a folder, also after it was stopped."""

import fcntl
import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from secrets import token_hex
from typing import Any

from workspace_sandbox.kit.asking import InvalidInput
from workspace_sandbox.version import fingerprint

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}\Z")
ABOUT = "sandbox.json"
NOW = "now"
"""Where in a folder the state is that goes on with the next start."""

MIB = 1024 * 1024
MOST_BYTES = 64 * MIB
"""What snapshots in memory take together: about a dozen of all six applications."""

Saved = Mapping[str, bytes]
"""What was saved: files by their names, one for each application and one for the clock."""


class Unusable(Exception):
    """A folder cannot be used; the text is one sentence that says why."""


class StateFolder:
    """A folder that one sandbox at a time keeps its state in; closing it lets another have it.

    Its state is forgotten if it is to be *fresh*, or if another version wrote it and *replace* allows that; otherwise
    the state of another version is ``Unusable``.
    """

    def __init__(self, path: Path, *, fresh: bool = False, replace: bool = False) -> None:
        self._path = path
        self._fresh, self._replace = fresh, replace
        self.state = token_hex(8)
        """Names the state: another one after it was forgotten or reset, or after a sandbox was killed."""

        path.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._lock = os.open(path / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            self._claim()
        except Unusable:
            self.close()
            raise

    def open(self) -> None:
        """Forget the state that is not to be gone on with, and take over the rest."""
        if self._fresh:
            for name in (NOW, "snapshots"):
                shutil.rmtree(self._path / name, ignore_errors=True)
        # Without a name until the folder is closed: a sandbox that is killed has not written all that it held.
        self._write_about(None)

    def begin_anew(self) -> None:
        """Give another name to the state, which is no continuation of what was there."""
        self.state = token_hex(8)

    def leave(self) -> None:
        """Let another sandbox go on with all that is kept."""
        self._write_about(self.state)
        self.close()

    def close(self) -> None:
        """Let another sandbox have it."""
        os.close(self._lock)

    def _write_about(self, state: str | None) -> None:
        (self._path / ABOUT).write_text(json.dumps({"written_by": fingerprint(), "state": state}))

    def replace(self, name: str, saved: Saved) -> None:
        """Keep *saved* alone under *name*: of what was there, nothing is left."""
        place = self._place(name)
        for file in place.iterdir() if place.is_dir() else ():
            if file.name not in saved:
                file.unlink()
        self.write(name, saved)

    def remove(self, name: str) -> None:
        """Keep nothing under *name*."""
        shutil.rmtree(self._place(name))

    def write(self, name: str, saved: Saved) -> None:
        """Keep *saved* under *name*, each file in place of what it was; other files stay."""
        place = self._place(name)
        place.mkdir(parents=True, exist_ok=True)
        for file, content in saved.items():
            # Written beside and moved: a sandbox that is killed meanwhile leaves the old file whole.
            beside = place / f"{file}.new"
            beside.write_bytes(content)
            beside.replace(place / file)

    def read(self, name: str) -> Saved | None:
        """What is kept under *name*."""
        place = self._place(name)
        if not place.is_dir():
            return None
        # What ends so was being written when a sandbox was killed.
        return {file.name: file.read_bytes() for file in place.iterdir() if file.suffix != ".new"}

    def names(self) -> Iterator[str]:
        """What was saved here by name."""
        snapshots = self._path / "snapshots"
        return (place.name for place in sorted(snapshots.iterdir())) if snapshots.is_dir() else iter(())

    def _place(self, name: str) -> Path:
        return self._path / NOW if name == NOW else self._path / "snapshots" / name

    def _claim(self) -> None:
        try:
            # The system lets go of it when the process ends, however that ends.
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise Unusable(f"Another sandbox uses the folder {self._path}.") from None
        about = self._path / ABOUT
        if about.exists():
            self._recognise(about)
        # A mistyped path must not mix state into somebody's documents.
        elif any(file.name != "lock" for file in self._path.iterdir()):
            raise Unusable(f"The folder {self._path} holds other files and no state of a sandbox; name an empty one.")

    def _recognise(self, about: Path) -> None:
        try:
            told = json.loads(about.read_text())
            written_by, state = str(told["written_by"]), told.get("state")
        except (ValueError, KeyError, TypeError, AttributeError):
            raise Unusable(f"The folder {self._path} has a {about.name} that cannot be read.") from None
        # What is held is written as objects of this code, which another version reads wrongly or not at all.
        is_foreign = written_by != fingerprint()
        if is_foreign and not (self._fresh or self._replace):
            raise Unusable(
                f"The folder {self._path} was written by workspace-sandbox {written_by}, and this is {fingerprint()}: "
                "name another folder, or forget the state with --fresh."
            )
        self._fresh = self._fresh or is_foreign
        if state and not self._fresh:
            self.state = state


class Snapshots:
    """What was saved by name: in a folder where there is one, and otherwise in memory, which is bounded."""

    def __init__(self, folder: StateFolder | None) -> None:
        self._folder = folder
        self._saved: dict[str, Saved] = {}

    def names(self) -> list[str]:
        """What there is to load."""
        return sorted(self._folder.names() if self._folder else self._saved)

    def save(self, name: str, saved: Saved) -> None:
        """Keep *saved*, in place of what had the name."""
        if self._folder:
            self._folder.replace(name, saved)
            return
        others = sum(_size(one) for other, one in self._saved.items() if other != name)
        if others + _size(saved) > MOST_BYTES:
            raise InvalidInput(
                f"Snapshots in memory take {MOST_BYTES // MIB} MiB at most, and there are {', '.join(self.names())}: "
                "forget one, or give the sandbox a folder with --data."
            )
        self._saved[name] = saved

    def load(self, name: str) -> Saved:
        """What was saved under *name*."""
        found = self._folder.read(name) if self._folder else self._saved.get(name)
        if found is None:
            raise self._unknown(name)
        return found

    def forget(self, name: str) -> None:
        """Keep it no longer."""
        if name not in self.names():
            raise self._unknown(name)
        if self._folder:
            self._folder.remove(name)
        else:
            del self._saved[name]

    def _unknown(self, name: str) -> InvalidInput:
        return InvalidInput(f"There is no snapshot {name!r}; there are {', '.join(self.names()) or 'none'}.")


def _size(saved: Saved) -> int:
    return sum(len(content) for content in saved.values())


def name_of(value: Any) -> str:
    """A name that a snapshot can have."""
    if not isinstance(value, str) or not NAME.match(value):
        raise ValueError("must be 1 to 64 letters, digits, dots, hyphens and underscores")
    return value
