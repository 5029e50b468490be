"""Accounts: the connections to one account of each vendor, and changes of these connections in a story.

Each way is a connection per connector and the key of its workspace. All of them lead to the same vendor accounts. The
gateway knows the account of some, and not that of others.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import TYPE_CHECKING, Any, Literal

from connector_gateway.kit.oauth import Account
from simulation.writes import KINDS, OVER

if TYPE_CHECKING:
    from simulation.scenarios import Story, Write
    from simulation.vendors import Vendors

WAYS = ("unknown", "known", "elsewhere", "elsewhere unknown")
"""In the first workspace, and in a second one; whether the account is known."""


Fate = Literal["learned", "forgotten", "other", "removed"]


@dataclass(frozen=True)
class Way:
    """The connections of one workspace, by connector."""

    key: str
    connections: Mapping[str, str]


@dataclass(frozen=True)
class Rewire:
    """An operator reconnects one connection, or removes it.

    ``same`` are credentials of the same account, of which the gateway learns the account or forgets it; ``other`` are
    credentials that the vendor names another account for.
    """

    at: float
    connector: str
    way: int
    what: Fate

    def __str__(self) -> str:
        return f"{self.at:8.3f} the connection {WAYS[self.way]!r} to {self.connector} is {self.what}"


def get_account(vendors: "Vendors", connector: str) -> Account:
    """Return the account of a connector, as the vendor identifies it."""
    emulator: Any = vendors.emulators[connector]
    account_id = str(emulator.portal.account.portal_id) if connector == "crm" else f"account of {connector}"
    return Account(account_id, f"The account of {connector}")


async def create_ways(app: Any, vendors: "Vendors", watched: Mapping[str, Mapping[str, Any]]) -> list[Way]:
    """Create all ways in an application with an open database; only those of the first are watched."""
    workspaces = {
        number_of_workspace: (await app.workspaces.create(number_of_workspace, "paid"))["workspace_id"]
        for number_of_workspace in ("here", "elsewhere")
    }
    keys = {
        number_of_workspace: (await app.keys.create(workspace_id, "read_write", calls_per_minute=100_000))["key"]
        for number_of_workspace, workspace_id in workspaces.items()
    }
    ways = []
    for number, name in enumerate(WAYS):
        number_of_workspace = "elsewhere" if "elsewhere" in name else "here"
        connections = {}
        for connector, emulator in vendors.emulators.items():
            account = None if "unknown" in name else get_account(vendors, connector)
            settings = watched.get(connector, {}) if number == 0 else {}
            connection = await app.connections.create(
                workspaces[number_of_workspace], connector, emulator.credentials(), settings=settings, account=account
            )
            connections[connector] = connection["connection_id"]
        ways.append(Way(keys[number_of_workspace], connections))
    return ways


async def change_connection(app: Any, vendors: "Vendors", way: Way, item: Rewire) -> None:
    """Reconnect or remove a connection, like the management routes."""
    connection_id, credentials = way.connections[item.connector], vendors.emulators[item.connector].credentials()
    match item.what:
        case "removed":
            await app.connections.remove(connection_id)
        case "learned":
            await app.connections.change(connection_id, get_account(vendors, item.connector), credentials=credentials)
        case "forgotten":
            await app.connections.change(connection_id, None, credentials=credentials)
        case "other":
            other = Account(f"another account of {item.connector}", "Another")
            await app.connections.change(connection_id, other, credentials=credentials)


# Generation


def spread_writes(random: Random, writes: Sequence["Write"]) -> list["Write"]:
    """Return the writes of a story, some of them through other connections, with equal writes through yet others."""
    if random.random() < 0.5:
        return list(writes)
    ways: dict[str | None, int] = {}
    spread_out = []
    for write in writes:
        # A key belongs to a connection: its repeats use the same way.
        way = ways.setdefault(write.key, random.randrange(len(WAYS))) if write.key else random.randrange(len(WAYS))
        spread_out.append(replace(write, way=way))
    return spread_out


def draw_overwrites(random: Random, writes: Sequence["Write"]) -> Iterator["Write"]:
    """Return later changes of the objects that the writes change, under other keys and through any connection."""
    firsts = {write.key: write for write in reversed(writes) if write.key}
    for write in firsts.values():
        if KINDS[write.kind].overwriting and random.random() < 0.35:
            yield replace(
                write,
                at=write.at + random.choice((random.uniform(0, 1), random.uniform(1, 14), random.uniform(13, 25))),
                content=f"{write.content}{OVER}",
                key=f"{write.key}-over" if random.random() < 0.8 else None,
                way=random.randrange(len(WAYS)),
                leaves_after=None,
            )


def draw_connection_changes(random: Random, writes: Sequence["Write"]) -> list[Rewire]:
    """Return operators' changes of the connections while the writes are in progress."""
    if random.random() < 0.8:
        return []
    write = random.choice(list(writes))
    connector = _get_connector(write)
    what: Fate = random.choice(("learned", "forgotten", "learned", "forgotten", "other", "removed"))
    if (connector, what) == ("crm", "other"):
        # HubSpot's identifiers are unique only in a portal, and here all credentials lead to one portal: the gateway
        # would take one deal for two of different portals.
        what = "removed"
    at = write.at + random.choice((random.uniform(0, 1), random.uniform(1, 20)))
    return [Rewire(at, connector, write.way, what)]


def has_several_budgets(story: "Story", connector: str) -> bool:
    """Return True if the gateway takes the one account of *connector* for several, and paces them separately.

    It cannot know that a connection of unknown account leads to the account of another.
    """
    ways = {write.way for write in story.writes if _get_connector(write) == connector}
    if story.watch and connector in {"notes", "chat"}:
        ways.add(0)
    known = {"unknown" not in WAYS[way] for way in ways}
    return len(known) > 1 or any(isinstance(item, Rewire) and item.connector == connector for item in story.items)


def _get_connector(write: "Write") -> str:
    return KINDS[write.kind].connector
