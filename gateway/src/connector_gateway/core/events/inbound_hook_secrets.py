"""Windows in which a vendor can deliver the secret of its hooks, at an unguessable URL.

The sender of the first secret can sign hooks. It is therefore accepted only after the operator has requested it, at a
URL that only the operator has seen, and only for a few minutes. The URL is signed instead of stored. It contains its
connector and the time at which it was opened, and is valid in every process. The database stores only when the operator
closed the windows.
"""

from typing import Any

from sqlalchemy import select
from sqlalchemy.dialects.postgresql import insert

from connector_gateway.core.audited_actions import with_audit_entry
from connector_gateway.core.calls.cursors import CursorSigner
from connector_gateway.core.secrets.secret_keys import SecretKeys
from connector_gateway.kit.clock import Clock, utc_datetime
from connector_gateway.kit.errors import InvalidCursor, InvalidSignature
from connector_gateway.storage.sql import tables
from connector_gateway.storage.sql.database import Database

PURPOSE = "hook"
PREFIX = "/hooks"
WINDOW_SECONDS = 15 * 60.0

_CLOSED = insert(tables.hook_windows)
CLOSE = _CLOSED.on_conflict_do_update(index_elements=["connector"], set_={"closed_at": _CLOSED.excluded.closed_at})
"""Stores when windows were closed, and replaces an earlier time."""


class HookVerification:
    """Opens, closes and checks windows."""

    def __init__(self, database: Database, secrets: SecretKeys, base_url: str, clock: Clock) -> None:
        self._database = database
        self._signer = CursorSigner(secrets)
        self._base_url = base_url
        self._clock = clock

    def open(self, connector: str) -> dict[str, Any]:
        """Open a window for *connector*.

        Returns the URL to subscribe, and the time until which a secret is accepted there.
        """
        opened_at = self._clock.now()
        address = self._signer.issue({"opened_at": opened_at}, PURPOSE, connector)
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
            with_audit_entry(lambda db: db.execute(CLOSE, row).rowcount, "close_hook", connector)
        )
        return {"connector": connector, "closed_at": utc_datetime(closed_at)}

    async def check_window(self, connector: str, address: str) -> None:
        """Raise ``InvalidSignature`` unless *address* belongs to an open window."""
        try:
            opened_at = self._signer.read(address, PURPOSE, connector)["opened_at"]
        except (InvalidCursor, KeyError) as error:
            raise InvalidSignature("No secret is accepted at this URL; the operator can open a window.") from error
        ended = opened_at + WINDOW_SECONDS <= self._clock.now()
        if ended or opened_at <= await self._closed_at(connector):
            raise InvalidSignature("The window for the secret is closed; the operator can open another one.")

    async def _closed_at(self, connector: str) -> float:
        """Return when windows for *connector* were last closed, or 0 if they never were."""
        query = select(tables.hook_windows.c.closed_at).where(tables.hook_windows.c.connector == connector)
        return await self._database.read(lambda db: db.execute(query).scalar()) or 0.0
