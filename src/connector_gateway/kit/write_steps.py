"""How a room describes a write to the core: as steps of one request each, with a way to find what a step has made.

The core decides when a step is sent, whether what was found is ours, and when a step may be sent again. A ``find``
changes nothing upstream.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

K_contra = TypeVar("K_contra", contravariant=True)
J = TypeVar("J")

StepInput = Mapping[str, Any]
"""What a step is to do, as JSON; it is stored before the step is sent."""

StepResult = dict[str, Any]
"""What the answer to a step told, as JSON: the identifiers and instants that the result needs."""


@dataclass(frozen=True, slots=True)
class SentStep:
    """A step that was sent, when its outcome is looked for."""

    mark: str
    """The text that its objects are marked with, where the vendor has a place for it; the same for every sending."""

    earliest: float
    """The earliest time to search from, in epoch seconds, with a margin for clocks that differ.

    It is meant for a vendor's filters; the core compares ``Found.made_at`` more closely.
    """

    restored: bool = False
    """Whether the database was restored since, so that what was known of the call is lost.

    The later steps may have been carried out too, and what the plan tells of the state before may be the state after.
    """


@dataclass(frozen=True, slots=True)
class Match:
    """Something upstream that equals what a step was to make, or that shows the change it was to make."""

    learned: StepResult
    object_id: str = ""
    made_at: float | None = None
    """When it was made by the vendor's clock, in epoch seconds; None where the vendor does not tell."""

    slot: int = 0
    """The index of the step's content that it equals."""


@dataclass(frozen=True)
class WriteStep(Generic[K_contra]):
    """One request that changes something.

    With ``makes``, it makes objects that can only be known by their circumstances: the core keeps who owns them, and
    takes a ``Found`` for ours only if it was made since, is owned by nobody, and cannot be another call's.
    Without, one ``Found`` proves that the step was done: the object bears its mark, or is as it should be.
    """

    name: str
    """What it does, for callers: ``create the page``."""

    send: Callable[[K_contra, StepInput, str], Awaitable[StepResult]]
    """Sends the request (the third argument is the mark), and returns what was learned from its answer."""

    find: Callable[[K_contra, StepInput, SentStep], Awaitable[Sequence[Match]]]
    """Looks upstream for what a sending has made, oldest first; it changes nothing."""

    object_kind: str = ""
    """The kind of object, as the owner's table names it."""

    within: Callable[[StepInput], str] = lambda _: ""
    """The vendor account within which identifiers are unique; empty if they are unique throughout the vendor."""

    changes: Callable[[StepInput], Sequence[str]] = lambda _: ()
    """Names of the objects whose state it sets, unique within ``within``.

    The core records these changes once they are acknowledged. It does not send a step without ``makes`` again if
    another call has changed one of the same objects since.
    """

    made_within_seconds: float = 0.0
    """How exactly the vendor tells when an object was made."""

    content_keys: Callable[[StepInput], Sequence[Any]] = lambda intent: [intent]
    """The content of each object it makes, by slot; objects of equal content cannot be told apart."""

    object_ids: Callable[[StepResult], Sequence[str]] = lambda learned: [str(learned["id"])]
    """The identifiers of the objects it made, by slot."""

    merge_matches: Callable[[Sequence[Match]], StepResult] = lambda found: found[0].learned
    """What is learned from what was found, one for each slot."""

    public_result: Callable[[StepResult], Mapping[str, Any]] = dict
    """What a caller is told of it when a later step fails."""

    dry_run_result: Callable[[StepInput], StepResult] | None = None
    """What a dry run takes for its answer, so that the steps behind it can be shown; None where there are none."""


@dataclass(frozen=True, slots=True)
class Cast:
    """A value that a caller gave, and what it becomes by the schema of the application."""

    parameter: str
    """Where it stands in the call: ``properties.Due``."""

    type: str
    """The type of what it is written to, in the application's word."""

    given: Any
    written: Any


class StepRunner(Protocol):
    """What a write has planned and done, in this attempt and in earlier ones."""

    async def plan(self, make: Callable[[], Awaitable[J]]) -> J:
        """What *make* returns, as JSON; a later attempt gets the same without asking again."""

    async def step(self, step: WriteStep[Any], intent: StepInput) -> StepResult:
        """What is learned from carrying out *step*, now or in an earlier attempt."""

    async def try_step(self, step: WriteStep[Any], intent: StepInput) -> StepResult | None:
        """The same for a step that the write can do without: None where it is certain that it was not carried out."""

    def record_casts(self, make: Callable[[], Iterable[Cast]]) -> None:
        """Note how values were cast; only a dry run calls *make*, to tell of them."""

    async def before_first_request(self) -> None:
        """To be awaited before anything is asked of a third party: a repeat of a finished write asks nothing."""

    async def adopt(self, step: WriteStep[Any], intent: StepInput, object_id: str) -> bool:
        """Make this call the owner of what *step* of an interrupted call without a key has made; whether it is."""

    async def undo(self, step: WriteStep[Any], intent: StepInput) -> None:
        """Undo what was done by carrying out *step*, after a later step was refused; it never raises."""
