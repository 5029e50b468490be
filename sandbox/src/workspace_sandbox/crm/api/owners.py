"""Routes of owners and of the account."""

from aiohttp import web

from workspace_sandbox.crm.arguments import positive_int, read_cursor, read_flag
from workspace_sandbox.crm.data.state import Portal
from workspace_sandbox.crm.error_responses import invalid, resource_not_found
from workspace_sandbox.crm.page_and_batch_responses import page_response

MAX_OWNERS = 500


async def read_account(portal: Portal, request: web.Request) -> web.Response:
    """Return the account with the portal ID."""
    del request
    return web.json_response(portal.account.to_json())


async def list_owners(portal: Portal, request: web.Request) -> web.Response:
    """Return active or archived owners in order of their IDs, optionally with one email address."""
    limit, after = positive_int(request, "limit", 100, MAX_OWNERS), read_cursor(request)
    email, archived = request.query.get("email", "").lower(), read_flag(request, "archived")
    matches = [
        owner
        for owner in portal.owners.values()
        if owner.id > after and owner.archived == archived and email in {"", (owner.email or "").lower()}
    ]
    page = matches[:limit]
    following = str(page[-1].id) if len(matches) > limit else None
    return page_response(request, [owner.to_json() for owner in page], following)


async def read_owner(portal: Portal, request: web.Request) -> web.Response:
    """Return an owner by its ID or its user's ID."""
    identifier, archived = request.match_info["id"], read_flag(request, "archived")
    id_property = request.query.get("idProperty", "id")
    if id_property not in {"id", "userId"}:
        raise invalid(f"idProperty must be one of: [id, userId], received {id_property}")
    for owner in portal.owners.values():
        if str(owner.user_id if id_property == "userId" else owner.id) == identifier and owner.archived == archived:
            return web.json_response(owner.to_json())
    raise resource_not_found()
