"""``auth.*``, ``oauth.*`` and ``apps.*``: issuing, inspecting and revoking tokens."""

from typing import Any

from workspace_sandbox.chat.access import check_client
from workspace_sandbox.chat.call import ApiRequest


def test(call: ApiRequest) -> dict[str, Any]:
    """``auth.test``."""
    team = call.workspace.team
    expires_at = call.oauth.admit(call.token).expires_at
    remaining = {} if expires_at is None else {"expires_in": int(expires_at - call.workspace.now())}
    return {
        "url": team.url,
        "team": team.name,
        "team_id": team.id,
        "user": team.bot_name,
        "user_id": team.bot_user_id,
        "bot_id": team.bot_id,
        "is_enterprise_install": False,
    } | remaining


def revoke(call: ApiRequest) -> dict[str, Any]:
    """``auth.revoke``, which uninstalls the app unless tokens rotate."""
    if call.arguments.flag("test"):
        return {"revoked": False}
    # With rotation, only this token is revoked and events continue. Without it, the app is uninstalled
    # (``auth.revoke``).
    if call.token.startswith("xoxe."):
        call.oauth.tokens[call.token].ended = True
    else:
        call.uninstall()
    return {"revoked": True}


def uninstall(call: ApiRequest) -> dict[str, Any]:
    """``apps.uninstall``."""
    check_client(call.arguments)
    call.uninstall()
    return {}


def grant(call: ApiRequest) -> dict[str, Any]:
    """``oauth.v2.access``."""
    return call.oauth.exchange(call.arguments) | _installation(call)


def swap(call: ApiRequest) -> dict[str, Any]:
    """``oauth.v2.exchange``."""
    return call.oauth.swap(call.arguments) | _installation(call)


def _installation(call: ApiRequest) -> dict[str, Any]:
    team = call.workspace.team
    return {
        "app_id": team.app_id,
        "authed_user": {"id": team.installer_id},
        "scope": ",".join(call.scopes),
        "token_type": "bot",
        "bot_user_id": team.bot_user_id,
        "team": {"id": team.id, "name": team.name},
        "enterprise": None,
        "is_enterprise_install": False,
    }
