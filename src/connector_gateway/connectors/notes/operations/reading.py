"""What several operations read and remember: data sources with their schemas, who we are, and whole values."""

from __future__ import annotations  # functions are made in each call (decision 45)

from collections.abc import Sequence

from connector_gateway.connectors.notes import casts, mapping, wire
from connector_gateway.connectors.notes.client import NotesClient
from connector_gateway.kit.call import Call, LookUp
from connector_gateway.kit.errors import LossyCast, PropertyNotFound, SelectOptionMissing

NotesCall = Call[NotesClient]
SCHEMA_SECONDS = 60.0
CASTING = (PropertyNotFound, SelectOptionMissing, LossyCast)


def sources_of(call: NotesCall, database_id: str) -> LookUp[Sequence[wire.DataSource]]:
    """The data sources of a database."""

    async def find() -> Sequence[wire.DataSource]:
        database = await call.upstream.retrieve_database(database_id)
        return [await call.upstream.retrieve_data_source(part.id) for part in database.data_sources]

    return LookUp(f"sources {database_id}", SCHEMA_SECONDS, find)


def source_of(call: NotesCall, source_id: str) -> LookUp[wire.DataSource]:
    """A data source."""

    async def find() -> wire.DataSource:
        return await call.upstream.retrieve_data_source(source_id)

    return LookUp(f"source {source_id}", SCHEMA_SECONDS, find)


async def me_of(call: NotesCall) -> str:
    """The integration's own user, who is the author of what it makes."""
    return (await call.recall(LookUp("me", SCHEMA_SECONDS, call.upstream.retrieve_me))).id


async def whole_value(call: NotesCall, page: wire.Page, property_id: str) -> wire.Value | None:
    """A page's value of a property, made whole where the vendor shows only part of it within a page."""
    value = mapping.evidence.by_id(page).get(property_id)
    if value is None or not casts.reading.truncated(value):
        return value
    items = [item async for item in call.upstream.retrieve_page_property(page.id, value.id)]
    return casts.reading.completed(value, items)
