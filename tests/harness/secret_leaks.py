"""Search for every secret in all responses, logs and databases that a test produced.

Learned are the credentials and tokens of connections, codes, verifiers and states of consents, the cookies that belong
to them, connect links, API keys, sessions of the console, the operator token and the clients' secrets.
Searched are the responses of every gateway on a socket, with their headers, printed and logged texts, the files of
SQLite, and the tables of PostgreSQL. A secret is allowed only in the kind of response that returns it on purpose.
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

from connector_gateway.core.access.agent_oauth import Agents
from connector_gateway.core.access.keys import ApiKeys
from connector_gateway.core.access.sessions import Sessions
from connector_gateway.core.connections import ConnectLinks, ConsentFlow, TokenEndpointClient, Vault
from connector_gateway.core.connections.oauth_flow import OWNER
from connector_gateway.core.events.inbound_hooks import VERIFICATION_FIELD
from connector_gateway.storage.sql import tables
from connector_gateway.storage.sql.database import Database

LEAST = 12
"""The minimum length of a secret in tests: shorter ones are also words, and cannot be searched for."""

RUNS = re.compile(rf"[\w.~+/-]{{{LEAST},}}", re.ASCII)
"""The characters of secrets, also in base64. Texts are reduced to them, so that a test is searched in one pass."""

PUBLIC = "key"
"""The API key of an app, which can be public, and is in the URL of its token page."""

MOST_ROWS = 1000
"""The number of searched rows of a PostgreSQL table."""

ANSWER = "an answer to "
INTENDED_RECIPIENTS: Mapping[str, re.Pattern[str]] = {
    "an API key": re.compile(f"{ANSWER}POST (/v1|/console)/keys"),
    "an agent's code": re.compile(f"{ANSWER}(POST (/v1/agent_codes|/console/keys/)|(GET|POST) /oauth/consent)"),
    "an agent's token": re.compile(f"{ANSWER}POST /oauth/token"),
    "a session": re.compile(f"{ANSWER}(GET|POST) /console/sign-in"),
    "a connect link": re.compile(ANSWER),
    "a webhook's secret": re.compile(f"{ANSWER}POST (/v1|/console)/webhooks"),
    "a hook's secret": re.compile(f"{ANSWER}(GET|DELETE) /v1/hooks/"),
    "a state": re.compile(f"{ANSWER}(POST /connect/|GET /connect/[a-z]+/callback)"),
    "a cookie of a consent": re.compile(f"{ANSWER}POST /connect/"),
}
"""The responses in which secrets of some kinds are intended."""


class Leaks:
    """The known secrets, and the texts since the last check."""

    def __init__(self) -> None:
        self._secrets: dict[str, str] = {}
        self._said: dict[str, set[str]] = {}

    def learn(self, secrets: Iterable[Any], kind: str) -> None:
        """Search for *secrets* from now on."""
        for secret in secrets:
            longest = max(RUNS.findall(str(secret)), key=len, default="")
            assert longest, f"{kind} of a test needs {LEAST} characters that secrets have, to be looked for"
            self._secrets[longest] = kind

    def forget(self, *secrets: str) -> None:
        """Stop searching for *secrets*, which were revealed intentionally."""
        for secret in secrets:
            self._secrets.pop(secret, None)

    def record(self, where: str, text: str) -> None:
        """Store a text, reduced to the characters of secrets."""
        for run in RUNS.findall(text):
            self._said.setdefault(run, set()).add(where)

    def collect(self) -> list[str]:
        """Return the leaks since the last check: location and kind, without the secret itself."""
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
        """Return secrets that a file contains in plaintext."""
        content = file.read_bytes().decode("latin-1") if file.exists() else ""
        return [f"{kind}, in a file" for secret, kind in self._secrets.items() if secret in content]


def _leak_locations(secret: str, kind: str, said: Mapping[str, set[str]]) -> list[str]:
    """Return the unintended locations of *secret*."""
    locations = {where for run, sources in said.items() if secret in run for where in sources}
    purpose = INTENDED_RECIPIENTS.get(kind)
    return sorted(where for where in locations if purpose is None or not purpose.match(where))


LEAKS = Leaks()
"""The leaks of this process."""


def listen() -> None:
    """Learn every secret where it is created or encrypted, and capture logs."""
    _before(Vault, "encrypt", _sealing)
    _before(TokenEndpointClient, "redeem", lambda _, code, *__: LEAKS.learn([code], "a code"))
    _before(LogCapture, "__call__", lambda _, __, event: LEAKS.record("the log", repr(event)))
    _after(
        TokenEndpointClient,
        "_grant",
        lambda grant: LEAKS.learn(filter(None, (grant.token, grant.refresh_token)), "a token"),
    )
    _after(ApiKeys, "create", _creating)
    _after(Agents, "authorise", lambda code: LEAKS.learn(filter(None, [code]), "an agent's code"))
    _after(
        Agents,
        "exchange",
        lambda issued: LEAKS.learn([issued.access, issued.refresh] if issued else [], "an agent's token"),
    )
    _after(Sessions, "begin", lambda session: LEAKS.learn([session.token], "a session"))
    _after(Sessions, "create_link", lambda link: LEAKS.learn([link], "a sign-in link"))
    _after(Sessions, "begin_by_link", lambda session: LEAKS.learn([session.token] if session else [], "a session"))
    _after(ConnectLinks, "issue", lambda issued: LEAKS.learn([issued["connect_url"].split("/")[-1]], "a connect link"))
    _after(ConsentFlow, "begin", _departing)
    _overhear_databases()


def _creating(created: Mapping[str, Any]) -> None:
    LEAKS.learn([created["key"]], "an API key") if "key" in created else LEAKS.learn(
        [created["agent_code"]], "an agent's code"
    )


def _sealing(secrets: Mapping[str, Any], owner: str) -> None:
    if VERIFICATION_FIELD in secrets:
        LEAKS.learn([secrets[VERIFICATION_FIELD]], "a hook's secret")
    if owner.startswith("wh_"):
        LEAKS.learn((one["secret"] for one in secrets["secrets"]), "a webhook's secret")
    if owner.startswith(("conn_", OWNER)):
        kind = "a secret of a connection" if owner.startswith("conn_") else "a verifier"
        # The token of a consent is that of the connect link.
        public = "token" if owner.startswith(OWNER) else PUBLIC
        LEAKS.learn((secret for name, secret in secrets.items() if name != public), kind)


def _departing(departure: Any) -> None:
    LEAKS.learn([departure.state], "a state")
    LEAKS.learn([departure.browser], "a cookie of a consent")


def _before(owner: Any, name: str, hear: Callable[..., None]) -> None:
    """Call *hear* with the arguments of a method."""
    method = getattr(owner, name)

    def heard(self: Any, *args: Any) -> Any:
        hear(*args)
        return method(self, *args)

    setattr(owner, name, heard)


def _after(owner: Any, name: str, hear: Callable[[Any], None]) -> None:
    """Call *hear* with the result of a method."""
    method: Callable[..., Awaitable[Any]] = getattr(owner, name)

    async def heard(self: Any, *args: Any, **named: Any) -> Any:
        result = await method(self, *args, **named)
        hear(result)
        return result

    setattr(owner, name, heard)


def _overhear_databases() -> None:
    """Search PostgreSQL databases before they are closed; those of SQLite are files."""
    close = Database.__aexit__

    async def closing(database: Database, *error: object) -> None:
        if not database.embedded:
            # A database that is unavailable, or broken by its test, is not searched.
            with suppress(Exception):
                async with asyncio.timeout(5):
                    LEAKS.record("the database", await contents(database))
        await close(database, *error)

    Database.__aexit__ = closing  # type: ignore[method-assign, assignment]


async def contents(database: Database) -> str:
    """Return the contents of the tables."""
    queries = [select(table).limit(MOST_ROWS) for table in tables.metadata.sorted_tables]
    return await database.read(lambda db: "\n".join(repr(db.execute(query).all()) for query in queries))


class Overheard:
    """An application whose responses are captured."""

    def __init__(self, application: Any) -> None:
        self._application = application

    def __getattr__(self, name: str) -> Any:
        return getattr(self._application, name)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond like the application."""

        async def say(message: Message) -> None:
            for text in _texts(message):
                LEAKS.record(f"{ANSWER}{scope['method']} {scope['path']}", text)
            await send(message)

        await self._application(scope, receive, say if scope["type"] == "http" else send)


def _texts(message: Message) -> Iterator[str]:
    """Return the text of a response message."""
    for name, value in message.get("headers", ()):
        yield f"{name.decode('latin-1')}: {value.decode('latin-1')}"
    body = message.get("body", b"")
    if body:
        yield bytes(body).decode("latin-1")  # Pieces of large responses are views.
