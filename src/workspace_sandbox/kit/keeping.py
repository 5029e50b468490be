"""What an emulator holds, as bytes and back: for snapshots, and for a folder that outlives the process.

Everything is written but what belongs to the process: the stage with its clock, what delivers, and the emulator itself
are named in the bytes, and are those of the reader when they are read. So are the constants of its modules, which the
code tells apart by what they are and not by what they are like.

Frozen classes with thousands of objects have no slots: with both, Python code reads each of them back.
"""

import copy
import gc
import io
import pickle
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache, partial
from types import FunctionType, MethodType
from typing import Any

from workspace_sandbox.kit.emulator import Emulator
from workspace_sandbox.kit.lazy import WORKINGS
from workspace_sandbox.kit.stage import EmulatorContext

HERE = "workspace_sandbox."
FRESH_SECONDS = 600.0
"""How long what was planted is returned to."""

PLAIN = frozenset(
    {
        ("builtins", "bytearray"),
        ("builtins", "dict"),
        ("builtins", "frozenset"),
        ("builtins", "set"),
        ("builtins", "slice"),
        ("collections", "Counter"),
        ("collections", "OrderedDict"),
        ("collections", "defaultdict"),
        ("collections", "deque"),
        ("copyreg", "_reconstructor"),
        ("datetime", "date"),
        ("datetime", "datetime"),
        ("datetime", "time"),
        ("datetime", "timedelta"),
        ("datetime", "timezone"),
        ("decimal", "Decimal"),
        ("email.message", "EmailMessage"),
        ("functools", "partial"),
        ("random", "Random"),
        ("re", "_compile"),
        ("uuid", "UUID"),
        ("zoneinfo", "ZoneInfo._unpickle"),
    }
)
"""Beside the sandbox's own classes and functions, what the bytes may name; nothing that does more than hold a value."""


class Unreadable(ValueError):
    """The bytes hold something that no emulator wrote."""


def dump_state(emulator: Emulator) -> bytes:
    """All that *emulator* holds now, with its knobs; not its journal, its faults and its deliveries."""
    emulator.awaken()
    target = io.BytesIO()
    stage = emulator.stage
    state = {name: value for name, value in vars(emulator).items() if name not in WORKINGS}
    _Writer(target, emulator).dump((dict(stage.knobs), state))
    return target.getvalue()


def restore(emulator: Emulator, content: bytes) -> None:
    """Let *emulator* hold what *content* holds; what it was delivering is dropped."""
    knobs, state = _read(emulator, content)
    emulator.stage.knobs.update(knobs)
    emulator.hooks.forget()
    emulator.sleep(partial(vars(emulator).update, state))
    emulator.awaken()
    emulator.stage.reseed_ids()


