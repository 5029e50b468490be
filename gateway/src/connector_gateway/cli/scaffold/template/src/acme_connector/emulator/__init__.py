"""The emulator of the vendor's API, written from its documentation and not from the client.

Faults, clock, request log, reset and snapshots are those of all emulators.
"""

import json
from typing import Any

from aiohttp import web

from acme_connector.emulator import errors
from acme_connector.emulator.access import ACCOUNTS, CREDENTIALS, AcmeOAuth
from acme_connector.emulator.errors import AcmeError
from acme_connector.emulator.events import USER_ACTIONS, list_changes  # --events
from acme_connector.emulator.oauth import OAUTH_ROUTES  # --oauth
from workspace_sandbox.kit.emulator import Emulator
from workspace_sandbox.kit.oauth.standard import OAUTH_KNOBS
from workspace_sandbox.kit.rate_limits import Budget, Budgets
from workspace_sandbox.kit.routes import Route
from workspace_sandbox.kit.state.seed_file_values import SeedValue

MAX_TITLE = 200
MAX_LIMIT = 100

BUDGET = Budget(10, per_seconds=1)
"""Source: https://acme.example/docs/limits"""

Item = dict[str, str]


def get_account(emulator: "AcmeEmulator", request: web.Request, _: Any) -> web.Response:
    """Return the account of the token."""
    account = emulator.oauth.authenticate(request, errors.unauthorised()).grant.account
    return web.json_response({"id": account, "name": ACCOUNTS[account]})


def list_items(emulator: "AcmeEmulator", request: web.Request, _: Any) -> web.Response:
    """Return a page of the items, or of those with an external identifier."""
    external_id = request.query.get("external_id")
    items = [one for one in emulator.items if external_id in {None, one["external_id"]}]
    try:
        start, limit = int(request.query.get("page", 0)), int(request.query.get("limit", MAX_LIMIT))
    except ValueError:
        raise AcmeError(400, "invalid_query") from None
    end = start + min(max(limit, 1), MAX_LIMIT)
    return web.json_response({"items": items[start:end], "next_page": str(end) if end < len(items) else None})


def create_item(emulator: "AcmeEmulator", _: web.Request, body: Any) -> web.Response:
    """Create an item."""
    title = body.get("title") if isinstance(body, dict) else None
    if not isinstance(title, str) or not 0 < len(title) <= MAX_TITLE:
        raise AcmeError(400, "invalid_title")
    return web.json_response(emulator.add_item(title, str(body.get("external_id", ""))), status=201)


class AcmeEmulator(Emulator):
    """The vendor, with three items that two accounts share."""

    knobs = OAUTH_KNOBS
    routes = (
        Route(method="GET", path="/account", handler=get_account),
        Route(method="GET", path="/items", handler=list_items),
        Route(method="POST", path="/items", handler=create_item),
        Route(method="GET", path="/changes", handler=list_changes),  # --events
        *OAUTH_ROUTES,  # --oauth
    )
    user_actions = USER_ACTIONS  # --events
    errors = errors
    oauth: AcmeOAuth

    def create_default_data(self) -> None:
        """Create three items."""
        self.oauth = AcmeOAuth(self.context)
        self.budgets = Budgets(self.context)
        self.items: list[Item] = []
        for title in ("First", "Second", "Third"):
            self.add_item(title)

    def add_item(self, title: str, external_id: str = "") -> Item:
        """Create an item with a new identifier."""
        item = {"id": f"i{self.context.random.getrandbits(48):012x}", "title": title, "external_id": external_id}
        self.items.append(item)
        return item

    async def serve(self, route: Route[Any], request: web.Request) -> web.StreamResponse:
        """Return the response to a request."""
        token = self.oauth.authenticate(request, errors.unauthorised())
        if seconds := self.budgets.spend(BUDGET, token.grant.account):
            raise errors.throttled(self.context, seconds)
        text = await request.text()
        await self.context.wait_if_delayed()
        try:
            body = json.loads(text) if text else None
        except ValueError:
            raise AcmeError(400, "invalid_json") from None
        response: web.Response = route.handler(self, request, body)
        return response

    def credentials(self) -> dict[str, str]:
        """Return the token of the first account."""
        return CREDENTIALS

    def examples(self) -> dict[str, Any]:
        """Return the identifier of an item."""
        return {"item_id": self.items[0]["id"]}

    def apply_seed(self, data: SeedValue) -> dict[str, Any]:
        """Create the items of a seed: ``{"items": ["Title"]}``."""
        titles = data.check_object("items").list_items("items")
        return {"item_ids": [self.add_item(title.as_text())["id"] for title in titles]}
