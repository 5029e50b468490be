"""Every secret that was sealed, looked for in everything that a test made the gateway say.

Learned are the credentials and tokens of connections, the verifiers of consents, codes and the clients' secrets.
Looked through are the answers of every gateway on a socket, with their headers, what was printed and what was logged.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from starlette.types import Message, Receive, Scope, Send
from structlog.testing import LogCapture

from connector_gateway.core.connections.consent import OWNER
from connector_gateway.core.connections.tokens import Tokens
from connector_gateway.core.connections.vault import Vault

LEAST = 12
"""Characters from which on a secret is looked for: shorter ones of tests are words as well."""

RUNS = re.compile(rf"[\w.~-]{{{LEAST},}}", re.ASCII)
"""What secrets consist of; texts are reduced to it, so that all of a test is looked through in a moment."""

PUBLIC = "key"
"""The API key of an application: it may be public, and stands in the address of its token page."""


class Leaks:
    """The secrets there are, and what was said since the last look."""

    def __init__(self) -> None:
        self._secrets: dict[str, str] = {}
        self._said: dict[str, str] = {}

    def learn(self, secrets: Iterable[Any], where: str) -> None:
        """Look for *secrets* from now on."""
        for secret in secrets:
            longest = max(RUNS.findall(str(secret)), key=len, default="")
            if longest:
                self._secrets[longest] = where

    def forget(self, *secrets: str) -> None:
        """Look for *secrets* no more, which were told on purpose."""
        for secret in secrets:
            self._secrets.pop(secret, None)

    def heard(self, where: str, text: str) -> None:
        """Keep what was said, less what cannot be a secret."""
        self._said.update(dict.fromkeys(RUNS.findall(text), where))

    def found(self) -> list[str]:
        """What was told of secrets since the last look: where, and what kind it is, without the secret itself."""
        said, self._said = self._said, {}
        return self._within("\n".join(said), said)

    def stored(self, file: Path) -> list[str]:
        """What secrets a file has, in the clear."""
        kept = file.read_bytes().decode("latin-1") if file.exists() else ""
        return self._within(kept, {})

    def _within(self, text: str, said: Mapping[str, str]) -> list[str]:
        told = [secret for secret in self._secrets if secret in text]
        return [f"{self._secrets[secret]}, in {_place(secret, said)}" for secret in told]


def _place(secret: str, said: Mapping[str, str]) -> str:
    return next((where for run, where in said.items() if secret in run), "a file")


LEAKS = Leaks()
"""Those of this process."""


def listen() -> None:
    """Learn every secret that is sealed, and hear what is logged where tests capture it."""
    seal, redeem, capture = Vault.seal, Tokens.redeem, LogCapture.__call__

    def sealing(vault: Vault, secrets: Mapping[str, Any], owner: str) -> bytes:
        if owner.startswith(("conn_", OWNER)):
            kind = "a secret of a connection" if owner.startswith("conn_") else "a verifier"
            # What a consent has as its token is that of the connect link, which its pages tell again.
            told = "token" if owner.startswith(OWNER) else PUBLIC
            LEAKS.learn((secret for name, secret in secrets.items() if name != told), kind)
        return seal(vault, secrets, owner)

    async def redeeming(tokens: Tokens, connector: str, code: str, *more: Any) -> Any:
        LEAKS.learn([code], "a code")
        return await redeem(tokens, connector, code, *more)

    def capturing(log: LogCapture, logger: Any, method: str, event: Any) -> Any:
        LEAKS.heard("the log", repr(event))
        return capture(log, logger, method, event)

    patched: Any
    for patched, name, heard in (
        (Vault, "seal", sealing),
        (Tokens, "redeem", redeeming),
        (LogCapture, "__call__", capturing),
    ):
        setattr(patched, name, heard)


class Overheard:
    """An application whose answers are heard."""

    def __init__(self, application: Any) -> None:
        self._application = application

    def __getattr__(self, name: str) -> Any:
        return getattr(self._application, name)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer as it does."""

        async def say(message: Message) -> None:
            for text in _texts(message):
                LEAKS.heard(f"an answer to {scope['method']} {scope['path']}", text)
            await send(message)

        await self._application(scope, receive, say if scope["type"] == "http" else send)


def _texts(message: Message) -> Iterator[str]:
    """What a part of an answer says in its headers or its body."""
    for name, value in message.get("headers", ()):
        yield f"{name.decode('latin-1')}: {value.decode('latin-1')}"
    body = message.get("body", b"")
    if body:
        yield bytes(body).decode("latin-1")  # pieces of large answers are views
