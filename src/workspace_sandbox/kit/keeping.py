"""What an emulator holds, as bytes and back: for snapshots, and for a folder that outlives the process.

Everything is written but what belongs to the process: the stage with its clock, what delivers, and the emulator itself
are named in the bytes, and are those of the reader when they are read. So are the constants of its modules, which the
code tells apart by what they are and not by what they are like.
"""

import gc
import io
import pickle
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from time import perf_counter
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

from workspace_sandbox.kit.emulator import Emulator
from workspace_sandbox.kit.stage import Stage

HERE = "workspace_sandbox."
FRESH_SECONDS = 600.0
"""How long what was planted is returned to."""

QUICK_SECONDS = 0.004
"""A seed that is planted in less is not remembered."""

WORKINGS = frozenset({"stage", "_deliverer"})
"""What an emulator has from the beginning and keeps through every reset."""

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


def held(emulator: Emulator) -> bytes:
    """All that *emulator* holds now, with its knobs and its chance; not its journal, its faults and its deliveries."""
    target = io.BytesIO()
    stage = emulator.stage
    state = {name: value for name, value in vars(emulator).items() if name not in WORKINGS}
    _Writer(target, emulator).dump((dict(stage.knobs), stage.random.getstate(), state))
    return target.getvalue()


def restore(emulator: Emulator, content: bytes) -> None:
    """Let *emulator* hold what *content* holds; what it was delivering is dropped."""
    try:
        knobs, chance, state = _Reader(io.BytesIO(content), emulator).load()
    except Unreadable:
        raise
    except Exception as fault:
        raise Unreadable(f"the bytes cannot be read ({type(fault).__name__})") from fault
    emulator.stage.knobs.update(knobs)
    emulator.stage.random.setstate(chance)
    for deliverer in filter(None, [vars(emulator).get("_deliverer")]):
        deliverer.forget()
    vars(emulator).update(state)


class Beginning:
    """What an emulator begins with, remembered so that it returns to it in milliseconds."""

    def __init__(self, emulator: Emulator, sow: Callable[[], None]) -> None:
        self._emulator = emulator
        self._sow = sow
        self._content = b""
        self._planted_at = 0.0
        self._touches = emulator.stage.touches
        self._clock = emulator.stage.clock

    def return_to(self) -> None:
        """Return to the beginning; an emulator that nobody asked or steered since is as it was."""
        stage = self._emulator.stage
        if self._is_there(stage):
            return
        self._return(stage)
        self._touches, self._clock = stage.touches, stage.clock

    def _return(self, stage: Stage) -> None:
        stage.reset()
        # Seeds are told in days before now: what was planted a while ago is planted anew.
        fresh = 0 <= stage.clock.now() - self._planted_at < FRESH_SECONDS
        if self._content and fresh and stage.clock is self._clock:
            restore(self._emulator, self._content)
            return
        self._planted_at = stage.clock.now()
        began = perf_counter()
        self._emulator.reset()
        self._sow()
        # What is planted sooner than it is read is planted each time.
        self._content = held(self._emulator) if perf_counter() - began > QUICK_SECONDS else b""

    def _is_there(self, stage: Stage) -> bool:
        untouched = stage.touches == self._touches and stage.clock is self._clock
        return untouched and stage.knobs == stage.default_knobs and not stage.faults and not stage.journal


def _named(emulator: Emulator) -> Iterator[tuple[str, Any]]:
    """What is named in the bytes, and not written."""
    stage = emulator.stage
    yield from (("emulator", emulator), ("stage", stage), ("clock", stage.clock), ("random", stage.random))
    yield from (("knobs", stage.knobs), ("addresses", stage.addresses), ("defaults", stage.default_knobs))
    if "_deliverer" in vars(emulator):
        yield ("deliverer", vars(emulator)["_deliverer"])
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
        self._now = emulator.stage.clock.now

    def persistent_id(self, obj: Any) -> str | None:
        # A method is another object each time that it is asked for, and equal all the same.
        is_now = isinstance(obj, MethodType | BuiltinFunctionType) and obj == self._now
        return "now" if is_now else self._names.get(id(obj))

    def reducer_override(self, obj: Any) -> Any:
        # The usual way names ``getattr``, with which bytes could reach anything.
        return (_bound, (obj.__self__, obj.__name__)) if isinstance(obj, MethodType) else NotImplemented


class _Reader(pickle.Unpickler):
    def __init__(self, source: io.BytesIO, emulator: Emulator) -> None:
        super().__init__(source)
        self._named = dict(_named(emulator)) | {"now": emulator.stage.clock.now}

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
