"""Hooks: what third parties send of their own accord, acknowledged once what it says is kept."""

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import structlog
from sqlalchemy import Connection as Transaction
from sqlalchemy import Row, delete, select
from sqlalchemy.dialects.postgresql import insert

from connector_gateway.core.access.audited_actions import recorded
from connector_gateway.core.connections import ConnectionStore, Vault
from connector_gateway.core.events.feed import Feed
from connector_gateway.core.events.hook_verification import HookVerification
from connector_gateway.core.events.watches import WatchStore, WatchTarget
from connector_gateway.core.pacing.upstreams import UpstreamConfig
from connector_gateway.kit import errors
from connector_gateway.kit.clock import Clock, utc_datetime
from connector_gateway.kit.events import EventSource, HookRequest, HookResult, Read
from connector_gateway.kit.operation import AnyConnector
from connector_gateway.storage import tables
from connector_gateway.storage.sql.database import Database

HANDED_OVER = "verification_token"
"""The name under which a secret is kept and shown, which third parties give it."""

REJECTED_SECONDS = 1.0
"""How often a rejected delivery of a connector is looked into, at most."""

log = structlog.get_logger()


@dataclass(eq=False, repr=False, kw_only=True)
class InboundHooks:
    """Receives deliveries, and keeps the secrets that they are signed with."""

    database: Database
    vault: Vault
    watches: WatchStore
    feed: Feed
    connections: ConnectionStore
    sites: Mapping[str, UpstreamConfig]
    clock: Clock
    handover: HookVerification

    results: Counter[tuple[str, str]] = field(init=False, default_factory=Counter)
    """How many deliveries were kept, or refused with which code, by connector."""

    _rejected_at: dict[str, float] = field(init=False, default_factory=dict)
    """When a rejected delivery was last looked into, by connector."""

    def connector(self, name: str) -> AnyConnector | None:
        """Return the connector of that name, if there is one."""
        site = self.sites.get(name)
        return site.connector if site else None

    async def receive(self, connector: str, delivery: HookRequest, address: str = "") -> Mapping[str, Any]:
        """What to answer to *delivery*, once it is safe to forget it.

        One that is signed is taken whatever *address* it came to; only a secret wants the address of an open window.
        """
        site = self.sites.get(connector)
        observing = site.connector.observing if site else None
        if site is None or observing is None:
            raise errors.RouteNotFound("There is nothing at this address.")
        result = "failed"
        try:
            reply = await self._take(site, observing, delivery, address)
            result = "kept"
        except errors.InvalidSignature as error:
            result = error.code
            await self._note_rejected(site.connector.name, observing, delivery, error.message)
            raise
        except errors.GatewayError as error:
            result = error.code
            raise
        finally:
            self.results[connector, result] += 1
        return reply

    async def _take(
        self, site: UpstreamConfig, observing: EventSource[Any], delivery: HookRequest, address: str
    ) -> Mapping[str, Any]:
        """Keep what *delivery* says, and return what to answer."""
        connector = site.connector.name
        receipt = observing.receive(delivery, site.hook_secrets or await self._handed_over(connector))
        if receipt.secret is not None:
            await self.handover.check_window(connector, address)
            await self._keep_secret(connector, receipt.secret)
        if receipt.wakes:
            await self.watches.wake(await self.watches.without_account(connector), receipt.wakes)
        targets = await self._targets(connector, receipt)
        if targets:
            await self._apply(observing, receipt, targets)
        return receipt.reply or {}

    async def _note_rejected(
        self, connector: str, observing: EventSource[Any], delivery: HookRequest, why: str
    ) -> None:
        """Note with the connections that a delivery claims to be for that it was rejected, and log the first one."""
        now = self.clock.now()
        # Anybody can send such deliveries, and as many as they want.
        if observing.addressed is None or now - self._rejected_at.get(connector, 0.0) < REJECTED_SECONDS:
            return
        self._rejected_at[connector] = now
        with suppress(errors.InvalidJson):
            targets = await self._targets(connector, observing.addressed(delivery))
            if targets:
                await self.watches.reject([target.connection_id for target in targets], now, why)
            fresh = [target.connection_id for target in targets if not target.was_rejected]
            if fresh:
                log.warning("deliveries are rejected", connector=connector, connection_ids=fresh, why=why)

    async def _targets(self, connector: str, receipt: HookResult) -> Sequence[WatchTarget]:
        is_about_somebody = receipt.accounts or receipt.places or receipt.about
        return await self.watches.targets(connector, receipt) if is_about_somebody else []

    async def open(self, connector: str) -> dict[str, Any]:
        """Let an application hand over its secret for some minutes; ``HookSecretKnown`` while there is one."""
        site = self._handing_over(connector)
        if site.hook_secrets or await self._handed_over(connector):
            raise errors.HookSecretKnown(f"The secret of {connector} is known.", {"parameter": "connector"})
        opened = self.handover.open(connector)
        await self.database.write(recorded(lambda _: True, "open_hook", connector))
        return opened

    async def close(self, connector: str) -> dict[str, Any]:
        """Take no secret at the addresses that were opened so far."""
        self._handing_over(connector)
        return await self.handover.close(connector)

    def _handing_over(self, connector: str) -> UpstreamConfig:
        """Where the application is whose secret is handed over."""
        site = self.sites.get(connector)
        observing = site.connector.observing if site else None
        if site is None or observing is None or not observing.vendor_issues_secret:
            raise errors.HookNotFound(f"Nothing hands over a secret for {connector}.", {"parameter": "connector"})
        return site

    async def show(self, connector: str) -> dict[str, Any]:
        """The secret that was handed over for a connector, for the operator to confirm it with."""
        row = await self._kept(connector)
        return _told(row, **{HANDED_OVER: self._opened(row)})

    async def forget(self, connector: str) -> dict[str, Any]:
        """Forget the secret of a connector, so that another one can be handed over."""
        row = await self._kept(connector)
        forget = delete(tables.hooks).where(tables.hooks.c.connector == connector)
        await self.database.write(recorded(lambda writing: writing.execute(forget).rowcount, "forget_hook", connector))
        try:
            return _told(row, **{HANDED_OVER: self._opened(row)})
        except errors.SecretUnreadable:
            # What cannot be opened any more can be forgotten all the same.
            return _told(row)

    async def _kept(self, connector: str) -> Row[Any]:
        query = select(tables.hooks).where(tables.hooks.c.connector == connector)
        row = await self.database.read(lambda reading: reading.execute(query).first())
        if row is None:
            raise errors.HookNotFound(f"No secret was handed over for {connector}.", {"parameter": "connector"})
        return row

    def _opened(self, row: Row[Any]) -> Any:
        return self.vault.decrypt(row.sealed, row.connector)[HANDED_OVER]

    async def _handed_over(self, connector: str) -> Sequence[str]:
        try:
            return [(await self.show(connector))[HANDED_OVER]]
        except errors.HookNotFound:
            return []

    async def _keep_secret(self, connector: str, secret: str) -> None:
        """Keep the first secret that comes; any other would let strangers in."""
        row = {
            "connector": connector,
            "sealed": self.vault.encrypt({HANDED_OVER: secret}, connector),
            "received_at": self.clock.now(),
        }
        keep = insert(tables.hooks).on_conflict_do_nothing()

        def keep_first(writing: Transaction) -> int | None:
            return writing.execute(keep, row).rowcount or None

        await self.database.write(recorded(keep_first, "hand_over_secret", connector))
        log.info("a hook's secret was handed over", connector=connector)

    async def _apply(self, observing: EventSource[Any], receipt: HookResult, targets: Sequence[WatchTarget]) -> None:
        """Keep what the delivery says, for everyone it concerns."""
        names = [target.connection_id for target in targets]
        if rejected := [target.connection_id for target in targets if target.was_rejected]:
            await self.watches.accept(rejected)
        if receipt.missed_since is not None:
            await self._fall_behind(receipt.missed_since, names)
        if receipt.revoked:
            for connection in (await self.connections.get_many(names)).values():
                await self.connections.record_status(connection, "revoked")
        await self.watches.wake(names, receipt.wakes)
        if receipt.event is not None and observing.read is not None:
            await self._keep(observing.read, receipt, receipt.event, targets)
        unproven = [target.connection_id for target in targets if target.is_unproven]
        if unproven and receipt.app is not None:
            await self.watches.prove(unproven, receipt.app)

    async def _keep(
        self, read: Read, receipt: HookResult, event: Mapping[str, Any], targets: Sequence[WatchTarget]
    ) -> None:
        """Add *event* to the feeds of authorised connections; let the others look with their own credentials."""
        found = {
            target.connection_id: read(event, target.settings, target.state)
            for target in targets
            if target.is_authorised
        }
        await self.feed.add({name: observed for name, observed in found.items() if observed})
        others = [target.connection_id for target in targets if found.get(target.connection_id) is None]
        if others:
            await self._fall_behind(receipt.happened_at, others)

    async def _fall_behind(self, since: float, connection_ids: Sequence[str]) -> None:
        await self.watches.mark_behind(since, tables.watches.c.connection_id.in_(connection_ids))


def _told(row: Row[Any], **secret: Any) -> dict[str, Any]:
    return {"connector": row.connector, **secret, "received_at": utc_datetime(row.received_at)}
