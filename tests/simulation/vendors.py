"""The six vendors in process, and the network between them and the gateway."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from email.utils import formatdate
from random import Random
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

from aiohttp import streams, web
from aiohttp.http_parser import RawRequestMessage
from aiohttp.http_writer import HttpVersion11
from multidict import CIMultiDict, CIMultiDictProxy
from yarl import URL

from connector_gateway.connectors import CONNECTORS
from connector_gateway.kit.errors import InDoubtReason
from connector_gateway.kit.upstream.pool import (
    NO_SECRETS,
    ConnectionLost,
    NotSent,
    TimedOut,
    Transport,
    UpstreamResponse,
)
from harness.clocks import NOON
from simulation.virtual_time_loop import apart
from workspace_sandbox import EMULATORS
from workspace_sandbox.kit.emulator import Emulator
from workspace_sandbox.kit.emulator_context import EmulatorContext
from workspace_sandbox.kit.middleware import with_faults_and_log

if TYPE_CHECKING:
    from simulation.killable_process import Incarnation

CALL: ContextVar[str] = ContextVar("CALL", default="")
"""The call that causes the vendor request."""

READS = {
    "boards": re.compile(r"GET .*"),
    "chat": re.compile(r"GET .*|POST /api/(conversations\.(?!open|join).*|auth\.test|users\..*|emoji\..*)"),
    "crm": re.compile(r"GET .*|POST .*/(search|batch/read)"),
    "mail": re.compile(r"GET .*"),
    "notes": re.compile(r"GET .*|POST /v1/(search|data_sources/[^/]+/query|databases/[^/]+/query)"),
    "tables": re.compile(r"GET .*|POST .*/listRecords"),
}
"""Requests that change nothing; all others are steps."""

ERROR_PAGE = b"<html><head><title>%d</title></head><body><center><h1>%d</h1></center><hr>nginx</body></html>"
FAILURES: Mapping[str, tuple[int, Any]] = {
    "notes": (500, {"object": "error", "status": 500, "code": "internal_server_error", "message": "Unexpected error."}),
    "boards": (500, "Internal Server Error"),
    "mail": (500, {"error": {"code": 500, "message": "Internal error.", "status": "INTERNAL", "errors": []}}),
    "chat": (200, {"ok": False, "error": "internal_error"}),
    "crm": (500, {"status": "error", "message": "internal error", "correlationId": "0", "category": "INTERNAL_ERROR"}),
    "tables": (500, {"error": {"type": "SERVER_ERROR", "message": "Something went wrong"}}),
}
"""The failure responses of each vendor's application."""

REJECTIONS: Mapping[str, tuple[int, Any]] = {
    "notes": (400, {"object": "error", "status": 400, "code": "validation_error", "message": "Not like this."}),
    "boards": (400, "invalid value for name"),
    "mail": (400, {"error": {"code": 400, "message": "Invalid", "errors": [{"reason": "invalidArgument"}]}}),
    "chat": (200, {"ok": False, "error": "restricted_action"}),
    "crm": (400, {"status": "error", "message": "Not like this", "correlationId": "0", "category": "VALIDATION_ERROR"}),
    "tables": (422, {"error": {"type": "INVALID_VALUE_FOR_COLUMN", "message": "Not like this"}}),
}
"""The rejections of each vendor's application."""

OWN = "the vendor's"
"""A body in the vendor's form."""

SHAPES: Mapping[str, Any] = {
    "empty": "",
    "a page": "<html><head><title>Moved</title></head><body>nginx</body></html>",
    "cut off": '{"error": {"type": "INVALID',
    "a list": ["no"],
    "another API's": {"fault": {"faultstring": "Not now", "detail": {"errorcode": "policies.Rejected"}}},
    OWN: None,
}
"""The bodies of unexpected statuses."""


@dataclass(frozen=True)
class Unexpected:
    """A response that replaces the vendor's: any status with any body."""

    status: int
    shape: str

    def __str__(self) -> str:
        return f"{self.status} with {self.shape}"

    def answer(self, connector: str) -> UpstreamResponse:
        """Return the response for the vendor of *connector*."""
        return UpstreamResponse(self.status, _headers("text/html"), self._content(connector))

    def _content(self, connector: str) -> bytes:
        body = REJECTIONS[connector][1] if self.shape == OWN else SHAPES[self.shape]
        return body.encode() if isinstance(body, str) else json.dumps(body).encode()

    def in_doubt_reason(self, connector: str) -> InDoubtReason | None:
        """Return the reason by the connector's table. None is evidence that nothing was done."""
        response = UpstreamResponse(self.status, {}, self._content(connector))
        return CONNECTORS[connector].error_table.in_doubt_reason(response)


