"""What each request of a connection does, once it is known who asks."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from workspace_sandbox.kit.stage import Stage
from workspace_sandbox.notes import blocks, checks, edits, paging, refusals, search
from workspace_sandbox.notes.answers import WITH_SOURCES, WITHOUT_ARCHIVED, Answers, listing
from workspace_sandbox.notes.queries import Query
from workspace_sandbox.notes.refusals import invalid
from workspace_sandbox.notes.state import (
    Container,
    DataSource,
    Page,
    Property,
    User,
    Workspace,
)
from workspace_sandbox.notes.writes import TITLE

CREATE_KEYS = ("parent", "properties", "children", "icon", "cover")
UPDATE_KEYS = ("properties", "in_trash", "icon", "cover", "is_locked", "erase_content")
QUERY_KEYS = ("filter", "sorts", "start_cursor", "page_size", "in_trash", "is_archived", "result_type")
SEARCH_KEYS = ("query", "sort", "filter", "start_cursor", "page_size")
PARENTS = ("data_source_id", "database_id", "page_id")

UNCOMMITTED: dict[str, Callable[[], refusals.Refusal]] = {
    "503_uncommitted": refusals.unavailable,
    "529": refusals.overloaded,
}
"""What the knob ``next_create`` lets happen instead of a page; ``503_committed`` happens after it."""

INCOMPLETE = {"request_status": {"type": "incomplete", "incomplete_reason": "query_result_limit_reached"}}


@dataclass(frozen=True, slots=True)
class Call:
    """An authenticated request."""

    bot: User
    answers: Answers
    path: Mapping[str, str]
    query: Mapping[str, str]
    filter_properties: list[str]
    """Of the query string too, where it may be repeated."""
    body: dict[str, Any]

    def uid(self, name: str) -> str:
        """The identifier *name* of the path."""
        return checks.uid(self.path[name], f"path.{name}")

    def fields(self, *allowed: str) -> dict[str, Any]:
        """The body, which may have the *allowed* keys only; older versions call ``in_trash`` by another name too."""
        body = dict(self.body)
        if self.answers.version < WITHOUT_ARCHIVED and "in_trash" in allowed and "archived" in body:
            body.setdefault("in_trash", body.pop("archived"))
            body.pop("archived", None)
        return checks.obj(body, "body", *allowed)

    def require_sources(self) -> None:
        """Refuse a version that knows no data sources."""
        if self.answers.version < WITH_SOURCES:
            raise refusals.bad_url()


class Api:
    """The requests a connection can make of one workspace."""

    def __init__(self, workspace: Workspace, stage: Stage) -> None:
        self._workspace = workspace
        self._stage = stage
        self._cursors = paging.Cursors(workspace.new_id)

    def me(self, call: Call) -> dict[str, Any]:
        """The bot of the connection."""
        return call.answers.user(call.bot)

    def list_users(self, call: Call) -> dict[str, Any]:
        """Everybody in the workspace: people, and the bot that asks."""
        found = [user for user in self._workspace.users.values() if user.kind == "person" or user is call.bot]
        shown, cursor = self._cursors.turn("users", found, lambda user: user.id, paging.window(call.query, "query"))
        return listing("user", [call.answers.user(user) for user in shown], cursor)

    def retrieve_user(self, call: Call) -> dict[str, Any]:
        """One user."""
        uid = call.uid("user_id")
        found = self._workspace.users.get(uid)
        if found is None:
            raise refusals.not_shared("user", uid, call.bot.integration_id, call.bot.name)
        return call.answers.user(found)

    def search(self, call: Call) -> dict[str, Any]:
        """Pages and data sources by title, as far as the index has come."""
        body = call.fields(*SEARCH_KEYS)
        query = checks.string(body.get("query", ""), "body.query")
        table = "data_source" if call.answers.version >= WITH_SOURCES else "database"
        wanted = checks.obj(body.get("filter", {}), "body.filter", "property", "value", "in_trash")
        kinds = self._kinds(wanted, table)
        in_trash = checks.boolean(wanted.get("in_trash", False), "body.filter.in_trash")
        lag = float(self._stage.knobs["search_lag_seconds"])
        found = search.find(self._workspace, call.bot, query, kinds, in_trash=in_trash, lag=lag)
        if self._ascending(body):
            found.reverse()
        if call.answers.version < WITH_SOURCES:
            found = [entity for entity in found if self._is_alone(entity)]
        scope = _scope("search", {key: body[key] for key in body if key not in {"start_cursor", "page_size"}})
        shown, cursor = self._cursors.turn(scope, found, lambda entity: entity.id, paging.window(body, "body"))
        return listing(f"page_or_{table}", [call.answers.found(entity) for entity in shown], cursor)

    def _kinds(self, wanted: dict[str, Any], table: str) -> set[str]:
        if "value" not in wanted and "property" not in wanted:
            return {"page", "data_source"}
        checks.one_of(wanted.get("property"), "body.filter.property", ("object",))
        value = checks.one_of(wanted.get("value"), "body.filter.value", ("page", table))
        return {"page" if value == "page" else "data_source"}

    def _is_alone(self, entity: DataSource | Page) -> bool:
        """Whether *entity* is no data source beside others, which older versions cannot be told of."""
        database = self._workspace.databases.get(entity.parent.id)
        return database is None or len(database.source_ids) == 1

    def _ascending(self, body: dict[str, Any]) -> bool:
        if "sort" not in body:
            return False
        sort = checks.obj(body["sort"], "body.sort", "direction", "timestamp")
        checks.one_of(sort.get("timestamp"), "body.sort.timestamp", ("last_edited_time",))
        directions = ("ascending", "descending")
        return checks.one_of(sort.get("direction"), "body.sort.direction", directions) == "ascending"

    def retrieve_database(self, call: Call) -> dict[str, Any]:
        """One database."""
        return call.answers.database(self._workspace.database(call.bot, call.uid("database_id")))

    def retrieve_source(self, call: Call) -> dict[str, Any]:
        """One data source with its schema."""
        call.require_sources()
        return call.answers.source(self._workspace.source(call.bot, call.uid("data_source_id")))

    def query_source(self, call: Call) -> dict[str, Any]:
        """Rows of a data source."""
        call.require_sources()
        return self._query(call, self._workspace.source(call.bot, call.uid("data_source_id")))

    def query_database(self, call: Call) -> dict[str, Any]:
        """Rows of a database, for the versions that know no data sources."""
        if call.answers.version >= WITH_SOURCES:
            raise refusals.bad_url()
        database = self._workspace.database(call.bot, call.uid("database_id"))
        return self._query(call, self._workspace.sole_source(database))

    def _query(self, call: Call, source: DataSource) -> dict[str, Any]:
        body = call.fields(*QUERY_KEYS)
        wanted = paging.window(body, "body")
        query = Query(self._workspace, source)
        only = self._selected(call, source)
        found = query.run(body, self._rows(body, source))
        cap = int(self._stage.knobs["row_cap"])
        asked = {key: body[key] for key in body if key not in {"start_cursor", "page_size"}}
        size = max(1, wanted.size * 2 // 3) if self._stage.knobs["short_pages"] else wanted.size
        shown, cursor = self._cursors.turn(
            _scope(source.id, asked), found[:cap], lambda page: page.id, paging.Window(size, wanted.cursor)
        )
        kind = "page_or_data_source" if call.answers.version >= WITH_SOURCES else "page_or_database"
        about = INCOMPLETE if len(found) > cap else {}
        return listing(kind, [call.answers.page(page, only) for page in shown], cursor, **about)

    def _rows(self, body: dict[str, Any], source: DataSource) -> list[Page]:
        in_trash = checks.boolean(body.get("in_trash", False), "body.in_trash")
        is_archived = checks.boolean(body.get("is_archived", False), "body.is_archived")
        kind = checks.one_of(body.get("result_type", "page"), "body.result_type", ("page", "data_source"))
        if is_archived or kind != "page":
            return []
        rows = [self._workspace.pages[uid] for uid in source.rows]
        return [page for page in rows if page.in_trash == in_trash]

    def _selected(self, call: Call, source: DataSource | None) -> set[str] | None:
        if not call.filter_properties or source is None:
            return None
        query = Query(self._workspace, source)
        return {query.property_in_address(key).id for key in call.filter_properties}

    def create_page(self, call: Call) -> dict[str, Any]:
        """A new page; a 503 afterwards, or instead, where the knob ``next_create`` says so."""
        for key in ("template", "markdown", "content", "position"):
            if key in call.body:
                raise refusals.Refusal(400, "invalid_request", f"Unsupported request: page creation with {key}.")
        body = call.fields(*CREATE_KEYS)
        above = self._above(call, checks.obj(checks.need(body, "parent", "body"), "body.parent", "type", *PARENTS))
        icon = blocks.icon(body.get("icon"), "body.icon")
        cover = blocks.picture(body.get("cover"), "body.cover")
        drafts = blocks.read(body.get("children", []), "body.children")
        source = above if isinstance(above, DataSource) else None
        found = edits.given(self._workspace, source, body.get("properties", {}), call.bot)
        accident, self._stage.knobs["next_create"] = self._stage.knobs["next_create"], ""
        if refuse := UNCOMMITTED.get(accident):
            raise refuse()
        page = edits.create(self._workspace, above, found, drafts, author=call.bot)
        page.icon, page.cover = icon, cover
        if accident == "503_committed":
            raise refusals.unavailable(page.id)
        return call.answers.page(page)

    def _above(self, call: Call, parent: dict[str, Any]) -> DataSource | Page:
        kind = next((kind for kind in PARENTS if kind in parent), "data_source_id")
        uid = checks.uid(checks.need(parent, kind, "body.parent"), f"body.parent.{kind}")
        if kind == "page_id":
            return self._workspace.page(call.bot, uid)
        if kind == "database_id":
            return self._workspace.sole_source(self._workspace.database(call.bot, uid))
        return self._workspace.source(call.bot, uid)

    def retrieve_page(self, call: Call) -> dict[str, Any]:
        """One page, trashed or not."""
        page = self._workspace.page(call.bot, call.uid("page_id"))
        return call.answers.page(page, self._selected(call, self._workspace.source_of(page)))

    def update_page(self, call: Call) -> dict[str, Any]:
        """Other values, icon and cover, and the way into the trash or out of it."""
        page = self._workspace.page(call.bot, call.uid("page_id"))
        body = call.fields(*UPDATE_KEYS)
        in_trash = checks.boolean(body["in_trash"], "body.in_trash") if "in_trash" in body else page.in_trash
        is_locked = checks.boolean(body.get("is_locked", page.is_locked), "body.is_locked")
        icon = blocks.icon(body.get("icon", page.icon), "body.icon")
        cover = blocks.picture(body.get("cover", page.cover), "body.cover")
        erase = checks.boolean(body.get("erase_content", False), "body.erase_content")
        if page.in_trash and in_trash and body:
            raise refusals.archived()
        source = self._workspace.source_of(page)
        found = edits.given(self._workspace, source, body.get("properties", {}), call.bot)
        if not in_trash:
            edits.trash(self._workspace, page, call.bot, into=False)
        edits.update(self._workspace, page, found, call.bot)
        edits.lock(self._workspace, page, call.bot, locked=is_locked)
        page.icon, page.cover = icon, cover
        if body.keys() & {"icon", "cover"}:
            edits.revise(self._workspace, page, call.bot)
        if erase:
            edits.erase(self._workspace, page, call.bot)
        if in_trash:
            edits.trash(self._workspace, page, call.bot, into=True)
        return call.answers.page(page)

    def retrieve_property(self, call: Call) -> dict[str, Any]:
        """One property of a page, with all its values."""
        page = self._workspace.page(call.bot, call.uid("page_id"))
        prop = self._property(page, call.path["property_id"])
        items = call.answers.items(page, prop)
        if items is None:
            return call.answers.item(page, prop)
        places = list(enumerate(items))
        scope = _scope(page.id, prop.id)
        shown, cursor = self._cursors.turn(
            scope, places, lambda place: str(place[0]), paging.window(call.query, "query")
        )
        about = call.answers.about(page, prop)
        address = f"{self._stage.addresses['base']}/v1/pages/{page.id}/properties/{prop.wire_id}"
        about["next_url"] = cursor and f"{address}?start_cursor={cursor}"
        return listing("property_item", [item for _, item in shown], cursor, property_item=about)

    def _property(self, page: Page, key: str) -> Property:
        source = self._workspace.source_of(page)
        if source:
            return Query(self._workspace, source).property_in_address(key)
        if key != TITLE.id:
            raise invalid(f"Could not find property with name or id: {key}")
        return TITLE

    def retrieve_block(self, call: Call) -> dict[str, Any]:
        """One block."""
        return call.answers.block(self._workspace.block(call.bot, call.uid("block_id")))

    def delete_block(self, call: Call) -> dict[str, Any]:
        """A block, page or database into the trash."""
        block = self._workspace.block(call.bot, call.uid("block_id"))
        edits.trash(self._workspace, block, call.bot, into=True)
        return call.answers.block(block)

    def list_children(self, call: Call) -> dict[str, Any]:
        """What a block or page holds, outside the trash."""
        block = self._workspace.block(call.bot, call.uid("block_id"))
        uids = block.children if isinstance(block, Container) else []
        children = [self._workspace.block(call.bot, uid) for uid in uids]
        found = [child for child in children if not child.in_trash]
        shown, cursor = self._cursors.turn(
            _scope("children", block.id), found, lambda child: child.id, paging.window(call.query, "query")
        )
        return listing("block", [call.answers.block(child) for child in shown], cursor)

    def append_children(self, call: Call) -> dict[str, Any]:
        """New blocks among what a block or page holds."""
        into = blocks.holder(self._workspace.block(call.bot, call.uid("block_id")))
        older = call.answers.version < WITHOUT_ARCHIVED
        body = call.fields("children", "position", *(("after",) if older else ()))
        made = [self._workspace.blocks[uid] for uid in edits.append(self._workspace, into, body, call.bot)]
        return listing("block", [call.answers.block(block) for block in made], None)


def _scope(*parts: Any) -> str:
    """What a cursor holds for: the object listed, and what was asked about it."""
    return json.dumps(parts, sort_keys=True)
