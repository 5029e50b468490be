"""The request, the routes and the components that console pages use."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from pydantic_core import to_json
from starlette.responses import RedirectResponse, Response

from connector_gateway.core.access.operators import Operator
from connector_gateway.core.access.sessions import Session, Sessions
from connector_gateway.core.calls.arguments import Arguments, Body
from connector_gateway.core.calls.response_envelope import error_payload
from connector_gateway.core.events.feed import Feed
from connector_gateway.core.onboarding_checklist import OnboardingChecklist
from connector_gateway.core.pacing.budget_usage import UsageTracker
from connector_gateway.http.api.request_context import RequestContext
from connector_gateway.http.api.routes import ApiContext
from connector_gateway.http.console.forms import Form
from connector_gateway.http.pages import Pages
from connector_gateway.kit.clock import Clock
from connector_gateway.kit.errors import GatewayError, InvalidParameters
from connector_gateway.kit.models import Position
from connector_gateway.kit.operation import AnyConnector
from connector_gateway.management.field_descriptions import to_label
from connector_gateway.management.request import Management, ManagementRequest
from connector_gateway.management.route_declaration import ManagementRoute
from connector_gateway.management.routes import MANAGEMENT


def explain(error: GatewayError, form: Form | None, connector: AnyConnector | None) -> Mapping[str, Any]:
    """Return the error payload of a page. The errors of fields of *form* are displayed next to the fields instead."""
    payload = error_payload(error, "console", connector)
    if form is None:
        return payload
    marked = [control.field.label for control in form.controls if control.error and not control.is_fixed]
    if not (marked and isinstance(error, InvalidParameters)):
        return payload | {"details": form.rest}
    remedy = "Correct the marked fields and submit the form again."
    return payload | {"message": f"Invalid fields: {', '.join(marked)}.", "remedy": remedy, "details": form.rest}


ROOT = "/console"
BACKGROUND = b"x-console-refresh"
"""The header of automatic refreshes, which do not count as user activity."""

SIGN_IN = f"{ROOT}/sign-in"

LISTED = [route.resource.name for route in MANAGEMENT if route.pages]
"""The resources that have a list."""

FIRST = ("workspaces", "connections", "keys", "runs", "webhooks", "budgets")
"""The resources that operators use most often, which come first in the navigation."""

NAVIGATION = (
    (ROOT, "Overview"),
    *((f"{ROOT}/{name}", to_label(name)) for name in (*FIRST, *(name for name in LISTED if name not in FIRST))),
)
"""Paths and labels of the navigation."""


def identifier_field(route: ManagementRoute) -> str:
    """Return the field that identifies an object of a route, or an empty string if its records have none."""
    first = next(iter(route.item.model_fields))
    return first if first.endswith("_id") else ""


def _success_sentence(route: ManagementRoute) -> str:
    """Return the sentence that reports the success of an action."""
    if route.done or route.method == "PATCH":
        return route.done or "The changes were saved."
    return f"The {identifier_field(route).removesuffix('_id')} was created." if "{" not in route.path else "Done."


DONE = {route.name: _success_sentence(route) for route in MANAGEMENT if route.changes} | {
    "sign_out": "You have signed out."
}
"""The sentences that report success, by route name."""


@dataclass(frozen=True)
class Console:
    """The components of the console."""

    edge: ApiContext
    management: Management
    feed: Feed
    usage: UsageTracker
    sessions: Sessions
    pages: Pages
    connectors: Mapping[str, AnyConnector]
    clock: Clock
    onboarding_checklist: Callable[[], Awaitable[OnboardingChecklist]]

    def vendor_name(self, connector: str) -> str:
        """Return the display name of the vendor of a connector."""
        installed = self.connectors.get(connector)
        return connector if installed is None else installed.vendor


@dataclass(frozen=True)
class ConsoleRequest:
    """A request for a page, from a signed-in operator or a visitor."""

    console: Console
    context: RequestContext
    session: Session
    signed_in: bool
    query: Mapping[str, str]
    form: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def management(self) -> Management:
        """The components that the management routes use."""
        return self.console.management

    @property
    def operator(self) -> Operator:
        """The operator of the session."""
        return self.session.operator

    @property
    def path(self) -> str:
        """The path of the page."""
        return str(self.context.scope["path"])

    def path_param(self, name: str) -> str:
        """Return a path parameter, such as the identifier of a run."""
        return str(self.context.scope["path_params"][name])

    async def submit(self, route: ManagementRoute, values: Mapping[str, str], position: Position | None = None) -> Any:
        """Call a management route with *values* as text, of which empty ones are omitted, and return its result."""
        query = [(name, text) for name, text in values.items() if text]
        return await self._perform(route, Arguments(path={}, query=query), position)

    async def send(self, route: ManagementRoute, values: Mapping[str, Any]) -> Any:
        """Call a management route with typed *values*, and return its result."""
        return await self._perform(route, Arguments(path={}, body=Body(to_json(values))))

    async def _perform(self, route: ManagementRoute, arguments: Arguments, position: Position | None = None) -> Any:
        params = arguments.read(route.params, connection=False)
        request = ManagementRequest(self.management, None, self.operator, position, self.context.address, "console")
        return await route.carry_out(request, params)

    def show(
        self,
        template: str,
        *,
        status: int = 200,
        problem: GatewayError | None = None,
        form: Form | None = None,
        connector: str = "",
        **values: Any,
    ) -> Response:
        """Render *template*. It displays *problem*, next to the fields of *form* that are affected.

        The remedy refers to *connector*, if the problem concerns one.
        """
        return self.console.pages.show(
            f"console/{template}",
            status=problem.status if problem else status,
            headers={"retry-after": str(problem.retry_after)} if problem and problem.retry_after else {},
            navigation=NAVIGATION if self.signed_in else (),
            here=self._navigation_entry,
            operator=self.operator if self.signed_in else None,
            may_change=self.operator.may_change,
            form_token=self.session.form_token,
            problem=explain(problem, form, self.console.connectors.get(connector)) if problem else None,
            form=form,
            done=DONE.get(self.query.get("done", ""), ""),
            vendor=self.console.vendor_name,
            first="cursor" not in self.query,
            now=self.console.clock.now(),
            **values,
        )

    async def steps(self) -> OnboardingChecklist | None:
        """Return the remaining steps to the first call, or None if all are done or the operator cannot perform them."""
        steps = await self.console.onboarding_checklist() if self.operator.may_change else None
        return None if steps is None or steps.done else steps

    def position(self, *bound_to: Any) -> Position | None:
        """Return the start of the requested page of a list, or None for the first page."""
        cursor = self.query.get("cursor")
        return None if cursor is None else self.management.cursors.read(cursor, *bound_to)

    def cursor(self, position: Position | None, *bound_to: Any) -> str | None:
        """Return a cursor for *position* that is valid only for the same list, or None."""
        return None if position is None else self.management.cursors.issue(position, *bound_to)

    def redirect(self, path: str, **query: str) -> Response:
        """Redirect the browser to a page after a form was processed."""
        url = self.console.pages.root + path + (f"?{urlencode(query)}" if query else "")
        return RedirectResponse(url, 303, {"Cache-Control": "no-store"})

    @property
    def _navigation_entry(self) -> str:
        """The path of the navigation entry that this page belongs to."""
        return "/".join(self.path.split("/")[:3])


@dataclass(frozen=True)
class ConsoleRoute:
    """A page, or the handler of a form."""

    method: str
    path: str
    handler: Callable[[ConsoleRequest], Awaitable[Response]]
    for_visitors: bool = False
    """Whether the page is accessible without signing in."""

    for_admins: bool = False
    """Whether only admins may use it, because it makes or prepares changes, or displays user content."""

    audit_name: str = ""
    """The action in the audit trail if a viewer is rejected."""
