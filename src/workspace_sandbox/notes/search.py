"""Search by title, over an index that is late."""

from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any

from workspace_sandbox.kit.clock import has_passed
from workspace_sandbox.notes import checks
from workspace_sandbox.notes.answers import WITH_SOURCES, listing
from workspace_sandbox.notes.call import Call, scope
from workspace_sandbox.notes.paging import window
from workspace_sandbox.notes.state import DataSource, Entity, Page, Title, User, Workspace

ALIKE = 0.8
"""Words this similar count as the same."""

SHORT = 4
"""Words shorter than this must be met to the letter."""

Found = DataSource | Page

KEYS = ("query", "sort", "filter", "start_cursor", "page_size")


def search(call: Call) -> dict[str, Any]:
    """Pages and data sources by title, as far as the index has come."""
    body = call.fields(*KEYS)
    query = checks.string(body.get("query", ""), "body.query")
    table = "data_source" if call.answers.version >= WITH_SOURCES else "database"
    wanted = checks.obj(body.get("filter", {}), "body.filter", "property", "value", "in_trash")
    kinds = _kinds(wanted, table)
    in_trash = checks.boolean(wanted.get("in_trash", False), "body.filter.in_trash")
    lag = float(call.stage.knobs["search_lag_seconds"])
    found = find(call.workspace, call.bot, query, kinds, in_trash=in_trash, lag=lag)
    if _ascending(body):
        found.reverse()
    # A version that knows no data sources has no object to show such a one as.
    if call.answers.version < WITH_SOURCES:
        found = [entity for entity in found if _is_alone(call.workspace, entity)]
    bounds = scope("search", {key: body[key] for key in body if key not in {"start_cursor", "page_size"}})
    shown, cursor = call.cursors.turn(bounds, found, lambda entity: entity.id, window(body, "body"))
    return listing(f"page_or_{table}", [call.answers.found(entity) for entity in shown], cursor)


def _kinds(wanted: dict[str, Any], table: str) -> set[str]:
    if "value" not in wanted and "property" not in wanted:
        return {"page", "data_source"}
    checks.one_of(wanted.get("property"), "body.filter.property", ("object",))
    value = checks.one_of(wanted.get("value"), "body.filter.value", ("page", table))
    return {"page" if value == "page" else "data_source"}


def _is_alone(workspace: Workspace, entity: DataSource | Page) -> bool:
    """Whether *entity* is no data source beside others, which older versions cannot be told of."""
    database = workspace.databases.get(entity.parent.id)
    return database is None or len(database.source_ids) == 1


def _ascending(body: dict[str, Any]) -> bool:
    if "sort" not in body:
        return False
    sort = checks.obj(body["sort"], "body.sort", "direction", "timestamp")
    checks.one_of(sort.get("timestamp"), "body.sort.timestamp", ("last_edited_time",))
    directions = ("ascending", "descending")
    return checks.one_of(sort.get("direction"), "body.sort.direction", directions) == "ascending"


def find(workspace: Workspace, bot: User, query: str, kinds: set[str], *, in_trash: bool, lag: float) -> list[Found]:
    """What is listed to *bot*, of the *kinds* ``page`` and ``data_source``, and resembles *query*; newest first."""
    # Right after a write, a search did not find it in recorded traffic ("Search optimizations and limitations").
    now = workspace.now()
    candidates: list[Found] = []
    if "data_source" in kinds:
        candidates += workspace.sources.values()
    if "page" in kinds:
        candidates += workspace.pages.values()
    found = [
        entity
        for entity in candidates
        if (title := _indexed(entity.titles, lag, now)) is not None
        and _in_trash(workspace, entity) == in_trash
        and _listed(workspace, bot, entity)
        and resembles(title, query)
    ]
    return sorted(found, key=lambda entity: (entity.edited_at, entity.id), reverse=True)


def _indexed(titles: Title, lag: float, now: float) -> str | None:
    return next((title for at, title in reversed(titles) if has_passed(lag, at, now)), None)


def _in_trash(workspace: Workspace, entity: Entity) -> bool:
    return any(upper.in_trash for upper in workspace.lineage(entity))


def _listed(workspace: Workspace, bot: User, entity: Found) -> bool:
    """Databases are listed only when they are shared themselves, though what lies in a shared page may be read."""
    within: Iterator[Entity] = workspace.lineage(entity)
    # The page on search promises only what was shared directly. What is found by way of a parent is luck.
    nearest = next((upper.id for upper in within if upper.id in workspace.databases), None)
    return nearest in bot.shared if nearest else workspace.may_see(bot, entity)


def resembles(title: str, query: str) -> bool:
    """Whether each word of *query* is somewhere in *title*, or nearly."""
    folded = title.casefold()
    return all(wanted in folded or _nearly(wanted, folded.split()) for wanted in query.casefold().split())


def _nearly(wanted: str, words: list[str]) -> bool:
    # The vendor's search is fuzzy: a client that takes every result for a match must be caught.
    return len(wanted) >= SHORT and bool(get_close_matches(wanted, words, 1, ALIKE))
