"""Connect links: addresses by which a user connects an account, each for one connection and a short time."""

from dataclasses import dataclass
from functools import partial
from secrets import token_urlsafe
from typing import Any

from sqlalchemy import Connection as Transaction
from sqlalchemy import delete, insert, select, update

from connector_gateway.core.access.audited_actions import recorded
from connector_gateway.core.history.retention import PURGE_STEP
from connector_gateway.core.secrets.secret_keys import token_digest
from connector_gateway.core.single_flight import MOST_ROWS, SingleFlight
from connector_gateway.kit.clock import Clock, utc_datetime
from connector_gateway.storage import tables
from connector_gateway.storage.sql.database import Database

PATH = "/connect"
LINK_SECONDS = 60 * 60.0
"""How long a connect link works."""

_links = tables.connect_links.c
_consents = tables.consents.c


@dataclass(frozen=True, slots=True)
class ConnectLink:
    """A link that is good."""

    connection_id: str
    return_url: str | None
    allow_other_account: bool
    used: bool
    """Whether an account was connected by it."""


class ConnectLinks:
    """Issues connect links, and finds those it issued while they last."""

    def __init__(self, database: Database, clock: Clock, base_url: str) -> None:
        self._database = database
        self._clock = clock
        self._base_url = base_url
        self._told: SingleFlight[str, str] = SingleFlight(clock, MOST_ROWS)

    async def issue(
        self,
        connection_id: str,
        *,
        return_url: str | None = None,
        allow_other_account: bool = False,
        for_workspace: str | None = None,
    ) -> dict[str, Any]:
        """A new link: ``connect_url`` and ``expires_at``; the audit trail records a reconnection *for_workspace*."""
        token, expires_at = token_urlsafe(32), self._clock.now() + LINK_SECONDS
        row = {
            "digest": token_digest(token),
            "connection_id": connection_id,
            "return_url": return_url,
            "allow_other_account": allow_other_account,
            "expires_at": expires_at,
        }

        def issue(writing: Transaction) -> int:
            return writing.execute(insert(tables.connect_links), row).rowcount

        asked = {"allow_other_account": allow_other_account}
        await self._database.write(
            recorded(issue, "reconnect_connection", connection_id, for_workspace, **asked) if for_workspace else issue
        )
        return {"connect_url": self.url(token), "expires_at": utc_datetime(expires_at)}

    def url(self, token: str) -> str:
        """The address of the link with *token*."""
        return f"{self._base_url}{PATH}/{token}"

    async def find(self, token: str) -> ConnectLink | None:
        """The link with *token*; None if there is none, or none any more."""
        query = select(tables.connect_links).where(_links.digest == token_digest(token))
        row = await self._database.read(lambda reading: reading.execute(query).first())
        if row is None or row.expires_at <= self._clock.now():
            return None
        return ConnectLink(row.connection_id, row.return_url, row.allow_other_account, row.used_at is not None)

    async def get_or_issue(self, connection_id: str) -> str:
        """The address of a link of the connection that is good, which is told to all who ask in half of its life."""
        url = await self._told.get(connection_id, partial(self._issue, connection_id), LINK_SECONDS / 2)
        link = await self.find(url.rpartition("/")[2])
        if link is not None and not link.used:
            return url
        return await self._told.get(connection_id, partial(self._issue, connection_id), LINK_SECONDS / 2, url)

    async def _issue(self, connection_id: str) -> str:
        return str((await self.issue(connection_id))["connect_url"])

    def use(self, token: str, writing: Transaction) -> bool:
        """Note that an account is connected by the link with *token*; whether none was before."""
        unused = update(tables.connect_links).where(_links.digest == token_digest(token), _links.used_at.is_(None))
        return bool(writing.execute(unused.values(used_at=self._clock.now())).rowcount)

    async def purge(self) -> int:
        """Delete a step of the links and consents that are past their time; how many there were."""
        now = self._clock.now()

        def purge(writing: Transaction) -> int:
            done = 0
            for table, column in ((tables.consents, _consents), (tables.connect_links, _links)):
                past = select(column.digest).where(column.expires_at <= now).limit(PURGE_STEP)
                done += writing.execute(delete(table).where(column.digest.in_(past))).rowcount
            return done

        return await self._database.write(purge)
