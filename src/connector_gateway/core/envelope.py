"""The envelope: the one shape of every answer; ``data`` is carried as JSON, ready to be stored, replayed and sent."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import TypeAdapter
from pydantic_core import to_json

from connector_gateway.kit.errors import GatewayError
from connector_gateway.kit.identifiers import RunId

Status = Literal["ok", "partial"]

_SEQUENCE: TypeAdapter[Sequence[Any]] = TypeAdapter(Sequence[Any])


@dataclass(slots=True)
class Envelope:
    """The answer to one call."""

    run_id: RunId
    connector: str
    status: Status
    data: bytes
    paged: bool = False
    next_cursor: str | None = None
    replayed: bool = False

    def to_json(self) -> bytes:
        """The envelope as JSON text; ``next_cursor`` only where the operation returns pages."""
        cursor = b"" if not self.paged else b',"next_cursor":' + to_json(self.next_cursor)
        return b'{"run_id":"%b","connector":"%b","status":"%b","data":%b%b}' % (
            self.run_id.encode(),
            self.connector.encode(),
            self.status.encode(),
            self.data,
            cursor,
        )


def refusal(run_id: RunId, connector: str | None, error: GatewayError) -> dict[str, Any]:
    """The one shape of every error."""
    body: dict[str, Any] = {
        "run_id": run_id,
        "connector": connector,
        "error": {"code": error.code, "message": error.message, "remedy": error.remedy, "details": error.details},
    }
    return body if error.retry_after is None else body | {"retry_after": error.retry_after}
