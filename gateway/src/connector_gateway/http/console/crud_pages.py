"""Pages of declared resources: their lists, their objects, and a form for each action."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any

from starlette.responses import Response

from connector_gateway.http.console.form_choices import LIST_PARAMETERS, build_form, check_filters, requested_filters
from connector_gateway.http.console.forms import parse_form, to_field_text
from connector_gateway.http.console.pages import audit, connections, keys, outbound_webhooks, workspaces
from connector_gateway.http.console.pages.runs import build_rows
from connector_gateway.http.console.request import ROOT, ConsoleRequest, ConsoleRoute, identifier_field
from connector_gateway.http.console.resource_actions import ResourceAction, is_possible, list_actions
from connector_gateway.http.console.table_builder import LISTS, build_table, display_title, load_names
from connector_gateway.kit.errors import CallerError, GatewayError, InvalidParameters, UpstreamFailure
from connector_gateway.kit.models import Page, Position
from connector_gateway.management.connections import test_connection
from connector_gateway.management.field_descriptions import Field, describe_fields, to_label
from connector_gateway.management.keys import create_agent_code
from connector_gateway.management.route_declaration import ManagementRoute
from connector_gateway.management.routes import MANAGEMENT
from connector_gateway.management.runs import RESOURCE as RUNS

DISPLAYED_SEPARATELY = ("name", "status", "deliveries_rejected")
"""Fields that the page of an object displays separately."""

SHOW_ROUTES: Mapping[str, ManagementRoute] = {
    route.resource.name: route
    for route in MANAGEMENT
    if route.method == "GET" and route.path == f"/v1/{route.resource.name}/{{{identifier_field(route)}}}"
}
"""The routes that return one object, by resource."""

COLUMNS: Mapping[str, Sequence[str]] = {
    "audit": audit.COLUMNS,
    "connections": connections.COLUMNS,
    "keys": keys.COLUMNS,
    "webhooks": outbound_webhooks.COLUMNS,
}
"""Columns of lists that differ from those of the command line."""

PAGE_SIZE = 50
"""The number of rows on a page of a list."""

Search = Callable[[ConsoleRequest, Mapping[str, str], Position | None], Awaitable[Page[Any]]]
SEARCHES: Mapping[str, tuple[Sequence[Field], Search]] = {"workspaces": ([workspaces.SEARCH], workspaces.search)}
"""Lists with more search fields than their route has."""

Extra = Callable[[ConsoleRequest, Any], Awaitable[Mapping[str, Any]]]
EXTRAS: Mapping[str, tuple[str, Extra]] = {
    "workspaces": ("workspace.html", workspaces.extra),
    "connections": ("connection.html", connections.extra),
    "webhooks": ("webhook.html", outbound_webhooks.extra),
}
"""Templates of objects with additional content, and the functions that load it."""


def resource_routes() -> Sequence[ConsoleRoute]:
    """Return the pages of all resources that have a list."""
    return [route for name in LISTS for route in _routes(name)]


def _routes(name: str) -> Sequence[ConsoleRoute]:
    path = f"{ROOT}/{name}"
    routes = [ConsoleRoute("GET", path, partial(show_list, name))]
    for action in sorted(list_actions(name), key=lambda one: not one.creates):
        action_path = f"{path}/{action.name}" if action.creates else f"{path}/{{identifier}}/{action.name}"
        handlers = {"GET": partial(ask, name, action), "POST": partial(carry_out, name, action)}
        routes += [
            ConsoleRoute(method, action_path, handler, for_admins=True, audit_name=action.route.name)
            for method, handler in handlers.items()
        ]
    # A run has a special page, and an entry of the audit trail has none.
    if identifier_field(LISTS[name]) and name != RUNS.name:
        routes.append(ConsoleRoute("GET", f"{path}/{{identifier}}", partial(show, name)))
    return routes


async def show_list(name: str, request: ConsoleRequest) -> Response:
    """Show a page of the list of a resource, newest first, with its filters."""
    route = LISTS[name]
    searched, _ = SEARCHES.get(name, ((), None))
    fields = [field for field in (*searched, *route.fields) if field.name not in LIST_PARAMETERS]
    filters = requested_filters(request, fields)
    page, problem = await _page(request, name, fields, filters)
    return request.show(
        "list.html",
        problem=problem,
        form=await build_form(request, fields, values=filters, button="Filter", problem=problem),
        title=to_label(name),
        create=_create(request, name),
        table=await build_table(request, name, page.items, COLUMNS.get(name, ())),
        runs=await build_rows(request, page.items) if name == RUNS.name else (),
        cursor=request.cursor(page.position, name, filters),
        active_filters=filters,
    )


def _create(request: ConsoleRequest, name: str) -> Sequence[tuple[str, str]]:
    """Return paths and labels of the buttons that create an object."""
    actions = [action for action in list_actions(name) if action.creates]
    # The credentials depend on the application, so it is chosen first.
    if any(map(_names_connector, actions)):
        return [(f"{ROOT}/{name}/new", "Connect an account")]
    agents = request.management.agent_oauth
    possible = [action for action in actions if agents or action.route is not create_agent_code]
    return [(f"{ROOT}/{name}/{action.name}", action.label) for action in possible]


async def _page(
    request: ConsoleRequest, name: str, fields: Sequence[Field], filters: Mapping[str, str]
) -> tuple[Page[Any], GatewayError | None]:
    """Return the requested page, or an empty page and the error if the filters are invalid."""
    position = request.position(name, filters)
    try:
        check_filters(request, fields)
        if name in SEARCHES:
            return await SEARCHES[name][1](request, filters, position), None
        instants = {field.name for field in LISTS[name].fields if field.kind == "instant"}
        values = {one: f"{text}Z" if one in instants else text for one, text in filters.items()}
        return await request.submit(LISTS[name], {**values, "limit": str(PAGE_SIZE)}, position), None
    except InvalidParameters as error:
        return Page[Any](items=[], position=None), error


async def show(name: str, request: ConsoleRequest, problem: GatewayError | None = None, **more: Any) -> Response:
    """Show the fields and the actions of one object."""
    record = await _record(request, name)
    shape = describe_fields(type(record))
    template, extra = EXTRAS.get(name, ("object.html", None))
    return request.show(
        template,
        problem=problem,
        connector=getattr(record, "connector", ""),
        resource=name,
        title=_title(request, record),
        identifier=getattr(record, identifier_field(LISTS[name])),
        record=record,
        fields=[field for field in shape if field.name not in {identifier_field(LISTS[name]), *DISPLAYED_SEPARATELY}],
        names=await load_names(request, shape, [record]),
        actions=[action for action in list_actions(name) if not action.creates and is_possible(action, record)],
        steps=await request.steps() if "done" in request.query else None,
        **(await extra(request, record) if extra else {}),
        **more,
    )


def _title(request: ConsoleRequest, record: Any) -> str:
    """Return the display name of an object. A connection without a name has that of its application."""
    return display_title(record) or request.console.vendor_name(getattr(record, "connector", ""))


async def _record(request: ConsoleRequest, name: str) -> Any:
    """Return the object in the path, with the route that returns one if the resource has it."""
    identifier, route = request.path_param("identifier"), SHOW_ROUTES.get(name)
    if route is not None:
        return await request.submit(route, {identifier_field(route): identifier})
    columns = await getattr(request.management, name).show(identifier)
    return LISTS[name].item(**columns)


async def ask(
    name: str, action: ResourceAction, request: ConsoleRequest, problem: GatewayError | None = None
) -> Response:
    """Show the form of an action, with the values known so far."""
    record = None if action.creates else await _record(request, name)
    values = request.form or {**_current_values(record), **request.query}
    connector = values.get("connector", getattr(record, "connector", ""))
    if action.creates and not connector and _names_connector(action):
        return request.redirect(f"{ROOT}/{name}/new")
    form = await build_form(
        request,
        action.fields(request.console.connectors.get(connector)),
        values=values,
        fixed={"connector": connector} if action.creates and connector in request.console.connectors else {},
        suggested=action.route.suggested,
        button=action.title,
        note=action.route.confirmation,
        folded=not action.replaces,
        problem=problem,
    )
    identifier = "" if record is None else request.path_param("identifier")
    title = request.console.vendor_name(connector) if record is None else _title(request, record) or identifier
    target: Mapping[str, Any] = {
        "resource": name,
        "title": title,
        "back": f"{name}/{identifier}" if identifier else name,
    }
    return request.show("form.html", problem=problem, form=form, connector=connector, action=action, **target)


def _names_connector(action: ResourceAction) -> bool:
    return any(field.name == "connector" for field in action.fields(None))


def _current_values(record: Any) -> Mapping[str, str]:
    """Return the current values of an object as the fields of a form."""
    if record is None:
        return {}
    settings = getattr(record, "settings", {})
    values = {**dict(record), **{f"settings.{name}": one for name, one in settings.items()}}
    return {name: to_field_text(value) for name, value in values.items()}


async def carry_out(name: str, action: ResourceAction, request: ConsoleRequest) -> Response:
    """Perform an action. If it is rejected, show its form again with the entered values."""
    connector = request.console.connectors.get(request.form.get("connector", ""))
    try:
        if action.creates:
            identity: Mapping[str, str] = {}
        else:
            record = await _record(request, name)
            connector = request.console.connectors.get(getattr(record, "connector", ""))
            identity = {action.path_parameter: request.path_param("identifier")}
        values = parse_form(action.fields(connector), request.form, include_empty=action.replaces)
        result = await request.send(action.route, {**values, **action.command.values, **identity})
    except (CallerError, UpstreamFailure) as error:
        return await (show(name, request, error) if action.is_direct else ask(name, action, request, error))
    return await _show_result(name, action, request, result)


def _is_displayed_once(field: Field) -> bool:
    return field.is_secret or field.name == "connect_url"


async def _show_result(name: str, action: ResourceAction, request: ConsoleRequest, result: Any) -> Response:
    """Show the result of an action: secrets that are displayed once, or the affected object."""
    if action.route is test_connection:
        return await show(name, request, tested=result)
    fields = describe_fields(type(result))
    once = [field for field in fields if _is_displayed_once(field) and getattr(result, field.name)]
    if once:
        # Included in this response only, and under no URL that could be opened again, since it is not stored.
        identifier = getattr(result, identifier_field(LISTS[name]))
        target, steps = {"resource": name, "identifier": identifier}, await request.steps()
        return request.show("shown_once.html", fields=once, result=result, steps=steps, **target)
    if action.route.method == "DELETE":
        workspace = {"workspace_id": result.workspace_id} if hasattr(result, "workspace_id") else {}
        return request.redirect(f"{ROOT}/{name}", **workspace, done=action.route.name)
    return request.redirect(f"{ROOT}/{name}/{getattr(result, identifier_field(LISTS[name]))}", done=action.route.name)
