"""Property values of requests: validated in form and against the schema, then stored.

Nothing is stored and no option is created before the complete request has been validated.
"""

from collections.abc import Callable
from typing import Any

from workspace_sandbox.notes import validation
from workspace_sandbox.notes.content import rich_text
from workspace_sandbox.notes.data import dates
from workspace_sandbox.notes.data.state import COLORS, DataSource, Option, Property, User, Workspace
from workspace_sandbox.notes.error_responses import invalid, not_shared

Parser = Callable[[Any, str], Any]

URL_LENGTH = 2000
ADDRESS_LENGTH = 200
NAME_LENGTH = 100

TITLE = Property("title", "title", "title")
"""The only property of a page outside data sources."""


def _nullable(check: Callable[[Any, str], Any]) -> Parser:
    return lambda raw, path: None if raw is None else check(raw, path)


def _text(max_length: int) -> Parser:
    return _nullable(lambda raw, path: validation.string(raw, path, max_length))


def option_name(raw: Any, path: str) -> str:
    """Return a valid option name."""
    name = validation.populated(raw, path, NAME_LENGTH)
    # The API cannot create options with commas, although people can create them in Notion.
    if "," in name:
        raise invalid(f"Invalid select option, commas not allowed: {name}")
    return name


def _option(raw: Any, path: str) -> dict[str, str]:
    fields = validation.obj(raw, path, "id", "name", "color", "description")
    if "id" in fields:
        return {"id": validation.string(fields["id"], f"{path}.id", NAME_LENGTH)}
    return {"name": option_name(validation.need(fields, "name", path), f"{path}.name")}


def _each(check: Parser) -> Parser:
    return lambda raw, path: [
        check(item, f"{path}[{position}]") for position, item in enumerate(validation.array(raw, path))
    ]


def _reference(raw: Any, path: str) -> str:
    fields = validation.obj(raw, path)
    return validation.uid(validation.need(fields, "id", path), f"{path}.id")


def _file(raw: Any, path: str) -> dict[str, Any]:
    fields = validation.obj(raw, path, "name", "type", "external", "file", "file_upload")
    if "file_upload" in fields:
        uid = _reference(fields["file_upload"], f"{path}.file_upload")
        raise invalid(f"Could not find file_upload with ID: {uid}.")
    kind = "file" if "file" in fields else "external"
    link = validation.obj(validation.need(fields, kind, path), f"{path}.{kind}", "url", "expiry_time")
    url = validation.populated(validation.need(link, "url", f"{path}.{kind}"), f"{path}.{kind}.url", URL_LENGTH)
    name = validation.string(validation.need(fields, "name", path), f"{path}.name", NAME_LENGTH)
    return {"name": name, "type": kind, kind: link | {"url": url}}


def _parse_place(raw: Any, path: str) -> dict[str, Any]:
    texts = ("name", "address", "aws_place_id", "google_place_id")
    fields = validation.obj(raw, path, "lat", "lon", *texts)
    coordinates: dict[str, Any] = {
        axis: validation.number(validation.need(fields, axis, path), f"{path}.{axis}") for axis in ("lat", "lon")
    }
    return coordinates | {name: _text(URL_LENGTH)(fields.get(name), f"{path}.{name}") for name in texts}


def _verification(raw: Any, path: str) -> dict[str, Any]:
    fields = validation.obj(raw, path, "state", "date")
    state = validation.one_of(validation.need(fields, "state", path), f"{path}.state", ("verified", "unverified"))
    return {"state": state, "by": None, "date": dates.parse_date(fields.get("date"), f"{path}.date")}


PARSERS: dict[str, Parser] = {
    "title": rich_text.parse,
    "rich_text": rich_text.parse,
    "number": _nullable(validation.number),
    "select": _nullable(_option),
    "multi_select": _each(_option),
    "status": _nullable(_option),
    "date": dates.parse_date,
    "checkbox": validation.boolean,
    "url": _text(URL_LENGTH),
    "email": _text(ADDRESS_LENGTH),
    "phone_number": _text(ADDRESS_LENGTH),
    "people": _each(_reference),
    "relation": _each(_reference),
    "files": _each(_file),
    "place": _nullable(_parse_place),
    "verification": _verification,
}
"""The parsers of writable types. Other types cannot be written."""


def parse_properties(raw: Any, path: str) -> dict[str, tuple[str, Any]]:
    """Return the properties of a request by key: the declared type and the value."""
    return {key: _parse_property(value, f"{path}.{key}") for key, value in validation.obj(raw, path).items()}


