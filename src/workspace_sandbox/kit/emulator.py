"""What the sandbox asks of every emulator."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Protocol

from aiohttp import web

from workspace_sandbox.kit.acts import Acts
from workspace_sandbox.kit.asking import Field
from workspace_sandbox.kit.coverage import Coverage
from workspace_sandbox.kit.sowing import SeedValue
from workspace_sandbox.kit.stage import Stage


class Emulator(Protocol):
    """A stateful stand-in for one vendor."""

    knobs: ClassVar[Mapping[str, Any]]
    """The knobs it has beside ``limits``, with their first values.

    All have ``auto_approve``, which says yes on every page of consent, and ``token_seconds``, the life of the access
    tokens that are issued from now on.
    """

    acts: ClassVar[Acts]
    """What people can do in it."""

    knob_readers: ClassVar[Mapping[str, Field]]
    """What knobs take that their first values do not tell."""

    coverage: ClassVar[Coverage]
    """Which of the vendor's routes it plays."""

    stage: Stage

    def __init__(self, stage: Stage) -> None: ...

    def applications(self) -> Mapping[str, web.Application]:
        """A new application per host name, in the order of their ports; the first is ``base``."""
        ...

    def reset(self) -> None:
        """Return to the seed, with nothing revoked."""
        ...

    def credentials(self) -> dict[str, str]:
        """What a client needs to be let in, by the vendor's names (``token``, ``key`` …)."""
        ...

    def client(self) -> dict[str, str]:
        """The application that people let in on the pages of consent: ``client_id`` and ``client_secret``."""
        ...

    def examples(self) -> dict[str, Any]:
        """Identifiers of seeded objects worth trying."""
        ...

    def revoke(self) -> None:
        """Withdraw every authorisation, by ``credentials`` and by OAuth, as users would in the application."""
        ...

    def authorise(self) -> None:
        """Give all of it back."""
        ...

    def act(self, action: Mapping[str, Any]) -> dict[str, Any]:
        """Do what a person would do in the application; unknown keys are ignored, a bad action is a ``ValueError``."""
        ...

    def sleep(self, wake: Callable[[], None]) -> None:
        """Drop all that is held until it is asked for; *wake* brings it back."""
        ...

    def awaken(self) -> None:
        """Hold it again."""
        ...

    def sow(self, given: SeedValue) -> dict[str, Any]:
        """Make what a seed tells, and answer its identifiers; ``InvalidSeed`` if it cannot be made."""
        ...

    def absent(self, told: str) -> web.StreamResponse:
        """The answer to a request of the vendor's that is not played: 501 in the vendor's shape, which says so."""
        ...

    def throttled(self, request: web.Request, seconds: float) -> web.StreamResponse:
        """The vendor's answer to who asked too often and has to wait for *seconds*; nothing is counted."""
        ...
