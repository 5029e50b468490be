"""Windows in which an application may hand over the secret of its deliveries, at an address that nobody can guess.

Whoever hands over the first secret can sign deliveries. So it is taken only after the operator asked for it, at an
address that the operator alone was told, and only for some minutes. The address is signed rather than stored: it
names its connector and when it was opened, and holds in every process. What is stored is only that the operator closed
what was open. Decisions 31 and 38.
"""

from typing import Any

from sqlalchemy import select
from sqlalchemy.dialects.postgresql import insert

from connector_gateway.core.access.audited_actions import recorded
from connector_gateway.core.calls.cursors import CursorSigner
from connector_gateway.core.secrets.secret_keys import SecretKeys
from connector_gateway.kit.clock import Clock, utc_datetime
from connector_gateway.kit.errors import InvalidCursor, InvalidSignature
from connector_gateway.storage import tables
from connector_gateway.storage.sql.database import Database

PURPOSE = "hook"
PREFIX = "/hooks"
WINDOW_SECONDS = 15 * 60.0

_CLOSED = insert(tables.hook_windows)
CLOSE = _CLOSED.on_conflict_do_update(index_elements=["connector"], set_={"closed_at": _CLOSED.excluded.closed_at})
"""Notes when windows were closed, in place of an earlier time."""


class HookVerification:
    """Opens and closes windows, and tells whether one is open."""

    def __init__(self, database: Database, secrets: SecretKeys, base_url: str, clock: Clock) -> None:
        self._database = database
        self._addresses = CursorSigner(secrets)
        self._base_url = base_url
        self._clock = clock

    def open(self, connector: str) -> dict[str, Any]:
        """Open a window for *connector*: the address to subscribe, and until when a secret is taken there."""
        opened_at = self._clock.now()
        address = self._addresses.issue({"opened_at": opened_at}, PURPOSE, connector)
        return {
            "connector": connector,
            "url": f"{self._base_url}{PREFIX}/{connector}/{address}",
            "closes_at": utc_datetime(opened_at + WINDOW_SECONDS),
        }

    async def close(self, connector: str) -> dict[str, Any]:
        """Close all windows for *connector* that were opened before now."""
        closed_at = self._clock.now()
        row = {"connector": connector, "closed_at": closed_at}
        await self._database.write(
            recorded(lambda writing: writing.execute(CLOSE, row).rowcount, "close_hook", connector)
        )
        return {"connector": connector, "closed_at": utc_datetime(closed_at)}

    async def check_window(self, connector: str, address: str) -> None:
        """Refuse a secret that does not come to the *address* of a window that is open."""
        try:
            opened_at = self._addresses.read(address, PURPOSE, connector)["opened_at"]
        except (InvalidCursor, KeyError) as fault:
            raise InvalidSignature("No secret is taken at this address; the operator opens one for it.") from fault
        ended = opened_at + WINDOW_SECONDS <= self._clock.now()
        if ended or opened_at <= await self._closed_at(connector):
            raise InvalidSignature("The time for handing over a secret is over; the operator may open it again.")

    async def _closed_at(self, connector: str) -> float:
        """When windows for *connector* were closed last; the beginning of time if they never were."""
        query = select(tables.hook_windows.c.closed_at).where(tables.hook_windows.c.connector == connector)
        return await self._database.read(lambda reading: reading.execute(query).scalar()) or 0.0
