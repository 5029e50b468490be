"""An HTTP request with its run, as all endpoints process it."""

from collections.abc import Mapping

from starlette.types import Receive, Scope

from connector_gateway.core.history.runs import Run
from connector_gateway.http.server.connection_limits import UNTRACKED_CONNECTION, ClientConnection
from connector_gateway.kit.errors import MalformedRequest

CLI_USER_AGENT = b"connector-gateway-cli/"
"""The prefix of the ``User-Agent`` of ``connector-gateway call``."""


class RequestContext:
    """An HTTP request and the run that records it."""

    __slots__ = ("_has_repeated_headers", "agent", "client", "headers", "keyed", "receive", "run", "scope")

    def __init__(self, scope: Scope, receive: Receive, surface: str = "http", *, keyed: bool = True) -> None:
        self.scope = scope
        self.receive = receive
        self.client = get_client(scope)
        self.headers: Mapping[bytes, bytes] = dict(scope["headers"])
        """Headers by lower-case name. Of repeated headers, the last value."""

        self._has_repeated_headers = len(self.headers) < len(scope["headers"])
        self.agent = self.headers.get(b"user-agent", b"")
        self.run = Run("cli" if surface == "http" and self.agent.startswith(CLI_USER_AGENT) else surface)
        self.keyed = keyed
        """Whether the request needs a key. If so, its response reports how many calls the key has left."""

    def header(self, name: bytes) -> str | None:
        """Return a request header as text. Raises ``MalformedRequest`` if it is repeated."""
        value = self.headers.get(name)
        if value is None:
            return None
        if self._has_repeated_headers:
            self._check_single(name)
        return value.decode("latin-1")

    def raw_header(self, name: bytes) -> bytes | None:
        """Return the raw value of a request header. Raises ``MalformedRequest`` if it is repeated."""
        value = self.headers.get(name)
        if value is not None and self._has_repeated_headers:
            self._check_single(name)
        return value

    def _check_single(self, name: bytes) -> None:
        """Reject a repeated header, which a proxy could interpret differently."""
        if [header for header, _ in self.scope["headers"]].count(name) > 1:
            text = name.decode()
            raise MalformedRequest(f"The header {text} occurs more than once.", {"header": text})

    @property
    def preferences(self) -> Mapping[bytes, str]:
        """The values of the ``Prefer`` header (RFC 7240) by lower-case name. Of repeated names the first counts."""
        if b"prefer" not in self.headers:
            return {}
        # The header may be repeated, and an overlooked dry-run preference would cause an unintended write.
        items = b",".join(value for name, value in self.scope["headers"] if name == b"prefer").split(b",")
        preferences: dict[bytes, str] = {}
        for item in items:
            name, _, value = item.partition(b";")[0].partition(b"=")
            preferences.setdefault(name.strip().lower(), value.strip(b' \t"').decode("latin-1").lower())
        return preferences

    @property
    def address(self) -> str:
        """The IP address of the client. Empty if the connection has none."""
        client = self.scope.get("client")
        return client[0] if client else ""


def get_client(scope: Scope) -> ClientConnection:
    """Return the client connection of a request."""
    client: ClientConnection = scope["state"]["client"] if "state" in scope else UNTRACKED_CONNECTION
    return client
