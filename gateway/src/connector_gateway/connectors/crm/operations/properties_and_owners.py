"""Cached properties, pipelines and owners of a portal."""

from __future__ import annotations  # annotations of nested functions are not evaluated in each call

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

from connector_gateway.connectors.crm import mapping, vendor_models
from connector_gateway.connectors.crm.client import REQUEST, CrmClient
from connector_gateway.connectors.crm.mapping.owners import Owners
from connector_gateway.connectors.crm.mapping.properties import CASTING, Definitions, Values
from connector_gateway.connectors.crm.models import ListProperties, PropertyDefinition
from connector_gateway.kit import errors
from connector_gateway.kit.context import CachedLookup, OperationContext
from connector_gateway.kit.errors.combined_errors import combine_errors
from connector_gateway.kit.models import Listing
from connector_gateway.kit.operation import reads
from connector_gateway.kit.upstream.budget import TypicalRequests
from connector_gateway.kit.write_steps import StepInput

T = TypeVar("T")
CrmCall = OperationContext[CrmClient]

SCHEMA_SECONDS = 300.0
OWNERS_SECONDS = 600.0
PORTAL_SECONDS = 24 * 60 * 60.0

MISSING_OWNERS = "missing owners"
"""The cache key for the number of times that an owner was missing in the lists."""

MOVE_ERRORS = (errors.PipelineNotFound, errors.AmbiguousPipeline, errors.StageNotFound)
"""Errors of a pipeline or stage."""


def within_portal(intent: StepInput) -> str:
    """Return the portal that a write was planned for. Record identifiers are unique only within it."""
    return str(intent["portal"])


@reads(
    "GET /properties",
    requests=TypicalRequests(3 * REQUEST, REQUEST, "active and former owners"),
    examples=[lambda _: {"object_type": "contacts"}],
)
async def list_properties(ctx: CrmCall, params: ListProperties) -> Listing[PropertyDefinition]:
    """List the properties that contacts, companies or deals have, with their types and options.

    Use it before writing properties. For contacts, use ``crm_look_up_contacts``.

    The options of a property that contains an owner are the owners' email addresses.
    """
    definitions = [
        one
        for one in await ctx.upstream.list_properties(params.object_type)
        if not one.hubspot_defined or not params.custom_only
    ]
    addresses = await owner_addresses(ctx, definitions)
    items = [mapping.properties.property_definition(described, addresses) for described in definitions]
    return Listing[PropertyDefinition](items=items)


async def with_properties(ctx: CrmCall, kind: str, check: Callable[[Definitions], T]) -> T:
    """Return the result of *check* for the properties of an object type."""

    async def find() -> Definitions:
        return mapping.properties.definitions(await ctx.upstream.list_properties(kind))

    async def use(cached: Definitions) -> T:
        return check(cached)

    return await ctx.with_cache_retry(CachedLookup(f"properties {kind}", SCHEMA_SECONDS, find), use, outdated=CASTING)


async def known_values(ctx: CrmCall, kind: str, texts: Mapping[str, str]) -> Values:
    """Return values that are already in the vendor's form, with their definitions."""
    return await with_properties(ctx, kind, lambda known: Values(known, texts))


async def with_pipelines(ctx: CrmCall, check: Callable[[Sequence[vendor_models.Pipeline]], T]) -> T:
    """Return the result of *check* for the pipelines of deals."""

    async def use(cached: Sequence[vendor_models.Pipeline]) -> T:
        return check(cached)

    return await ctx.with_cache_retry(
        CachedLookup("pipelines", SCHEMA_SECONDS, ctx.upstream.list_pipelines), use, outdated=MOVE_ERRORS
    )


async def run_checks(*checks: Callable[[], Awaitable[T]]) -> list[T]:
    """Return the results of all *checks*. If some raise, raise one error with the details of all."""
    passed, failures = list[T](), list[errors.CallerError]()
    for check in checks:
        try:
            passed.append(await check())
        except errors.CallerError as failure:
            failures.append(failure)
    if failures:
        raise combine_errors(failures)
    return passed


async def portal_id(ctx: CrmCall) -> str:
    """Return the identifier of the portal, which is the account. It is looked up if unknown."""
    return ctx.account_id or str(
        (await ctx.cached(CachedLookup("portal", PORTAL_SECONDS, ctx.upstream.read_account))).portal_id
    )


async def owners(ctx: CrmCall, suffices: Callable[[Owners], bool]) -> Owners:
    """Return the owners by id, deactivated ones last. The cache is refreshed if it does not suffice."""

    async def find() -> Owners:
        listing = ctx.upstream.list_owners()
        return {owner.id: owner async for owner in listing if owner.email or owner.type == "QUEUE"}

    return await ctx.cached(CachedLookup("owners", OWNERS_SECONDS, find), suffices=suffices)


async def with_owner_ids(ctx: CrmCall, definitions: Definitions, values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the properties *values* with every owner, named by email address or id, as an id."""
    names = mapping.owners.owner_properties(definitions, values)
    if not names:
        return values
    try:
        all_owners = await owners(
            ctx, lambda known: all(mapping.owners.is_known(known, values[name]) for name in names)
        )
    except errors.ConnectionScopeMissing:
        # Ids need no permission to list owners, and the vendor validates them.
        if all(mapping.owners.is_id(name, values[name]) for name in names):
            return values
        raise
    return mapping.owners.by_id(definitions, all_owners, values)


async def property_texts(ctx: CrmCall, kind: str, values: Mapping[str, Any]) -> Mapping[str, str]:
    """Return the properties of an object type in the vendor's form. One error reports all invalid values."""
    definitions = await with_properties(ctx, kind, lambda definitions: definitions)
    owned, unowned = mapping.owners.split_owners(definitions, values)
    ids, _ = await run_checks(
        partial(with_owner_ids, ctx, definitions, owned),
        partial(with_properties, ctx, kind, lambda definitions: mapping.properties.values(definitions, unowned).texts),
    )
    properties = mapping.owners.replace_owners(values, ids)
    written = await with_properties(ctx, kind, lambda definitions: mapping.properties.values(definitions, properties))
    ctx.record_casts(partial(mapping.properties.cast_report, written, properties))
    return written.texts


async def owner_addresses(ctx: CrmCall, definitions: Iterable[vendor_models.Definition]) -> Sequence[str]:
    """Return the owners' email addresses if a property contains an owner and the connection may list them."""
    if not any(map(mapping.owners.is_owner_property, definitions)):
        return []
    with suppress(errors.ConnectionScopeMissing):
        return mapping.owners.addresses(await owners(ctx, bool))
    return []


async def owner_emails(ctx: CrmCall, records: Iterable[vendor_models.Record]) -> Mapping[str, str | None]:
    """Return the email addresses of the owners of *records*.

    A missing owner or address is cached as such only after two lists agree, because one may have been incomplete.
    """
    owner_ids = {owner_id for record in records if (owner_id := record.properties.get(mapping.searches.OWNER))}
    if not owner_ids:
        return {}
    missing_counts: Mapping[str, int] = ctx.cache.get(MISSING_OWNERS) or {}
    all_owners = await owners(
        ctx, lambda all_owners: all(one in all_owners or missing_counts.get(one, 0) > 1 for one in owner_ids)
    )
    missing = {one: missing_counts.get(one, 0) + 1 for one in owner_ids if one not in all_owners}
    if missing:
        ctx.cache.put(MISSING_OWNERS, {**missing_counts, **missing}, OWNERS_SECONDS)
    return {owner_id: owner.email for owner_id, owner in all_owners.items()}
