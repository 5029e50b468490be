"""A proxy between the gateway and the vendors that mangles some of the responses, reproducibly by seed."""

import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Any

import aiohttp
from aiohttp import web
from multidict import CIMultiDict
from yarl import URL

from hostile.response_mutations import mangled
from simulation.vendors import READS
from workspace_sandbox.kit.event_loop_thread import event_loop_thread
from workspace_sandbox.sandbox import Sandbox

ONE_IN_THREE = 1 / 3
IDENTIFIER = re.compile(r"[^/]*\d[^/]*")
"""Parts of paths that can differ between runs."""

REJECTION_BODY = re.compile(rb'\s*{\s*"ok"\s*:\s*false')
"""The error body of vendors that send errors with status 200."""

NOT_PASSED_ON = {"connection", "content-encoding", "content-length", "transfer-encoding"}


@dataclass
class Mangling:
    """The settings of the proxy, which tests change, and its log."""

    share: float = 0.0
    """The share of the responses that are mangled."""

    only_done: bool = False
    """Whether responses are mangled only after changes."""

    addresses: dict[str, str] = field(default_factory=dict)
    """The settings that direct the gateway to the proxy."""

    mangled: list[str] = field(default_factory=list)
    """The mutations since the start of this seed."""

    mangled_answers: int = 0
    """The number of responses mangled since the start."""

    _seed: int = 0
    _counts: Counter[str] = field(default_factory=Counter)

    def begin(self, seed: int, share: float = ONE_IN_THREE, *, only_done: bool = False) -> None:
        """Mangle responses from now on, or only those to changes."""
        self._seed, self.share, self.only_done = seed, share, only_done
        self._counts.clear()
        self.mangled.clear()

    def stop(self) -> None:
        """Forward every response unchanged."""
        self.share = 0.0

    def passed_on(self, connector: str, method: str, path: str, status: int, body: bytes) -> bytes:
        """Return the body that replaces *body*, by the seed and the number of earlier requests of this kind."""
        request = f"{connector} {method} {IDENTIFIER.sub('…', path)}"
        self._counts[request] += 1
        random = Random(f"{self._seed} {request} {self._counts[request]}")
        rejected = status >= 400 or REJECTION_BODY.match(body)
        spared = self.only_done and (rejected or READS[connector].fullmatch(f"{method} {path}"))
        if spared or random.random() >= self.share:
            return body
        changed, what = mangled(body, status, random)
        self.mangled_answers += 1
        self.mangled.append(f"{request} {status}: {what}")
        return changed


@contextmanager
def mangling(sandbox: Sandbox) -> Iterator[Mangling]:
    """Run a proxy in front of *sandbox*, which mangles nothing at first."""
    proxy, stack = Mangling(), AsyncExitStack()
    with event_loop_thread("proxy") as background:
        try:
            background.run(_start(proxy, stack, sandbox))
            yield proxy
        finally:
            background.run(stack.aclose())


async def _start(proxy: Mangling, stack: AsyncExitStack, sandbox: Sandbox) -> None:
    session = await stack.enter_async_context(
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), cookie_jar=aiohttp.DummyCookieJar())
    )
    for connector, emulator in sandbox.emulators.items():
        for host, address in emulator.context.addresses.items():
            application = web.Application(client_max_size=64 * 1024 * 1024)
            application.router.add_route("*", "/{path:.*}", _forwarding(proxy, session, connector, address))
            runner = web.AppRunner(application, access_log=None, shutdown_timeout=1.0)
            await runner.setup()
            stack.push_async_callback(runner.cleanup)
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            proxy.addresses[f"GATEWAY_{connector.upper()}_{host.upper()}_URL"] = (
                f"http://127.0.0.1:{runner.addresses[0][1]}"
            )


def _forwarding(
    proxy: Mangling, session: aiohttp.ClientSession, connector: str, address: str
) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def forward(request: web.Request) -> web.Response:
        url = URL(address + request.raw_path, encoded=True)
        body = await request.read()
        more: dict[str, Any] = {"headers": request.headers, "data": body or None, "allow_redirects": False}
        async with session.request(request.method, url, **more) as response:
            content = await response.read()
            headers = CIMultiDict(
                (name, value) for name, value in response.headers.items() if name.lower() not in NOT_PASSED_ON
            )
            changed = proxy.passed_on(connector, request.method, request.path, response.status, content)
            return web.Response(status=response.status, headers=headers, body=changed)

    return forward
