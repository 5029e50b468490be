"""The emulator of a vendor in this process, and the network between it and the gateway, with faults."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from http.client import HTTPResponse
from importlib import import_module
from io import BytesIO
from random import Random
from typing import Any, Self

from aiohttp import web
from multidict import CIMultiDict
from yarl import URL

from connector_gateway.connector_check.observed_steps import STEP
from connector_gateway.kit.operation import AnyConnector
from connector_gateway.kit.upstream.pool import NO_SECRETS, ConnectionLost, TimedOut, Transport, UpstreamResponse
from connector_gateway.kit.write_steps import WriteStep

EPOCH = 1_795_000_000.0
"""The time at which histories start, in seconds since the Unix epoch."""

CALLER: ContextVar[str] = ContextVar("CALLER")
"""The caller whose call causes the vendor request."""

CROWD = "crowd"
"""The caller that stands for many clients: each of its writes is served ``CROWD_SIZE`` times."""

CROWD_SIZE = 101
"""Most vendors' pages have at most 100 objects."""

READING_METHODS = frozenset({"GET", "HEAD"})

MAX_TRAVEL_SECONDS = 0.2
"""The maximum time of a request or a response on its way."""


class LoopClock:
    """The time of the running loop, counted from ``EPOCH``."""

    def now(self) -> float:
        """Return the time in seconds since the Unix epoch."""
        try:
            return EPOCH + asyncio.get_running_loop().time()
        except RuntimeError:
            return EPOCH

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(max(0.0, seconds))


@dataclass(frozen=True)
class Fault:
    """The fault of one request."""

    served: bool
    """Whether the vendor serves the request."""

    response: UpstreamResponse | None = None
    """The response that replaces the vendor's, or None if the connection is cut."""

    delay_seconds: float = 0.0
    """Seconds until the vendor serves the request, although the gateway has given up before."""


@dataclass
class SentRequest:
    """A request to the vendor."""

    caller: str
    number: int
    """Its position among the requests of its caller, from 0."""

    method: str
    path: str
    body: bytes
    place: tuple[str, int]
    """The name of its step, and its position among the requests of its caller for this step, or among those that only
    read.
    """

    step: WriteStep[Any] | None
    """The step of a write that it carries out. None if it only reads, even if a step reads first."""

    fault: Fault | None = None
    status: int | None = None
    """The status of the emulator's response. None if it did not serve the request."""

    is_done: bool = False
    """Whether the emulator carried it out."""

    is_throttled: bool = False
    """Whether the emulator rejected it because of a rate limit."""

    @property
    def step_name(self) -> str:
        """The name of the step. Empty if it only reads."""
        return self.step.name if self.step else ""

    @property
    def may_have_arrived(self) -> bool:
        """Whether the gateway must assume that it was carried out."""
        return self.fault is not None or self.is_done


class EmulatedVendor:
    """The emulator of a connector's vendor, with its default data."""

    def __init__(self, connector: AnyConnector, emulator: type[Any]) -> None:
        context = import_module("workspace_sandbox.kit.emulator_context").EmulatorContext
        self.connector = connector
        self.emulator = emulator(context(LoopClock(), **emulator.knobs))
        self.emulator.context.addresses.update(
            {route.host: f"http://{route.host}.{connector.name}.invalid" for route in self.emulator.routes}
        )
        self.examples: Mapping[str, Any] = connector.examples(self.emulator.examples())
        self.reset = _create_reset(self.emulator)
        """Restores the default data. Called between histories."""

        self.hosts: dict[str, web.Server] = {}

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        """Serve requests on the running loop inside the context."""
        with_faults_and_log = import_module("workspace_sandbox.kit.middleware").with_faults_and_log
        runners = {
            f"{host}.{self.connector.name}.invalid": web.AppRunner(
                with_faults_and_log(self.emulator, application), access_log=None
            )
            for host, application in self.emulator.applications().items()
        }
        for runner in runners.values():
            await runner.setup()
        self.hosts = {host: runner.server for host, runner in runners.items() if runner.server}
        try:
            yield
        finally:
            for runner in runners.values():
                await runner.cleanup()

    async def serve(self, method: str, url: str, headers: Mapping[str, str], body: bytes | None) -> UpstreamResponse:
        """Return the response to a request."""
        address = URL(url, encoded=True)
        wire = _Wire()
        protocol = self.hosts[str(address.raw_authority)]()
        protocol.connection_made(wire)
        protocol.data_received(_to_bytes(method, address, headers, body or b""))
        await wire.closed
        protocol.connection_lost(None)
        return _parse_response(method, bytes(wire.written))

    def is_success(self, response: UpstreamResponse) -> bool:
        """Return True if the vendor carried out the request with this *response* of the emulator."""
        return response.is_success and self.connector.error_table.parse_reason(response) is None


def _create_reset(emulator: Any) -> Callable[[], None]:
    """Return a function that restores the default data of *emulator*."""
    if type(emulator).__module__.startswith("workspace_sandbox."):
        # Much faster, but states with classes of other packages cannot be read back.
        state = import_module("workspace_sandbox.kit.state.pickling").InitialState(emulator, lambda: None)
        restore: Callable[[], None] = state.restore
        return restore

    def reset() -> None:
        emulator.context.reset()
        emulator.reset()
        emulator.context.reseed_ids()

    return reset


