"""The OAuth routes: the consent page, and the token pages in their dated and older forms."""

import re
from collections.abc import Mapping
from math import ceil
from typing import Any

from aiohttp import web
from yarl import URL

from workspace_sandbox.crm import directory
from workspace_sandbox.crm.access import Access, Grant
from workspace_sandbox.crm.state import Portal
from workspace_sandbox.crm.wire import GrantRejection, Rejection, invalid
from workspace_sandbox.kit.consent import Account, Question, decision, fields_of

RIGHTS = {"read": "View", "write": "Create and change"}
REDIRECT = re.compile(r"https?://[\w.\[\]:-]+(/\S*)?")
ASKED = ("client_id", "redirect_uri", "scope")


async def authorise_page(portal: Portal, request: web.Request) -> web.Response:
    """Asks the user, or takes the decision and sends them back."""
    fields = await fields_of(request)
    asked = dict(fields)
    missing = [name for name in ASKED if not asked.get(name)]
    if missing or asked.get("client_id") != portal.knob("client_id"):
        raise invalid(f"missing or unknown query parameters: {', '.join(missing) or 'client_id'}")
    if asked.get("code_challenge") and asked.get("code_challenge_method") != "S256":
        raise invalid("code_challenge_method must be S256")
    registered = portal.knob("redirect_uris")
    if not REDIRECT.fullmatch(asked["redirect_uri"]) or (registered and asked["redirect_uri"] not in registered):
        raise invalid("redirect_uri must be an absolute http address that is registered with the application")
    decided = decision(fields, automatic=portal.knob("auto_approve"))
    if decided is None:
        return _question(portal, asked).page(request.path, fields)
    if not decided.allowed:
        return _sent(_back(asked, error="access_denied", error_description="User denied access"))
    return _sent(_back(asked, code=portal.grants.consent(asked, decided.account)))


def _sent(location: str) -> web.Response:
    return web.Response(status=302, headers={"Location": location})


def _question(portal: Portal, asked: Mapping[str, str]) -> Question:
    accounts = [
        Account(str(account.portal_id), f"{account.domain} ({account.portal_id})") for account in portal.grants.accounts
    ]
    wants = [_meaning(scope) for scope in f"{asked['scope']} {asked.get('optional_scope', '')}".split()]
    return Question(vendor="HubSpot", app="Connector Gateway", wants=wants, accounts=accounts)


def _meaning(scope: str) -> str:
    """A scope in words: ``crm.objects.contacts.read`` is to view contacts."""
    match scope.split("."):
        case ["crm", "objects", what, right] if right in RIGHTS:
            return f"{RIGHTS[right]} {what}"
        case ["crm", "schemas", what, right] if right in RIGHTS:
            return f"{RIGHTS[right]} the properties of {what}"
        case _:
            return "Be installed in your account" if scope == "oauth" else scope


async def issue_token(portal: Portal, request: web.Request) -> web.Response:
    """A token for a code or for a refresh token; only the oldest form takes its fields from the query."""
    form = await _form(request)
    _know_client(portal, form)
    grants = {"authorization_code": portal.grants.exchange, "refresh_token": portal.grants.refresh}
    grant_type = form.get("grant_type", "")
    if grant_type not in grants:
        raise GrantRejection("unsupported_grant_type", "BAD_GRANT_TYPE", "missing or unknown grant type")
    return web.json_response(_token(portal, grants[grant_type](form)))


async def introspect_token(portal: Portal, request: web.Request) -> web.Response:
    """Whose a token is, and what it may do."""
    form = await _form(request)
    _know_client(portal, form)
    token = form.get("token") or form.get("access_token") or form.get("refresh_token") or ""
    if access := _living(portal, token):
        return web.json_response({"active": True, "token_use": "access_token"} | _access_info(portal, access))
    if grant := portal.grants.grant(token):
        return web.json_response({"active": True, "token_use": "refresh_token"} | _refresh_info(grant))
    return web.json_response({"active": False})


async def revoke_token(portal: Portal, request: web.Request) -> web.Response:
    """A token withdrawn by its application."""
    form = await _form(request)
    _know_client(portal, form)
    portal.grants.revoke(form.get("token") or "")
    return web.Response(status=200)


async def read_access_token(portal: Portal, request: web.Request) -> web.Response:
    """The older form of asking whose an access token is."""
    access = _living(portal, request.match_info["token"])
    if access is None:
        raise Rejection(404, "OBJECT_NOT_FOUND", "access token was not found")
    return web.json_response(_access_info(portal, access))


async def read_refresh_token(portal: Portal, request: web.Request) -> web.Response:
    """The older form of asking whose a refresh token is."""
    grant = portal.grants.grant(request.match_info["token"])
    if grant is None:
        raise Rejection(404, "OBJECT_NOT_FOUND", "refresh token was not found")
    return web.json_response(_refresh_info(grant))


async def delete_refresh_token(portal: Portal, request: web.Request) -> web.Response:
    """The older form of withdrawing a refresh token."""
    portal.grants.revoke(request.match_info["token"])
    return web.Response(status=204)


async def _form(request: web.Request) -> dict[str, str]:
    posted = {name: str(value) for name, value in (await request.post()).items()}
    # The dated versions take secrets in the body alone; addresses end up in logs.
    return {**request.query, **posted} if "/v1/" in request.path else posted


def _know_client(portal: Portal, form: Mapping[str, str]) -> None:
    if form.get("client_id") != portal.knob("client_id"):
        raise GrantRejection("invalid_client", "BAD_CLIENT_ID", "missing or unknown client id")
    if form.get("client_secret") != portal.knob("client_secret"):
        raise GrantRejection("invalid_client", "BAD_CLIENT_SECRET", "missing or invalid client secret")


def _back(asked: Mapping[str, str], **more: str) -> str:
    state = {"state": asked["state"]} if "state" in asked else {}
    return str(URL(asked["redirect_uri"]).update_query({**more, **state}))


def _living(portal: Portal, token: str) -> Access | None:
    """The access of *token*, if it came of a grant and still lasts."""
    access = portal.grants.access(token)
    return access if access and access.grant and _seconds_left(portal, access) > 0 else None


def _token(portal: Portal, access: Access) -> dict[str, Any]:
    return {
        "token_type": "bearer",
        "token_use": "access_token",
        "access_token": access.token,
        "refresh_token": access.grant.refresh_token if access.grant else None,
        "expires_in": _seconds_left(portal, access),
        "hub_id": access.account.portal_id,
        "scopes": list(access.scopes),
    }


def _access_info(portal: Portal, access: Access) -> dict[str, Any]:
    told = {"token": access.token, "token_type": "access", "expires_in": _seconds_left(portal, access)}
    return told | {"app_id": access.account.app_id} | _identity(access.account, access.scopes)


def _refresh_info(grant: Grant) -> dict[str, Any]:
    told = {"token": grant.refresh_token, "token_type": "refresh", "client_id": grant.client_id}
    return told | _identity(grant.account, grant.scopes)


def _identity(account: directory.Account, scopes: tuple[str, ...]) -> dict[str, Any]:
    return {
        "hub_id": account.portal_id,
        "hub_domain": account.domain,
        "user_id": account.user_id,
        "user": account.user,
        "scopes": list(scopes),
    }


def _seconds_left(portal: Portal, access: Access) -> int:
    return ceil((access.expires_at or 0.0) - portal.now)
