"""Searches for the results of writes among the latest records, by the app that created them."""

from collections.abc import Awaitable, Iterable, Sequence
from typing import TypeVar

from connector_gateway.connectors.crm import mapping, vendor_models
from connector_gateway.connectors.crm.client import PAGE_SIZE
from connector_gateway.connectors.crm.mapping.records import StoredData
from connector_gateway.connectors.crm.operations.properties_and_owners import CrmCall, portal_id
from connector_gateway.kit.errors import GatewayError
from connector_gateway.kit.write_steps import Match, StepInput

R = TypeVar("R", bound=vendor_models.Record)

MAKER_SECONDS = 24 * 60 * 60.0


async def in_doubt_until_indexed(creation: Awaitable[R]) -> R:
    """Return the result of *creation*. After a failure it stays in doubt until the search includes new records."""
    try:
        return await creation
    except GatewayError as failure:
        if failure.doubt == "failed":
            failure.doubt = "edge"
        raise


async def ids_since(ctx: CrmCall, kind: str, since: float) -> list[str]:
    """Return the ids of the records created since that time, as far as the search includes them.

    A listing includes the latest records sooner if ids grow with time. That is not documented, so a missing id proves
    nothing.
    """
    condition = mapping.searches.created_since(since)
    records = await ctx.upstream.search_all(
        kind, lambda after: mapping.searches.page_search(condition, [], PAGE_SIZE, after)
    )
    latest = await listed_since(ctx, kind, [], since)
    return list(dict.fromkeys(record.id for record in (*records, *latest)))


async def listed_since(
    ctx: CrmCall, kind: str, properties: Sequence[str], since: float
) -> Sequence[vendor_models.Record]:
    """Return the records after the newest one that the search knows to be older."""
    older = (await ctx.upstream.search_objects(kind, mapping.searches.newest_before(since))).results
    return await ctx.upstream.list_objects_after(kind, properties, older[0].id if older else None)


def remember_creator(ctx: CrmCall, record: vendor_models.Record) -> None:
    """Remember the vendor's identifier of this app, if a created record contains it."""
    if (maker := mapping.records.creator(record)) is not None:
        ctx.cache.put("maker", maker, MAKER_SECONDS)


async def our_creator_id(ctx: CrmCall) -> StoredData:
    """Return the portal and this app's identifier so far, before a creation."""
    return {"portal": await portal_id(ctx), "maker": ctx.cache.get("maker")}


def known_creator_id(ctx: CrmCall, intent: StepInput) -> str | None:
    """Return this app's identifier, if it is known now or was known when the write was planned."""
    creator_id: str | None = ctx.cache.get("maker") or intent["maker"]
    return creator_id


def in_order(matches: Iterable[Match]) -> Sequence[Match]:
    """Return the matches, oldest first."""
    return sorted(matches, key=lambda one: one.created_at or 0.0)