BY_ITSELF = {"failure": FAILURES, "refusal": REJECTIONS}
"""Whether only an application sends it, and no edge."""


def _garbled(_: bytes) -> bytes:
    return b'{"broken": <html>\xff'


def _odd(body: bytes) -> bytes:
    """Return a response that lacks most of the expected fields."""
    content = json.loads(body or b"{}")
    return json.dumps({name: content[name] for name in ("ok", "id") if name in content}).encode()


BODIES: Mapping[str, Callable[[bytes], bytes]] = {"answer": bytes, "garbage": _garbled, "odd": _odd}
"""Return the body of a response after its fault."""


class VendorClock:
    """The vendors' clock."""

    def __init__(self) -> None:
        self.skew = 0.0

    def now(self) -> float:
        try:
            return NOON + self.skew + asyncio.get_running_loop().time()
        except RuntimeError:
            return NOON

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(max(0.0, seconds))


@dataclass(frozen=True)
class Trouble:
    """The fault of one request: the response to the gateway, and whether and when the request is performed."""

    response: str | Unexpected
    """``answer``, ``silence``, ``cut``, ``refused`` (never sent), ``garbage``, ``odd``, ``failure``, ``refusal``.
    Or the status of an edge: ``502`` to ``504``.
    """

    done_after: float | None = None
    """Seconds from sending to execution. None if it is never executed."""

    response_after: float = 0.1
    """Seconds after sending; a real response cannot arrive before the execution."""


@dataclass
class Sent:
    """One request to a vendor, as seen by the network."""

    number: int
    at: float
    process: str
    call: str
    connector: str
    method: str
    path: str
    changes: bool
    body: bytes | None
    trouble: Trouble | None = None
    status: int | None = None
    """The vendor's own response. None if it was not reached."""

    outcome: str = ""

    @property
    def may_have_arrived(self) -> bool:
        """Whether the gateway must assume that it had an effect."""
        return self.outcome not in {"refused", "429"} and not re.fullmatch(r"4\d\d", self.outcome)

    @property
    def is_delayed(self) -> bool:
        """Whether it took longer than the pacer allows: half a window, of which the shortest are 1 s."""
        return self.trouble is not None and (self.trouble.done_after or 0.0) > 0.5

    @property
    def step(self) -> str:
        """The effect of the request, without its markers."""
        marked = self.connector == "chat" or self.path.endswith(("/drafts", "/messages/send"))
        return f"{self.method} {self.path}" + ("" if marked or not self.body else f" {self.body.decode()}")


