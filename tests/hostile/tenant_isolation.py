"""Random histories of customers, apps and deliveries, in which no customer may observe data of another.

``python -m hostile.tenant_isolation 20000`` plays that many on a separate database. A second number is the first seed.
Deliveries go the way of real ones from their signature to the feed; only the vendor's responses to polls are omitted.
"""

import asyncio
import json
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Any

from sqlalchemy import select, update

from connector_gateway.app import App
from connector_gateway.connectors.chat import CHAT
from connector_gateway.core.events.feed import decrypt_data
from connector_gateway.core.writes.backup_restore_detection import get_or_create_installation
from connector_gateway.kit.clock import SystemClock
from connector_gateway.kit.events import HookRequest
from connector_gateway.settings import Settings
from connector_gateway.storage.sql import tables
from gateway.tests.connectors.chat.event_feed import sign
from workspace_sandbox.chat.deliveries import SIGNING_SECRET

SCOPES = ["channels:history", "groups:history"]
ODD: Sequence[Any] = (None, 7, "all", {}, [], [None], [[]], [{"team_id": "T"}], [{"user_id": 7}], [{"is_bot": "yes"}])


@dataclass(frozen=True)
class Identity:
    """An app as its bot, or as a user who has installed it, in a team of the vendor."""

    app: str
    team: str
    user: str
    is_bot: bool

    def authorization(self) -> dict[str, Any]:
        """The identity in the vendor's form."""
        return {"enterprise_id": None, "team_id": self.team, "user_id": self.user, "is_bot": self.is_bot}


@dataclass
class Connected:
    """A connection of a customer, with the events that its feed may and must contain."""

    connection_id: str
    identity: Identity
    app_is_known: bool
    may_end: bool = False
    may: set[str] = field(default_factory=set)
    must: set[str] = field(default_factory=set)


class World:
    """Teams with apps, people and channels, generated from a seed; no two worlds share an identifier."""

    def __init__(self, seed: int) -> None:
        self.luck = Random(seed)
        self.seed = seed
        self.teams = [f"T{seed}N{number}" for number in range(self.luck.randint(1, 3))]
        self.apps = [f"A{seed}N{number}" for number in range(self.luck.randint(1, 3))]
        self.connected: list[Connected] = []
        self.said = 0

    @cached_property
    def identities(self) -> Sequence[Identity]:
        """Return the bot of each app in each team, and the same people as users of some apps."""
        bots = [Identity(app, team, f"UB{app}{team}", True) for app in self.apps for team in self.teams]
        people = [(team, f"UP{number}{team}") for team in self.teams for number in range(2)]
        users = [Identity(app, *person, False) for app in self.apps for person in people if self.luck.random() < 0.5]
        return [*bots, *users]

    @cached_property
    def channels(self) -> Sequence[frozenset[tuple[str, str]]]:
        """Return the members of each channel by team and user; some channels are shared between teams."""
        members = sorted({(each.team, each.user) for each in self.identities})
        return [frozenset(one for one in members if self.luck.random() < 0.4) for _ in range(self.luck.randint(1, 4))]

    def readers(self, channel: int, app: str) -> Sequence[Identity]:
        """Return the identities of *app* that can read a channel."""
        return [one for one in self.identities if one.app == app and (one.team, one.user) in self.channels[channel]]