def _read(emulator: Emulator, content: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    try:
        knobs, state = _Reader(io.BytesIO(content), emulator).load()
    except Unreadable:
        raise
    except Exception as fault:
        raise Unreadable(f"the bytes cannot be read ({type(fault).__name__})") from fault
    return knobs, state


def _wake(emulator: Emulator, content: bytes) -> None:
    """Let *emulator* hold what *content* holds, and leave knobs as they have been turned since."""
    with uncollected():
        vars(emulator).update(_read(emulator, content)[1])


class InitialState:
    """What an emulator begins with, remembered so that it returns to it at once."""

    def __init__(self, emulator: Emulator, sow: Callable[[], None]) -> None:
        self._emulator = emulator
        self._sow = sow
        self._content = b""
        self._knobs: dict[str, Any] = {}
        self._planted_at = emulator.stage.clock.now()
        self._touches: int | None = emulator.stage.change_count
        self._clock = emulator.stage.clock

    def remember(self) -> None:
        """Write down the beginning, if it is still there; otherwise the first return to it does."""
        if not self._content and self._is_there(self._emulator.stage):
            self._write_down()

    def restore(self) -> None:
        """Return to the beginning; an emulator that nobody asked or steered since is as it was."""
        stage = self._emulator.stage
        if self._is_there(stage):
            return
        stage.reset()
        # What a folder has of it is of before.
        stage.change_count += 1
        if stage.clock is self._clock:
            self._return()
            self._touches = stage.change_count
        else:
            # By the clock of a test, which may be another one each time, so it is not written down.
            self._plant()
            self._touches = None
        stage.reseed_ids()

    def _return(self) -> None:
        stage = self._emulator.stage
        # Seeds are told in days before now: what was planted a while ago is planted anew.
        fresh = 0 <= stage.clock.now() - self._planted_at < FRESH_SECONDS
        if self._content and fresh:
            stage.knobs.update(copy.deepcopy(self._knobs))
            self._emulator.hooks.forget()
            # Read when it is asked for (decision 78): most tests ask one of the six applications.
            self._emulator.sleep(partial(_wake, self._emulator, self._content))
        else:
            self._planted_at = stage.clock.now()
            self._plant()
            self._write_down()

    def _plant(self) -> None:
        self._emulator.awaken()
        self._emulator.reset()
        self._sow()

    def _write_down(self) -> None:
        stage = self._emulator.stage
        self._content = dump_state(self._emulator)
        self._knobs = copy.deepcopy(stage.knobs)

    def _is_there(self, stage: EmulatorContext) -> bool:
        untouched = stage.change_count == self._touches and stage.clock is self._clock
        return untouched and stage.knobs == stage.default_knobs and not stage.faults and not stage.journal


def _named(emulator: Emulator) -> Iterator[tuple[str, Any]]:
    """What is named in the bytes, and not written."""
    stage = emulator.stage
    yield from (("emulator", emulator), ("stage", stage), ("clock", stage.clock), ("random", stage.random))
    yield from (("knobs", stage.knobs), ("addresses", stage.addresses), ("defaults", stage.default_knobs))
    yield ("hooks", emulator.hooks)
    yield from _constants(type(emulator).__module__.rpartition(".")[0]).items()


@contextmanager
def uncollected() -> Iterator[None]:
    """Looks for no garbage while inside: among tens of thousands of new objects that would take ten times as long."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


@cache
def _constants(package: str) -> Mapping[str, Any]:
    """The constants of a package's modules that are objects of its own classes, by where they stand."""
    modules = {name: module for name, module in sys.modules.items() if f"{name}.".startswith(f"{package}.")}
    return {
        place: value
        for name, module in sorted(modules.items())
        for place, value in _within(name, vars(module))
        if type(value).__module__.startswith(HERE)
    }


def _within(name: str, names: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for constant in filter(str.isupper, names):
        value = names[constant]
        yield f"{name}:{constant}", value
        listed = dict(enumerate(value)) if isinstance(value, tuple | list) else value
        if isinstance(listed, Mapping):
            yield from ((f"{name}:{constant}:{key}", one) for key, one in listed.items())


class _Writer(pickle.Pickler):
    def __init__(self, target: io.BytesIO, emulator: Emulator) -> None:
        super().__init__(target, protocol=5)
        self._names = {id(value): name for name, value in _named(emulator)}

    def persistent_id(self, obj: Any) -> str | None:
        return self._names.get(id(obj))

    def reducer_override(self, obj: Any) -> Any:
        # The usual way names ``getattr``, with which bytes could reach anything.
        return (_bound, (obj.__self__, obj.__name__)) if isinstance(obj, MethodType) else NotImplemented


class _Reader(pickle.Unpickler):
    def __init__(self, source: io.BytesIO, emulator: Emulator) -> None:
        super().__init__(source)
        self._named = dict(_named(emulator))

    def persistent_load(self, pid: str) -> Any:
        return self._named[pid]

    def find_class(self, module_name: str, global_name: str) -> Any:
        if (module_name, global_name) in PLAIN:
            return super().find_class(module_name, global_name)
        found = super().find_class(module_name, global_name) if module_name.startswith(HERE) else None
        if isinstance(found, type | FunctionType) and found.__module__.startswith(HERE):
            return found
        raise Unreadable(f"the bytes name {module_name}.{global_name}, which no state has")


def _bound(owner: Any, name: str) -> Any:
    """The method of that name, of an object of the sandbox's."""
    if not type(owner).__module__.startswith(HERE) or name.startswith("__"):
        raise Unreadable(f"the bytes name {name} of a {type(owner).__name__}")
    return getattr(owner, name)
