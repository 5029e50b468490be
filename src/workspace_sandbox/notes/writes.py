"""Property values of requests: checked in form, held against the schema, then kept.

Nothing is kept, and no option created, before everything of the request has passed.
"""

from collections.abc import Callable
from typing import Any

from workspace_sandbox.notes import checks, richtext, times
from workspace_sandbox.notes.state import COLORS, DataSource, Option, Property, User, Workspace
from workspace_sandbox.notes.wire import invalid, not_shared

Form = Callable[[Any, str], Any]

URL_LENGTH = 2000
ADDRESS_LENGTH = 200
NAME_LENGTH = 100

TITLE = Property("title", "title", "title")
"""The only property of a page outside data sources."""


def _nullable(check: Callable[[Any, str], Any]) -> Form:
    return lambda raw, path: None if raw is None else check(raw, path)


def _text(most: int) -> Form:
    return _nullable(lambda raw, path: checks.string(raw, path, most))


def option_name(raw: Any, path: str) -> str:
    """What an option may be called."""
    name = checks.populated(raw, path, NAME_LENGTH)
    # Options with commas cannot be made by the API, though people can make them in the application.
    if "," in name:
        raise invalid(f"Invalid select option, commas not allowed: {name}")
    return name


def _option(raw: Any, path: str) -> dict[str, str]:
    given = checks.obj(raw, path, "id", "name", "color", "description")
    if "id" in given:
        return {"id": checks.string(given["id"], f"{path}.id", NAME_LENGTH)}
    return {"name": option_name(checks.need(given, "name", path), f"{path}.name")}


def _each(check: Form) -> Form:
    return lambda raw, path: [
        check(item, f"{path}[{position}]") for position, item in enumerate(checks.array(raw, path))
    ]


def _reference(raw: Any, path: str) -> str:
    given = checks.obj(raw, path)
    return checks.uid(checks.need(given, "id", path), f"{path}.id")


def _file(raw: Any, path: str) -> dict[str, Any]:
    given = checks.obj(raw, path, "name", "type", "external", "file", "file_upload")
    if "file_upload" in given:
        uid = _reference(given["file_upload"], f"{path}.file_upload")
        raise invalid(f"Could not find file_upload with ID: {uid}.")
    kind = "file" if "file" in given else "external"
    link = checks.obj(checks.need(given, kind, path), f"{path}.{kind}", "url", "expiry_time")
    url = checks.populated(checks.need(link, "url", f"{path}.{kind}"), f"{path}.{kind}.url", URL_LENGTH)
    name = checks.string(checks.need(given, "name", path), f"{path}.name", NAME_LENGTH)
    return {"name": name, "type": kind, kind: link | {"url": url}}


def _place(raw: Any, path: str) -> dict[str, Any]:
    texts = ("name", "address", "aws_place_id", "google_place_id")
    given = checks.obj(raw, path, "lat", "lon", *texts)
    place: dict[str, Any] = {
        axis: checks.number(checks.need(given, axis, path), f"{path}.{axis}") for axis in ("lat", "lon")
    }
    return place | {name: _text(URL_LENGTH)(given.get(name), f"{path}.{name}") for name in texts}


def _verification(raw: Any, path: str) -> dict[str, Any]:
    given = checks.obj(raw, path, "state", "date")
    state = checks.one_of(checks.need(given, "state", path), f"{path}.state", ("verified", "unverified"))
    return {"state": state, "by": None, "date": times.read(given.get("date"), f"{path}.date")}


FORMS: dict[str, Form] = {
    "title": richtext.read,
    "rich_text": richtext.read,
    "number": _nullable(checks.number),
    "select": _nullable(_option),
    "multi_select": _each(_option),
    "status": _nullable(_option),
    "date": times.read,
    "checkbox": checks.boolean,
    "url": _text(URL_LENGTH),
    "email": _text(ADDRESS_LENGTH),
    "phone_number": _text(ADDRESS_LENGTH),
    "people": _each(_reference),
    "relation": _each(_reference),
    "files": _each(_file),
    "place": _nullable(_place),
    "verification": _verification,
}
"""How the value of each writable type is read; a type that is not here cannot be written."""


def formed(raw: Any, path: str) -> dict[str, tuple[str, Any]]:
    """The properties of a request by their key: the type each claims to be, and its value."""
    return {key: _formed(value, f"{path}.{key}") for key, value in checks.obj(raw, path).items()}


