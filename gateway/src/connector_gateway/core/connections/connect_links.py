"""Connect links: short-lived URLs by which a user connects an account to one connection."""

from dataclasses import dataclass
from functools import partial
from secrets import token_urlsafe
from typing import Any

from sqlalchemy import Connection as SqlConnection
from sqlalchemy import delete, insert, select, update

from connector_gateway.core.audited_actions import with_audit_entry
from connector_gateway.core.background_jobs import PURGE_STEP
from connector_gateway.core.secrets.secret_keys import token_digest
from connector_gateway.core.single_flight_cache import MAX_ROWS, SingleFlight
from connector_gateway.kit.clock import Clock, utc_datetime
from connector_gateway.storage.sql import tables
from connector_gateway.storage.sql.database import Database

PATH = "/connect"
LINK_SECONDS = 60 * 60.0
"""Seconds for which a connect link is valid."""

_links = tables.connect_links.c
_consents = tables.consents.c


@dataclass(frozen=True, slots=True)
class ConnectLink:
    """A valid link."""

    connection_id: str
    return_url: str | None
    allow_other_account: bool
    used: bool
    """Whether an account was connected with this link."""


class ConnectLinks:
    """Issues connect links, and finds issued links while they are valid."""

    def __init__(self, database: Database, clock: Clock, base_url: str) -> None:
        self._database = database
        self._clock = clock
        self._base_url = base_url
        self._urls: SingleFlight[str, str] = SingleFlight(clock, MAX_ROWS)

    async def issue(
        self,
        connection_id: str,
        *,
        return_url: str | None = None,
        allow_other_account: bool = False,
        for_workspace: str | None = None,
    ) -> dict[str, Any]:
        """Issue a new link and return its ``connect_url`` and ``expires_at``.

        If *for_workspace* is set, the audit trail records a reconnection.
        """
        token, expires_at = token_urlsafe(32), self._clock.now() + LINK_SECONDS
        row = {
            "digest": token_digest(token),
            "connection_id": connection_id,
            "return_url": return_url,
            "allow_other_account": allow_other_account,
            "expires_at": expires_at,
        }

        def issue(db: SqlConnection) -> int:
            return db.execute(insert(tables.connect_links), row).rowcount

        details = {"allow_other_account": allow_other_account}
        await self._database.write(
            with_audit_entry(issue, "reconnect_connection", connection_id, for_workspace, **details)
            if for_workspace
            else issue
        )
        return {"connect_url": self.url(token), "expires_at": utc_datetime(expires_at)}

    def url(self, token: str) -> str:
        """Return the URL of the link with *token*."""
        return f"{self._base_url}{PATH}/{token}"

    async def find(self, token: str) -> ConnectLink | None:
        """Return the link for *token*, or None if it is unknown or expired."""
        query = select(tables.connect_links).where(_links.digest == token_digest(token))
        row = await self._database.read(lambda db: db.execute(query).first())
        if row is None or row.expires_at <= self._clock.now():
            return None
        return ConnectLink(row.connection_id, row.return_url, row.allow_other_account, row.used_at is not None)

    async def get_or_issue(self, connection_id: str) -> str:
        """Return the URL of a valid connect link for the connection. One link is reused for half of its lifetime."""
        url = await self._urls.get(connection_id, partial(self._issue, connection_id), LINK_SECONDS / 2)
        link = await self.find(url.rpartition("/")[2])
        if link is not None and not link.used:
            return url
        return await self._urls.get(connection_id, partial(self._issue, connection_id), LINK_SECONDS / 2, url)

    async def _issue(self, connection_id: str) -> str:
        return str((await self.issue(connection_id))["connect_url"])

    def use(self, token: str, db: SqlConnection) -> bool:
        """Mark the link with *token* as used. Returns False if it was used before."""
        unused = update(tables.connect_links).where(_links.digest == token_digest(token), _links.used_at.is_(None))
        return bool(db.execute(unused.values(used_at=self._clock.now())).rowcount)

    async def purge(self) -> int:
        """Delete a bounded number of expired links and consents. Returns how many."""
        now = self._clock.now()

        def purge(db: SqlConnection) -> int:
            deleted = 0
            for table, column in ((tables.consents, _consents), (tables.connect_links, _links)):
                expired = select(column.digest).where(column.expires_at <= now).limit(PURGE_STEP)
                deleted += db.execute(delete(table).where(column.digest.in_(expired))).rowcount
            return deleted

        return await self._database.write(purge)
