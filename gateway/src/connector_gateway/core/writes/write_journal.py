"""The journal of a write: its arguments, its plans, and the outcome of its steps."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct, field
from msgspec.structs import asdict

from connector_gateway.core.calls.arguments import Arguments
from connector_gateway.core.connections.account_identity import AccountIdentity
from connector_gateway.core.secrets.vault import Vault
from connector_gateway.core.writes.idempotency import Claim, ClaimName
from connector_gateway.kit.errors import GatewayError, OutcomeUnknown, SecretUnreadable, all_errors
from connector_gateway.kit.write_steps import StepResult

MAX_PRIVATE_CHARACTERS = 1000
"""The maximum number of characters of a vendor's error text that is stored."""


class JournalEntry(Struct, eq=False):
    """One plan or step of a write, as stored with the claim."""

    name: str
    """The step's name, or empty for a plan."""

    value: Any
    """The plan, or the intent of the step."""

    mark: str = ""
    rows: list[str] = field(default_factory=list)
    """The owner rows of the objects that the step creates, in the order of its contents."""

    sent_at: float | None = None
    """The time at which the step was first sent, or None if it was not sent or was rejected."""

    settles_at: float = 0.0
    """The time at which the step has settled. Later, it can no longer be carried out."""

    learned: StepResult | None = None
    refusal: dict[str, Any] | None = None
    """The error with which the step was rejected, stored for later attempts if the write continued without the step."""

    restored: bool = False
    """Whether the step counts as sent only because the database was restored."""

    in_doubt_before: bool = False
    """Whether the step was already in doubt in the backup."""

    marks: list[str] = field(default_factory=list)
    """The marks with which the step may have been sent during a time that the database has lost."""

    @property
    def in_doubt(self) -> bool:
        """Whether the step was sent and its outcome is unknown."""
        return self.sent_at is not None and self.learned is None

    @property
    def may_have_taken_effect(self) -> bool:
        """Whether this is a step that was carried out, or may have been."""
        return bool(self.name) and (self.in_doubt or self.learned is not None)


class WriteJournal(Struct, eq=False):
    """The unchanged arguments of the first call, and the plans and steps since, in order."""

    arguments: Arguments
    identity: AccountIdentity
    """The account to which the steps were sent."""

    entries: list[JournalEntry] = field(default_factory=list)
    _next: int = 0
    """The index of the entry that the current attempt reaches next."""

    @classmethod
    def load(cls, vault: Vault, claim: Claim, arguments: Arguments, identity: AccountIdentity) -> "WriteJournal":
        """Return the journal of a claim, or a new one for *arguments* if nothing was ever sent under it."""
        if claim.sealed is None:
            return cls(arguments, identity)
        try:
            content = vault.decrypt(claim.sealed, encryption_context(claim.name))
        except SecretUnreadable as error:
            raise OutcomeUnknown(
                "The parameters of the first call with this key can no longer be read, so nothing was sent.",
                private=error.private,
            ) from error
        entries = [JournalEntry(**entry) for entry in content["entries"]]
        for entry in entries:
            # If the process died, the claim was put in doubt after its journal was encrypted.
            entry.settles_at = max(entry.settles_at, claim.settles_at)
        if not AccountIdentity(*content["whose"]).is_same(identity):
            raise _other_account()
        return cls(Arguments.from_json(content["arguments"]), identity, entries)

    def encrypt(self, vault: Vault, claim: Claim) -> bytes:
        """Return the journal encrypted for its claim."""
        entries = [asdict(entry) for entry in self.entries]
        content = {"arguments": self.arguments.to_json(), "whose": self.identity, "entries": entries}
        return vault.encrypt(content, encryption_context(claim.name))

    @property
    def passed(self) -> Sequence[JournalEntry]:
        """The entries that the current attempt has passed."""
        return self.entries[: self._next]

    def recorded(self, name: str) -> JournalEntry | None:
        """Return the next entry of an earlier attempt, or None after the last one."""
        if self._next == len(self.entries):
            return None
        entry = self.entries[self._next]
        # Matching the entry to another step could carry out a step twice.
        if entry.name != name:
            raise OutcomeUnknown(
                "Another version of this service started this call, and its steps are unknown to this version.",
                private=f"{entry.name!r} is not {name!r}",
            )
        self._next += 1
        return entry

    def append(self, entry: JournalEntry) -> JournalEntry:
        """Append *entry* and return it."""
        self.entries.append(entry)
        self._next += 1
        return entry

    def check_last(self, error: Mapping[str, Any]) -> None:
        """Raise a step's stored error again if later steps took effect. Otherwise the step may be tried again."""
        if any(entry.may_have_taken_effect for entry in self.entries[self._next :]):
            raise _deserialize_error(error)
        del self.entries[self._next :]


def encryption_context(name: ClaimName) -> str:
    """Return the context string for which the journal and the result of a claim are encrypted."""
    return "\n".join(name)


def serialize_error(error: GatewayError) -> dict[str, Any]:
    """Return the stored form of an error, with the beginning of the vendor's text for diagnosis."""
    private, details = error.private[:MAX_PRIVATE_CHARACTERS], [dict(detail) for detail in error.details]
    return {
        "code": error.code,
        "message": error.message,
        "remedy": error.remedy,
        "details": details,
        "private": private,
    }


def _other_account() -> OutcomeUnknown:
    """Return the error for a write that was started in another account, which this connection cannot search."""
    return OutcomeUnknown(
        "This call was started in another account than the connection has now; nothing was sent to the current one.",
        {"other_account": True},
        remedy="Check in the previous account whether it took effect. "
        "To call for the current one, use another {idempotency_key}.",
    )


def _deserialize_error(stored: Mapping[str, Any]) -> GatewayError:
    error = next(error for error in all_errors() if error.code == stored["code"])
    return error(stored["message"], *stored["details"], private=stored["private"], remedy=stored["remedy"])
