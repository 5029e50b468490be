"""Builds forms with the choices of their fields: objects by name, vendors, operations and event types."""

from collections.abc import Mapping, Sequence

from connector_gateway.core.calls.passthrough import operations_of
from connector_gateway.core.error_serialization import truncate
from connector_gateway.http.console.forms import MAX_CHOICES, Choices, Form, build_controls, unassigned_details
from connector_gateway.http.console.request import ConsoleRequest, identifier_field
from connector_gateway.http.console.table_builder import LISTS, display_title
from connector_gateway.kit.errors import GatewayError, InvalidParameters
from connector_gateway.management.field_descriptions import Field

LIST_PARAMETERS = {"cursor", "limit", "done"}
"""Query parameters of every list that are not filters."""


async def build_form(
    request: ConsoleRequest,
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
    """Return a form of *fields* with *values* entered. *fixed* fields are hidden, and options can be *folded*."""
    fixed = fixed or {}
    entered = {**values, **fixed}
    choices = {
        field.name: [*offered, *_unknown(entered.get(field.name, ""), offered)]
        for field in fields
        if field.name not in fixed and (offered := await _choices(request, field, entered)) is not None
    }
    controls = build_controls(
        fields, values, choices, fixed=fixed, suggested=suggested or {}, folded=folded, problem=problem
    )
    visible = [control.name for control in controls if not control.is_fixed]
    return Form(action, button, controls, note, () if problem is None else unassigned_details(problem, visible))


def _unknown(value: str, choices: Choices) -> Choices:
    """Return entered values that are not among *choices*, so that the form retains them."""
    offered = dict(choices)
    return [(one, one) for one in value.splitlines() if one and one not in offered]


def check_filters(request: ConsoleRequest, fields: Sequence[Field]) -> None:
    """Raise ``InvalidParameters`` for query parameters that are not filters of a list."""
    allowed = [field.name for field in fields]
    unknown = [name for name in request.query if name not in {*allowed, *LIST_PARAMETERS}]
    if unknown:
        details = [{"parameter": name, "allowed": allowed} for name in unknown]
        error = InvalidParameters(f"Unknown filters: {', '.join(map(truncate, unknown))}.", *details)
        error.remedy = f"Remove them from the URL. Allowed filters: {', '.join(allowed) or 'none'}."
        raise error


def requested_filters(request: ConsoleRequest, fields: Sequence[Field]) -> Mapping[str, str]:
    """Return the filters of a request for a list."""
    return {field.name: text for field in fields if (text := request.query.get(field.name, ""))}


async def _choices(request: ConsoleRequest, field: Field, values: Mapping[str, str]) -> Choices | None:
    """Return the choices of a field, or None if it accepts any value."""
    if field.choices:
        return [(choice, choice) for choice in field.choices]
    if field.name == "connector":
        return [(name, request.console.vendor_name(name)) for name in request.console.connectors]
    if field.name == "operation":
        connectors = request.console.connectors.values()
        operations = {operation.name: operation.title for one in connectors for operation in operations_of(one)}
        return sorted(operations.items(), key=lambda one: one[1])
    if field.name == "types" and field.kind == "list":
        return [(name, name) for name in request.management.webhooks.event_types]
    return await _objects(request, field.resource, values) if field.resource and field.resource in LISTS else None


async def _objects(request: ConsoleRequest, resource: str, values: Mapping[str, str]) -> Choices | None:
    """Return the objects of a resource by name, in the selected workspace. None if there are too many."""
    route, identifier = LISTS[resource], identifier_field(LISTS[resource])
    within = {"workspace_id": values.get("workspace_id", "")} if resource != "workspaces" else {}
    page = await request.submit(route, {**within, "limit": str(MAX_CHOICES)})
    if page.position is not None:
        return None
    objects = [(getattr(one, identifier), _display_name(request, one)) for one in page.items]
    return sorted(objects, key=lambda one: (one[1].casefold(), one[0]))


def _display_name(request: ConsoleRequest, record: object) -> str:
    """Return the display name of an object, with its vendor if it has one."""
    connector = getattr(record, "connector", "")
    words = display_title(record) or str(next(iter(vars(record).values())))
    return f"{words} ({request.console.vendor_name(connector)})" if connector else words
