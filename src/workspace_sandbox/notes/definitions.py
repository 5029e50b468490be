"""Columns as requests define them: each with its type, its options, and what else the type needs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from workspace_sandbox.notes import checks, writes
from workspace_sandbox.notes.call import Call
from workspace_sandbox.notes.state import COLORS, DataSource, Option, Property, Workspace
from workspace_sandbox.notes.wire import Refusal, invalid

SIMPLE = (
    *("title", "rich_text", "date", "people", "files", "checkbox", "url", "email", "phone_number"),
    *("created_time", "created_by", "last_edited_time", "last_edited_by"),
)
CHOSEN = ("select", "multi_select", "status")
PLAYED = (*SIMPLE, *CHOSEN, "number", "relation", "unique_id")
ELSEWHERE = ("formula", "rollup", "button", "verification", "place", "location")
ABOUT = ("id", "name", "type", "description")
MOST_OPTIONS = 100
MOST_PROPERTIES = 500
NAME_LENGTH = 100
STATES = (("To-do", "gray", "Not started"), ("In progress", "blue", "In progress"), ("Complete", "green", "Done"))
"""The groups of a new status, with their colours and first options."""


@dataclass(slots=True)
class Defined:
    """What a request makes of one column: a new one, or another form of one that there is."""

    key: str
    known: Property | None
    name: str
    type: str
    config: dict[str, Any] = field(default_factory=dict)
    options: list[Option] | None = None
    groups: list[tuple[Option, list[str]]] = field(default_factory=list)
    removed: bool = False

    def made(self, workspace: Workspace) -> Property:
        """The new column."""
        uid = "title" if self.type == "title" else workspace.new_property_id()
        return Property(uid, self.name, self.type, self.config, self.options or [], self.groups)


def first(call: Call, raw: Any, path: str) -> list[Defined]:
    """The columns of a new data source, one of which is its title."""
    given = checks.obj(raw, path)
    found = [_defined(call, None, key, about, f"{path}.{key}") for key, about in given.items()]
    if sum(one.type == "title" for one in found) != 1:
        raise invalid("Title is not provided or is provided more than once.")
    return _distinct(found)


def changes(call: Call, source: DataSource, raw: Any, path: str) -> list[Defined]:
    """What a request makes of the columns of *source*; null removes one."""
    found = []
    for key, about in checks.obj(raw, path).items():
        known = source.find(key)
        if about is None:
            found.append(_removed(known, key))
        else:
            found.append(_defined(call, known, key, about, f"{path}.{key}"))
    kept = {prop.id: prop.name for prop in source.properties.values()}
    kept |= {one.known.id: one.name for one in found if one.known}
    kept |= {f"new {one.key}": one.name for one in found if one.known is None}
    gone = {one.known.id for one in found if one.known and one.removed}
    _require_different([name for uid, name in kept.items() if uid not in gone])
    return found


def _removed(known: Property | None, key: str) -> Defined:
    if known is None:
        raise invalid(f"{key} is not a property that exists.")
    if known.type == "title":
        raise invalid("Cannot delete the title property.")
    return Defined(key, known, known.name, known.type, removed=True)


def _defined(call: Call, known: Property | None, key: str, raw: Any, path: str) -> Defined:
    given = checks.obj(raw, path)
    name = checks.populated(given.get("name", known.name if known else key), f"{path}.name", NAME_LENGTH)
    before = known.type if known is not None else None
    kind = next((kind for kind in given if kind not in ABOUT), None) or given.get("type") or before
    if kind in ELSEWHERE and (kind in given or kind != before):
        # In the words that pages have for what is not played.
        raise Refusal(400, "invalid_request", f"Unsupported request: properties of type {kind}.")
    if kind not in {*PLAYED, before}:
        raise checks.unfit(f"{path}.{kind or 'title'}", "defined")
    checks.obj(given, path, *ABOUT, str(kind))
    if known is not None and (kind == "title") != (before == "title"):
        raise invalid("The title property cannot become another one, and no other property can become the title.")
    made = Defined(key, known, name, str(kind))
    if kind in given and kind in READERS:
        READERS[str(kind)](call, made, checks.obj(given[str(kind)], f"{path}.{kind}"), f"{path}.{kind}")
    elif known is None or before != kind:
        READERS.get(str(kind), _plain)(call, made, {}, f"{path}.{kind}")
    else:
        made.config, made.groups = known.config, known.groups
    return made


def _plain(_: Call, __: Defined, ___: dict[str, Any], ____: str) -> None:
    """Nothing more is needed."""


def _number(_: Call, made: Defined, given: dict[str, Any], path: str) -> None:
    checks.obj(given, path, "format")
    made.config = {"format": checks.populated(given.get("format", "number"), f"{path}.format", NAME_LENGTH)}


def _unique(_: Call, made: Defined, given: dict[str, Any], path: str) -> None:
    prefix = checks.obj(given, path, "prefix").get("prefix")
    made.config = {"prefix": None if prefix is None else checks.string(prefix, f"{path}.prefix", NAME_LENGTH)}


def _chosen(call: Call, made: Defined, given: dict[str, Any], path: str) -> None:
    """Those options that are named stay, with their identifiers; the others go."""
    checks.obj(given, path, "options", "groups")
    if "options" not in given and made.known and made.known.type == made.type:
        made.groups = made.known.groups
        return
    raw = checks.array(given.get("options", []), f"{path}.options", MOST_OPTIONS)
    known = made.known.options if made.known else []
    made.options = [_option(call.workspace, known, one, f"{path}.options[{at}]") for at, one in enumerate(raw)]
    _require_different([option.name for option in made.options])


def _status(call: Call, made: Defined, given: dict[str, Any], path: str) -> None:
    """Three groups; options go to the first, and without any each group has one."""
    _chosen(call, made, given, path)
    if made.options is None:
        return
    groups = [Option(call.workspace.new_id(), group, color) for group, color, _ in STATES]
    if made.options:
        ids = [[option.id for option in made.options], [], []]
    else:
        made.options = [Option(call.workspace.new_id(), name, color) for _, color, name in STATES]
        ids = [[option.id] for option in made.options]
    made.groups = list(zip(groups, ids, strict=True))


def _option(workspace: Workspace, known: list[Option], raw: Any, path: str) -> Option:
    given = checks.obj(raw, path, "id", "name", "color", "description")
    same = next((option for option in known if given.get("id") == option.id), None)
    same = same or next((option for option in known if given.get("name") == option.name), None)
    if same is None or "name" in given:
        name = writes.option_name(checks.need(given, "name", path), f"{path}.name")
    else:
        name = same.name
    color = checks.one_of(given.get("color", same.color if same else "default"), f"{path}.color", COLORS)
    return Option(same.id if same else workspace.new_id(), name, color)


def _relation(call: Call, made: Defined, given: dict[str, Any], path: str) -> None:
    checks.obj(given, path, "data_source_id", "database_id", "type", "single_property", "dual_property")
    if "dual_property" in given:
        raise Refusal(400, "invalid_request", "Unsupported request: relations with dual_property.")
    if "data_source_id" in given:
        source = call.workspace.source(call.bot, checks.uid(given["data_source_id"], f"{path}.data_source_id"))
    else:
        uid = checks.uid(checks.need(given, "database_id", path), f"{path}.database_id")
        source = call.workspace.sole_source(call.workspace.database(call.bot, uid))
    about = {"database_id": source.parent.id, "data_source_id": source.id}
    made.config = {**about, "type": "single_property", "single_property": {}}


READERS: Mapping[str, Callable[[Call, Defined, dict[str, Any], str], None]] = {
    "number": _number,
    "unique_id": _unique,
    "select": _chosen,
    "multi_select": _chosen,
    "status": _status,
    "relation": _relation,
}


def _distinct(found: list[Defined]) -> list[Defined]:
    if len(found) > MOST_PROPERTIES:
        raise checks.unfit("body.properties.length", f"≤ `{MOST_PROPERTIES}`", len(found))
    _require_different([one.name for one in found])
    return found


def _require_different(names: list[str]) -> None:
    twice = next((name for at, name in enumerate(names) if name in names[:at]), None)
    if twice is not None:
        raise invalid(f"There is a property or option {twice} already.")