@dataclass
class Vendors:
    """All vendors and their received requests."""

    limits: bool = True
    random: Random = field(default_factory=Random)
    slowest: float = 0.2
    """The maximum seconds of a request without a fault, each way."""

    troubles: dict[int, Trouble] = field(default_factory=dict)
    """By the number of the step, counted over all connectors from the start of the story."""

    reading_troubles: dict[int, Trouble] = field(default_factory=dict)
    sent: list[Sent] = field(default_factory=list)
    clock: VendorClock = field(default_factory=VendorClock)
    healthy: bool = True
    """Whether faults are off, as before and after the story."""

    def __post_init__(self) -> None:
        self.emulators: dict[str, Emulator] = {
            name: emulator(EmulatorContext(self.clock, **emulator.knobs)) for name, emulator in EMULATORS.items()
        }
        self._applications: dict[str, tuple[str, Emulator, web.Application]] = {}
        for name, emulator in self.emulators.items():
            for host, application in emulator.applications().items():
                emulator.context.addresses[host] = f"http://{host}.{name}.invalid"
                self._applications[f"{host}.{name}.invalid"] = (
                    name,
                    emulator,
                    with_faults_and_log(emulator, application),
                )

    async def start(self) -> None:
        """Start the vendors."""
        self._steps = self._reads = 0
        self._under_way: set[asyncio.Task[None]] = set()
        for emulator in self.emulators.values():
            emulator.context.knobs["limits"] = self.limits
        for _, _, application in self._applications.values():
            application.freeze()
            await application.startup()

    @property
    def addresses(self) -> dict[str, str]:
        """Return the settings that direct the gateway here."""
        return {
            f"GATEWAY_{name.upper()}_{host.upper()}_URL": address
            for name, emulator in self.emulators.items()
            for host, address in emulator.context.addresses.items()
        }

    def transport(self, host: "Incarnation", timeout_seconds: float) -> "SimulatedTransport":
        """Return the transport of one process."""
        return SimulatedTransport(self, host, timeout_seconds)

    def on_its_way(self, task: asyncio.Task[None]) -> None:
        """Retain *task* until it is done."""
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def request(self, connector: str, method: str, path: str, body: Any, headers: Mapping[str, str]) -> Any:
        """Return the response to a client other than the gateway."""
        address = self.emulators[connector].context.addresses["base"]
        response = await self.serve(method, address + path, headers, json.dumps(body).encode())
        return response.json()

    def note(self, method: str, url: str, body: bytes | None, process: str) -> Sent:
        """Store a sent request, and choose its fault."""
        parts = urlsplit(url)
        connector = self._applications[parts.netloc][0]
        changes = not READS[connector].fullmatch(f"{method} {parts.path}")
        sent = Sent(len(self.sent), _now(), process, CALL.get(), connector, method, parts.path, changes, body)
        if not self.healthy:
            troubles = self.troubles if changes else self.reading_troubles
            number = self._steps if changes else self._reads
            sent.trouble = consistent(troubles.get(number), connector)
            self._steps, self._reads = self._steps + changes, self._reads + (not changes)
        self.sent.append(sent)
        return sent

    async def carry(
        self, sent: Sent, url: str, headers: Mapping[str, str], body: bytes | None, outcome: asyncio.Future[Any]
    ) -> None:
        """Deliver a request to its vendor and return the response, subject to the fault."""
        trouble = sent.trouble
        if trouble is None:
            await asyncio.sleep(self._way())
            response = await self._reach(sent, url, headers, body)
            await asyncio.sleep(self._way())
            _resolve(outcome, response)
            return
        seen = asyncio.get_running_loop().create_task(self._respond(sent, trouble, outcome))
        if trouble.done_after is not None:
            await asyncio.sleep(trouble.done_after)
            response = await self._reach(sent, url, headers, body)
            if isinstance(trouble.response, str) and trouble.response in BODIES:
                await asyncio.sleep(max(0.0, sent.at + trouble.response_after - _now()))
                _resolve(
                    outcome,
                    UpstreamResponse(response.status, response.headers, BODIES[trouble.response](response.body)),
                )
        await seen

    async def _respond(self, sent: Sent, trouble: Trouble, outcome: asyncio.Future[Any]) -> None:
        """Send the gateway its response regardless of the vendor's."""
        await asyncio.sleep(trouble.response_after)
        if trouble.response == "cut":
            _resolve(outcome, ConnectionLost("the connection broke"))
        elif trouble.response == "refused":
            _resolve(outcome, NotSent("nothing accepted the connection"))
        elif isinstance(trouble.response, Unexpected):
            _resolve(outcome, trouble.response.answer(sent.connector))
        elif trouble.response in BY_ITSELF:
            status, body = BY_ITSELF[trouble.response][sent.connector]
            content = body.encode() if isinstance(body, str) else json.dumps(body).encode()
            _resolve(
                outcome,
                UpstreamResponse(
                    status, _headers("text/plain" if isinstance(body, str) else "application/json"), content
                ),
            )
        elif trouble.response.isdigit():
            status = int(trouble.response)
            _resolve(outcome, UpstreamResponse(status, _headers("text/html"), ERROR_PAGE % (status, status)))

    async def _reach(self, sent: Sent, url: str, headers: Mapping[str, str], body: bytes | None) -> UpstreamResponse:
        response = await self.serve(sent.method, url, headers, body)
        sent.status = response.status
        return response

    def _way(self) -> float:
        return self.random.uniform(0.005, self.slowest)

    async def serve(self, method: str, url: str, headers: Mapping[str, str], body: bytes | None) -> UpstreamResponse:
        """Return the vendor's response, without a network."""
        address = URL(url, encoded=True)
        _, _, application = self._applications[str(address.raw_authority)]
        request = _request(method, address, headers, body)
        try:
            response = await application._handle(request)
        except web.HTTPException as refusal:
            response = refusal
        content = response.body if isinstance(response, web.Response) else b""
        response_headers = CIMultiDict(response.headers)
        response_headers.setdefault("Date", formatdate(self.clock.now(), usegmt=True))
        return UpstreamResponse(
            response.status, CIMultiDictProxy(response_headers), content if isinstance(content, bytes) else b""
        )


