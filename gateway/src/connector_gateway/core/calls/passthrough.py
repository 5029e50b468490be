"""Requests that callers write themselves, for the endpoints of a vendor that no operation covers.

::

    POST /v1/connections/conn_01…/request
    {"method": "GET", "path": "/v1/users/me"}

A request takes the path of every other: it is paced, timed, bounded and recorded. It can reach only the vendor's API,
with the credentials of the connection. A request that may change something is one step of a write without a key, and
nothing proves its outcome, so it is never sent again once it may have arrived.
"""

import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from decimal import Decimal
from typing import Annotated, Any, Literal
from urllib.parse import parse_qsl, unquote

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError, from_json

from connector_gateway.kit.context import OperationContext
from connector_gateway.kit.errors import Detail, InvalidParameters
from connector_gateway.kit.json_encoding import encode_json
from connector_gateway.kit.models import Params, Result
from connector_gateway.kit.operation import AnyConnector, AnyOperation, writes
from connector_gateway.kit.passthrough import SAFE_METHODS, CustomRequest
from connector_gateway.kit.upstream.budget import Charge
from connector_gateway.kit.upstream.client import UpstreamClient
from connector_gateway.kit.upstream.pool import UpstreamResponse
from connector_gateway.kit.upstream.redaction import redact
from connector_gateway.kit.write_steps import StepInput, StepResult, WriteStep

Method = Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]
Scalar = str | int | bool

ALLOWED_HEADERS: Mapping[str, str] = {
    name.lower(): name
    for name in (
        "Accept",
        "Accept-Language",
        "Content-Type",
        "If-Match",
        "If-Modified-Since",
        "If-None-Match",
        "If-Unmodified-Since",
        "Prefer",
    )
}
"""The headers that a request may have, by lower-case name.

A list of forbidden headers would be incomplete: any header could authorise someone else, choose another host or
replace the method.
"""

CREDENTIAL_PARAMETERS = frozenset({"access_token", "oauth_token", "oauth_consumer_key", "api_key", "apikey", "_method"})
"""Query parameters that carry credentials, or replace the method, in many APIs."""

OMITTED_HEADERS = frozenset(
    {
        *("connection", "keep-alive", "proxy-authenticate", "te", "trailer", "transfer-encoding", "upgrade"),
        *("content-encoding", "content-length", "set-cookie"),
    }
)
"""Headers of responses that concern the connection to the vendor, the encoded body, or a session of the vendor."""

JSON_TYPE, FORM_TYPE = "application/json", "application/x-www-form-urlencoded"

_PATH = re.compile(r"/(?!/)(?:[A-Za-z0-9\-._~!$&'()*+,;=:@/]|%[0-9A-Fa-f]{2})*")
"""A path of RFC 3986, without an authority before it."""


def _with_doubles(value: Any) -> Any:
    """Return a JSON value whose fractions are doubles. Raises an error if one would lose digits."""
    match value:
        case dict():
            return {name: _with_doubles(item) for name, item in value.items()}
        case list():
            return [_with_doubles(item) for item in value]
        case Decimal():
            # Encoded as it is, it would become a text.
            double = float(value)
            if Decimal(repr(double)) != value:
                raise PydanticCustomError("digits", "Contains a number with more digits than a double has")
            return double
    return value


class Request(Params):
    """One request to the vendor's API."""

    method: Method
    """``GET`` and ``HEAD`` are open to keys with read scope, if they change nothing at this vendor."""

    path: Annotated[str, Field(min_length=1, max_length=2000)]
    """The path at the vendor's API, percent-encoded and without a query, such as ``/v1/users/me``."""

    query: dict[str, Scalar | list[Scalar]] = Field(default_factory=dict, max_length=100)
    """Query parameters. A list repeats its parameter."""

    headers: dict[str, str] = Field(default_factory=dict, max_length=50)
    """``Accept``, ``Accept-Language``, ``Content-Type``, ``Prefer`` and the ``If-…`` headers; others are rejected."""

    body: Annotated[Any, BeforeValidator(_with_doubles)] = None
    """The JSON body. A text with another ``Content-Type`` is sent as it is."""

    @property
    def content_type(self) -> str:
        """The content type of the body, by default JSON."""
        return next((value for name, value in self.headers.items() if name.lower() == "content-type"), JSON_TYPE)

    @property
    def body_fields(self) -> Mapping[str, Any]:
        """The fields of the body, if it is a JSON object or a form."""
        if isinstance(self.body, str) and _media_type(self.content_type) == FORM_TYPE:
            return dict(parse_qsl(self.body, keep_blank_values=True))
        return self.body if isinstance(self.body, dict) else {}

    def to_custom_request(self) -> CustomRequest:
        """Return the request as the connector's rules read it."""
        values = [(name, value if isinstance(value, list) else [value]) for name, value in self.query.items()]
        query = [(name, _to_text(item)) for name, items in values for item in items]
        return CustomRequest(self.method, unquote(self.path), query, self.body_fields)


