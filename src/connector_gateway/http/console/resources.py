"""Pages of declared resources: their lists, their objects, and a form for each act."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any

from starlette.responses import Response

from connector_gateway.http.console.actions import Act, acts_of, is_possible
from connector_gateway.http.console.choices import filters_given, form_of
from connector_gateway.http.console.forms import entered, text_of
from connector_gateway.http.console.pages import connections, webhooks, workspaces
from connector_gateway.http.console.pages.runs import rows_of
from connector_gateway.http.console.request import ROOT, ConsoleRequest, ConsoleRoute, identifier_of
from connector_gateway.http.console.tables import LISTS, names_of, table_of, title_of
from connector_gateway.kit.errors import CallerError, GatewayError, InvalidParameters, UpstreamFailure
from connector_gateway.kit.fields import Field, fields_of, label
from connector_gateway.kit.shapes import Page, Position
from connector_gateway.management.connections import test_connection
from connector_gateway.management.declaration import ManagementRoute
from connector_gateway.management.routes import MANAGEMENT
from connector_gateway.management.runs import RESOURCE as RUNS

PAGING = {"cursor", "limit"}

SHOWN_APART = ("name", "status", "deliveries_rejected")
"""Fields of objects that their pages do not list with the others."""

SHOWN_BY: Mapping[str, ManagementRoute] = {
    route.resource.name: route
    for route in MANAGEMENT
    if route.method == "GET" and route.path == f"/v1/{route.resource.name}/{{{identifier_of(route)}}}"
}
"""Routes that show one object, by resource."""

SHOWN = 50
"""Rows of a page of a list."""

Search = Callable[[ConsoleRequest, Mapping[str, str], Position | None], Awaitable[Page[Any]]]
SEARCHED: Mapping[str, tuple[Sequence[Field], Search]] = {"workspaces": ([workspaces.SEARCH], workspaces.search)}
"""Lists that the console finds more by than their route does."""

Extra = Callable[[ConsoleRequest, Any], Awaitable[Mapping[str, Any]]]
EXTRAS: Mapping[str, tuple[str, Extra]] = {
    "workspaces": ("workspace.html", workspaces.extra),
    "connections": ("connection.html", connections.extra),
    "webhooks": ("webhook.html", webhooks.extra),
}
"""Pages of objects that show more than their fields: their template, and what it needs."""


def resource_routes() -> Sequence[ConsoleRoute]:
    """Return the pages of all resources that are listed."""
    return [route for name in LISTS for route in _routes(name)]


def _routes(name: str) -> Sequence[ConsoleRoute]:
    path = f"{ROOT}/{name}"
    found = [ConsoleRoute("GET", path, partial(show_list, name))]
    for act in sorted(acts_of(name), key=lambda one: not one.creates):
        act_path = f"{path}/{act.name}" if act.creates else f"{path}/{{identifier}}/{act.name}"
        found += [
            ConsoleRoute(method, act_path, partial(perform, name, act), for_admins=True, act=act.route.name)
            for method, perform in (("GET", ask), ("POST", carry_out))
        ]
    # A run is drawn by hand, and an entry of the audit trail has no page.
    if identifier_of(LISTS[name]) and name != RUNS.name:
        found.append(ConsoleRoute("GET", f"{path}/{{identifier}}", partial(show, name)))
    return found


async def show_list(name: str, visit: ConsoleRequest) -> Response:
    """Show a page of the list of a resource, newest first, and what it can be filtered by."""
    route = LISTS[name]
    fields = [field for field in (*SEARCHED.get(name, ((), None))[0], *route.fields) if field.name not in PAGING]
    given = filters_given(visit, fields)
    page, problem = await _page(visit, name, given)
    return visit.show(
        "list.html",
        problem=problem,
        form=await form_of(visit, fields, values=given, button="Filter", problem=problem),
        title=label(name),
        create=_create(name),
        table=await table_of(visit, name, page.items),
        runs=await rows_of(visit, page.items) if name == RUNS.name else (),
        cursor=visit.cursor(page.position, name, given),
        wanted=given,
    )


def _create(name: str) -> tuple[str, str] | None:
    """Return the path and the label of the button by which an object is created; None if nobody does that here."""
    act = next((act for act in acts_of(name) if act.creates), None)
    if act is None:
        return None
    # Which credentials there are depends on the application, so that is chosen first.
    if _names_connector(act):
        return f"{ROOT}/{name}/new", "Connect an account"
    return f"{ROOT}/{name}/{act.name}", act.label


async def _page(visit: ConsoleRequest, name: str, given: Mapping[str, str]) -> tuple[Page[Any], GatewayError | None]:
    """Return the page that was asked for; none, and why, if the filters cannot be used."""
    position = visit.position(name, given)
    try:
        if name in SEARCHED:
            return await SEARCHED[name][1](visit, given, position), None
        instants = {field.name for field in LISTS[name].fields if field.kind == "instant"}
        asked = {one: f"{text}Z" if one in instants else text for one, text in given.items()}
        return await visit.submit(LISTS[name], {**asked, "limit": str(SHOWN)}, position), None
    except InvalidParameters as error:
        return Page[Any](items=[], position=None), error


async def show(name: str, visit: ConsoleRequest, problem: GatewayError | None = None, **more: Any) -> Response:
    """Show one object: its fields, and what can be done with it."""
    record = await _record(visit, name)
    shape = fields_of(type(record))
    template, extra = EXTRAS.get(name, ("object.html", None))
    return visit.show(
        template,
        problem=problem,
        connector=getattr(record, "connector", ""),
        resource=name,
        title=_title(visit, record),
        identifier=getattr(record, identifier_of(LISTS[name])),
        record=record,
        fields=[field for field in shape if field.name not in {identifier_of(LISTS[name]), *SHOWN_APART}],
        names=await names_of(visit, shape, [record]),
        acts=[act for act in acts_of(name) if not act.creates and is_possible(act, record)],
        steps=await visit.steps() if "done" in visit.query else None,
        **(await extra(visit, record) if extra else {}),
        **more,
    )


def _title(visit: ConsoleRequest, record: Any) -> str:
    """Return what people call an object; that of a connection without a name is its application."""
    return title_of(record) or visit.console.application(getattr(record, "connector", ""))


async def _record(visit: ConsoleRequest, name: str) -> Any:
    """Return the object that the path names, by the route that shows one if the resource has it."""
    identifier, shown = visit.path_param("identifier"), SHOWN_BY.get(name)
    if shown is not None:
        return await visit.submit(shown, {identifier_of(shown): identifier})
    found = await getattr(visit.management, name).show(identifier)
    return LISTS[name].item(**found)


async def ask(name: str, act: Act, visit: ConsoleRequest, problem: GatewayError | None = None) -> Response:
    """Show the form of an act, filled in as far as is known."""
    record = None if act.creates else await _record(visit, name)
    values = visit.form or {**_present(record), **visit.query}
    connector = values.get("connector", getattr(record, "connector", ""))
    if act.creates and not connector and _names_connector(act):
        return visit.redirect(f"{ROOT}/{name}/new")
    form = await form_of(
        visit,
        act.fields(visit.console.connectors.get(connector)),
        values=values,
        fixed={"connector": connector} if act.creates and connector in visit.console.connectors else {},
        suggested=act.route.suggested,
        button=act.title,
        note=act.route.confirmation,
        folded=not act.replaces,
        problem=problem,
    )
    back = f"{name}/{visit.path_param('identifier')}" if record is not None else name
    title = (
        visit.console.application(connector)
        if record is None
        else _title(visit, record) or visit.path_param("identifier")
    )
    return visit.show(
        "form.html", problem=problem, form=form, connector=connector, act=act, resource=name, title=title, back=back
    )


def _names_connector(act: Act) -> bool:
    return any(field.name == "connector" for field in act.fields(None))


def _present(record: Any) -> Mapping[str, str]:
    """Return what an object has of the fields of a form."""
    if record is None:
        return {}
    settings = getattr(record, "settings", {})
    present = {**dict(record), **{f"settings.{name}": one for name, one in settings.items()}}
    return {name: text_of(value) for name, value in present.items()}


async def carry_out(name: str, act: Act, visit: ConsoleRequest) -> Response:
    """Carry out an act; if it is refused, show its form again with what was entered."""
    connector = visit.console.connectors.get(visit.form.get("connector", ""))
    try:
        if act.creates:
            identity: Mapping[str, str] = {}
        else:
            record = await _record(visit, name)
            connector = visit.console.connectors.get(getattr(record, "connector", ""))
            identity = {act.path_parameter: visit.path_param("identifier")}
        values = entered(act.fields(connector), visit.form, keep_empty=act.replaces)
        result = await visit.send(act.route, {**values, **act.command.values, **identity})
    except (CallerError, UpstreamFailure) as error:
        return await (show(name, visit, error) if act.is_direct else ask(name, act, visit, error))
    return await _told(name, act, visit, result)


def _is_shown_once(field: Field) -> bool:
    return field.is_secret or field.name == "connect_url"


async def _told(name: str, act: Act, visit: ConsoleRequest, result: Any) -> Response:
    """Show the result of an act: what is shown once, or the object that it was about."""
    if act.route is test_connection:
        return await show(name, visit, tested=result)
    once = [field for field in fields_of(type(result)) if _is_shown_once(field) and getattr(result, field.name)]
    if once:
        # Shown with this answer, and at no address that could be opened again: it is stored nowhere.
        identifier = getattr(result, identifier_of(LISTS[name]))
        return visit.show(
            "once.html", fields=once, result=result, resource=name, identifier=identifier, steps=await visit.steps()
        )
    if act.route.method == "DELETE":
        within = {"workspace_id": result.workspace_id} if hasattr(result, "workspace_id") else {}
        return visit.redirect(f"{ROOT}/{name}", **within, done=act.route.name)
    return visit.redirect(f"{ROOT}/{name}/{getattr(result, identifier_of(LISTS[name]))}", done=act.route.name)