class _Wire(asyncio.Transport):
    """A connection in memory, which collects what the server writes."""

    def __init__(self) -> None:
        super().__init__({"peername": ("127.0.0.1", 1)})
        self.written = bytearray()
        self.closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += data

    def close(self) -> None:
        if not self.closed.done():
            self.closed.set_result(None)

    abort = close

    def is_closing(self) -> bool:
        return self.closed.done()

    def pause_reading(self) -> None:
        """Do nothing: the whole request was received."""

    resume_reading = pause_reading


def _to_bytes(method: str, address: URL, headers: Mapping[str, str], body: bytes) -> bytes:
    sent = CIMultiDict(headers)
    sent.update({"Host": str(address.raw_authority), "Content-Length": str(len(body)), "Connection": "close"})
    lines = [f"{method} {address.raw_path_qs} HTTP/1.1", *(f"{name}: {value}" for name, value in sent.items())]
    return "\r\n".join([*lines, "", ""]).encode() + body


class _Received:
    """The bytes of a response, as a socket for ``HTTPResponse``."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def makefile(self, _: str) -> BytesIO:
        return BytesIO(self._content)


def _parse_response(method: str, content: bytes) -> UpstreamResponse:
    socket: Any = _Received(content)
    response = HTTPResponse(socket, method=method)
    response.begin()
    return UpstreamResponse(response.status, CIMultiDict(response.headers.items()), response.read())


async def _continue(_: SentRequest) -> None:
    """Do nothing."""


@dataclass
class Network:
    """The network between gateway and vendor: the sent requests, and the faults of some."""

    vendor: EmulatedVendor
    random: Random
    faults: dict[tuple[str, int], Fault] = field(default_factory=dict)
    """By the caller and the number of the request."""

    sent: list[SentRequest] = field(default_factory=list)
    on_send: Callable[[SentRequest], Awaitable[None]] = _continue
    """Called before a request is sent."""

    on_response: Callable[[SentRequest], Awaitable[None]] = _continue
    """Called before a response is received."""

    def note(self, method: str, url: str, body: bytes | None) -> SentRequest:
        """Record a request that is about to be sent, and choose its fault."""
        caller = CALLER.get("")
        earlier = [one for one in self.sent if one.caller == caller]
        number, step = len(earlier), None if method in READING_METHODS else STEP.get()
        name = step.name if step else ""
        place = name, sum(one.step_name == name for one in earlier)
        sent = SentRequest(caller, number, method, URL(url, encoded=True).raw_path, body or b"", place, step)
        sent.fault = self.faults.get((caller, number))
        self.sent.append(sent)
        return sent

    async def travel(self) -> None:
        """Wait as long as a request or a response is on its way."""
        await asyncio.sleep(self.random.uniform(0.005, MAX_TRAVEL_SECONDS))


class EmulatedTransport(Transport):
    """Sends the gateway's requests to the emulator."""

    def __init__(self, network: Network, timeout_seconds: float) -> None:
        super().__init__(timeout_seconds)
        self._network = network
        self._late: set[asyncio.Task[Any]] = set()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        return None

    async def send(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes | None, *_: object, **__: object
    ) -> UpstreamResponse:
        """Send one request, subject to its fault, and return its response."""
        network = self._network
        sent = network.note(method, url, body)
        await network.on_send(sent)
        await network.travel()
        fault = sent.fault or Fault(served=True)
        response = None
        if fault.delay_seconds:
            task = asyncio.create_task(self._serve_late(sent, url, headers, body, fault.delay_seconds))
            self._late.add(task)
            await asyncio.sleep(self._timeout_seconds)
            raise TimedOut("no response in time")
        if fault.served:
            response = await self._serve(sent, url, headers, body)
            await network.travel()
        await network.on_response(sent)
        response = response if sent.fault is None else fault.response
        if response is None:
            raise ConnectionLost("the connection was cut")
        return UpstreamResponse(response.status, response.headers, response.body)

    async def _serve(
        self, sent: SentRequest, url: str, headers: Mapping[str, str], body: bytes | None
    ) -> UpstreamResponse:
        if sent.caller == CROWD and sent.step:
            for _ in range(1, CROWD_SIZE):
                await self._network.vendor.serve(sent.method, url, headers, body)
                # Within the rate limits of most vendors.
                await asyncio.sleep(1)
        response = await self._network.vendor.serve(sent.method, url, headers, body)
        connector = self._network.vendor.connector
        sent.status, sent.is_done = response.status, self._network.vendor.is_success(response)
        sent.is_throttled = connector.parse_throttle(response) is not None
        return response

    async def _serve_late(
        self, sent: SentRequest, url: str, headers: Mapping[str, str], body: bytes | None, seconds: float
    ) -> None:
        await asyncio.sleep(seconds)
        await self._serve(sent, url, headers, body)

    @asynccontextmanager
    async def stream(
        self, method: str, url: str, headers: Mapping[str, str], secrets: Mapping[str, str] = NO_SECRETS
    ) -> AsyncIterator[tuple[int, Mapping[str, str], AsyncIterator[bytes]]]:
        """Send one request and yield its response, with the body in one piece."""
        response = await self.send(method, url, headers, None, secrets=secrets)

        async def pieces() -> AsyncIterator[bytes]:
            yield response.body

        yield response.status, response.headers, pieces()
