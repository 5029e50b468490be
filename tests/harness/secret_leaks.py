"""Every secret there is, looked for in everything that a test made the gateway say or store.

Learned are the credentials and tokens of connections, codes, verifiers and states of consents, the cookies that belong
to them, connect links, API keys, sessions of the console, the operator token and the clients' secrets.
Looked through are the answers of every gateway on a socket, with their headers, what was printed and logged, the files
of SQLite, and the tables of PostgreSQL. What is told on purpose is told in the one kind of answer that is for it.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from sqlalchemy import select
from starlette.types import Message, Receive, Scope, Send
from structlog.testing import LogCapture

from connector_gateway.core.access.keys import ApiKeys
from connector_gateway.core.access.sessions import Sessions
from connector_gateway.core.connections import ConnectLinks, ConsentFlow, TokenEndpointClient, Vault
from connector_gateway.core.connections.oauth_flow import OWNER
from connector_gateway.core.events.inbound_hooks import VERIFICATION_FIELD
from connector_gateway.storage import tables
from connector_gateway.storage.sql.database import Database

LEAST = 12
"""Characters that a secret of a test has at least: shorter ones are words as well, and could not be looked for."""

RUNS = re.compile(rf"[\w.~+/-]{{{LEAST},}}", re.ASCII)
"""What secrets consist of, also in base64; texts are reduced to it, so that all of a test is looked through at once."""

PUBLIC = "key"
"""The API key of an application: it may be public, and stands in the address of its token page."""

MOST_ROWS = 1000
"""Of a table of PostgreSQL that is looked through."""

ANSWER = "an answer to "
INTENDED_RECIPIENTS: Mapping[str, re.Pattern[str]] = {
    "an API key": re.compile(f"{ANSWER}POST (/v1|/console)/keys"),
    "a session": re.compile(f"{ANSWER}(GET|POST) /console/sign-in"),
    "a connect link": re.compile(ANSWER),
    "a webhook's secret": re.compile(f"{ANSWER}POST (/v1|/console)/webhooks"),
    "a hook's secret": re.compile(f"{ANSWER}(GET|DELETE) /v1/hooks/"),
    "a state": re.compile(f"{ANSWER}(POST /connect/|GET /connect/[a-z]+/callback)"),
    "a cookie of a consent": re.compile(f"{ANSWER}POST /connect/"),
}
"""Where secrets of some kinds are told to those whom they are for."""


class Leaks:
    """The secrets there are, and what was said since the last look."""

    def __init__(self) -> None:
        self._secrets: dict[str, str] = {}
        self._said: dict[str, set[str]] = {}

    def learn(self, secrets: Iterable[Any], kind: str) -> None:
        """Look for *secrets* from now on."""
        for secret in secrets:
            longest = max(RUNS.findall(str(secret)), key=len, default="")
            assert longest, f"{kind} of a test needs {LEAST} characters that secrets have, to be looked for"
            self._secrets[longest] = kind

    def forget(self, *secrets: str) -> None:
        """Look for *secrets* no more, which were told on purpose."""
        for secret in secrets:
            self._secrets.pop(secret, None)

    def record(self, where: str, text: str) -> None:
        """Keep what was said, less what cannot be a secret."""
        for run in RUNS.findall(text):
            self._said.setdefault(run, set()).add(where)

    def collect(self) -> list[str]:
        """What was told of secrets since the last look: where, and what kind it is, without the secret itself."""
        said, self._said = self._said, {}
        if not said:
            return []
        text = "\n".join(said)
        return [
            f"{kind}, in {where}"
            for secret, kind in self._secrets.items()
            if secret in text
            for where in _leak_locations(secret, kind, said)
        ]

    def stored(self, file: Path) -> list[str]:
        """What secrets a file has, in the clear."""
        content = file.read_bytes().decode("latin-1") if file.exists() else ""
        return [f"{kind}, in a file" for secret, kind in self._secrets.items() if secret in content]


def _leak_locations(secret: str, kind: str, said: Mapping[str, set[str]]) -> list[str]:
    """Where *secret* was said, and should not have been."""
    locations = {where for run, sources in said.items() if secret in run for where in sources}
    purpose = INTENDED_RECIPIENTS.get(kind)
    return sorted(where for where in locations if purpose is None or not purpose.match(where))


LEAKS = Leaks()
"""The leaks of this process."""


def listen() -> None:
    """Learn every secret where it is made or sealed, and hear what is logged where tests capture it."""
    _before(Vault, "encrypt", _sealing)
    _before(TokenEndpointClient, "redeem", lambda _, code, *__: LEAKS.learn([code], "a code"))
    _before(LogCapture, "__call__", lambda _, __, event: LEAKS.record("the log", repr(event)))
    _after(
        TokenEndpointClient,
        "_grant",
        lambda grant: LEAKS.learn(filter(None, (grant.token, grant.refresh_token)), "a token"),
    )
    _after(ApiKeys, "create", lambda created: LEAKS.learn([created["key"]], "an API key"))
    _after(Sessions, "begin", lambda session: LEAKS.learn([session.token], "a session"))
    _after(Sessions, "create_link", lambda link: LEAKS.learn([link], "a sign-in link"))
    _after(Sessions, "begin_by_link", lambda session: LEAKS.learn([session.token] if session else [], "a session"))
    _after(ConnectLinks, "issue", lambda issued: LEAKS.learn([issued["connect_url"].split("/")[-1]], "a connect link"))
    _after(ConsentFlow, "begin", _departing)
    _overhear_databases()


def _sealing(secrets: Mapping[str, Any], owner: str) -> None:
    if VERIFICATION_FIELD in secrets:
        LEAKS.learn([secrets[VERIFICATION_FIELD]], "a hook's secret")
    if owner.startswith("wh_"):
        LEAKS.learn((one["secret"] for one in secrets["secrets"]), "a webhook's secret")
    if owner.startswith(("conn_", OWNER)):
        kind = "a secret of a connection" if owner.startswith("conn_") else "a verifier"
        # What a consent has as its token is that of the connect link.
        public = "token" if owner.startswith(OWNER) else PUBLIC
        LEAKS.learn((secret for name, secret in secrets.items() if name != public), kind)


def _departing(departure: Any) -> None:
    LEAKS.learn([departure.state], "a state")
    LEAKS.learn([departure.browser], "a cookie of a consent")


def _before(owner: Any, name: str, hear: Callable[..., None]) -> None:
    """Have *hear* told what a method is given."""
    method = getattr(owner, name)

    def heard(self: Any, *args: Any) -> Any:
        hear(*args)
        return method(self, *args)

    setattr(owner, name, heard)


def _after(owner: Any, name: str, hear: Callable[[Any], None]) -> None:
    """Have *hear* told what a method results in."""
    method: Callable[..., Awaitable[Any]] = getattr(owner, name)

    async def heard(self: Any, *args: Any, **named: Any) -> Any:
        result = await method(self, *args, **named)
        hear(result)
        return result

    setattr(owner, name, heard)


def _overhear_databases() -> None:
    """Look through databases of PostgreSQL before they are closed; those of SQLite are files."""
    close = Database.__aexit__

    async def closing(database: Database, *error: object) -> None:
        if not database.embedded:
            # One that is away, or broken by its test, is not looked through.
            with suppress(Exception):
                async with asyncio.timeout(5):
                    LEAKS.record("the database", await contents(database))
        await close(database, *error)

    Database.__aexit__ = closing  # type: ignore[method-assign, assignment]


async def contents(database: Database) -> str:
    """The contents of the tables."""
    queries = [select(table).limit(MOST_ROWS) for table in tables.metadata.sorted_tables]
    return await database.read(lambda reading: "\n".join(repr(reading.execute(query).all()) for query in queries))


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
                LEAKS.record(f"{ANSWER}{scope['method']} {scope['path']}", text)
            await send(message)

        await self._application(scope, receive, say if scope["type"] == "http" else send)


def _texts(message: Message) -> Iterator[str]:
    """What a part of an answer says in its headers or its body."""
    for name, value in message.get("headers", ()):
        yield f"{name.decode('latin-1')}: {value.decode('latin-1')}"
    body = message.get("body", b"")
    if body:
        yield bytes(body).decode("latin-1")  # pieces of large answers are views
