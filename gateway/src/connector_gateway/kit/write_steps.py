"""The declaration of writes: steps of one request each, with a search for the result of a step.

The core decides when to send a step, whether a match belongs to the call, and whether to send a step again. A ``find``
changes nothing upstream.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

K_contra = TypeVar("K_contra", contravariant=True)
J = TypeVar("J")

StepInput = Mapping[str, Any]
"""The input of a step, as JSON. It is stored before the step is sent."""

StepResult = dict[str, Any]
"""The result of a step, as JSON: the identifiers and timestamps from its response that later steps need."""


@dataclass(frozen=True, slots=True)
class SentStep:
    """A step that was sent, passed to the search for its outcome."""

    mark: str
    """The text that marks the objects of the step, if the vendor has a field for it. It is the same for every attempt.

    It has 26 digits and letters: hexadecimal digits if the call has an idempotency key, otherwise those of a ULID. It
    is empty if the step has an ``object_kind``.
    """

    earliest: float
    """The earliest time to search from, in epoch seconds, with a margin for clock differences.

    It is meant for a vendor's filters. The core compares ``Match.created_at`` more precisely.
    """

    restored: bool = False
    """Whether the database was restored since, so that earlier records of the call are lost.

    Later steps may have been carried out too, and the plan may contain the state after the write instead of the state
    before.
    """


@dataclass(frozen=True, slots=True)
class Match:
    """An upstream object that equals the intended object of a step, or that shows the intended change."""

    result: StepResult
    object_id: str = ""
    created_at: float | None = None
    """The creation time by the vendor's clock, in epoch seconds, or None if the vendor does not report it."""

    slot: int = 0
    """The index of the matching content among the step's ``content_keys``."""


@dataclass(frozen=True)
class WriteStep(Generic[K_contra]):
    """One request that changes something.

    With ``object_kind``, it creates objects that can only be recognised by their content and time. The core records who
    owns them, and accepts a ``Match`` only if it was created since, has no owner, and cannot belong to another call.
    Without it, one ``Match`` proves that the step was done: the object has its mark, or has the intended state.
    """

    name: str
    """The step's name for callers, such as ``create the page``."""

    send: Callable[[K_contra, StepInput, str], Awaitable[StepResult]]
    """Sends the request with the mark as third argument, and returns the result from its response."""

    find: Callable[[K_contra, StepInput, SentStep], Awaitable[Sequence[Match]]] | None
    """Searches upstream for the objects of an attempt, oldest first. It changes nothing.

    None if nothing can prove that the step was carried out. It is then not sent again once it may have arrived.
    """

    object_kind: str = ""
    """The kind of object in the ownership table."""

    account_scope: Callable[[StepInput], str] = lambda _: ""
    """Returns the vendor account within which identifiers are unique. Empty if they are unique for the vendor.

    It is the connection's ``account_id``. While that is unknown, it is the account that the operation has looked up.
    """

    changes: Callable[[StepInput], Sequence[str]] = lambda _: ()
    """Returns the names of the objects whose state it sets, unique within ``account_scope``.

    The core records these changes once they are acknowledged. It does not resend a step without ``object_kind`` if
    another call has changed one of these objects since.
    """

    creation_precision_seconds: float = 0.0
    """The precision of the vendor's creation times."""

    content_keys: Callable[[StepInput], Sequence[Any]] = lambda intent: [intent]
    """Returns the content of each object it creates, by slot. Objects of equal content cannot be distinguished."""

    object_ids: Callable[[StepResult], Sequence[str]] = lambda learned: [str(learned["id"])]
    """Returns the identifiers of the objects it created, by slot."""

    merge_matches: Callable[[Sequence[Match]], StepResult] = lambda found: found[0].result
    """Returns the step's result from its matches, one for each slot."""

    public_result: Callable[[StepResult], Mapping[str, Any]] = dict
    """Returns the part of the result that is included in the error when a later step fails."""

    dry_run_result: Callable[[StepInput], StepResult] | None = None
    """Returns the result to assume in a dry run, so that later steps can be shown. None if there are no later steps."""

    preview: Callable[[StepInput], Mapping[str, Any]] | None = None
    """Returns the content of a request that a person cannot read, such as an encoded email, for a dry run."""

    notifies: Callable[[StepInput], Sequence[str]] = lambda _: ()
    """Returns those whom the vendor notifies of the change, as far as its request names them, for a dry run."""


@dataclass(frozen=True, slots=True)
class Cast:
    """A value from a caller, and its form by the vendor's schema."""

    parameter: str
    """The path of the value in the call, such as ``properties.Due``."""

    type: str
    """The type of its destination, in the vendor's words."""

    given: Any
    written: Any
    names_people: bool = False
    """Whether the value names people, whom the vendor notifies when they are assigned."""


class StepRunner(Protocol):
    """The plan and the steps of a write, over all its attempts."""

    async def plan(self, build: Callable[[], Awaitable[J]]) -> J:
        """Return the result of *build*, as JSON. Later attempts return the stored result without calling it."""

    async def step(self, step: WriteStep[Any], intent: StepInput) -> StepResult:
        """Carry out *step*, unless an earlier attempt has, and return its result."""

    async def try_step(self, step: WriteStep[Any], intent: StepInput) -> StepResult | None:
        """Carry out a step that the write can do without. Returns None if it was certainly not carried out."""

    def record_casts(self, make: Callable[[], Iterable[Cast]]) -> None:
        """Record how values were cast. *make* is called for a dry run only, which reports them."""

    async def before_first_request(self) -> None:
        """Resolve a repeated write before the first upstream request: a finished write sends no requests."""

    async def adopt(self, step: WriteStep[Any], intent: StepInput, object_id: str) -> bool:
        """Make this call the owner of the object that *step* of an interrupted call without a key created.

        Returns whether it is the owner.
        """

    async def undo(self, step: WriteStep[Any], intent: StepInput) -> None:
        """Carry out *step*, which undoes the earlier ones, if the last one was rejected. It never raises."""
