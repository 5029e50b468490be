"""Search for pages by a value."""

from __future__ import annotations  # annotations of nested functions are not evaluated in each call

from collections.abc import Sequence

from connector_gateway.connectors.notes import mapping, vendor_models
from connector_gateway.connectors.notes.client import REQUEST
from connector_gateway.connectors.notes.models import FoundPage, FoundPages, SearchPages
from connector_gateway.connectors.notes.operations.cached_lookups import NotesCall, complete_value, data_sources
from connector_gateway.kit.errors import DatabaseNotShared, PropertyNotFound, UpstreamRefused
from connector_gateway.kit.operation import reads
from connector_gateway.kit.upstream.budget import TypicalRequests


@reads(
    "POST /pages/search",
    errors=[DatabaseNotShared, PropertyNotFound],
    requests=TypicalRequests(3 * REQUEST, REQUEST, "database and data source"),
    examples=[lambda one: {"database_id": one["database_id"], "property": "Name", "value": one["title"]}],
)
async def search_pages(ctx: NotesCall, params: SearchPages) -> FoundPages:
    """Find the pages of one database by the value of a property. Every match is returned.

    For the names of databases and properties, use ``notes_list_databases``.

    Matching is case-sensitive, except for an exact match of a person or an identifier.
    """

    async def search(sources: Sequence[vendor_models.DataSource]) -> FoundPages:
        results: list[FoundPage] = []
        for source in mapping.databases.sources_with(sources, params.property):
            results += await _matches(ctx, source, params)
        return FoundPages(match_count=len(results), pages=results)

    sources = data_sources(ctx, params.database_id)
    return await ctx.with_cache_retry(sources, search, outdated=(PropertyNotFound, UpstreamRefused))


async def _matches(ctx: NotesCall, source: vendor_models.DataSource, params: SearchPages) -> list[FoundPage]:
    described, query = source.properties[params.property], params.value.strip()
    unknown = mapping.searches.no_such_option(described, query, params.match)
    if unknown is not None:
        ctx.warn(unknown)
    if mapping.searches.cannot_match(described, query, params.match):
        return []
    results = []
    condition = mapping.searches.search_filter(described, query, params.match)
    async for rows in ctx.upstream.query_rows(source.id, condition, _required_properties(source, described)):
        for page in _check_complete(rows):
            value = await complete_value(ctx, page, described.id)
            if value is not None and mapping.searches.matches(value, query, params.match):
                results.append(mapping.pages.matched_page(page, params.property))
    return results


def _required_properties(source: vendor_models.DataSource, described: vendor_models.Property) -> list[str]:
    """Return the properties that a search reads of a row: the title, and the searched one."""
    titles = [item.id for item in source.properties.values() if item.type == "title"]
    return list(dict.fromkeys([*titles, described.id]))


def _check_complete(rows: Sequence[vendor_models.Page]) -> Sequence[vendor_models.Page]:
    """Return *rows*. Raises ``UpstreamRefused`` if the vendor does not list all of them."""
    if not rows:
        raise UpstreamRefused("More pages were created within one minute than the vendor lists.")
    return rows
