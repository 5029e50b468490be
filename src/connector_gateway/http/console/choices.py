"""What the fields of forms offer: objects by name, applications, operations, types of events."""

from collections.abc import Mapping, Sequence

from connector_gateway.http.console.forms import MOST_CHOICES, Choices, Form, controls_of, unplaced
from connector_gateway.http.console.request import ConsoleRequest, identifier_of
from connector_gateway.http.console.tables import LISTS, title_of
from connector_gateway.kit.errors import GatewayError
from connector_gateway.kit.fields import Field


async def form_of(
    visit: ConsoleRequest,
    fields: Sequence[Field],
    *,
    values: Mapping[str, str],
    button: str,
    action: str = "",
    fixed: Mapping[str, str] | None = None,
    suggested: Mapping[str, object] | None = None,
    note: str = "",
    folded: bool = True,
    problem: GatewayError | None = None,
) -> Form:
    """Return a form of *fields* with *values* entered; those of *fixed* are not shown, and options may be *folded*."""
    fixed = fixed or {}
    given = {**values, **fixed}
    choices = {
        field.name: [*found, *_unknown(given.get(field.name, ""), found)]
        for field in fields
        if field.name not in fixed and (found := await _choices(visit, field, given)) is not None
    }
    controls = controls_of(
        fields, values, choices, fixed=fixed, suggested=suggested or {}, folded=folded, problem=problem
    )
    shown = [control.name for control in controls if not control.is_fixed]
    return Form(action, button, controls, note, () if problem is None else unplaced(problem, shown))


def _unknown(value: str, choices: Choices) -> Choices:
    """Return what was entered and is not offered, so that forms keep it."""
    known = dict(choices)
    return [(one, one) for one in value.splitlines() if one and one not in known]


def filters_given(visit: ConsoleRequest, fields: Sequence[Field]) -> Mapping[str, str]:
    """Return the filters that a list was asked for with."""
    return {field.name: text for field in fields if (text := visit.query.get(field.name, ""))}


async def _choices(visit: ConsoleRequest, field: Field, values: Mapping[str, str]) -> Choices | None:
    """Return the values that a field offers; None if anything can be entered."""
    if field.choices:
        return [(choice, choice) for choice in field.choices]
    if field.name == "connector":
        return [(name, visit.console.application(name)) for name in visit.console.connectors]
    if field.name == "operation":
        connectors = visit.console.connectors.values()
        operations = {operation.name: operation.title for one in connectors for operation in one.operations}
        return sorted(operations.items(), key=lambda one: one[1])
    if field.name == "types" and field.kind == "list":
        return [(name, name) for name in visit.management.webhooks.event_types]
    return await _objects(visit, field.resource, values) if field.resource and field.resource in LISTS else None


async def _objects(visit: ConsoleRequest, resource: str, values: Mapping[str, str]) -> Choices | None:
    """Return the objects of a resource by name, those of the entered workspace if it has one; None if too many."""
    route, identifier = LISTS[resource], identifier_of(LISTS[resource])
    within = {"workspace_id": values.get("workspace_id", "")} if resource != "workspaces" else {}
    page = await visit.submit(route, {**within, "limit": str(MOST_CHOICES)})
    if page.position is not None:
        return None
    found = [(getattr(one, identifier), _words(visit, one)) for one in page.items]
    return sorted(found, key=lambda one: (one[1].casefold(), one[0]))


def _words(visit: ConsoleRequest, record: object) -> str:
    """Return what people call an object, with its application if it has one."""
    connector = getattr(record, "connector", "")
    words = title_of(record) or str(next(iter(vars(record).values())))
    return f"{words} ({visit.console.application(connector)})" if connector else words
