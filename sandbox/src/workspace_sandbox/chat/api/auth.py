"""``auth.*``, ``oauth.*`` and ``apps.*``: issuing, inspecting and revoking tokens."""

from typing import Any

from workspace_sandbox.chat.access import check_client
from workspace_sandbox.chat.request import ApiRequest


def test(request: ApiRequest) -> dict[str, Any]:
    """``auth.test``."""
    team = request.workspace.team
    expires_at = request.oauth.authenticate(request.token).expires_at
    remaining = {} if expires_at is None else {"expires_in": int(expires_at - request.workspace.now())}
    return {
        "url": team.url,
        "team": team.name,
        "team_id": team.id,
        "user": team.bot_name,
        "user_id": team.bot_user_id,
        "bot_id": team.bot_id,
        "is_enterprise_install": False,
    } | remaining


def revoke(request: ApiRequest) -> dict[str, Any]:
    """``auth.revoke``, which uninstalls the app unless tokens rotate."""
    if request.arguments.flag("test"):
        return {"revoked": False}
    # With rotation, only this token is revoked and events continue. Without it, the app is uninstalled
    # (``auth.revoke``).
    if request.token.startswith("xoxe."):
        request.oauth.tokens[request.token].is_ended = True
    else:
        request.uninstall()
    return {"revoked": True}


def uninstall(request: ApiRequest) -> dict[str, Any]:
    """``apps.uninstall``."""
    check_client(request.arguments)
    request.uninstall()
    return {}


def grant(request: ApiRequest) -> dict[str, Any]:
    """``oauth.v2.access``."""
    return request.oauth.exchange(request.arguments) | _installation(request)


def swap(request: ApiRequest) -> dict[str, Any]:
    """``oauth.v2.exchange``."""
    return request.oauth.swap(request.arguments) | _installation(request)


def _installation(request: ApiRequest) -> dict[str, Any]:
    team = request.workspace.team
    return {
        "app_id": team.app_id,
        "authed_user": {"id": team.installer_id},
        "scope": ",".join(request.scopes),
        "token_type": "bot",
        "bot_user_id": team.bot_user_id,
        "team": {"id": team.id, "name": team.name},
        "enterprise": None,
        "is_enterprise_install": False,
    }