class VendorResponse(Result):
    """The vendor's response, whatever its status."""

    status: int
    """The HTTP status. Redirects are not followed."""

    headers: dict[str, str]
    """The headers by lower-case name, without those of the connection and without cookies."""

    body: Any
    """The JSON value, or the text of another content type; null if the body is empty."""

    is_base64: bool = False
    """True if the body is neither JSON nor UTF-8, and therefore encoded as Base64."""


class VendorApi:
    """A vendor's API, for requests that callers write themselves."""

    def __init__(self, connector: AnyConnector, upstream: UpstreamClient) -> None:
        self._connector = connector
        self.rules = connector.passthrough
        self._upstream = upstream

    def check(self, params: Request) -> None:
        """Raise ``InvalidParameters`` for a request that would leave the vendor's API or authorise someone else."""
        own = self.rules.credential_parameters | set(self._connector.credentials)
        details = [*_check_path(params.path), *_check_headers(params.headers), *_check_body(params)]
        details += _check_names("query", params.query, own | CREDENTIAL_PARAMETERS)
        details += _check_names("body", params.body_fields, own)
        if details:
            names = ", ".join(dict.fromkeys(str(detail["parameter"]) for detail in details))
            raise InvalidParameters(f"The request cannot be sent because of {names}.", *details)

    async def send(self, params: Request) -> VendorResponse:
        """Send the request, and return the vendor's response."""
        request = params.to_custom_request()
        headers = {ALLOWED_HEADERS[name.lower()]: value for name, value in params.headers.items()}
        content = None
        if params.body is not None:
            content = encode_json(params.body) if _is_json(params.content_type) else params.body.encode()
            headers = {"Content-Type": JSON_TYPE, **headers}
        response = await self._upstream.send_verbatim(
            params.method,
            params.path,
            *self._charges(request),
            writes=not self.rules.is_read(request),
            query=request.query,
            content=content,
            headers=headers,
        )
        return _to_vendor_response(response)

    def _charges(self, request: CustomRequest) -> Sequence[Charge]:
        charges = self.rules.charges
        return [Charge(name) for name in self._connector.budgets] if charges is None else charges(request)


async def _send_step(ctx: OperationContext[VendorApi], intent: StepInput, _: str) -> StepResult:
    return (await ctx.upstream.send(Request.model_validate(intent))).model_dump()


SEND = WriteStep[OperationContext[VendorApi]](
    name="send the request",
    send=_send_step,
    # Nothing is known about the objects of the request that could prove that it was carried out.
    find=None,
    public_result=lambda _: {},
)


@writes("POST /v1/connections/{connection_id}/request", overwrites=True)
async def request(ctx: OperationContext[VendorApi], params: Request) -> VendorResponse:
    """Send one request to the vendor's API with the connection's credentials, and return its response.

    For endpoints without an operation. The key must have been created with ``passthrough``. Nothing can tell if a
    request took effect whose response was lost, so an idempotency key is rejected.
    """
    ctx.upstream.check(params)
    if ctx.upstream.rules.is_read(params.to_custom_request()):
        return await ctx.upstream.send(params)
    return VendorResponse(**await ctx.step(SEND, params.model_dump(exclude_unset=True)))


