"""Emulators whose state is read when it is asked for first: a reset is a note, and not the work of making it anew."""

from collections.abc import Callable
from threading import RLock
from typing import TYPE_CHECKING, Any, ClassVar

from workspace_sandbox.kit.stage import EmulatorContext

WORKINGS = frozenset({"stage", "hooks", "_wake"})
"""Attributes that an emulator has from the beginning and keeps through every reset."""


class LazyState:
    """An emulator that can be put to sleep; whoever asks for something that it held wakes it."""

    stage: EmulatorContext

    _waking: ClassVar[RLock] = RLock()
    """Tests ask from a thread of their own, while requests are served in another."""

    def sleep(self, wake: Callable[[], None]) -> None:
        """Drop all that is held; *wake* brings it back."""
        with self._waking:
            state = {name: value for name, value in vars(self).items() if name not in WORKINGS}
            # A request that is under way may still use what it found.
            if state and not self.stage.under_way:
                self.break_cycles()
            for name in state:
                delattr(self, name)
            vars(self)["_wake"] = wake

    def awaken(self) -> None:
        """Hold something again."""
        with self._waking:
            wake = vars(self).pop("_wake", None)
            if wake is not None:
                wake()

    def break_cycles(self) -> None:
        """Open the circles in what is held, so that it leaves memory at once and not when garbage is looked for."""

    def __setattr__(self, name: str, value: Any) -> None:
        """Wake up first: what is set before the state is read would be gone once it is."""
        if "_wake" in vars(self):
            self.awaken()
        super().__setattr__(name, value)

    if not TYPE_CHECKING:
        # Hidden from the type checker, which would take every misspelt attribute for one.
        def __getattr__(self, name: str) -> Any:
            """Wake up; only what is not there is asked for here."""
            if name == "_wake" or name.startswith("__"):
                raise AttributeError(name)
            self.awaken()
            return object.__getattribute__(self, name)
