"""A typed client of the connector gateway."""

from connector_gateway_client import errors, webhooks
from connector_gateway_client.answers import Answer, DryRun
from connector_gateway_client.gateway import AsyncGateway, Gateway
from connector_gateway_client.refusals import (
    CallerError,
    GatewayError,
    NoAnswer,
    ServiceFailure,
    UnreadableAnswer,
    UpstreamFailure,
)

__all__ = [
    "Answer",
    "AsyncGateway",
    "CallerError",
    "DryRun",
    "Gateway",
    "GatewayError",
    "NoAnswer",
    "ServiceFailure",
    "UnreadableAnswer",
    "UpstreamFailure",
    "errors",
    "webhooks",
]
