"""A gateway that polls on demand, and the events that it observed."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import select

from connector_gateway.connectors.notes import NOTES
from connector_gateway.storage.sql import tables
from harness.gateway_server import Gateway, run_gateway
from harness.sandbox_server import run_emulators
from harness.wait import wait_until
from workspace_sandbox.notes import NotesEmulator
from workspace_sandbox.notes.data.state import DataSource, Page

NO_KNOBS: Mapping[str, Any] = {}


def find_source(emulator: NotesEmulator, title: str) -> DataSource:
    """Return the seeded data source of that title."""
    return next(source for source in emulator.workspace.sources.values() if source.title == title)


def share(emulator: NotesEmulator, *titles: str) -> None:
    """Share only these databases with the connection."""
    emulator.seeded.internal.shared = {find_source(emulator, title).parent.id for title in titles}


@dataclass
class EventFeed:
    """A gateway with one connection, and the emulator behind it."""

    gateway: Gateway
    emulator: NotesEmulator

    @property
    def connection_id(self) -> str:
        return self.gateway.connections["notes"]

    def source(self, title: str) -> DataSource:
        """Return the seeded data source of that title."""
        return find_source(self.emulator, title)

    def rows(self, title: str) -> list[Page]:
        """Return the rows of a data source that are not in the trash."""
        return self.emulator.workspace.active_rows(self.source(title))

    def create(self, title: str = "Leads", **properties: Any) -> str:
        """Create a page as a person, and return its identifier."""
        database_id = self.source(title).parent.id
        response = self.gateway.act("notes", action="create_page", database_id=database_id, properties=properties)
        return str(response["page_id"])

    def update(self, *page_ids: str, **properties: Any) -> None:
        """Update pages as a person."""
        for page_id in page_ids:
            self.gateway.act("notes", action="update_page", page_id=page_id, properties=properties)

    def change_schema(self, action: str, title: str = "Leads", **more: Any) -> None:
        """Change the properties of a database as a person."""
        self.gateway.act("notes", action=action, database_id=self.source(title).parent.id, **more)

    def start_poll(self) -> None:
        """Start a poll of all data sources."""
        app = self.gateway.app
        self.gateway.run(app.connections.change(self.connection_id, name="polled"))
        self.wake()

    def wake(self) -> None:
        """Make the gateway check for due polls immediately."""
        self.gateway.loop.call_soon_threadsafe(self.gateway.app._watches.wake_event.set)

    def poll(self) -> None:
        """Poll all data sources, and wait until the poll ends."""
        self.start_poll()
        self.wait_until_idle()

    def wait_until_idle(self) -> None:
        """Wait until no poll is due or running."""
        wait_until(lambda: not self.is_due())

    def is_due(self) -> bool:
        """Return True if a poll is due or running."""
        watches = tables.watches.c
        query = select(watches.lease, watches.due_at).where(watches.connection_id == self.connection_id)
        lease, due_at = self.gateway.run(self.gateway.app.database.read(lambda db: db.execute(query).one()))
        return lease is not None or due_at <= time.time()

    def events(self, **query: Any) -> list[dict[str, Any]]:
        """Return all events, oldest first."""
        return self.gateway.items("/notes/events", limit=200, **query)

    def created_page_ids(self) -> list[str]:
        """Return the identifiers of the created pages, in order."""
        return [event["page_id"] for event in self.events(type="page.created")]

    def changes(self, page_id: str) -> list[tuple[str, str, str]]:
        """Return the observed changes of a page: property, value before and value after, in order."""
        return [
            (event["property"], event["from"], event["to"])
            for event in self.events(type="page.property_updated")
            if event["page_id"] == page_id
        ]

    def source_snapshots(self) -> dict[str, Any]:
        """Return the snapshots of data sources by identifier."""
        query = select(tables.snapshots.c.name, tables.snapshots.c.value).where(tables.snapshots.c.scope == "source")
        rows = self.gateway.run(self.gateway.app.database.read(lambda db: db.execute(query).all()))
        return {row.name: row.value for row in rows}


@contextmanager
def run_event_feed(
    folder: Path, titles: Sequence[str] = (), *, knobs: Mapping[str, Any] = NO_KNOBS, **settings: str
) -> Iterator[EventFeed]:
    """Run a gateway that polls the databases of these titles, or all seeded ones, on demand. Its first poll is due."""
    with run_emulators(notes=NotesEmulator) as sandbox:
        emulator = sandbox.emulators["notes"]
        assert isinstance(emulator, NotesEmulator)
        emulator.context.knobs |= {"limits": False, "search_lag_seconds": 0.0, **knobs}
        if titles:
            share(emulator, *titles)
        environment: dict[str, Any] = {"GATEWAY_WATCH": "on", "GATEWAY_NOTES_WATCH_SECONDS": "3600"} | settings
        with run_gateway(sandbox, folder, connectors={"notes": NOTES}, **environment) as gateway:
            feed = EventFeed(gateway, emulator)
            feed.wake()
            yield feed


@contextmanager
def start_event_feed(folder: Path, *titles: str, **knobs: Any) -> Iterator[EventFeed]:
    """Run such a gateway, and wait until its first poll has ended."""
    with run_event_feed(folder, titles, knobs=knobs) as feed:
        feed.wait_until_idle()
        yield feed
