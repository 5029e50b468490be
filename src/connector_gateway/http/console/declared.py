"""What the pages of the console work with."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from pydantic_core import to_json
from starlette.responses import RedirectResponse, Response

from connector_gateway.core.arguments import Arguments, Body
from connector_gateway.core.envelope import described
from connector_gateway.core.events.feed import Feed
from connector_gateway.core.operators import Operator
from connector_gateway.core.sessions import Session, Sessions
from connector_gateway.core.usage import Usage
from connector_gateway.http.answers import HttpExchange
from connector_gateway.http.pages import Pages
from connector_gateway.http.routes import Edge
from connector_gateway.kit.clock import Clock
from connector_gateway.kit.errors import GatewayError
from connector_gateway.kit.operation import AnyConnector
from connector_gateway.kit.shapes import Position
from connector_gateway.management.declaration import ManagementRoute
from connector_gateway.management.request import Management, ManagementRequest

ROOT = "/console"
MOST_CHOICES = 200
"""Workspaces that a form lets choose from; where there are more, their identifiers are entered."""

BACKGROUND = b"x-console-refresh"
"""The header of requests by which a page keeps itself up to date: nobody asked for them."""

SIGN_IN = f"{ROOT}/sign-in"

NAVIGATION = (
    (ROOT, "Overview"),
    (f"{ROOT}/workspaces", "Workspaces"),
    (f"{ROOT}/keys", "Keys"),
    (f"{ROOT}/connections", "Connections"),
    (f"{ROOT}/webhooks", "Webhooks"),
    (f"{ROOT}/runs", "Runs"),
    (f"{ROOT}/budgets", "Budgets"),
    (f"{ROOT}/audit", "Audit"),
    (f"{ROOT}/operators", "Operators"),
)


@dataclass(frozen=True)
class Console:
    """What the console works on."""

    edge: Edge
    management: Management
    feed: Feed
    usage: Usage
    sessions: Sessions
    pages: Pages
    connectors: Mapping[str, AnyConnector]
    clock: Clock


@dataclass(frozen=True)
class Visit:
    """One request for a page, of a browser in which somebody signed in, or of a visitor."""

    console: Console
    exchange: HttpExchange
    session: Session
    signed_in: bool
    query: Mapping[str, str]
    form: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def management(self) -> Management:
        """What the management routes work on."""
        return self.console.management

    @property
    def operator(self) -> Operator:
        """Who signed in."""
        return self.session.operator

    async def workspaces(self, wanted: str = "") -> Sequence[tuple[str, str]] | None:
        """The identifiers and names of all workspaces, to choose from by name; None where they are too many.

        One that is *wanted* and does not exist is among them, so that forms keep what was entered.
        """
        rows, more = await self.management.workspaces.page("", None, MOST_CHOICES)
        if more is not None:
            return None
        known = {row["workspace_id"]: row["name"] for row in rows}
        named = known if not wanted or wanted in known else {**known, wanted: wanted}
        return sorted(named.items(), key=lambda one: (one[1].casefold(), one[0]))

    @property
    def path(self) -> str:
        """The path of the page."""
        return str(self.exchange.scope["path"])

    def named(self, name: str) -> str:
        """A part of the path, such as the identifier of a run."""
        return str(self.exchange.scope["path_params"][name])

    def listed(self, name: str) -> list[str]:
        """What stands in a field of the form between commas."""
        return [one.strip() for one in self.form.get(name, "").split(",") if one.strip()]

    async def ask(self, route: ManagementRoute, given: Mapping[str, str], position: Position | None = None) -> Any:
        """What *route* answers the operator who has *given* these texts; those that are empty are left out."""
        named = [(name, text) for name, text in given.items() if text]
        return await self._perform(route, Arguments(path={}, query=named), position)

    async def tell(self, route: ManagementRoute, given: Mapping[str, Any]) -> Any:
        """The same for values that are no texts, or mean something where they are empty."""
        return await self._perform(route, Arguments(path={}, body=Body(to_json(given))))

    async def _perform(self, route: ManagementRoute, arguments: Arguments, position: Position | None = None) -> Any:
        params = arguments.read(route.params, connection=False)
        address = self.exchange.address
        request = ManagementRequest(self.management, None, self.operator, position, address, "console")
        return await route.carry_out(request, params)

    def show(self, template: str, *, status: int = 200, problem: GatewayError | None = None, **values: Any) -> Response:
        """The page of *template*; with a *problem* it says what was wrong, and shows what was given once more."""
        return self.console.pages.show(
            f"console/{template}",
            status=problem.status if problem else status,
            headers={"retry-after": str(problem.retry_after)} if problem and problem.retry_after else {},
            navigation=NAVIGATION if self.signed_in else (),
            here=self._here,
            operator=self.operator if self.signed_in else None,
            may_change=self.operator.may_change,
            form_token=self.session.form_token,
            problem=described(problem) if problem else None,
            given=self.form,
            done=self.query.get("done", ""),
            now=self.console.clock.now(),
            **values,
        )

    def position(self, *bound_to: Any) -> Position | None:
        """Where the page of a list begins that was asked for; None for the first."""
        cursor = self.query.get("cursor")
        return None if cursor is None else self.management.cursors.read(cursor, *bound_to)

    def before(self, *bound_to: Any) -> str | None:
        """Before which entry the page of a list begins that was asked for."""
        position = self.position(*bound_to)
        return None if position is None else str(position["before"])

    def older(self, before: str | None, *bound_to: Any) -> str | None:
        """The cursor that leads to the entries before another one; None where there are none."""
        return self.cursor(None if before is None else {"before": before}, *bound_to)

    @property
    def is_first(self) -> bool:
        """Whether this is the first page of a list."""
        return "cursor" not in self.query

    def cursor(self, position: Position | None, *bound_to: Any) -> str | None:
        """The cursor that leads there, for the same list only."""
        return None if position is None else self.management.cursors.issue(position, *bound_to)

    def lead(self, path: str, **query: str) -> Response:
        """Send the browser on to a page, after a form was carried out."""
        address = self.console.pages.root + path + (f"?{urlencode(query)}" if query else "")
        return RedirectResponse(address, 303, {"Cache-Control": "no-store"})

    @property
    def _here(self) -> str:
        """The entry of the navigation that this page belongs to."""
        parts = self.path.split("/")
        return "/".join(parts[:3])


Perform = Callable[[Visit], Awaitable[Response]]


@dataclass(frozen=True)
class ConsoleRoute:
    """A page, or what a form does."""

    method: str
    path: str
    perform: Perform
    for_visitors: bool = False
    """Whether it is there for who has not signed in."""

    for_admins: bool = False
    """Whether it changes something, asks for what a change needs, or shows what users wrote."""
