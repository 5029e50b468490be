"""A typed client of the connector gateway."""

from connector_gateway_client import errors, webhooks
from connector_gateway_client.base_errors import (
    CallerError,
    ConnectionFailed,
    GatewayError,
    InvalidResponse,
    ServiceFailure,
    UpstreamFailure,
)
from connector_gateway_client.gateway import AsyncGateway, Gateway
from connector_gateway_client.responses import DryRun, Response

__all__ = [
    "AsyncGateway",
    "CallerError",
    "ConnectionFailed",
    "DryRun",
    "Gateway",
    "GatewayError",
    "InvalidResponse",
    "Response",
    "ServiceFailure",
    "UpstreamFailure",
    "errors",
    "webhooks",
]
