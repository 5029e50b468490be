"""Property values of pages, for responses and for filters and sorts.

A page stores, by property id: rich text items, numbers, option ids, dates, user ids, page ids, and so on.
Types without stored values are computed here.
"""

from collections.abc import Callable
from typing import Any

from workspace_sandbox.notes.content import rich_text
from workspace_sandbox.notes.data import dates
from workspace_sandbox.notes.data.state import Page, Property, User, Workspace

MAX_REFERENCES = 25
"""The number of relations and people in a page object. The property endpoint returns the rest."""

ValueReader = Callable[[Workspace, Page, Property], Any]

LISTS = ("title", "rich_text", "multi_select", "people", "relation", "files")
"""The types whose empty value is an empty array."""


def stored_value(page: Page, prop: Property) -> Any:
    """Return the stored value of *prop*, or the empty value of its type."""
    empty: Any = [] if prop.type in LISTS else False if prop.type == "checkbox" else None
    return page.values.get(prop.id, empty)


def user_object(account: User | None, uid: str, workspace: Workspace) -> dict[str, Any]:
    """Return a user object. An unknown user has only an id."""
    if account is None:
        return {"object": "user", "id": uid}
    fields = {"object": "user", "id": uid, "name": account.name, "avatar_url": None, "type": account.kind}
    if account.kind == "person":
        return fields | {"person": {"email": account.email, "email_verified": True}}
    owner: dict[str, Any] = {"type": "workspace", "workspace": True}
    if account.owner_id:
        owner = {"type": "user", "user": user_object(workspace.users[account.owner_id], account.owner_id, workspace)}
    limits = {"max_file_upload_size_in_bytes": 5 * 1024 * 1024}
    names = {"workspace_name": workspace.name, "workspace_id": workspace.id}
    return fields | {"bot": {"owner": owner} | names | {"workspace_limits": limits}}


def _person(workspace: Workspace, uid: str) -> dict[str, Any]:
    return user_object(workspace.users.get(uid), uid, workspace)


def _option(prop: Property, uid: str | None) -> dict[str, Any] | None:
    match = next((option for option in prop.options if option.id == uid), None)
    return {"id": match.id, "name": match.name, "color": match.color} if match else None


def _name(prop: Property, uid: str | None) -> str | None:
    return next((option.name for option in prop.options if option.id == uid), None)


def _options(_: Workspace, page: Page, prop: Property) -> list[dict[str, Any] | None]:
    return [_option(prop, uid) for uid in stored_value(page, prop)]


def _verification(workspace: Workspace, page: Page, prop: Property) -> dict[str, Any]:
    value = stored_value(page, prop) or {"state": "unverified", "by": None, "date": None}
    by = _person(workspace, value["by"]) if value["by"] else None
    return {"state": value["state"], "verified_by": by, "date": value["date"]}


def formula(workspace: Workspace, page: Page, prop: Property) -> dict[str, Any]:
    """Return the value of a formula with the type of its result."""
    value = prop.compute(workspace, page) if prop.compute else None
    kinds: dict[type, str] = {bool: "boolean", int: "number", float: "number", dict: "date"}
    kind = kinds.get(type(value), "string")
    return {"type": kind, kind: value}


def _related(workspace: Workspace, page: Page, prop: Property) -> list[Page]:
    """Return the pages of a rollup, limited like the vendor's to the relations of a page object."""
    # A rollup over more pages is wrong in the response, as with the vendor, and clients must handle it.
    uids = page.values.get(prop.config["relation_property_id"], [])[:MAX_REFERENCES]
    return [workspace.pages[uid] for uid in uids]


def _rollup_targets(workspace: Workspace, page: Page, prop: Property) -> list[tuple[Page, Property]]:
    pairs = []
    for related in _related(workspace, page, prop):
        source = workspace.get_source(related)
        target = source and source.properties.get(prop.config["rollup_property_id"])
        if target:
            pairs.append((related, target))
    return pairs


