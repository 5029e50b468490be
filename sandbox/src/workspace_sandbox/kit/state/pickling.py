"""Serialization of an emulator's state, for snapshots and for the data folder.

Everything is pickled except objects of the process: the context with its clock, the hook sender and the emulator itself
are stored as names, and replaced with those of the reader. So are constants of its modules, because the code compares
them by identity.

Frozen classes with thousands of instances must not have slots. With both, each instance is restored by Python code.
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
from workspace_sandbox.kit.emulator_context import EmulatorContext
from workspace_sandbox.kit.state.lazy_loading import PERMANENT_ATTRIBUTES

HERE = "workspace_sandbox"
MAX_AGE_SECONDS = 600.0
"""Seconds for which the serialized default data is reused."""

ALLOWED_GLOBALS = frozenset(
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
"""The globals that pickled state may reference besides those of the sandbox and of the emulator's own package.

All of them only hold values.
"""


class Unreadable(ValueError):
    """A serialized state references something that no emulator writes."""


def dump_state(emulator: Emulator) -> bytes:
    """Return the serialized state and knobs of *emulator*, without its request log, faults and deliveries."""
    emulator.load_state()
    target = io.BytesIO()
    context = emulator.context
    state = {name: value for name, value in vars(emulator).items() if name not in PERMANENT_ATTRIBUTES}
    _StatePickler(target, emulator).dump((dict(context.knobs), state))
    return target.getvalue()


def restore(emulator: Emulator, content: bytes) -> None:
    """Replace the state of *emulator* with *content*, and cancel its deliveries."""
    knobs, state = _read(emulator, content)
    emulator.context.knobs.update(knobs)
    emulator.hooks.reset()
    emulator.unload_state(partial(vars(emulator).update, state))
    emulator.load_state()
    emulator.context.reseed_ids()


def _read(emulator: Emulator, content: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    try:
        knobs, state = _StateUnpickler(io.BytesIO(content), emulator).load()
    except Unreadable:
        raise
    except Exception as error:
        raise Unreadable(f"the bytes cannot be read ({type(error).__name__})") from error
    return knobs, state


def _load(emulator: Emulator, content: bytes) -> None:
    """Load the state in *content* into *emulator*, without changing its knobs."""
    with without_garbage_collection():
        vars(emulator).update(_read(emulator, content)[1])


class InitialState:
    """The initial state of an emulator, serialized so that it can be restored quickly."""

    def __init__(self, emulator: Emulator, apply_seed: Callable[[], None]) -> None:
        self._emulator = emulator
        self._apply_seed = apply_seed
        self._content = b""
        self._knobs: dict[str, Any] = {}
        self._created_at = emulator.context.clock.now()
        self._change_count: int | None = emulator.context.change_count
        self._clock = emulator.context.clock

    def serialize(self) -> None:
        """Serialize the initial state if it has not changed yet. Otherwise the next restore does it."""
        if not self._content and self._is_unchanged(self._emulator.context):
            self._serialize()

    def restore(self) -> None:
        """Restore the initial state, unless nothing has changed since the last restore."""
        context = self._emulator.context
        if self._is_unchanged(context):
            return
        context.reset()
        # The state in a data folder is outdated now.
        context.change_count += 1
        if context.clock is self._clock:
            self._restore_or_create()
            self._change_count = context.change_count
        else:
            # The clock of a test can differ each time, so the state is not serialized.
            self._create()
            self._change_count = None
        context.reseed_ids()

    def _restore_or_create(self) -> None:
        context = self._emulator.context
        # The default data has dates relative to now, so it is created again after a while.
        fresh = 0 <= context.clock.now() - self._created_at < MAX_AGE_SECONDS
        if self._content and fresh:
            context.knobs.update(copy.deepcopy(self._knobs))
            self._emulator.hooks.reset()
            # Loaded on first use, because most tests use one of the six emulators.
            self._emulator.unload_state(partial(_load, self._emulator, self._content))
        else:
            self._created_at = context.clock.now()
            self._create()
            self._serialize()

    def _create(self) -> None:
        self._emulator.load_state()
        self._emulator.reset()
        self._apply_seed()

    def _serialize(self) -> None:
        context = self._emulator.context
        self._content = dump_state(self._emulator)
        self._knobs = copy.deepcopy(context.knobs)

    def _is_unchanged(self, context: EmulatorContext) -> bool:
        untouched = context.change_count == self._change_count and context.clock is self._clock
        return untouched and context.knobs == context.default_knobs and not context.faults and not context.request_log


def _named(emulator: Emulator) -> Iterator[tuple[str, Any]]:
    """Return the objects that are stored as names."""
    context = emulator.context
    yield from (("emulator", emulator), ("context", context), ("clock", context.clock), ("random", context.random))
    yield from (("knobs", context.knobs), ("addresses", context.addresses), ("defaults", context.default_knobs))
    yield ("hooks", emulator.hooks)
    yield from _constants(type(emulator).__module__.rpartition(".")[0]).items()


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """Disable garbage collection for the duration of the context. It makes restoring a large state ten times slower."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


