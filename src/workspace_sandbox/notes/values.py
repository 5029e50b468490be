"""What the properties of a page hold: answered, and read out for filters and sorts.

A page keeps, by property id: rich text items, numbers, option ids, dates, user ids, page ids, and so on.
Types that keep nothing are worked out here.
"""

from collections.abc import Callable
from typing import Any

from workspace_sandbox.notes import richtext, times
from workspace_sandbox.notes.state import Page, Property, User, Workspace

REFERENCES_SHOWN = 25
"""Page objects show so many pages of a relation and people; the rest is had by the property endpoint."""

Read = Callable[[Workspace, Page, Property], Any]

LISTS = ("title", "rich_text", "multi_select", "people", "relation", "files")
"""The types whose empty value is an empty array."""


def kept(page: Page, prop: Property) -> Any:
    """What *page* keeps for *prop*, or the empty value of its type."""
    empty: Any = [] if prop.type in LISTS else False if prop.type == "checkbox" else None
    return page.values.get(prop.id, empty)


def user(found: User | None, uid: str, workspace: Workspace) -> dict[str, Any]:
    """A user object; of somebody unknown, only the id."""
    if found is None:
        return {"object": "user", "id": uid}
    shown = {"object": "user", "id": uid, "name": found.name, "avatar_url": None, "type": found.kind}
    if found.kind == "person":
        return shown | {"person": {"email": found.email, "email_verified": True}}
    owner: dict[str, Any] = {"type": "workspace", "workspace": True}
    if found.owner_id:
        owner = {"type": "user", "user": user(workspace.users[found.owner_id], found.owner_id, workspace)}
    limits = {"max_file_upload_size_in_bytes": 5 * 1024 * 1024}
    names = {"workspace_name": workspace.name, "workspace_id": workspace.id}
    return shown | {"bot": {"owner": owner} | names | {"workspace_limits": limits}}


def _person(workspace: Workspace, uid: str) -> dict[str, Any]:
    return user(workspace.users.get(uid), uid, workspace)


def _option(prop: Property, uid: str | None) -> dict[str, Any] | None:
    found = next((option for option in prop.options if option.id == uid), None)
    return {"id": found.id, "name": found.name, "color": found.color} if found else None


def _name(prop: Property, uid: str | None) -> str | None:
    return next((option.name for option in prop.options if option.id == uid), None)


def _options(_: Workspace, page: Page, prop: Property) -> list[dict[str, Any] | None]:
    return [_option(prop, uid) for uid in kept(page, prop)]


def _verification(workspace: Workspace, page: Page, prop: Property) -> dict[str, Any]:
    value = kept(page, prop) or {"state": "unverified", "by": None, "date": None}
    by = _person(workspace, value["by"]) if value["by"] else None
    return {"state": value["state"], "verified_by": by, "date": value["date"]}


def formula(workspace: Workspace, page: Page, prop: Property) -> dict[str, Any]:
    """The value of a formula, with the type it came out as."""
    value = prop.compute(workspace, page) if prop.compute else None
    kinds: dict[type, str] = {bool: "boolean", int: "number", float: "number", dict: "date"}
    kind = kinds.get(type(value), "string")
    return {"type": kind, kind: value}


def _related(workspace: Workspace, page: Page, prop: Property) -> list[Page]:
    """The pages a rollup looks at; like the vendor, no more than a page object shows."""
    # A rollup over more pages than that comes out wrong on the wire, and clients must know it.
    uids = page.values.get(prop.config["relation_property_id"], [])[:REFERENCES_SHOWN]
    return [workspace.pages[uid] for uid in uids]


def _rolled(workspace: Workspace, page: Page, prop: Property) -> list[tuple[Page, Property]]:
    pairs = []
    for related in _related(workspace, page, prop):
        source = workspace.source_of(related)
        target = source and source.properties.get(prop.config["rollup_property_id"])
        if target:
            pairs.append((related, target))
    return pairs