def rollup(workspace: Workspace, page: Page, prop: Property) -> dict[str, Any]:
    """Return the value of a rollup: a count, a sum, the latest date, or all values unchanged."""
    function = prop.config["function"]
    pairs = _rollup_targets(workspace, page, prop)
    plain_values = [plain_value(workspace, related, target) for related, target in pairs]
    if function == "show_original":
        items = [{"type": target.type} | property_value(workspace, related, target) for related, target in pairs]
        return {"type": "array", "array": items, "function": function}
    if function == "latest_date":
        latest = max(filter(None, plain_values), default=None)
        date = latest and {"start": latest, "end": None, "time_zone": None}
        return {"type": "date", "date": date, "function": function}
    count = len(pairs) if function == "count" else sum(value or 0 for value in plain_values)
    return {"type": "number", "number": count, "function": function}


def _stored(_: Workspace, page: Page, prop: Property) -> Any:
    return stored_value(page, prop)


READ: dict[str, ValueReader] = {
    "title": lambda _, page, prop: rich_text.truncate(stored_value(page, prop)),
    "rich_text": lambda _, page, prop: rich_text.truncate(stored_value(page, prop)),
    "select": lambda _, page, prop: _option(prop, stored_value(page, prop)),
    "status": lambda _, page, prop: _option(prop, stored_value(page, prop)),
    "multi_select": _options,
    "people": lambda workspace, page, prop: [
        _person(workspace, uid) for uid in stored_value(page, prop)[:MAX_REFERENCES]
    ],
    "relation": lambda _, page, prop: [{"id": uid} for uid in stored_value(page, prop)[:MAX_REFERENCES]],
    "verification": _verification,
    "formula": formula,
    "rollup": rollup,
    "created_time": lambda _, page, __: dates.format_page_time(page.created_at),
    "last_edited_time": lambda _, page, __: dates.format_page_time(page.edited_at),
    "created_by": lambda workspace, page, _: _person(workspace, page.created_by),
    "last_edited_by": lambda workspace, page, _: _person(workspace, page.edited_by),
    "unique_id": lambda _, page, prop: {"prefix": prop.config["prefix"], "number": stored_value(page, prop)},
    "button": lambda *_: {},
}
"""The values of a page object under the key of their type. Other types return the stored value."""

PLAIN: dict[str, ValueReader] = {
    "title": lambda _, page, prop: rich_text.plain_text(stored_value(page, prop)),
    "rich_text": lambda _, page, prop: rich_text.plain_text(stored_value(page, prop)),
    "select": lambda _, page, prop: _name(prop, stored_value(page, prop)),
    "status": lambda _, page, prop: _name(prop, stored_value(page, prop)),
    "multi_select": lambda _, page, prop: [_name(prop, uid) for uid in stored_value(page, prop)],
    "date": lambda _, page, prop: (stored_value(page, prop) or {}).get("start"),
    "verification": lambda _, page, prop: (stored_value(page, prop) or {}).get("state"),
    "formula": lambda workspace, page, prop: _unwrap(formula(workspace, page, prop)),
    "rollup": lambda workspace, page, prop: _unwrap(rollup(workspace, page, prop)),
    "created_time": READ["created_time"],
    "last_edited_time": READ["last_edited_time"],
    "created_by": lambda _, page, __: [page.created_by],
    "last_edited_by": lambda _, page, __: [page.edited_by],
}
"""The values for filters and sorts. Other types use the stored value."""


def _unwrap(result: dict[str, Any]) -> Any:
    value = result[result["type"]]
    return value["start"] if result["type"] == "date" and value else value


def plain_value(workspace: Workspace, page: Page, prop: Property) -> Any:
    """Return the value of *prop* as text, number, boolean, ISO date, or list of names or ids."""
    return PLAIN.get(prop.type, _stored)(workspace, page, prop)


def property_value(workspace: Workspace, page: Page, prop: Property) -> dict[str, Any]:
    """Return the value of *prop* under the key of its type, and whether a relation has more."""
    field = {prop.type: READ.get(prop.type, _stored)(workspace, page, prop)}
    if prop.type == "relation":
        field["has_more"] = len(stored_value(page, prop)) > MAX_REFERENCES
    return field


ITEMS: dict[str, ValueReader] = {
    "title": _stored,
    "rich_text": _stored,
    "people": lambda workspace, page, prop: [_person(workspace, uid) for uid in stored_value(page, prop)],
    "relation": lambda _, page, prop: [{"id": uid} for uid in stored_value(page, prop)],
}
"""The types whose values the property endpoint lists in full."""
