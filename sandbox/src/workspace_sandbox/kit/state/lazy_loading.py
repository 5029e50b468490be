"""Emulators whose state is loaded on first use, so that a reset is cheap."""

from collections.abc import Callable
from threading import RLock
from typing import TYPE_CHECKING, Any, ClassVar

from workspace_sandbox.kit.emulator_context import EmulatorContext

PERMANENT_ATTRIBUTES = frozenset({"context", "hooks", "_wake"})
"""Attributes that an emulator keeps through every reset."""


class LazyState:
    """An emulator whose state can be unloaded, and is loaded again on access."""

    context: EmulatorContext

    _load_lock: ClassVar[RLock] = RLock()
    """A lock, because tests access emulators from their own thread while requests are served in another."""

    def unload_state(self, load: Callable[[], None]) -> None:
        """Unload the state. *load* loads it again."""
        with self._load_lock:
            state = {name: value for name, value in vars(self).items() if name not in PERMANENT_ATTRIBUTES}
            # Requests in progress may still use the objects that they loaded.
            if state and not self.context.requests_in_progress:
                self.break_cycles()
            for name in state:
                delattr(self, name)
            vars(self)["_wake"] = load

    def load_state(self) -> None:
        """Load the state if it is unloaded."""
        with self._load_lock:
            load_pending = vars(self).pop("_wake", None)
            if load_pending is not None:
                load_pending()

    def break_cycles(self) -> None:
        """Break reference cycles in the state, so that its memory is freed without a garbage collection."""

    def __setattr__(self, name: str, value: Any) -> None:
        """Load the state first, because loading would overwrite the new value."""
        if "_wake" in vars(self):
            self.load_state()
        super().__setattr__(name, value)

    if not TYPE_CHECKING:
        # Hidden from the type checker, which would otherwise accept every misspelt attribute.
        def __getattr__(self, name: str) -> Any:
            """Load the state. Python calls this only for missing attributes."""
            if name == "_wake" or name.startswith("__"):
                raise AttributeError(name)
            self.load_state()
            return object.__getattribute__(self, name)
