"""A gateway that looks for changes when it is told to, and what it has seen."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import select

from connector_gateway.connectors.notes import NOTES
from connector_gateway.storage import tables
from harness.gateway_server import Gateway, run_gateway
from harness.sandbox_server import run_emulators
from harness.wait import wait_until
from workspace_sandbox.notes import NotesEmulator
from workspace_sandbox.notes.data.state import DataSource, Page

NO_KNOBS: Mapping[str, Any] = {}


def source_of(emulator: NotesEmulator, title: str) -> DataSource:
    """The seeded data source of that title."""
    return next(source for source in emulator.workspace.sources.values() if source.title == title)


def share(emulator: NotesEmulator, *titles: str) -> None:
    """Share nothing but these databases with the connection."""
    emulator.seeded.internal.shared = {source_of(emulator, title).parent.id for title in titles}


@dataclass
class Watched:
    """The gateway, the stand-in behind it, and the one connection between them."""

    gateway: Gateway
    emulator: NotesEmulator

    @property
    def connection_id(self) -> str:
        return self.gateway.connections["notes"]

    def source(self, title: str) -> DataSource:
        """The seeded data source of that title."""
        return source_of(self.emulator, title)

    def rows(self, title: str) -> list[Page]:
        """The rows of a data source that are not in the trash."""
        return self.emulator.workspace.active_rows(self.source(title))

    def create(self, title: str = "Leads", **properties: Any) -> str:
        """Let a person make a page; its identifier."""
        database_id = self.source(title).parent.id
        made = self.gateway.act("notes", action="create_page", database_id=database_id, properties=properties)
        return str(made["page_id"])

    def update(self, *page_ids: str, **properties: Any) -> None:
        """Let a person change pages."""
        for page_id in page_ids:
            self.gateway.act("notes", action="update_page", page_id=page_id, properties=properties)

    def schema(self, action: str, title: str = "Leads", **more: Any) -> None:
        """Let a person change the columns of a database."""
        self.gateway.act("notes", action=action, database_id=self.source(title).parent.id, **more)

    def begin_to_look(self) -> None:
        """Have everything polled."""
        app = self.gateway.app
        self.gateway.run(app.connections.change(self.connection_id, name="polled"))
        self.rouse()

    def rouse(self) -> None:
        """Let what is due be noticed at once."""
        self.gateway.loop.call_soon_threadsafe(self.gateway.app._watches.wake_event.set)

    def poll(self) -> None:
        """Have everything polled, and wait for the end of that."""
        self.begin_to_look()
        self.settle()

    def settle(self) -> None:
        """Wait until no poll is due or under way."""
        wait_until(lambda: not self.is_due())

    def is_due(self) -> bool:
        """Whether a poll is due or under way."""
        watches = tables.watches.c
        query = select(watches.lease, watches.due_at).where(watches.connection_id == self.connection_id)
        lease, due_at = self.gateway.run(self.gateway.app.database.read(lambda reading: reading.execute(query).one()))
        return lease is not None or due_at <= time.time()

    def events(self, **query: Any) -> list[dict[str, Any]]:
        """Every event, oldest first."""
        return self.gateway.items("/notes/events", limit=200, **query)

    def created(self) -> list[str]:
        """The pages that were made, in order."""
        return [event["page_id"] for event in self.events(type="page.created")]

    def changes(self, page_id: str) -> list[tuple[str, str, str]]:
        """What was seen of a page: property, value before and value after, in order."""
        return [
            (event["property"], event["from"], event["to"])
            for event in self.events(type="page.property_updated")
            if event["page_id"] == page_id
        ]

    def remembered(self) -> dict[str, Any]:
        """What is remembered of data sources, by their identifiers."""
        query = select(tables.snapshots.c.name, tables.snapshots.c.value).where(tables.snapshots.c.scope == "source")
        rows = self.gateway.run(self.gateway.app.database.read(lambda reading: reading.execute(query).all()))
        return {row.name: row.value for row in rows}


@contextmanager
def watching(
    folder: Path, titles: Sequence[str] = (), *, knobs: Mapping[str, Any] = NO_KNOBS, **settings: str
) -> Iterator[Watched]:
    """A gateway that polls when told to, at databases of these titles or all that are seeded; its first poll is due."""
    with run_emulators(notes=NotesEmulator) as sandbox:
        emulator = sandbox.emulators["notes"]
        assert isinstance(emulator, NotesEmulator)
        emulator.context.knobs |= {"limits": False, "search_lag_seconds": 0.0, **knobs}
        if titles:
            share(emulator, *titles)
        read: dict[str, Any] = {"GATEWAY_WATCH": "on", "GATEWAY_NOTES_WATCH_SECONDS": "3600"} | settings
        with run_gateway(sandbox, folder, connectors={"notes": NOTES}, **read) as gateway:
            watched = Watched(gateway, emulator)
            watched.rouse()
            yield watched


@contextmanager
def watched_from_now(folder: Path, *titles: str, **knobs: Any) -> Iterator[Watched]:
    """The same after the first poll."""
    with watching(folder, titles, knobs=knobs) as watched:
        watched.settle()
        yield watched
