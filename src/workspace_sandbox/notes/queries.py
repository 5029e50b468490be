"""Filters and sorts over the rows of a data source."""

from collections.abc import Callable
from typing import Any

from workspace_sandbox.notes import checks, conditions, times, values
from workspace_sandbox.notes.state import DataSource, Page, Property, Workspace
from workspace_sandbox.notes.wire import invalid

Test = Callable[[Page], bool]
Key = Callable[[Page], Any]

DEEPEST = 2
"""Levels of compound filters."""

TIMESTAMPS: dict[str, Key] = {
    "created_time": lambda page: times.minute(page.created_at),
    "last_edited_time": lambda page: times.minute(page.edited_at),
}
"""What is sorted by, as it is shown: within one minute no order is promised."""
FORMULAS = {"string": "rich_text", "number": "number", "checkbox": "checkbox", "date": "date"}
FORMULA_TYPES = {"string": str, "number": int | float, "checkbox": bool, "date": str}
QUANTIFIERS: dict[str, Callable[[list[bool]], bool]] = {
    "any": any,
    "every": all,
    "none": lambda found: not any(found),
}


class Query:
    """A filter and its sorts, read for one data source."""

    def __init__(self, workspace: Workspace, source: DataSource) -> None:
        self._workspace = workspace
        self._source = source

    def run(self, body: dict[str, Any], rows: list[Page]) -> list[Page]:
        """Those of *rows* that pass the filter, sorted; without sorts in an order that means nothing."""
        test = self._test(body["filter"], "body.filter", 1) if "filter" in body else None
        sorts = checks.array(body.get("sorts", []), "body.sorts")
        keys = [self._sort(raw, f"body.sorts[{position}]") for position, raw in enumerate(sorts)]
        # By a random identifier: without sorts the vendor promises no order, and nobody may rely on one.
        found = sorted((page for page in rows if test is None or test(page)), key=lambda page: page.id)
        for key, descending in reversed(keys):
            filled = [page for page in found if key(page) is not None]
            empty = [page for page in found if key(page) is None]
            found = sorted(filled, key=key, reverse=descending) + empty
        return found

    def property(self, key: Any, path: str, what: str = "property") -> Property:
        """The property that a filter or a sort names."""
        return _required(self._source.find(checks.string(key, path)), key, what)

    def property_in_address(self, key: str) -> Property:
        """The property that a path or a selection in a query string names."""
        return _required(self._source.find_in_address(key), key)

    def _test(self, raw: Any, path: str, depth: int) -> Test:
        given = checks.obj(raw, path)
        for word, combine in (("and", all), ("or", any)):
            if word in given:
                return self._compound(given, word, combine, path, depth)
        if "timestamp" in given:
            return self._timestamp(given, path)
        return self._property(given, path)

    def _compound(
        self, given: dict[str, Any], word: str, combine: Callable[[Any], bool], path: str, depth: int
    ) -> Test:
        checks.obj(given, path, word)
        # Two levels, by the reference of filters.
        if depth > DEEPEST:
            raise checks.unfit(f"{path}.{word}", "not present", given[word])
        members = checks.array(given[word], f"{path}.{word}")
        tests = [self._test(raw, f"{path}.{word}[{position}]", depth + 1) for position, raw in enumerate(members)]
        return lambda page: combine(test(page) for test in tests)

    def _timestamp(self, given: dict[str, Any], path: str) -> Test:
        name = checks.one_of(given["timestamp"], f"{path}.timestamp", tuple(TIMESTAMPS))
        raw = checks.need(checks.obj(given, path, "timestamp", "type", name), name, path)
        holds = conditions.condition(name, raw, f"{path}.{name}", self._workspace.now())
        return lambda page: holds(values.READ[name](self._workspace, page, Property(name, name, name)))

    def _property(self, given: dict[str, Any], path: str) -> Test:
        prop = self.property(checks.need(given, "property", path), f"{path}.property")
        members = {key: value for key, value in given.items() if key not in {"property", "type"}}
        kind, raw = checks.sole(members, path)
        # A filter names the type although the property has one. Notion refuses the two when they differ.
        if kind != prop.type or kind not in {*conditions.KINDS, "formula", "rollup"}:
            raise invalid(
                "The property type in the database does not match the property type of the filter provided: "
                f"database property {prop.type} does not match filter {kind}"
            )
        indirect = {"formula": self._formula, "rollup": self._rollup}.get(kind)
        holds = indirect(raw, f"{path}.{kind}") if indirect else self._plain(prop, raw, f"{path}.{kind}")
        return lambda page: holds(values.plain(self._workspace, page, prop))

    def _plain(self, prop: Property, raw: Any, path: str) -> conditions.Holds:
        holds = conditions.condition(prop.type, raw, path, self._workspace.now())
        for name in _named_options(prop, raw):
            # An unknown option in a filter is an error and not an empty result. The message lists those that there are.
            if prop.option(name) is None:
                available = ", ".join(f'"{option.name}"' for option in prop.options)
                raise invalid(
                    f'{prop.type} option "{name}" not found for property "{prop.name}". Available options: {available}.'
                )
        return holds

    def _formula(self, raw: Any, path: str) -> conditions.Holds:
        result, given = checks.sole(checks.obj(raw, path, *FORMULAS), path)
        holds = conditions.condition(FORMULAS[result], given, f"{path}.{result}", self._workspace.now())
        fits = FORMULA_TYPES[result]
        return lambda value: (value is None or isinstance(value, fits)) and holds(value)

    def _rollup(self, raw: Any, path: str) -> conditions.Holds:
        result, given = checks.sole(checks.obj(raw, path, "number", "date", *QUANTIFIERS), path)
        now = self._workspace.now()
        if result in {"number", "date"}:
            return conditions.condition(result, given, f"{path}.{result}", now)
        inner = f"{path}.{result}"
        kind, condition = checks.sole(checks.obj(given, inner, *conditions.KINDS), inner)
        holds = conditions.condition(kind, condition, f"{inner}.{kind}", now)
        return lambda value: isinstance(value, list) and QUANTIFIERS[result]([holds(_unrolled(item)) for item in value])

    def _sort(self, raw: Any, path: str) -> tuple[Key, bool]:
        given = checks.obj(raw, path, "property", "timestamp", "direction")
        direction = checks.one_of(
            checks.need(given, "direction", path), f"{path}.direction", ("ascending", "descending")
        )
        if "timestamp" in given:
            name = checks.one_of(given["timestamp"], f"{path}.timestamp", tuple(TIMESTAMPS))
            return TIMESTAMPS[name], direction == "descending"
        prop = self.property(checks.need(given, "property", path), f"{path}.property", "sort property")
        return self._key(prop), direction == "descending"

    def _key(self, prop: Property) -> Key:
        if prop.type in TIMESTAMPS:
            return TIMESTAMPS[prop.type]
        if prop.type in {"select", "status"}:
            # Selects sort in the order of their options, not of the letters.
            order = {option.id: position for position, option in enumerate(prop.options)}
            return lambda page: order.get(values.kept(page, prop))
        return lambda page: _sortable(values.plain(self._workspace, page, prop))


