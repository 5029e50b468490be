"""Hooks sent by vendors. Each is acknowledged only after its content is stored."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import structlog
from sqlalchemy import Connection as SqlConnection
from sqlalchemy import Row, delete, select
from sqlalchemy.dialects.postgresql import insert

from connector_gateway.core.audited_actions import with_audit_entry
from connector_gateway.core.connections import ConnectionStore, Vault
from connector_gateway.core.connector_config import ConnectorConfig
from connector_gateway.core.events.feed import Feed
from connector_gateway.core.events.inbound_hook_secrets import HookVerification
from connector_gateway.core.events.watches import WatchStore, WatchTarget
from connector_gateway.kit import errors
from connector_gateway.kit.clock import Clock, utc_datetime
from connector_gateway.kit.events import EventSource, HookRequest, HookResult, Read
from connector_gateway.kit.operation import AnyConnector
from connector_gateway.storage.sql import tables
from connector_gateway.storage.sql.database import Database

VERIFICATION_FIELD = "verification_token"
"""The name under which a secret issued by a vendor is stored and returned."""

REJECTED_SECONDS = 1.0
"""Seconds between two rejected hooks of a connector that are recorded."""

log = structlog.get_logger()


@dataclass(eq=False, repr=False, kw_only=True)
class InboundHooks:
    """Receives hooks, and stores the secrets with which they are signed."""

    database: Database
    vault: Vault
    watches: WatchStore
    feed: Feed
    connections: ConnectionStore
    connectors: Mapping[str, ConnectorConfig]
    clock: Clock
    verification: HookVerification

    results: Counter[tuple[str, str]] = field(init=False, default_factory=Counter)
    """The number of hooks by connector and result: stored, or the code of the error."""

    _rejected_at: dict[str, float] = field(init=False, default_factory=dict)
    """The time at which a rejected hook was last recorded, by connector."""

    def connector(self, name: str) -> AnyConnector | None:
        """Return the connector with *name*, or None."""
        configured = self.connectors.get(name)
        return configured.connector if configured else None

    async def receive(self, connector: str, delivery: HookRequest, address: str = "") -> Mapping[str, Any]:
        """Store the content of a hook and return the response.

        A signed hook is accepted at any *address*. Only a new secret requires the address of an open window.
        """
        configured = self.connectors.get(connector)
        source = configured.connector.event_source if configured else None
        if configured is None or source is None or source.receive is None:
            raise errors.RouteNotFound("There is no route at this path.")
        result = "failed"
        try:
            reply = await self._process(configured, source, source.receive, delivery, address)
            result = "kept"
        except errors.InvalidSignature as error:
            result = error.code
            await self._record_rejected(configured.connector.name, source, delivery, error.message)
            raise
        except errors.GatewayError as error:
            result = error.code
            raise
        finally:
            self.results[connector, result] += 1
        return reply

    async def _process(
        self,
        configured: ConnectorConfig,
        source: EventSource[Any],
        parse: Callable[[HookRequest, Sequence[str]], HookResult],
        delivery: HookRequest,
        address: str,
    ) -> Mapping[str, Any]:
        """Verify *delivery* with *parse*, store its content and return the response."""
        connector = configured.connector.name
        hook_result = parse(delivery, configured.hook_secrets or await self._stored_secrets(connector))
        if hook_result.secret is not None:
            await self.verification.check_window(connector, address)
            await self._store_secret(connector, hook_result.secret)
        if hook_result.wakes:
            await self.watches.wake(await self.watches.without_account(connector), hook_result.wakes)
        targets = await self._targets(connector, hook_result)
        if targets:
            await self._apply(source, hook_result, targets)
        return hook_result.reply or {}

    async def _record_rejected(self, connector: str, source: EventSource[Any], delivery: HookRequest, why: str) -> None:
        """Record a rejected hook with the connections that it claims to concern. The first rejection is logged."""
        now = self.clock.now()
        # Limit the rate, because anyone can send such hooks.
        if source.addressed is None or now - self._rejected_at.get(connector, 0.0) < REJECTED_SECONDS:
            return
        self._rejected_at[connector] = now
        with suppress(errors.InvalidJson):
            targets = await self._targets(connector, source.addressed(delivery))
            if targets:
                await self.watches.record_rejection([target.connection_id for target in targets], now, why)
            newly_rejected = [target.connection_id for target in targets if not target.was_rejected]
            if newly_rejected:
                log.warning("deliveries rejected", connector=connector, connection_ids=newly_rejected, why=why)

    async def _targets(self, connector: str, hook_result: HookResult) -> Sequence[WatchTarget]:
        has_targets = hook_result.accounts or hook_result.places or hook_result.about
        return await self.watches.targets(connector, hook_result) if has_targets else []

    async def open(self, connector: str) -> dict[str, Any]:
        """Open a window in which the vendor can deliver its secret. Raises ``HookSecretKnown`` if there is one."""
        configured = self._secret_issuer(connector)
        if configured.hook_secrets or await self._stored_secrets(connector):
            raise errors.HookSecretKnown(f"The secret of {connector} is already stored.", {"parameter": "connector"})
        window = self.verification.open(connector)
        await self.database.write(with_audit_entry(lambda _: True, "open_hook", connector))
        return window

    async def close(self, connector: str) -> dict[str, Any]:
        """Close the windows of all addresses that were opened so far."""
        self._secret_issuer(connector)
        return await self.verification.close(connector)

    def _secret_issuer(self, connector: str) -> ConnectorConfig:
        """Return the upstream of a connector whose vendor issues the secret. Raises ``HookNotFound`` for any other."""
        configured = self.connectors.get(connector)
        source = configured.connector.event_source if configured else None
        if configured is None or source is None or not source.vendor_issues_secret:
            raise errors.HookNotFound(f"The vendor issues no secret for {connector}.", {"parameter": "connector"})
        return configured

    async def show(self, connector: str) -> dict[str, Any]:
        """Return the stored secret of a connector, which the operator confirms with the vendor."""
        row = await self._secret_row(connector)
        return _to_public(row, **{VERIFICATION_FIELD: self._decrypt(row)})

    async def forget(self, connector: str) -> dict[str, Any]:
        """Delete the secret of a connector. The vendor can then deliver another one."""
        row = await self._secret_row(connector)
        forget = delete(tables.hooks).where(tables.hooks.c.connector == connector)
        await self.database.write(with_audit_entry(lambda db: db.execute(forget).rowcount, "forget_hook", connector))
        try:
            return _to_public(row, **{VERIFICATION_FIELD: self._decrypt(row)})
        except errors.SecretUnreadable:
            # A secret that cannot be decrypted can still be deleted.
            return _to_public(row)

    async def _secret_row(self, connector: str) -> Row[Any]:
        query = select(tables.hooks).where(tables.hooks.c.connector == connector)
        row = await self.database.read(lambda db: db.execute(query).first())
        if row is None:
            raise errors.HookNotFound(f"No secret is stored for {connector}.", {"parameter": "connector"})
        return row

    def _decrypt(self, row: Row[Any]) -> Any:
        return self.vault.decrypt(row.sealed, row.connector)[VERIFICATION_FIELD]

    async def _stored_secrets(self, connector: str) -> Sequence[str]:
        try:
            return [(await self.show(connector))[VERIFICATION_FIELD]]
        except errors.HookNotFound:
            return []

    async def _store_secret(self, connector: str, secret: str) -> None:
        """Store the first secret only. Accepting another one would let anyone sign hooks."""
        row = {
            "connector": connector,
            "sealed": self.vault.encrypt({VERIFICATION_FIELD: secret}, connector),
            "received_at": self.clock.now(),
        }
        insert_first = insert(tables.hooks).on_conflict_do_nothing()

        def store(db: SqlConnection) -> int | None:
            return db.execute(insert_first, row).rowcount or None

        await self.database.write(with_audit_entry(store, "hand_over_secret", connector))
        log.info("hook secret stored", connector=connector)

    async def _apply(self, source: EventSource[Any], hook_result: HookResult, targets: Sequence[WatchTarget]) -> None:
        """Store the content of a hook for every connection it concerns."""
        names = [target.connection_id for target in targets]
        if rejected := [target.connection_id for target in targets if target.was_rejected]:
            await self.watches.clear_rejection(rejected)
        if hook_result.missed_since is not None:
            await self._mark_behind(hook_result.missed_since, names)
        if hook_result.revoked:
            for connection in (await self.connections.get_many(names)).values():
                await self.connections.record_status(connection, "revoked")
        await self.watches.wake(names, hook_result.wakes)
        if hook_result.event is not None and source.read is not None:
            await self._add_event(source.read, hook_result, hook_result.event, targets)
        unproven = [target.connection_id for target in targets if target.is_unproven]
        if unproven and hook_result.app is not None:
            await self.watches.set_app(unproven, hook_result.app)

    async def _add_event(
        self, read: Read, hook_result: HookResult, event: Mapping[str, Any], targets: Sequence[WatchTarget]
    ) -> None:
        """Add *event* to the feeds of authorised connections. All others poll with their own credentials."""
        observations = {
            target.connection_id: read(event, target.settings, target.state)
            for target in targets
            if target.is_authorised
        }
        await self.feed.add({name: observed for name, observed in observations.items() if observed})
        others = [target.connection_id for target in targets if observations.get(target.connection_id) is None]
        if others:
            await self._mark_behind(hook_result.happened_at, others)

    async def _mark_behind(self, since: float, connection_ids: Sequence[str]) -> None:
        await self.watches.mark_behind(since, tables.watches.c.connection_id.in_(connection_ids))


def _to_public(row: Row[Any], **secret: Any) -> dict[str, Any]:
    return {"connector": row.connector, **secret, "received_at": utc_datetime(row.received_at)}
