"""Requests to the running gateway."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import aiohttp
import click
from yarl import URL

from connector_gateway import __version__
from connector_gateway.cli.dev.sample_requests import query_text
from connector_gateway.cli.gateway_url_and_key import GatewayTarget
from connector_gateway.cli.text_tables import ENCODER
from connector_gateway.core.calls.arguments import decode
from connector_gateway.kit.errors import InvalidJson

WARNING = re.compile(r'199 - "([^"]*)"')
"""The pattern of a sentence in a ``Warning`` header."""


@dataclass(frozen=True)
class Response:
    """A response of the gateway: its text, its decoded body, and its warnings."""

    text: bytes
    body: dict[str, Any]
    warnings: list[str]


async def send(
    target: GatewayTarget, method: str, path: str, values: Mapping[str, Any], headers: dict[str, str] | None = None
) -> Response:
    """Send a request to the gateway and return its response. Raises ``ClickException`` if no gateway responds."""
    url = f"{target.base_url.rstrip('/')}{path}"
    own = {"Authorization": f"Bearer {target.key}", "User-Agent": f"connector-gateway-cli/{__version__}"}
    options: dict[str, Any] = {"headers": own | (headers or {})}
    if method == "GET":
        options["params"] = {name: query_text(value) for name, value in values.items()}
    else:
        options["data"] = ENCODER.encode(values)
        options["headers"]["Content-Type"] = "application/json"
    try:
        async with (
            aiohttp.ClientSession() as session,
            session.request(method, URL(url, encoded=True), **options) as response,
        ):
            text = await response.read()
            warnings = WARNING.findall(", ".join(response.headers.getall("Warning", [])))
            return Response(text, _envelope(text), warnings)
    except (aiohttp.ClientConnectionError, TimeoutError) as error:
        message = f"The gateway at {url} does not respond: {_reason(error)}. {target.how_to_start}"
        raise click.ClickException(message) from error
    except (aiohttp.ClientError, ValueError) as error:
        raise click.ClickException(f"{url} did not return a gateway response: {error}.") from error


def _reason(error: Exception) -> str:
    """Return the reason for a missing response, in the words of the system if possible."""
    return os.strerror(error.errno) if isinstance(error, OSError) and error.errno else str(error) or "timed out"


def _envelope(text: bytes) -> dict[str, Any]:
    try:
        body = decode(text)
    except InvalidJson as error:
        raise ValueError("it is not JSON") from error
    if not isinstance(body, dict) or not ("data" in body or _is_error(body.get("error"))):
        raise ValueError("it is not an envelope")
    return body


def _is_error(error: Any) -> bool:
    """Return True for an error of the gateway, since another server may be listening on that port."""
    return isinstance(error, dict) and {"code", "message", "remedy"} <= error.keys()
