"""Title search over an index that lags behind."""

from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any

from workspace_sandbox.kit.clock import has_passed
from workspace_sandbox.notes import validation
from workspace_sandbox.notes.data.state import DataSource, Entity, Page, Title, User, Workspace
from workspace_sandbox.notes.object_json import WITH_SOURCES, list_object
from workspace_sandbox.notes.pagination import read_window
from workspace_sandbox.notes.request import ApiRequest, cursor_scope

MIN_SIMILARITY = 0.8
"""The similarity ratio from which words match."""

MIN_FUZZY_LENGTH = 4
"""Shorter words must match exactly."""

SearchResult = DataSource | Page

KEYS = ("query", "sort", "filter", "start_cursor", "page_size")


def search(request: ApiRequest) -> dict[str, Any]:
    """Search pages and data sources by title, up to the lag of the index."""
    body = request.read_fields(*KEYS)
    query = validation.string(body.get("query", ""), "body.query")
    table = "data_source" if request.responses.version >= WITH_SOURCES else "database"
    filters = validation.obj(body.get("filter", {}), "body.filter", "property", "value", "in_trash")
    kinds = _kinds(filters, table)
    in_trash = validation.boolean(filters.get("in_trash", False), "body.filter.in_trash")
    lag = float(request.context.knobs["search_lag_seconds"])
    matches = find_entities(request.workspace, request.bot, query, kinds, in_trash=in_trash, lag=lag)
    if _ascending(body):
        matches.reverse()
    # Versions without data sources have no object type for one of several data sources.
    if request.responses.version < WITH_SOURCES:
        matches = [entity for entity in matches if _is_only_source(request.workspace, entity)]
    bounds = cursor_scope("search", {key: body[key] for key in body if key not in {"start_cursor", "page_size"}})
    items, cursor = request.cursors.paginate(bounds, matches, lambda entity: entity.id, read_window(body, "body"))
    return list_object(f"page_or_{table}", [request.responses.search_result(entity) for entity in items], cursor)


def _kinds(filters: dict[str, Any], table: str) -> set[str]:
    if "value" not in filters and "property" not in filters:
        return {"page", "data_source"}
    validation.one_of(filters.get("property"), "body.filter.property", ("object",))
    value = validation.one_of(filters.get("value"), "body.filter.value", ("page", table))
    return {"page" if value == "page" else "data_source"}


def _is_only_source(workspace: Workspace, entity: DataSource | Page) -> bool:
    """Return False for one of several data sources of a database, which older versions cannot represent."""
    database = workspace.databases.get(entity.parent.id)
    return database is None or len(database.source_ids) == 1


def _ascending(body: dict[str, Any]) -> bool:
    if "sort" not in body:
        return False
    sort = validation.obj(body["sort"], "body.sort", "direction", "timestamp")
    validation.one_of(sort.get("timestamp"), "body.sort.timestamp", ("last_edited_time",))
    directions = ("ascending", "descending")
    return validation.one_of(sort.get("direction"), "body.sort.direction", directions) == "ascending"


def find_entities(
    workspace: Workspace, bot: User, query: str, kinds: set[str], *, in_trash: bool, lag: float
) -> list[SearchResult]:
    """Return the objects of *kinds* that *bot* can list and whose title resembles *query*, newest first."""
    # In recorded traffic a search right after a write does not find it ("Search optimizations and limitations").
    now = workspace.now()
    candidates: list[SearchResult] = []
    if "data_source" in kinds:
        candidates += workspace.sources.values()
    if "page" in kinds:
        candidates += workspace.pages.values()
    matches = [
        entity
        for entity in candidates
        if (title := _indexed(entity.titles, lag, now)) is not None
        and any(upper.in_trash for upper in workspace.lineage(entity)) == in_trash
        and _listed(workspace, bot, entity)
        and resembles(title, query)
    ]
    return sorted(matches, key=lambda entity: (entity.edited_at, entity.id), reverse=True)


def _indexed(titles: Title, lag: float, now: float) -> str | None:
    return next((title for at, title in reversed(titles) if has_passed(lag, at, now)), None)


def _listed(workspace: Workspace, bot: User, entity: SearchResult) -> bool:
    """Return True if *entity* is listed.

    Databases must be shared directly, although shared pages make them readable.
    """
    within: Iterator[Entity] = workspace.lineage(entity)
    # The search page guarantees only directly shared objects. Results through a parent are not reliable.
    nearest = next((upper.id for upper in within if upper.id in workspace.databases), None)
    return nearest in bot.shared if nearest else workspace.can_access(bot, entity)


def resembles(title: str, query: str) -> bool:
    """Return True if each word of *query* occurs in *title*, exactly or approximately."""
    folded = title.casefold()
    return all(word in folded or _is_similar(word, folded.split()) for word in query.casefold().split())


def _is_similar(word: str, words: list[str]) -> bool:
    # The vendor's search is fuzzy, so that a client which treats every result as a match must fail.
    return len(word) >= MIN_FUZZY_LENGTH and bool(get_close_matches(word, words, 1, MIN_SIMILARITY))