class History:
    """One world with connections and deliveries."""

    def __init__(self, app: App, seed: int) -> None:
        self.app = app
        self.world = World(seed)

    async def play(self) -> None:
        """Create the connections, deliver, and compare the feeds with the expected events."""
        luck = self.world.luck
        customers = [await self.app.workspaces.create(f"customer {number}", "paid") for number in range(2)]
        for _ in range(luck.randint(1, 5)):
            await self._connect(luck.choice(customers)["workspace_id"], luck.choice(self.world.identities))
        for _ in range(luck.randint(1, 6)):
            await luck.choice([self._say, self._say, self._say, self._withdraw, self._rename])()
        await self._compare()

    async def _connect(self, workspace_id: Any, identity: Identity) -> None:
        connection = await self.app.connections.create(workspace_id, "chat", {"token": "xoxb-of-nobody"})
        connection_id, is_known = connection["connection_id"], self.world.luck.random() < 0.5
        state: dict[str, Any] = {
            "team_id": identity.team,
            "user_id": identity.user,
            "bot_id": f"B{identity.user}" if identity.is_bot else None,
            "scopes": SCOPES,
            "names": {},
        }
        account = {"account": f"{identity.team}/{identity.user}", "place": identity.team}
        watch = update(tables.watches).where(tables.watches.c.connection_id == connection_id)
        app_id = identity.app if is_known else None
        proof = update(tables.connections).where(tables.connections.c.connection_id == connection_id)
        await self.app.database.write(lambda db: db.execute(watch.values(state=state, **account)))
        await self.app.database.write(lambda db: db.execute(proof.values(app_id=app_id)))
        self.world.connected.append(Connected(connection_id, identity, is_known))

    async def _say(self) -> None:
        """Deliver a message for one app, with authorisations of some readers of the channel, or malformed ones."""
        world, luck = self.world, self.world.luck
        channel, app = luck.randrange(len(world.channels)), luck.choice(world.apps)
        readers, world.said = world.readers(channel, app), world.said + 1
        named = luck.sample(readers, luck.randint(1, len(readers))) if readers else []
        text, team = f"said {world.said}", luck.choice(world.teams)
        for connected in world.connected:
            identity = connected.identity
            if identity in readers:
                connected.may.add(text)
            if identity in named and (connected.app_is_known or identity.is_bot):
                connected.must.add(text)
        payload: Any = [one.authorization() for one in named]
        if not named or luck.random() < 0.2:
            payload = luck.choice(ODD)
            for connected in world.connected:
                connected.must.discard(text)
        event = {"type": "message", "channel": f"C{channel}", "channel_type": "group", "user": "UAUTHOR", "text": text}
        ts = f"{time.time():.6f}"
        await self._deliver(app, team, event | {"ts": ts}, payload, context_team_id=luck.choice([team, None]))

    async def _withdraw(self) -> None:
        """Uninstall an app from a team, or revoke the tokens of one of its identities."""
        world, luck = self.world, self.world.luck
        one = luck.choice(world.identities)
        entire = luck.random() < 0.5
        tokens = {"bot": [one.user], "oauth": []} if one.is_bot else {"bot": [], "oauth": [one.user]}
        event = {"type": "app_uninstalled"} if entire else {"type": "tokens_revoked", "tokens": tokens}
        for connected in world.connected:
            is_same = connected.identity == one
            connected.may_end |= is_same or (
                entire and (connected.identity.app, connected.identity.team) == (one.app, one.team)
            )
        await self._deliver(one.app, one.team, event, [one.authorization()])

    async def _rename(self) -> None:
        """Deliver an event that only triggers polls."""
        one = self.world.luck.choice(self.world.identities)
        await self._deliver(one.app, one.team, {"type": "channel_rename", "channel": {}}, [one.authorization()])

    async def _deliver(self, app: str, team: str, event: dict[str, Any], payload: Any, **more: Any) -> None:
        outer = {"type": "event_callback", "team_id": team, "api_app_id": app, "authorizations": payload}
        body = json.dumps({**outer, **more, "event": event}).encode()
        headers = {name.lower(): value for name, value in sign(body).items()}
        await self.app.hooks.receive("chat", HookRequest(headers, body, time.time()))

    async def _compare(self) -> None:
        names = [connected.connection_id for connected in self.world.connected]
        events, connections = tables.events.c, tables.connections.c
        query = select(tables.events).where(events.connection_id.in_(names))
        ended = select(connections.connection_id).where(connections.connection_id.in_(names))
        ended = ended.where(connections.status == "revoked")
        rows = await self.app.database.read(lambda db: db.execute(query).all())
        revoked = set(await self.app.database.read(lambda db: db.execute(ended).scalars().all()))
        for connected in self.world.connected:
            own = [row for row in rows if row.connection_id == connected.connection_id]
            seen = {decrypt_data(row, self.app._vault)["text"] for row in own}
            where = f"seed {self.world.seed}: {connected}"
            assert seen <= connected.may, f"{where} has seen {sorted(seen - connected.may)} of others"
            assert connected.must <= seen, f"{where} has missed {sorted(connected.must - seen)}"
            assert connected.may_end or connected.connection_id not in revoked, f"{where} was taken for revoked"


@asynccontextmanager
async def gateway_on(database_url: str) -> AsyncIterator[App]:
    """Run the parts of a gateway that receive deliveries."""
    environment = {
        "GATEWAY_DATABASE_URL": database_url,
        "GATEWAY_SECRET_KEYS": "a secret that only tests know",
        "GATEWAY_OPERATOR_TOKEN": "op_0123456789abcdef",
        "GATEWAY_CHAT_HOOK_SECRET": SIGNING_SECRET,
    }
    connectors = {"chat": CHAT}
    app = App(Settings.read(environment, connectors), connectors=connectors, clock=SystemClock())
    async with app.database, app._transport:
        await get_or_create_installation(app.database)
        await app._processes.heartbeat()
        yield app


async def play(app: App, seeds: Iterable[int]) -> int:
    """Play a history for each seed, and return the number of observed messages."""
    observed = 0
    for seed in seeds:
        history = History(app, seed)
        await history.play()
        observed += sum(len(connected.must) for connected in history.world.connected)
    return observed


async def _main(count: int, first: int) -> None:
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        async with gateway_on(f"sqlite:///{Path(folder) / 'tenants.db'}") as app:
            observed = await play(app, range(first, first + count))
    seconds = time.perf_counter() - began
    print(f"{count} histories, {observed} observations that had to be made, no other one, {seconds:.0f} s")


if __name__ == "__main__":
    numbers = [*map(int, sys.argv[1:]), 20_000][:1]
    asyncio.run(_main(numbers[0], int(sys.argv[2]) if len(sys.argv) > 2 else 0))