def selected(workspace: Workspace, source: DataSource | None, keys: list[str]) -> set[str] | None:
    """The properties that a query string selects; None where it selects none."""
    if not keys or source is None:
        return None
    query = Query(workspace, source)
    return {query.property_in_address(key).id for key in keys}


def _required(found: Property | None, key: str, what: str = "property") -> Property:
    if found is None:
        raise invalid(f"Could not find {what} with name or id: {key}")
    return found


def _named_options(prop: Property, raw: dict[str, Any]) -> list[str]:
    named = next(iter(raw.values()))
    if prop.type not in {"select", "status", "multi_select"} or named is True:
        return []
    return named if isinstance(named, list) else [named]


def _unrolled(item: dict[str, Any]) -> Any:
    """The comparable value of one item of a rolled-up array."""
    shown = item[item["type"]]
    if item["type"] in {"title", "rich_text"}:
        return "".join(part["plain_text"] for part in shown)
    if isinstance(shown, dict):
        return shown.get("name", shown.get("start"))
    return shown


def _sortable(value: Any) -> Any:
    """Something that sorts among its like; None when empty, which always comes last."""
    if value in (None, "", []):
        return None
    if isinstance(value, str):
        return value.casefold()
    if isinstance(value, int | float):
        return value
    return str(value)
