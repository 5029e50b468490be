"""What a person does in the application, told in plain values."""

from collections.abc import Callable, Mapping
from typing import Any

from connector_gateway.connectors.notes.emulator import edits
from connector_gateway.connectors.notes.emulator.refusals import Refusal
from connector_gateway.connectors.notes.emulator.state import DataSource, Page, Property, User, Workspace


def _text(_: Workspace, value: Any) -> list[dict[str, Any]]:
    return [] if value is None else [{"text": {"content": str(value)}}]


def _named(_: Workspace, value: Any) -> dict[str, Any] | None:
    return None if value is None else {"name": value}


def _many(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _person(workspace: Workspace, value: Any) -> dict[str, Any]:
    known = (user.id for user in workspace.users.values() if value in {user.id, user.name, user.email})
    return {"id": next(known, value)}


FORMS: dict[str, Callable[[Workspace, Any], Any]] = {
    "title": _text,
    "rich_text": _text,
    "select": _named,
    "status": _named,
    "multi_select": lambda _, value: [{"name": name} for name in _many(value)],
    "date": lambda _, value: {"start": value} if isinstance(value, str) else value,
    "people": lambda workspace, value: [_person(workspace, item) for item in _many(value)],
    "relation": lambda _, value: [{"id": uid} for uid in _many(value)],
    "files": lambda _, value: [{"name": url[-100:], "external": {"url": url}} for url in _many(value)],
}
"""How a plain value of a type is told to the vendor; other types take it as it is."""


def act(workspace: Workspace, person: User, action: Mapping[str, Any]) -> dict[str, Any]:
    """Let *person* do one thing; a ``ValueError`` says what is wrong with it."""
    do = ACTIONS.get(action.get("action", ""))
    if do is None:
        raise ValueError(f"unknown action {action.get('action')!r}; there are {', '.join(ACTIONS)}")
    try:
        return do(workspace, person, action)
    except Refusal as refusal:
        raise ValueError(refusal.message) from refusal


def _create(workspace: Workspace, person: User, action: Mapping[str, Any]) -> dict[str, Any]:
    source = _source(workspace, action)
    given = edits.given(workspace, source, _raw(workspace, source, action), None)
    return {"page_id": edits.create(workspace, source, given, author=person).id}


def _update(workspace: Workspace, person: User, action: Mapping[str, Any]) -> dict[str, Any]:
    page = _page(workspace, action)
    source = workspace.source_of(page)
    given = edits.given(workspace, source, _raw(workspace, source, action), None)
    edits.update(workspace, page, given, person)
    return {"page_id": page.id}


def _trash(*, into: bool) -> Callable[[Workspace, User, Mapping[str, Any]], dict[str, Any]]:
    def move(workspace: Workspace, person: User, action: Mapping[str, Any]) -> dict[str, Any]:
        page = _page(workspace, action)
        edits.trash(workspace, page, person, into=into)
        return {"page_id": page.id}

    return move


def _rename(workspace: Workspace, person: User, action: Mapping[str, Any]) -> dict[str, Any]:
    source = _source(workspace, action)
    edits.rename_property(workspace, source, str(action.get("property")), str(action.get("name")), person)
    return {"database_id": source.parent.id}


ACTIONS = {
    "create_page": _create,
    "update_page": _update,
    "trash_page": _trash(into=True),
    "restore_page": _trash(into=False),
    "rename_property": _rename,
}


def _raw(workspace: Workspace, source: DataSource | None, action: Mapping[str, Any]) -> dict[str, Any]:
    given = action.get("properties")
    if not isinstance(given, dict):
        raise ValueError("properties must be an object of plain values by property name")
    return {name: _value(workspace, _property(source, name), value) for name, value in given.items()}


def _property(source: DataSource | None, name: str) -> Property:
    found = source.find(name) if source else None
    if source and found is None:
        raise ValueError(
            f"there is no property {name!r}; there are {[prop.name for prop in source.properties.values()]}"
        )
    return found or Property("title", "title", "title")


def _value(workspace: Workspace, prop: Property, value: Any) -> dict[str, Any]:
    form = FORMS.get(prop.type)
    return {prop.type: form(workspace, value) if form else value}


def _source(workspace: Workspace, action: Mapping[str, Any]) -> DataSource:
    database = workspace.databases.get(str(action.get("database_id")))
    if database is None:
        raise ValueError(f"there is no database {action.get('database_id')!r}")
    return workspace.sources[database.source_ids[0]]


def _page(workspace: Workspace, action: Mapping[str, Any]) -> Page:
    page = workspace.pages.get(str(action.get("page_id")))
    if page is None:
        raise ValueError(f"there is no page {action.get('page_id')!r}")
    return page
