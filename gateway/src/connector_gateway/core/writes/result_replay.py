"""Replays: a repeat with an idempotency key returns the stored result of the first call, and sends nothing."""

from dataclasses import dataclass
from typing import Any

from connector_gateway.core.calls.envelope import Envelope, Status
from connector_gateway.core.calls.operation_call import OperationCall
from connector_gateway.core.writes.request_digests import RequestDigests
from connector_gateway.kit.identifiers import RunId


@dataclass(frozen=True, slots=True)
class StoredResult:
    """The first result under a key, to be returned again."""

    run_id: RunId
    status: str
    sealed: bytes
    """The encrypted response."""

    digests: RequestDigests

    @classmethod
    def from_claim(cls, row: Any) -> "StoredResult":
        """Return the result that the *row* of a finished claim contains."""
        return cls(row.run_id, row.status, row.sealed, RequestDigests(row.target, row.parameters))


def replay(work: OperationCall, first: StoredResult, data: bytes) -> Envelope:
    """Return the envelope of a replayed *first* result with its stored *data*."""
    status: Status = "partial" if first.status == "partial" else "ok"
    return Envelope(
        work.run.run_id,
        work.connection.connector,
        status,
        [data],
        paged=work.operation.is_paged,
        replayed=True,
        warnings=work.warning_texts(),
    )