def _parse_property(raw: Any, path: str) -> tuple[str, Any]:
    if isinstance(raw, list):
        return "title", rich_text.parse(raw, path)
    # A value that was read may be sent back unchanged, with its id, name and type.
    fields = {key: value for key, value in validation.obj(raw, path).items() if key not in {"id", "name", "type"}}
    kind = next((key for key in fields if key in PARSERS), None)
    if kind is None:
        key, value = next(iter(fields.items()), ("title", validation.UNDEFINED))
        raise validation.invalid_field(f"{path}.{key}", "not present" if fields else "defined", value)
    for key in fields.keys() - {kind}:
        raise validation.invalid_field(f"{path}.{key}", "not present", fields[key])
    return kind, PARSERS[kind](fields[kind], f"{path}.{kind}")


def match_properties(source: DataSource | None, fields: dict[str, tuple[str, Any]]) -> list[tuple[Property, Any]]:
    """Match the keys of *fields* to properties. Unknown names and wrong types are reported together."""
    errors, matches = [], []
    for key, (kind, value) in fields.items():
        prop = source.find(key) if source else TITLE if key == "title" else None
        if prop is None:
            errors.append(f"{key} is not a property that exists.")
        elif prop.type != kind:
            errors.append(f"{prop.name} is expected to be {prop.type}.")
        else:
            matches.append((prop, value))
    if errors:
        raise invalid(" ".join(errors))
    return matches


def check_references(workspace: Workspace, bot: User | None, values: list[tuple[Property, Any]]) -> None:
    """Reject values that name unknown options, people or pages. *bot* is None for an edit by a person."""
    for prop, value in values:
        if prop.type in {"select", "status", "multi_select"}:
            _verify_options(prop, value if isinstance(value, list) else [value])
        elif prop.type == "people":
            _verify_people(workspace, prop, value)
        elif prop.type == "relation":
            _verify_pages(workspace, bot, prop, value)


def _verify_options(prop: Property, options: list[dict[str, str] | None]) -> None:
    for option in filter(None, options):
        if "id" in option and all(option["id"] != existing.id for existing in prop.options):
            raise invalid(f'{prop.name} has no option with ID "{option["id"]}".')
        # A page write never creates a status, but it does create an option of a select. Both look alike in a request.
        if prop.type == "status" and "name" in option and prop.option(option["name"]) is None:
            raise invalid(f'Invalid status option. Status option "{option["name"]}" does not exist".')


def _verify_people(workspace: Workspace, prop: Property, uids: list[str]) -> None:
    for uid in uids:
        if uid not in workspace.users:
            raise invalid(f"{prop.name} refers to a user that does not exist: {uid}.")


def _verify_pages(workspace: Workspace, bot: User | None, prop: Property, uids: list[str]) -> None:
    for uid in uids:
        page = workspace.pages.get(uid)
        # A relation to a page that is not shared has the same error as one to an unknown page.
        if bot and (page is None or not workspace.can_access(bot, page)):
            raise not_shared("page", uid, bot.integration_id, bot.name)
        if page is None or page.parent.id != prop.config["data_source_id"]:
            raise invalid(f"{prop.name} is expected to hold pages of data source {prop.config['data_source_id']}.")


def to_stored(workspace: Workspace, author_id: str, prop: Property, value: Any) -> Any:
    """Return the stored form of *value*. Unknown options of select and multi_select are created."""
    if prop.type == "multi_select":
        return list(dict.fromkeys(_option_id(workspace, prop, option) for option in value))
    if prop.type == "status" and value is None:
        return prop.options[0].id
    if prop.type in {"select", "status"}:
        return value and _option_id(workspace, prop, value)
    if prop.type in {"people", "relation"}:
        return list(dict.fromkeys(value))
    if prop.type == "verification":
        return value | {"by": author_id if value["state"] == "verified" else None}
    return value


def _option_id(workspace: Workspace, prop: Property, option_ref: dict[str, str]) -> str:
    if "id" in option_ref:
        return option_ref["id"]
    option = prop.option(option_ref["name"])
    if option is None:
        # A misspelt name silently creates an option for all users (see "Page property values").
        option = new_option(workspace, option_ref["name"])
        prop.options.append(option)
    return option.id


def new_option(workspace: Workspace, name: str) -> Option:
    """Return a new option with a random colour."""
    return Option(workspace.new_id(), name, workspace.random.choice(COLORS))
