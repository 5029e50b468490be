"""User actions in Notion, with plain values, and actions in the settings of a connection."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from workspace_sandbox.kit.error_responses import require
from workspace_sandbox.kit.input_validation import json_object
from workspace_sandbox.kit.user_actions import DELIVERIES, ActionField, UserAction, UserActions, optional, reader_for
from workspace_sandbox.notes import validation
from workspace_sandbox.notes.content import rich_text
from workspace_sandbox.notes.data import page_edits, property_input
from workspace_sandbox.notes.data.state import DataSource, Page, Property, Workspace

if TYPE_CHECKING:
    from workspace_sandbox.notes.emulator import NotesEmulator

ActionResult = dict[str, Any]


def _text(_: Workspace, value: Any) -> list[dict[str, Any]]:
    return [] if value is None else [{"text": {"content": str(value)}}]


def _option_reference(_: Workspace, value: Any) -> dict[str, Any] | None:
    return None if value is None else {"name": value}


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _person(workspace: Workspace, value: Any) -> dict[str, Any]:
    user_ids = (user.id for user in workspace.users.values() if value in {user.id, user.name, user.email})
    return {"id": next(user_ids, value)}


CONVERTERS: dict[str, Callable[[Workspace, Any], Any]] = {
    "title": _text,
    "rich_text": _text,
    "select": _option_reference,
    "status": _option_reference,
    "multi_select": lambda _, value: [{"name": name} for name in _as_list(value)],
    "date": lambda _, value: {"start": value} if isinstance(value, str) else value,
    "people": lambda workspace, value: [_person(workspace, item) for item in _as_list(value)],
    "relation": lambda _, value: [{"id": uid} for uid in _as_list(value)],
    "files": lambda _, value: [{"name": url[-100:], "external": {"url": url}} for url in _as_list(value)],
}
"""The conversion of a plain value to the vendor's format, by type. Other types are passed through."""

ADDED = (
    *("rich_text", "number", "select", "multi_select", "date", "checkbox", "url", "email", "phone_number", "people"),
    *("files", "created_time", "created_by", "last_edited_time", "last_edited_by"),
)
"""The property types that can be added, because they need only a name and optional options."""


def _create(notion: "NotesEmulator", source: DataSource, properties: Mapping[str, Any]) -> ActionResult:
    values = page_edits.validate_properties(
        notion.workspace, source, _property_values(notion, source, properties), None
    )
    return {"page_id": page_edits.create(notion.workspace, source, values, author=notion.person).id}


def _update(notion: "NotesEmulator", page: Page, properties: Mapping[str, Any]) -> ActionResult:
    source = notion.workspace.get_source(page)
    values = page_edits.validate_properties(
        notion.workspace, source, _property_values(notion, source, properties), None
    )
    page_edits.update(notion.workspace, page, values, notion.person)
    return {"page_id": page.id}


def _trash(notion: "NotesEmulator", page: Page, *, into: bool) -> ActionResult:
    page_edits.trash(notion.workspace, page, notion.person, into=into)
    return {"page_id": page.id}


def _add_property(
    notion: "NotesEmulator", source: DataSource, name: str, kind: str, *, options: list[str] | None = None
) -> ActionResult:
    new_options = [property_input.new_option(notion.workspace, option) for option in dict.fromkeys(options or [])]
    prop = Property(notion.workspace.new_property_id(), name, kind, number_config(kind), new_options)
    page_edits.add_property(notion.workspace, source, prop, notion.person)
    return {"property_id": prop.wire_id}


def _rename_property(notion: "NotesEmulator", source: DataSource, column: str, name: str) -> ActionResult:
    prop = _property(source, column)
    page_edits.rename_property(notion.workspace, source, prop, name, notion.person)
    return {"property_id": prop.wire_id}


def _rename_option(notion: "NotesEmulator", source: DataSource, column: str, former: str, name: str) -> ActionResult:
    prop = _property(source, column)
    option = require(prop.option(former), ValueError(f"{prop.name} has no option {former!r}"))
    page_edits.rename_option(
        notion.workspace, source, prop, option, property_input.option_name(name, "name"), author=notion.person
    )
    return {"option_id": option.id}