def _formed(raw: Any, path: str) -> tuple[str, Any]:
    if isinstance(raw, list):
        return "title", richtext.read(raw, path)
    # What was read may be sent back as it came: it has an id, a name and a type beside the value.
    given = {key: value for key, value in checks.obj(raw, path).items() if key not in {"id", "name", "type"}}
    kind = next((key for key in given if key in FORMS), None)
    if kind is None:
        key, value = next(iter(given.items()), ("title", checks.UNDEFINED))
        raise checks.unfit(f"{path}.{key}", "not present" if given else "defined", value)
    for key in given.keys() - {kind}:
        raise checks.unfit(f"{path}.{key}", "not present", given[key])
    return kind, FORMS[kind](given[kind], f"{path}.{kind}")


def matched(source: DataSource | None, given: dict[str, tuple[str, Any]]) -> list[tuple[Property, Any]]:
    """The properties *given* names; refused when one is unknown or of another type, all faults together."""
    faults, found = [], []
    for key, (kind, value) in given.items():
        prop = source.find(key) if source else TITLE if key == "title" else None
        if prop is None:
            faults.append(f"{key} is not a property that exists.")
        elif prop.type != kind:
            faults.append(f"{prop.name} is expected to be {prop.type}.")
        else:
            found.append((prop, value))
    if faults:
        raise invalid(" ".join(faults))
    return found


def verify(workspace: Workspace, bot: User | None, found: list[tuple[Property, Any]]) -> None:
    """Refuse values that name options, people or pages that are not there; *bot* is none for a person's edit."""
    for prop, value in found:
        if prop.type in {"select", "status", "multi_select"}:
            _verify_options(prop, value if isinstance(value, list) else [value])
        elif prop.type == "people":
            _verify_people(workspace, prop, value)
        elif prop.type == "relation":
            _verify_pages(workspace, bot, prop, value)


def _verify_options(prop: Property, wanted: list[dict[str, str] | None]) -> None:
    for option in filter(None, wanted):
        if "id" in option and all(option["id"] != known.id for known in prop.options):
            raise invalid(f'{prop.name} has no option with ID "{option["id"]}".')
        # A page write never makes a status, but it does make an option of select: the two look alike on the wire.
        if prop.type == "status" and "name" in option and prop.option(option["name"]) is None:
            raise invalid(f'Invalid status option. Status option "{option["name"]}" does not exist".')


def _verify_people(workspace: Workspace, prop: Property, uids: list[str]) -> None:
    for uid in uids:
        if uid not in workspace.users:
            raise invalid(f"{prop.name} refers to a user that does not exist: {uid}.")


def _verify_pages(workspace: Workspace, bot: User | None, prop: Property, uids: list[str]) -> None:
    for uid in uids:
        page = workspace.pages.get(uid)
        # A relation to a page that is not shared is refused as if there were no such page.
        if bot and (page is None or not workspace.may_see(bot, page)):
            raise not_shared("page", uid, bot.integration_id, bot.name)
        if page is None or page.parent.id != prop.config["data_source_id"]:
            raise invalid(f"{prop.name} is expected to hold pages of data source {prop.config['data_source_id']}.")


def keep(workspace: Workspace, author_id: str, prop: Property, value: Any) -> Any:
    """What a page keeps of *value*; unknown options of select and multi_select are created."""
    if prop.type == "multi_select":
        return list(dict.fromkeys(_settled(workspace, prop, option) for option in value))
    if prop.type == "status" and value is None:
        return prop.options[0].id
    if prop.type in {"select", "status"}:
        return value and _settled(workspace, prop, value)
    if prop.type in {"people", "relation"}:
        return list(dict.fromkeys(value))
    if prop.type == "verification":
        return value | {"by": author_id if value["state"] == "verified" else None}
    return value


def _settled(workspace: Workspace, prop: Property, wanted: dict[str, str]) -> str:
    if "id" in wanted:
        return wanted["id"]
    option = prop.option(wanted["name"])
    if option is None:
        # A misspelt name silently becomes an option for everybody, as "Page property values" says.
        option = new_option(workspace, wanted["name"])
        prop.options.append(option)
    return option.id


def new_option(workspace: Workspace, name: str) -> Option:
    """An option of that name, in any colour."""
    return Option(workspace.new_id(), name, workspace.random.choice(COLORS))
