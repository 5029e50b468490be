"""Filters and sorts over the rows of a data source."""

from collections.abc import Callable
from typing import Any

from workspace_sandbox.notes import validation
from workspace_sandbox.notes.data import dates, filter_operators, property_values
from workspace_sandbox.notes.data.state import DataSource, Page, Property, Workspace
from workspace_sandbox.notes.error_responses import invalid

RowFilter = Callable[[Page], bool]
Key = Callable[[Page], Any]

MAX_DEPTH = 2
"""The maximum nesting of compound filters."""

TIMESTAMPS: dict[str, Key] = {
    "created_time": lambda page: dates.format_page_time(page.created_at),
    "last_edited_time": lambda page: dates.format_page_time(page.edited_at),
}
"""The timestamps to sort by, as responses contain them. Within a minute the order is undefined."""
FORMULAS = {"string": "rich_text", "number": "number", "checkbox": "checkbox", "date": "date"}
FORMULA_TYPES = {"string": str, "number": int | float, "checkbox": bool, "date": str}
QUANTIFIERS: dict[str, Callable[[list[bool]], bool]] = {
    "any": any,
    "every": all,
    "none": lambda results: not any(results),
}


class RowQuery:
    """The filter and sorts of a request for one data source."""

    def __init__(self, workspace: Workspace, source: DataSource) -> None:
        self._workspace = workspace
        self._source = source

    def run(self, body: dict[str, Any], rows: list[Page]) -> list[Page]:
        """Return the rows that match the filter, sorted. Without sorts the order is arbitrary."""
        test = self._test(body["filter"], "body.filter", 1) if "filter" in body else None
        sorts = validation.array(body.get("sorts", []), "body.sorts")
        keys = [self._sort(raw, f"body.sorts[{position}]") for position, raw in enumerate(sorts)]
        # The vendor promises no order without sorts. A random order keeps clients from relying on one.
        matches = sorted((page for page in rows if test is None or test(page)), key=lambda page: page.id)
        for key, descending in reversed(keys):
            filled = [page for page in matches if key(page) is not None]
            empty = [page for page in matches if key(page) is None]
            matches = sorted(filled, key=key, reverse=descending) + empty
        return matches

    def property(self, key: Any, path: str, kind: str = "property") -> Property:
        """Return the property that a filter or a sort names."""
        return _check_found(self._source.find(validation.string(key, path)), key, kind)

    def property_in_url(self, key: str) -> Property:
        """Return the property that a path or a query string names."""
        return _check_found(self._source.find_in_url(key), key)

    def _test(self, raw: Any, path: str, depth: int) -> RowFilter:
        fields = validation.obj(raw, path)
        for word, combine in (("and", all), ("or", any)):
            if word in fields:
                return self._compound(fields, word, combine, path, depth)
        if "timestamp" in fields:
            return self._timestamp(fields, path)
        return self._property(fields, path)

    def _compound(
        self, fields: dict[str, Any], word: str, combine: Callable[[Any], bool], path: str, depth: int
    ) -> RowFilter:
        validation.obj(fields, path, word)
        # Two levels, according to the filter reference.
        if depth > MAX_DEPTH:
            raise validation.invalid_field(f"{path}.{word}", "not present", fields[word])
        members = validation.array(fields[word], f"{path}.{word}")
        tests = [self._test(raw, f"{path}.{word}[{position}]", depth + 1) for position, raw in enumerate(members)]
        return lambda page: combine(test(page) for test in tests)

    def _timestamp(self, fields: dict[str, Any], path: str) -> RowFilter:
        name = validation.one_of(fields["timestamp"], f"{path}.timestamp", tuple(TIMESTAMPS))
        raw = validation.need(validation.obj(fields, path, "timestamp", "type", name), name, path)
        matches = filter_operators.condition(name, raw, f"{path}.{name}", self._workspace.now())
        return lambda page: matches(property_values.READ[name](self._workspace, page, Property(name, name, name)))

    def _property(self, fields: dict[str, Any], path: str) -> RowFilter:
        prop = self.property(validation.need(fields, "property", path), f"{path}.property")
        members = {key: value for key, value in fields.items() if key not in {"property", "type"}}
        kind, raw = validation.sole(members, path)
        # A filter repeats the type of the property. Notion rejects a different type.
        if kind != prop.type or kind not in {*filter_operators.KINDS, "formula", "rollup"}:
            raise invalid(
                "The property type in the database does not match the property type of the filter provided: "
                f"database property {prop.type} does not match filter {kind}"
            )
        indirect = {"formula": self._formula, "rollup": self._rollup}.get(kind)
        matches = indirect(raw, f"{path}.{kind}") if indirect else self._plain(prop, raw, f"{path}.{kind}")
        return lambda page: matches(property_values.plain_value(self._workspace, page, prop))

    def _plain(self, prop: Property, raw: Any, path: str) -> filter_operators.Predicate:
        matches = filter_operators.condition(prop.type, raw, path, self._workspace.now())
        for name in _named_options(prop, raw):
            # An unknown option in a filter is an error and not an empty result. The message lists the existing options.
            if prop.option(name) is None:
                available = ", ".join(f'"{option.name}"' for option in prop.options)
                raise invalid(
                    f'{prop.type} option "{name}" not found for property "{prop.name}". Available options: {available}.'
                )
        return matches

    def _formula(self, raw: Any, path: str) -> filter_operators.Predicate:
        result, operand = validation.sole(validation.obj(raw, path, *FORMULAS), path)
        matches = filter_operators.condition(FORMULAS[result], operand, f"{path}.{result}", self._workspace.now())
        expected_type = FORMULA_TYPES[result]
        return lambda value: (value is None or isinstance(value, expected_type)) and matches(value)

    def _rollup(self, raw: Any, path: str) -> filter_operators.Predicate:
        result, operand = validation.sole(validation.obj(raw, path, "number", "date", *QUANTIFIERS), path)
        now = self._workspace.now()
        if result in {"number", "date"}:
            return filter_operators.condition(result, operand, f"{path}.{result}", now)
        inner = f"{path}.{result}"
        kind, condition = validation.sole(validation.obj(operand, inner, *filter_operators.KINDS), inner)
        matches = filter_operators.condition(kind, condition, f"{inner}.{kind}", now)
        return lambda value: (
            isinstance(value, list) and QUANTIFIERS[result]([matches(_comparable(item)) for item in value])
        )

    def _sort(self, raw: Any, path: str) -> tuple[Key, bool]:
        fields = validation.obj(raw, path, "property", "timestamp", "direction")
        direction = validation.one_of(
            validation.need(fields, "direction", path), f"{path}.direction", ("ascending", "descending")
        )
        if "timestamp" in fields:
            name = validation.one_of(fields["timestamp"], f"{path}.timestamp", tuple(TIMESTAMPS))
            return TIMESTAMPS[name], direction == "descending"
        prop = self.property(validation.need(fields, "property", path), f"{path}.property", "sort property")
        return self._key(prop), direction == "descending"

    def _key(self, prop: Property) -> Key:
        if prop.type in TIMESTAMPS:
            return TIMESTAMPS[prop.type]
        if prop.type in {"select", "status"}:
            # Selects are sorted in the order of their options, not alphabetically.
            order = {option.id: position for position, option in enumerate(prop.options)}
            return lambda page: order.get(property_values.stored_value(page, prop))
        return lambda page: _sortable(property_values.plain_value(self._workspace, page, prop))