class SimulatedTransport(Transport):
    """The connection pool of one process."""

    def __init__(self, vendors: Vendors, host: "Incarnation", timeout_seconds: float) -> None:
        super().__init__(timeout_seconds)
        self._vendors = vendors
        self._host = host

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        return None

    async def send(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes | None, *_: object, **__: object
    ) -> UpstreamResponse:
        """Send one request, and wait for its response within the timeout."""
        loop = asyncio.get_running_loop()
        outcome: asyncio.Future[Any] = loop.create_future()
        sent = self._vendors.note(method, url, body, self._host.name)
        if not self._host.move():
            sent.outcome = "dead before sending"
            await outcome
        sent.outcome = "unknown"
        self._vendors.on_its_way(apart(self._vendors.carry(sent, url, dict(headers), body, outcome)))
        try:
            async with asyncio.timeout(self._timeout_seconds):
                response: UpstreamResponse | Exception = await outcome
        except TimeoutError:
            sent.outcome = "silence"
            raise TimedOut("no answer in time") from None
        finally:
            self._host.move()
        if isinstance(response, Exception):
            sent.outcome = "refused" if isinstance(response, NotSent) else "cut"
            raise response
        sent.outcome = _outcome_of(sent, response)
        return UpstreamResponse(response.status, response.headers, response.body)

    @asynccontextmanager
    async def stream(
        self, method: str, url: str, headers: Mapping[str, str], secrets: Mapping[str, str] = NO_SECRETS
    ) -> AsyncIterator[tuple[int, Mapping[str, str], AsyncIterator[bytes]]]:
        """Equal to ``send``, with the body in one piece."""
        response = await self.send(method, url, headers, None, secrets=secrets)

        async def pieces() -> AsyncIterator[bytes]:
            yield response.body

        yield response.status, response.headers, pieces()


class _Protocol:
    """Implements the interface of a connection without effect."""

    transport = ssl_context = peername = sockname = None
    _reading_paused = False

    def pause_reading(self, *_: Any, **__: Any) -> None:
        return None

    resume_reading = pause_reading


class _Nowhere:
    """Implements the interface of a writer without effect."""

    async def drain(self) -> None:
        return None


def _request(method: str, url: URL, headers: Mapping[str, str], body: bytes | None) -> web.Request:
    request_headers = CIMultiDict(headers)
    request_headers.setdefault("Host", str(url.raw_authority))
    if body is not None:
        request_headers["Content-Length"] = str(len(body))
    raw = tuple((name.encode(), value.encode()) for name, value in request_headers.items())
    message = RawRequestMessage(
        method,
        url.raw_path_qs,
        HttpVersion11,
        CIMultiDictProxy(request_headers),
        raw,
        should_close=False,
        compression=None,
        upgrade=False,
        chunked=False,
        url=url.relative(),
    )
    loop = asyncio.get_running_loop()
    payload: Any = streams.EMPTY_PAYLOAD
    if body:
        payload = streams.StreamReader(_Protocol(), 2**16, loop=loop)  # type: ignore[arg-type]
        payload.feed_data(body)
        payload.feed_eof()
    request_class: Any = web.Request
    request: web.Request = request_class(
        message, payload, _Protocol(), _Nowhere(), asyncio.current_task(), loop, client_max_size=64 * 1024 * 1024
    )
    return request


def consistent(trouble: Trouble | None, connector: str) -> Trouble | None:
    """Return *trouble* for a consistent vendor: it executes nothing that it has rejected or reported as failed."""
    if trouble is None or not isinstance(trouble.response, Unexpected):
        return trouble
    reason = trouble.response.in_doubt_reason(connector)
    if reason == "failed" and trouble.done_after is not None:
        return replace(trouble, done_after=min(trouble.done_after, trouble.response_after))
    if reason is not None:
        return trouble
    # An account with a revoked authorisation can do nothing, regardless of repeats.
    response = Unexpected(401, "a page") if trouble.response.status == 401 else trouble.response
    return Trouble(response, None, trouble.response_after)


def _outcome_of(sent: Sent, answer: UpstreamResponse) -> str:
    """Return the significant part of the gateway's response."""
    response = None if sent.trouble is None else sent.trouble.response
    if response == "refusal" or (isinstance(response, Unexpected) and response.in_doubt_reason(sent.connector) is None):
        return "400"
    return str(response) if isinstance(response, Unexpected) else str(answer.status)


def _headers(kind: str) -> Mapping[str, str]:
    return CIMultiDictProxy(CIMultiDict({"Content-Type": kind, "Date": formatdate(NOON + _now(), usegmt=True)}))


def _resolve(outcome: asyncio.Future[Any], answer: Any) -> None:
    if not outcome.done():
        outcome.set_result(answer)


def _now() -> float:
    return asyncio.get_running_loop().time()