REQUEST: AnyOperation = replace(request, permission="passthrough", keyed=False, create_client=VendorApi)
"""The operation of every connector that sends requests of callers."""


def operation_names(connectors: Iterable[AnyConnector]) -> Sequence[str]:
    """Return the names of all operations, prefixed with their connectors', such as ``notes_create_page``."""
    return [f"{connector.name}_{operation.name}" for connector in connectors for operation in operations_of(connector)]


def operations_of(connector: AnyConnector) -> Sequence[AnyOperation]:
    """Return all operations that can be called through connections of *connector*."""
    return (*connector.operations, REQUEST)


def _to_text(value: Scalar) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _check_path(path: str) -> Iterator[Detail]:
    """Yield the reason why *path* could lead elsewhere than it reads."""
    segments = path.split("/")
    decoded = [unquote(segment) for segment in segments]
    if not path.startswith("/") or path.startswith("//"):
        message = "Should begin with one slash; the host is that of the vendor's API"
    elif "?" in path or "#" in path:
        message = "Should not contain a query or a fragment; use query"
    elif not _PATH.fullmatch(path):
        message = "Should be percent-encoded, without control characters, spaces, backslashes and braces"
    elif not {".", ".."}.isdisjoint(decoded) or "" in segments[1:-1]:
        message = "Should not contain empty segments or the segments . and .."
    elif any("/" in text or "\\" in text or not text.isprintable() for text in decoded):
        message = "Should not contain encoded slashes, backslashes or control characters"
    else:
        return
    yield {"parameter": "path", "message": message, "value": path}


def _check_headers(headers: Mapping[str, str]) -> Iterator[Detail]:
    for name, value in headers.items():
        if name.lower() not in ALLOWED_HEADERS:
            message = "Is not a header that a request may set"
            yield {"parameter": f"headers.{name}", "message": message, "allowed": [*ALLOWED_HEADERS.values()]}
        elif not (value.isascii() and value.isprintable()):
            yield {"parameter": f"headers.{name}", "message": "Should consist of printable ASCII", "value": value}
    names = [name.lower() for name in headers]
    for name in dict.fromkeys(name for name in names if names.count(name) > 1):
        yield {"parameter": f"headers.{name}", "message": "Occurs more than once"}


def _check_body(params: Request) -> Iterator[Detail]:
    if params.body is not None and params.method in SAFE_METHODS:
        yield {"parameter": "body", "message": f"Should be absent with {params.method}"}
        return
    content_type = params.content_type
    if _media_type(content_type).startswith("multipart/"):
        yield {"parameter": "headers.Content-Type", "message": "Should not be multipart", "value": content_type}
    elif params.body is not None and not isinstance(params.body, str) and not _is_json(content_type):
        yield {"parameter": "body", "message": f"Should be a text, because its Content-Type is {content_type}"}


def _check_names(parameter: str, values: Iterable[str], credentials: AbstractSet[str]) -> Iterator[Detail]:
    for name in values:
        if name.lower() in credentials:
            message = "Would change the credentials or the method; the gateway adds those of the connection"
            yield {"parameter": f"{parameter}.{name}", "message": message}


def _media_type(content_type: str) -> str:
    return content_type.partition(";")[0].strip().lower()


def _is_json(content_type: str) -> bool:
    media_type = _media_type(content_type)
    return media_type == JSON_TYPE or media_type.endswith("+json")


def _to_vendor_response(response: UpstreamResponse) -> VendorResponse:
    """Return the public form of *response*, without the secrets of the connection."""
    headers: dict[str, str] = {}
    for name, value in response.headers.items():
        if (lower := name.lower()) not in OMITTED_HEADERS:
            headers[lower] = f"{headers[lower]}, {value}" if lower in headers else value
    headers = redact(headers)
    try:
        text = response.body.decode()
    except UnicodeDecodeError:
        encoded = b64encode(response.body).decode()
        return VendorResponse(status=response.status, headers=headers, body=encoded, is_base64=True)
    text = redact(text)
    body: Any = text or None
    if text and _is_json(headers.get("content-type", "")):
        try:
            body = from_json(text)
        except ValueError:
            body = text
    return VendorResponse(status=response.status, headers=headers, body=body)