def rollup(workspace: Workspace, page: Page, prop: Property) -> dict[str, Any]:
    """The value of a rollup: a count, a sum, the latest date, or all values as they are."""
    function = prop.config["function"]
    pairs = _rolled(workspace, page, prop)
    found = [plain(workspace, related, target) for related, target in pairs]
    if function == "show_original":
        shown = [{"type": target.type} | answered(workspace, related, target) for related, target in pairs]
        return {"type": "array", "array": shown, "function": function}
    if function == "latest_date":
        latest = max(filter(None, found), default=None)
        date = latest and {"start": latest, "end": None, "time_zone": None}
        return {"type": "date", "date": date, "function": function}
    count = len(pairs) if function == "count" else sum(value or 0 for value in found)
    return {"type": "number", "number": count, "function": function}


def _stored(_: Workspace, page: Page, prop: Property) -> Any:
    return kept(page, prop)


READ: dict[str, Read] = {
    "title": lambda _, page, prop: richtext.shortened(kept(page, prop)),
    "rich_text": lambda _, page, prop: richtext.shortened(kept(page, prop)),
    "select": lambda _, page, prop: _option(prop, kept(page, prop)),
    "status": lambda _, page, prop: _option(prop, kept(page, prop)),
    "multi_select": _options,
    "people": lambda workspace, page, prop: [_person(workspace, uid) for uid in kept(page, prop)[:REFERENCES_SHOWN]],
    "relation": lambda _, page, prop: [{"id": uid} for uid in kept(page, prop)[:REFERENCES_SHOWN]],
    "verification": _verification,
    "formula": formula,
    "rollup": rollup,
    "created_time": lambda _, page, __: times.minute(page.created_at),
    "last_edited_time": lambda _, page, __: times.minute(page.edited_at),
    "created_by": lambda workspace, page, _: _person(workspace, page.created_by),
    "last_edited_by": lambda workspace, page, _: _person(workspace, page.edited_by),
    "unique_id": lambda _, page, prop: {"prefix": prop.config["prefix"], "number": kept(page, prop)},
    "button": lambda *_: {},
}
"""What a page object shows under the key of the type; other types show what is kept."""

PLAIN: dict[str, Read] = {
    "title": lambda _, page, prop: richtext.plain(kept(page, prop)),
    "rich_text": lambda _, page, prop: richtext.plain(kept(page, prop)),
    "select": lambda _, page, prop: _name(prop, kept(page, prop)),
    "status": lambda _, page, prop: _name(prop, kept(page, prop)),
    "multi_select": lambda _, page, prop: [_name(prop, uid) for uid in kept(page, prop)],
    "date": lambda _, page, prop: (kept(page, prop) or {}).get("start"),
    "verification": lambda _, page, prop: (kept(page, prop) or {}).get("state"),
    "formula": lambda workspace, page, prop: _unwrapped(formula(workspace, page, prop)),
    "rollup": lambda workspace, page, prop: _unwrapped(rollup(workspace, page, prop)),
    "created_time": READ["created_time"],
    "last_edited_time": READ["last_edited_time"],
    "created_by": lambda _, page, __: [page.created_by],
    "last_edited_by": lambda _, page, __: [page.edited_by],
}
"""What filters and sorts look at; of other types, what is kept."""


def _unwrapped(shown: dict[str, Any]) -> Any:
    value = shown[shown["type"]]
    return value["start"] if shown["type"] == "date" and value else value


def plain(workspace: Workspace, page: Page, prop: Property) -> Any:
    """The value of *prop* as text, number, boolean, ISO date, or list of names or ids."""
    return PLAIN.get(prop.type, _stored)(workspace, page, prop)


def answered(workspace: Workspace, page: Page, prop: Property) -> dict[str, Any]:
    """The value of *prop* under the key of its type, and whether a relation has more."""
    shown = {prop.type: READ.get(prop.type, _stored)(workspace, page, prop)}
    if prop.type == "relation":
        shown["has_more"] = len(kept(page, prop)) > REFERENCES_SHOWN
    return shown


ITEMS: dict[str, Read] = {
    "title": _stored,
    "rich_text": _stored,
    "people": lambda workspace, page, prop: [_person(workspace, uid) for uid in kept(page, prop)],
    "relation": lambda _, page, prop: [{"id": uid} for uid in kept(page, prop)],
}
"""The types whose values the property endpoint gives one by one, none held back."""
