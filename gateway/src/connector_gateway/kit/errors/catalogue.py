"""The list of all errors, and the errors that many operations share."""

from collections.abc import Iterator

from connector_gateway.kit.errors import access, connection, request, service, upstream
from connector_gateway.kit.errors.base import GatewayError


def all_errors() -> Iterator[type[GatewayError]]:
    """Yield every entry of the catalogue, by family and module."""
    for family in GatewayError.__subclasses__():
        yield from family.__subclasses__()


EVERY_REQUEST: frozenset[type[GatewayError]] = frozenset(
    (
        access.MissingApiKey,
        access.InvalidApiKey,
        request.MalformedRequest,
        request.HeadersTooLarge,
        request.InvalidParameters,
        access.RateLimited,
        service.InternalError,
        service.SecretUnreadable,
        service.StorageUnavailable,
        service.SharedStoreUnavailable,
    )
)
"""The errors of any API route, including management."""

EVERY_CALL: frozenset[type[GatewayError]] = EVERY_REQUEST | {
    access.OperationNotAllowed,
    connection.ConnectionNotFound,
    connection.ConnectionMismatch,
    connection.ConnectionPending,
    connection.ConnectionRevoked,
    connection.ConnectionScopeMissing,
    upstream.UpstreamForbidden,
    upstream.UpstreamRefused,
    upstream.UpstreamConflict,
    upstream.UpstreamRateLimited,
    upstream.UpstreamError,
    upstream.UpstreamUnexpected,
    upstream.UpstreamTimeout,
    upstream.UpstreamUnavailable,
    service.Overloaded,
}
"""The errors of any operation."""

KEY_ERRORS: frozenset[type[GatewayError]] = frozenset({request.IdempotencyInProgress, request.IdempotencyKeyReused})
"""The errors of idempotency keys."""

EVERY_WRITE: frozenset[type[GatewayError]] = KEY_ERRORS | {
    access.WriteScopeRequired,
    access.ConfirmationRequired,
    upstream.OutcomeUnknown,
}
"""Further errors of any operation that writes."""

UNREADABLE_BODY: frozenset[type[GatewayError]] = frozenset(
    {request.InvalidJson, request.UnsupportedMediaType, request.PayloadTooLarge, request.RequestIncomplete}
)
"""Further errors of any route with a body."""
