"""The envelope of every response. It contains ``data`` as JSON text, ready to be stored, replayed and sent."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct
from pydantic import TypeAdapter
from pydantic_core import to_json

from connector_gateway.core.error_serialization import DONE, public_details
from connector_gateway.kit.errors import Detail, GatewayError
from connector_gateway.kit.errors.remedy_placeholders import resolve_remedy
from connector_gateway.kit.errors.suggestions import SUGGESTION_KEY, get_mistaken_name
from connector_gateway.kit.identifiers import RunId
from connector_gateway.kit.models import Piece
from connector_gateway.kit.upstream.memory_budget import LARGE_BYTES

if TYPE_CHECKING:
    from connector_gateway.core.history.runs import Run
    from connector_gateway.kit.operation import AnyConnector

Status = Literal["ok", "partial"]

MAX_MESSAGE = 3000

MAX_SUGGESTED = 5
"""Maximum names that the message suggests. The details have more of them."""

DOCS = "/docs/errors/"
"""The path of the documentation pages of error codes, relative to the base URL."""

REASON = ("vendor_code", "vendor_message")
"""The fields of a detail that contain the vendor's own reason."""

_SEQUENCE: TypeAdapter[Sequence[Any]] = TypeAdapter(Sequence[Any])


class Envelope(Struct):
    """The response to one call."""

    run_id: RunId
    connector: str
    status: Status
    data: list[Piece]
    """The result as JSON, in one piece unless it contains files."""

    paged: bool = False
    next_cursor: str | None = None
    replayed: bool = False
    dry_run: bool = False
    """Whether the result only describes a write that was not sent."""

    warnings: Sequence[str] = ()

    def to_json(self) -> list[Piece]:
        """Return the envelope as JSON text, in one piece unless it is large. Only pages have ``next_cursor``."""
        first, *more = self.data
        cursor = b"" if not self.paged else b',"next_cursor":' + to_json(self.next_cursor)
        head = b'{"run_id":"%b","connector":"%b","status":"%b","data":' % (
            self.run_id.encode(),
            self.connector.encode(),
            self.status.encode(),
        )
        end = cursor + b"}"
        # Large data is not copied into one piece, which would double its memory.
        in_one_piece = not more and len(first) < LARGE_BYTES
        return [b"%b%b%b" % (head, bytes(first), end)] if in_one_piece else [head, first, *more, end]


def error_envelope(run: "Run", connector: "AnyConnector | None", error: GatewayError) -> dict[str, Any]:
    """Return the body of an error response, with the remedy for the surface of *run*."""
    body: dict[str, Any] = {
        "run_id": run.run_id,
        "connector": connector.name if connector else None,
        "error": error_payload(error, run.surface, connector),
    }
    if error.dry_run is not None:
        body["dry_run"] = error.dry_run
    return body if error.retry_after is None else body | {"retry_after": error.retry_after}


def message_with_reason(error: GatewayError) -> str:
    """Return the message of *error*, followed by the vendor's own reason."""
    reasons = [str(detail[name]) for detail in error.details for name in REASON if name in detail]
    return " ".join([error.message[:MAX_MESSAGE], *reasons])


def error_payload(
    error: GatewayError, surface: str = "http", connector: "AnyConnector | None" = None
) -> dict[str, Any]:
    """Return the public fields of *error* for *surface*. Long values of the caller are truncated."""
    details = public_details(error)
    return {
        "code": error.code,
        "message": error.message[:MAX_MESSAGE] + _suggestion(details),
        "remedy": resolve_remedy(error, surface, [connector] if connector else ()),
        "details": details,
        "docs": DOCS + error.code,
    }


def _suggestion(details: Sequence[Detail]) -> str:
    """Return a "Did you mean" question. If there are several errors, it repeats the mistaken names."""
    is_single = len([detail for detail in details if DONE not in detail]) == 1
    hints = [
        detail[SUGGESTION_KEY] if is_single else f"{detail[SUGGESTION_KEY]} instead of {get_mistaken_name(detail)}"
        for detail in details
        if SUGGESTION_KEY in detail
    ]
    names = list(dict.fromkeys(hints))[:MAX_SUGGESTED]
    return f" Did you mean {', '.join(names)}?" if names else ""
