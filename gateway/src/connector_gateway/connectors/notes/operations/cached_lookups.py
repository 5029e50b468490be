"""Cached look-ups of several operations: data sources, the current user and complete values."""

from __future__ import annotations  # annotations of nested functions are not evaluated in each call

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from connector_gateway.connectors.notes import mapping, value_casts, vendor_models
from connector_gateway.connectors.notes.client import NotesClient
from connector_gateway.kit.context import CachedLookup, OperationContext
from connector_gateway.kit.errors import ConnectionScopeMissing, UpstreamForbidden

NotesCall = OperationContext[NotesClient]
SCHEMA_SECONDS = 60.0
USERS_SECONDS = 300.0
RELIST_SECONDS = 10.0
"""Seconds between two listings of users, so that a name that is often misspelt does not use up the budget."""


def data_sources(ctx: NotesCall, database_id: str) -> CachedLookup[Sequence[vendor_models.DataSource]]:
    """Return the look-up of a database's data sources."""

    async def find() -> Sequence[vendor_models.DataSource]:
        database = await ctx.upstream.retrieve_database(database_id)
        return [await ctx.upstream.retrieve_data_source(part.id) for part in database.data_sources]

    return CachedLookup(f"sources {database_id}", SCHEMA_SECONDS, find)


def data_source(ctx: NotesCall, source_id: str) -> CachedLookup[vendor_models.DataSource]:
    """Return the look-up of a data source."""
    return CachedLookup(f"source {source_id}", SCHEMA_SECONDS, partial(ctx.upstream.retrieve_data_source, source_id))


async def current_user(ctx: NotesCall) -> str:
    """Return the id of the integration's own user, the author of everything that it creates."""
    return (await ctx.cached(CachedLookup("me", SCHEMA_SECONDS, ctx.upstream.retrieve_me))).id


async def complete_value(ctx: NotesCall, page: vendor_models.Page, property_id: str) -> vendor_models.Value | None:
    """Return a page's value of a property, completed if the vendor truncates it within a page."""
    value = mapping.in_doubt_matching.by_id(page).get(property_id)
    if value is None or not value_casts.from_vendor.is_truncated(value):
        return value
    items = [item async for item in ctx.upstream.retrieve_page_property(page.id, value.id)]
    return value_casts.from_vendor.complete_value(value, items)


async def referenced_users(
    ctx: NotesCall, schema: mapping.properties.Schema, properties: Mapping[str, Any]
) -> mapping.people.Users:
    """Return the users if *properties* reference people by email address or name.

    Raises ``ConnectionScopeMissing`` if the connection cannot list users.
    """
    references = mapping.people.referenced_people(schema, properties)
    if not references:
        return ()

    async def find() -> tuple[float, mapping.people.Users]:
        return ctx.clock.now(), [user async for user in ctx.upstream.list_users()]

    def suffices(listed: tuple[float, mapping.people.Users]) -> bool:
        at, users = listed
        return mapping.people.are_known(users, references) or ctx.clock.now() - at < RELIST_SECONDS

    try:
        _, users = await ctx.cached(CachedLookup("users", USERS_SECONDS, find), suffices=suffices)
    except UpstreamForbidden as error:
        raise ConnectionScopeMissing(
            "The connection may not read user information, so people can be given by identifier only.",
            *mapping.people.people_references(schema, properties),
            *error.details,
            remedy="Give people by identifier, or allow the integration to read user information with email addresses.",
        ) from error
    return users