def select_properties(workspace: Workspace, source: DataSource | None, keys: list[str]) -> set[str] | None:
    """Return the properties that a query string selects, or None if it selects none."""
    if not keys or source is None:
        return None
    query = RowQuery(workspace, source)
    return {query.property_in_url(key).id for key in keys}


def _check_found(prop: Property | None, key: str, kind: str = "property") -> Property:
    if prop is None:
        raise invalid(f"Could not find {kind} with name or id: {key}")
    return prop


def _named_options(prop: Property, raw: dict[str, Any]) -> list[str]:
    names = next(iter(raw.values()))
    if prop.type not in {"select", "status", "multi_select"} or names is True:
        return []
    return names if isinstance(names, list) else [names]


def _comparable(item: dict[str, Any]) -> Any:
    """Return the comparable value of one item of a rollup array."""
    value = item[item["type"]]
    if item["type"] in {"title", "rich_text"}:
        return "".join(part["plain_text"] for part in value)
    if isinstance(value, dict):
        return value.get("name", value.get("start"))
    return value


def _sortable(value: Any) -> Any:
    """Return a sortable form of *value*, or None if it is empty. Empty values come last."""
    if value in (None, "", []):
        return None
    if isinstance(value, str):
        return value.casefold()
    if isinstance(value, int | float):
        return value
    return str(value)
