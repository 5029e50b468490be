"""The journal of a write: its arguments, its plans, and the outcome of its steps."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from connector_gateway.core.calls.arguments import Arguments
from connector_gateway.core.connections.account import Whose
from connector_gateway.core.connections.vault import Vault
from connector_gateway.core.writes.claims import Claim, ClaimName
from connector_gateway.kit.errors import GatewayError, OutcomeUnknown, SecretUnreadable, all_errors
from connector_gateway.kit.write_steps import StepResult

MAX_PRIVATE = 1000
"""Characters of the third party's words that are kept of a refusal."""


@dataclass
class JournalEntry:
    """One plan or step of a write, as it is stored with the claim."""

    name: str
    """The step's name; empty for a plan."""

    value: Any
    """What was planned, or what the step is to do."""

    mark: str = ""
    rows: list[str] = field(default_factory=list)
    """The owner's rows of what it makes, by slot."""

    sent_at: float | None = None
    """When it was first sent; None if it was not sent, or was refused."""

    settles_at: float = 0.0
    """When it has settled: it was carried out by then, or never will be."""

    learned: StepResult | None = None
    refusal: dict[str, Any] | None = None
    """Why it was refused, kept for later attempts if the write went on without it."""

    restored: bool = False
    """Whether it counts as sent only because the database was restored."""

    in_doubt_before: bool = False
    """Whether it was in doubt in the backup already."""

    marks: list[str] = field(default_factory=list)
    """The marks that it may have been sent with in a time that the database has lost."""

    @property
    def in_doubt(self) -> bool:
        """Whether it was sent and its outcome is not known."""
        return self.sent_at is not None and self.learned is None

    @property
    def may_have_taken_effect(self) -> bool:
        """Whether it is a step that was carried out, or may have been."""
        return bool(self.name) and (self.in_doubt or self.learned is not None)


@dataclass
class WriteJournal:
    """The arguments of the first call, just as they came, and the plans and steps since, in order."""

    arguments: Arguments
    whose: Whose
    """The account that the steps were sent to."""

    entries: list[JournalEntry] = field(default_factory=list)
    _next: int = 0
    """The index of the entry that the present attempt comes to next."""

    @classmethod
    def load(cls, vault: Vault, claim: Claim, arguments: Arguments, whose: Whose) -> "WriteJournal":
        """The journal of a claim; a new one for *arguments* if nothing was ever sent under it."""
        if claim.sealed is None:
            return cls(arguments, whose)
        try:
            opened = vault.decrypt(claim.sealed, encryption_context(claim.name))
        except SecretUnreadable as fault:
            raise OutcomeUnknown(
                "What the first call under this key was to do can no longer be read, so nothing was sent.",
                private=fault.private,
            ) from fault
        entries = [JournalEntry(**entry) for entry in opened["entries"]]
        for entry in entries:
            # The claim was put in doubt later than the journal was sealed, if a process died over it.
            entry.settles_at = max(entry.settles_at, claim.settles_at)
        if not Whose(*opened["whose"]).is_same(whose):
            raise _other_account()
        return cls(Arguments.from_json(opened["arguments"]), whose, entries)

    def encrypt(self, vault: Vault, claim: Claim) -> bytes:
        """The journal, readable only here and only under its claim."""
        entries = [vars(entry) for entry in self.entries]
        kept = {"arguments": self.arguments.to_json(), "whose": self.whose, "entries": entries}
        return vault.encrypt(kept, encryption_context(claim.name))

    @property
    def past(self) -> Sequence[JournalEntry]:
        """The entries that the present attempt has passed."""
        return self.entries[: self._next]

    def recorded(self, name: str) -> JournalEntry | None:
        """What an earlier attempt planned or did at this place."""
        if self._next == len(self.entries):
            return None
        entry = self.entries[self._next]
        # Guessing which of the new steps was meant could do one of them twice.
        if entry.name != name:
            raise OutcomeUnknown(
                "Another version of this service began this call, and its steps are not known here.",
                private=f"{entry.name!r} is not {name!r}",
            )
        self._next += 1
        return entry

    def append(self, entry: JournalEntry) -> JournalEntry:
        """A new entry at the end."""
        self.entries.append(entry)
        self._next += 1
        return entry

    def require_last(self, refusal: Mapping[str, Any]) -> None:
        """Raise a step's refusal again if the write did something after it; otherwise the step may be tried again."""
        if any(entry.may_have_taken_effect for entry in self.entries[self._next :]):
            raise _refused(refusal)
        del self.entries[self._next :]


def encryption_context(name: ClaimName) -> str:
    """Return the name that the journal and the result of a claim are encrypted for."""
    return "\n".join(name)


def serialize_error(error: GatewayError) -> dict[str, Any]:
    """A refusal as it is stored, with the beginning of the third party's words, which tell what was at fault."""
    private, details = error.private[:MAX_PRIVATE], [dict(detail) for detail in error.details]
    return {
        "code": error.code,
        "message": error.message,
        "remedy": error.remedy,
        "details": details,
        "private": private,
    }


def _other_account() -> OutcomeUnknown:
    """The error if a write was begun in another account, where this connection can no longer look."""
    return OutcomeUnknown(
        "This call was begun in another account than the connection leads to now; nothing was sent to this one.",
        {"other_account": True},
        remedy="Look in the former account whether it was done. To call for this one, use another {idempotency_key}.",
    )


def _refused(kept: Mapping[str, Any]) -> GatewayError:
    row = next(row for row in all_errors() if row.code == kept["code"])
    return row(kept["message"], *kept["details"], private=kept["private"], remedy=kept["remedy"])