def _comment(notion: "NotesEmulator", page: Page, content: str, *, discussion_id: str = "") -> ActionResult:
    workspace = notion.workspace
    if discussion_id and discussion_id not in {comment.discussion_id for comment in workspace.comments.values()}:
        raise ValueError(f"discussion {discussion_id!r} does not exist")
    new_comment = page_edits.comment(
        workspace, page, discussion_id or workspace.new_id(), rich_text.text(content), notion.person
    )
    return {"comment_id": new_comment.id, "discussion_id": new_comment.discussion_id}


def _property_values(notion: "NotesEmulator", source: DataSource | None, properties: Mapping[str, Any]) -> ActionResult:
    return {name: _value(notion.workspace, _property(source, name), value) for name, value in properties.items()}


def _property(source: DataSource | None, name: str) -> Property:
    match = source.find(name) if source else None
    if source and match is None:
        names = [prop.name for prop in source.properties.values()]
        raise ValueError(f"unknown property {name!r}; allowed: {names}")
    return match or Property("title", "title", "title")


def _value(workspace: Workspace, prop: Property, value: Any) -> dict[str, Any]:
    form = CONVERTERS.get(prop.type)
    return {prop.type: form(workspace, value) if form else value}


def number_config(kind: str) -> dict[str, str]:
    """Return the configuration of a new property."""
    return {"format": "number"} if kind == "number" else {}


def _source(notion: "NotesEmulator", value: Any) -> DataSource:
    database = notion.workspace.databases.get(str(value))
    if database is None:
        raise ValueError(f"{value!r} does not exist")
    return notion.workspace.sources[database.source_ids[0]]


def _page(notion: "NotesEmulator", value: Any) -> Page:
    return require(notion.workspace.pages.get(str(value)), ValueError(f"{value!r} does not exist"))


def _options(_: Any, value: Any) -> list[str]:
    return [property_input.option_name(name, "options") for name in validation.array(value, "options")]


PAGE = ActionField("page_id", "the page", _page)
DATABASE = ActionField("database_id", "the database", _source)
PROPERTIES = ActionField("properties", "plain values by property name; null clears one", reader_for(json_object))
PROPERTY = ActionField("property", "the column, by name or id", lambda _, value: str(value))
NAME = ActionField(
    "name", "the new name", lambda _, value: validation.populated(value, "name", property_input.NAME_LENGTH)
)
TEXT = ActionField(
    "text", "the comment", lambda _, value: validation.populated(value, "text", rich_text.CONTENT_LENGTH)
)
TYPE = ActionField("type", f"one of {', '.join(ADDED)}", lambda _, value: validation.one_of(value, "type", ADDED))
SETTINGS = "`subscription_id`, `state`"

ACTS: UserActions = {
    "create_page": UserAction(_create, "Adds a row to a database.", (DATABASE, PROPERTIES), "`page_id`"),
    "update_page": UserAction(_update, "Changes values of a page.", (PAGE, PROPERTIES), "`page_id`"),
    "comment": UserAction(
        _comment,
        "Comments on a page.",
        (PAGE, TEXT, optional("discussion_id", "the discussion; default: a new one")),
        "`comment_id`, `discussion_id`",
    ),
    "trash_page": UserAction(partial(_trash, into=True), "Moves a page to the trash.", (PAGE,), "`page_id`"),
    "restore_page": UserAction(partial(_trash, into=False), "Restores a page from the trash.", (PAGE,), "`page_id`"),
    "add_property": UserAction(
        _add_property,
        "Adds a column.",
        (
            DATABASE,
            NAME.with_description("its name"),
            TYPE,
            optional("options", "names, for a select or multi_select", _options),
        ),
        "`property_id`",
    ),
    "rename_property": UserAction(_rename_property, "Renames a column.", (DATABASE, PROPERTY, NAME), "`property_id`"),
    "rename_option": UserAction(
        _rename_option,
        "Renames an option; pages that have it do not count as edited.",
        (DATABASE, PROPERTY, ActionField("option", "the option, by name or id", PROPERTY.read), NAME),
        "`option_id`",
    ),
    "subscribe": UserAction(
        lambda notion, **options: notion.subscribe(**options),
        "Sets up webhooks, and sends the verification token to the URL, once and unsigned.",
        (
            optional("url", "the URL; default: the knob events_url"),
            optional("connection", "`internal` or `public`"),
        ),
        SETTINGS,
    ),
    "verify_webhook": UserAction(
        lambda notion, token: notion.verify(token),
        "Confirms the token; events are then sent, signed with it.",
        (ActionField("verification_token", "the token that was sent to the URL"),),
        SETTINGS,
    ),
    "deliveries": DELIVERIES,
}
