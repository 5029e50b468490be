"""What a person does in the application, told in plain values."""

from collections.abc import Callable, Mapping
from typing import Any

from workspace_sandbox.kit.acts import Act
from workspace_sandbox.notes import checks, edits, richtext, writes
from workspace_sandbox.notes.state import DataSource, Page, Property, User, Workspace
from workspace_sandbox.notes.wire import Refusal


def _text(_: Workspace, value: Any) -> list[dict[str, Any]]:
    return [] if value is None else [{"text": {"content": str(value)}}]


def _named(_: Workspace, value: Any) -> dict[str, Any] | None:
    return None if value is None else {"name": value}


def _many(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _person(workspace: Workspace, value: Any) -> dict[str, Any]:
    known = (user.id for user in workspace.users.values() if value in {user.id, user.name, user.email})
    return {"id": next(known, value)}


Do = Callable[[Workspace, User, Mapping[str, Any]], dict[str, Any]]

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

ADDED = (
    *("rich_text", "number", "select", "multi_select", "date", "checkbox", "url", "email", "phone_number", "people"),
    *("files", "created_time", "created_by", "last_edited_time", "last_edited_by"),
)
"""The types of which a property can be added, as they need no more than a name and perhaps options."""


def perform(workspace: Workspace, person: User, action: Mapping[str, Any]) -> dict[str, Any]:
    """Let *person* do one thing; a ``ValueError`` says what is wrong with it."""
    act = ACTIONS.get(action.get("action", ""))
    if act is None:
        known = ", ".join([*ACTIONS, *SETTINGS])
        raise ValueError(f"unknown action {action.get('action')!r}; there are {known}")
    try:
        return act.do(workspace, person, action)
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


def _trash(*, into: bool) -> Do:
    def move(workspace: Workspace, person: User, action: Mapping[str, Any]) -> dict[str, Any]:
        page = _page(workspace, action)
        edits.trash(workspace, page, person, into=into)
        return {"page_id": page.id}

    return move


def _add_property(workspace: Workspace, person: User, action: Mapping[str, Any]) -> dict[str, Any]:
    source = _source(workspace, action)
    kind = checks.one_of(action.get("type"), "type", ADDED)
    names = [writes.option_name(name, "options") for name in checks.array(action.get("options", []), "options")]
    options = [writes.new_option(workspace, name) for name in dict.fromkeys(names)]
    config = {"format": "number"} if kind == "number" else {}
    prop = Property(workspace.new_property_id(), _name(action), kind, config, options)
    edits.add_property(workspace, source, prop, person)
    return {"property_id": prop.wire_id}


def _rename_property(workspace: Workspace, person: User, action: Mapping[str, Any]) -> dict[str, Any]:
    source = _source(workspace, action)
    prop = _property(source, str(action.get("property")))
    edits.rename_property(workspace, source, prop, _name(action), person)
    return {"property_id": prop.wire_id}


def _rename_option(workspace: Workspace, person: User, action: Mapping[str, Any]) -> dict[str, Any]:
    source = _source(workspace, action)
    prop = _property(source, str(action.get("property")))
    option = prop.option(str(action.get("option")))
    if option is None:
        raise ValueError(f"{prop.name} has no option {action.get('option')!r}")
    edits.rename_option(workspace, source, prop, option, writes.option_name(action.get("name"), "name"), author=person)
    return {"option_id": option.id}


def _comment(workspace: Workspace, person: User, action: Mapping[str, Any]) -> dict[str, Any]:
    page = _page(workspace, action)
    told = checks.populated(action.get("text"), "text", richtext.CONTENT_LENGTH)
    known = (one for one in workspace.comments.values() if one.discussion_id == action.get("discussion_id"))
    if action.get("discussion_id") is not None and next(known, None) is None:
        raise ValueError(f"there is no discussion {action['discussion_id']!r}")
    discussion_id = action.get("discussion_id") or workspace.new_id()
    made = edits.comment(workspace, page, discussion_id, richtext.text(told), person)
    return {"comment_id": made.id, "discussion_id": made.discussion_id}


PAGE = {"page_id": "the page"}
DATABASE = {"database_id": "the database"}
PROPERTIES = {"properties": "plain values by property name; null clears one"}
PROPERTY = {"property": "the column, by name or id"}

ACTIONS: Mapping[str, Act[Do]] = {
    "create_page": Act(_create, "Adds a row to a database.", DATABASE | PROPERTIES, answers="`page_id`"),
    "update_page": Act(_update, "Changes values of a page.", PAGE | PROPERTIES, answers="`page_id`"),
    "comment": Act(
        _comment,
        "Comments on a page.",
        PAGE | {"text": "the comment"},
        {"discussion_id": "the discussion that it goes to; otherwise a new one"},
        "`comment_id`, `discussion_id`",
    ),
    "trash_page": Act(_trash(into=True), "Moves a page into the trash.", PAGE, answers="`page_id`"),
    "restore_page": Act(_trash(into=False), "Takes a page out of the trash.", PAGE, answers="`page_id`"),
    "add_property": Act(
        _add_property,
        "Adds a column.",
        DATABASE | {"name": "its name", "type": f"one of {', '.join(ADDED)}"},
        {"options": "names, for a select or multi_select"},
        answers="`property_id`",
    ),
    "rename_property": Act(
        _rename_property,
        "Renames a column.",
        DATABASE | PROPERTY | {"name": "the new name"},
        answers="`property_id`",
    ),
    "rename_option": Act(
        _rename_option,
        "Renames an option; pages that have it do not count as edited.",
        DATABASE | PROPERTY | {"option": "its name or id", "name": "the new name"},
        answers="`option_id`",
    ),
}

SETTINGS: Mapping[str, Act[None]] = {
    "subscribe": Act(
        None,
        "Sets up webhooks, and sends the verification token to the address, once and unsigned.",
        {},
        {"url": "the address; otherwise that of the knob events_url", "connection": "`internal` or `public`"},
        answers="`subscription_id`, `state`",
    ),
    "verify_webhook": Act(
        None,
        "Brings the token back; from then on events are sent, signed with it.",
        {"verification_token": "what was sent to the address"},
        answers="`subscription_id`, `state`",
    ),
    "deliveries": Act(
        None,
        "Tells how deliveries went.",
        answers="`deliveries`: `event_id`, `type`, `attempt`, `status`, `reason` of each",
    ),
}
"""What is done in the settings of a connection; the emulator does it."""


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


def _name(action: Mapping[str, Any]) -> str:
    return checks.populated(action.get("name"), "name", writes.NAME_LENGTH)


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
