"""The feed of changes, and the user actions that tests observe."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from aiohttp import web

from acme_connector.emulator.errors import AcmeError
from workspace_sandbox.kit.user_actions import ActionField, UserAction

if TYPE_CHECKING:
    from acme_connector.emulator import AcmeEmulator

CHANGES_PER_PAGE = 100


def list_changes(emulator: "AcmeEmulator", request: web.Request, _: Any) -> web.Response:
    """Return the changes after a position. Without one, return the current position."""
    end = len(emulator.items)
    try:
        start = int(request.query.get("after", end))
    except ValueError:
        raise AcmeError(400, "invalid_query") from None
    stop = min(start + CHANGES_PER_PAGE, end)
    changes = [
        {"id": f"c{item['id']}", "kind": "created", "item_id": item["id"]} for item in emulator.items[start:stop]
    ]
    return web.json_response({"changes": changes, "position": str(stop), "has_more": stop < end})


def _create_item(emulator: "AcmeEmulator", title: str) -> dict[str, Any]:
    return {"item_id": emulator.add_item(title)["id"]}


USER_ACTIONS: Mapping[str, UserAction] = {
    "create_item": UserAction(
        _create_item, "Another user creates an item.", (ActionField("title", "its title"),), "`item_id`"
    ),
}
