"""Search by title, over an index that is late."""

from collections.abc import Iterator
from difflib import get_close_matches

from workspace_sandbox.notes.state import DataSource, Entity, Page, Title, User, Workspace

ALIKE = 0.8
"""Words this similar count as the same."""

SHORT = 4
"""Words shorter than this must be met to the letter."""

Found = DataSource | Page


def find(workspace: Workspace, bot: User, query: str, kinds: set[str], *, in_trash: bool, lag: float) -> list[Found]:
    """What is listed to *bot*, of the *kinds* ``page`` and ``data_source``, and resembles *query*; newest first."""
    horizon = workspace.now() - lag
    candidates: list[Found] = []
    if "data_source" in kinds:
        candidates += workspace.sources.values()
    if "page" in kinds:
        candidates += workspace.pages.values()
    found = [
        entity
        for entity in candidates
        if (title := _indexed(entity.titles, horizon)) is not None
        and _in_trash(workspace, entity) == in_trash
        and _listed(workspace, bot, entity)
        and resembles(title, query)
    ]
    return sorted(found, key=lambda entity: (entity.edited_at, entity.id), reverse=True)


def _indexed(titles: Title, horizon: float) -> str | None:
    return next((title for at, title in reversed(titles) if at <= horizon), None)


def _in_trash(workspace: Workspace, entity: Entity) -> bool:
    return any(upper.in_trash for upper in workspace.lineage(entity))


def _listed(workspace: Workspace, bot: User, entity: Found) -> bool:
    """Databases are listed only when they are shared themselves, though what lies in a shared page may be read."""
    within: Iterator[Entity] = workspace.lineage(entity)
    nearest = next((upper.id for upper in within if upper.id in workspace.databases), None)
    return nearest in bot.shared if nearest else workspace.may_see(bot, entity)


def resembles(title: str, query: str) -> bool:
    """Whether each word of *query* is somewhere in *title*, or nearly."""
    folded = title.casefold()
    return all(wanted in folded or _nearly(wanted, folded.split()) for wanted in query.casefold().split())


def _nearly(wanted: str, words: list[str]) -> bool:
    return len(wanted) >= SHORT and bool(get_close_matches(wanted, words, 1, ALIKE))