@cache
def _constants(package: str) -> Mapping[str, Any]:
    """Return the constants of a package's modules that are instances of the package's classes, by location."""
    modules = {name: module for name, module in sys.modules.items() if f"{name}.".startswith(f"{package}.")}
    return {
        location: value
        for name, module in sorted(modules.items())
        for location, value in _module_constants(name, vars(module))
        if type(value).__module__.partition(".")[0] in {HERE, package.partition(".")[0]}
    }


def _module_constants(name: str, names: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for constant in filter(str.isupper, names):
        value = names[constant]
        yield f"{name}:{constant}", value
        listed = dict(enumerate(value)) if isinstance(value, tuple | list) else value
        if isinstance(listed, Mapping):
            yield from ((f"{name}:{constant}:{key}", one) for key, one in listed.items())


class _StatePickler(pickle.Pickler):
    def __init__(self, target: io.BytesIO, emulator: Emulator) -> None:
        super().__init__(target, protocol=5)
        self._names = {id(value): name for name, value in _named(emulator)}

    def persistent_id(self, obj: Any) -> str | None:
        return self._names.get(id(obj))

    def reducer_override(self, obj: Any) -> Any:
        # By default, methods are pickled with ``getattr``, which would give access to any attribute.
        return (_bound_method, (obj.__self__, obj.__name__)) if isinstance(obj, MethodType) else NotImplemented


class _StateUnpickler(pickle.Unpickler):
    def __init__(self, source: io.BytesIO, emulator: Emulator) -> None:
        super().__init__(source)
        self._named = dict(_named(emulator))
        self._packages = {HERE, type(emulator).__module__.partition(".")[0]}

    def persistent_load(self, pid: str) -> Any:
        return self._named[pid]

    def find_class(self, module_name: str, global_name: str) -> Any:
        if (module_name, global_name) in ALLOWED_GLOBALS:
            return super().find_class(module_name, global_name)
        match = super().find_class(module_name, global_name) if self._owns(module_name) else None
        if isinstance(match, type | FunctionType) and self._owns(match.__module__):
            # A method of any other class could do more than hold a value.
            return partial(_bound_method, self._owns) if match is _bound_method else match
        raise Unreadable(f"the bytes name {module_name}.{global_name}, which no state has")

    def _owns(self, module_name: str) -> bool:
        """Return True for modules of the sandbox, and of the package that contains the emulator."""
        return module_name.partition(".")[0] in self._packages


def _bound_method(owns: Callable[[str], bool], owner: Any, name: str) -> Any:
    """Return the method *name* of *owner*, whose class must be in a module that the reader *owns*."""
    if not owns(type(owner).__module__) or name.startswith("__"):
        raise Unreadable(f"the bytes name {name} of a {type(owner).__name__}")
    return getattr(owner, name)
