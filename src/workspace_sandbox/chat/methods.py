"""Every method there is: what runs, its budget, and the scopes that open it."""

from typing import Any

from workspace_sandbox.chat import conversations, paging, posting, reactions, views
from workspace_sandbox.chat.access import check_client
from workspace_sandbox.chat.call import Call, Method
from workspace_sandbox.chat.limits import POSTS_PER_MINUTE, SPECIAL, TIER_2, TIER_3, TIER_4
from workspace_sandbox.chat.refusals import SlackError

READ = ("channels:read", "groups:read", "mpim:read", "im:read")
HISTORY = ("channels:history", "groups:history", "mpim:history", "im:history")
OPEN = ("channels:manage", "groups:write", "im:write", "mpim:write")
UNPAGED = 1_000_000


def auth_test(call: Call) -> dict[str, Any]:
    """``auth.test``."""
    team = call.workspace.team
    expires_at = call.access.admit(call.token).expires_at
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


def auth_revoke(call: Call) -> dict[str, Any]:
    """``auth.revoke``: the application goes with its token, unless tokens rotate."""
    if call.arguments.flag("test"):
        return {"revoked": False}
    if call.access.revoke(call.token):
        call.uninstall()
    return {"revoked": True}


def apps_uninstall(call: Call) -> dict[str, Any]:
    """``apps.uninstall``."""
    check_client(call.arguments)
    call.uninstall()
    return {}


def oauth_access(call: Call) -> dict[str, Any]:
    """``oauth.v2.access``."""
    return call.access.exchange(call.arguments) | _installation(call)


def oauth_exchange(call: Call) -> dict[str, Any]:
    """``oauth.v2.exchange``."""
    return call.access.swap(call.arguments) | _installation(call)


def users_info(call: Call) -> dict[str, Any]:
    """``users.info``."""
    user = call.workspace.users.get(call.arguments.text("user"))
    if user is None:
        raise SlackError("user_not_found")
    return {"user": views.user(call.workspace, user)}


def users_list(call: Call) -> dict[str, Any]:
    """``users.list``: everyone, deleted ones too; in one page unless a length is asked for."""
    limit = call.arguments.limit(UNPAGED, UNPAGED)
    page, following = paging.cut(call.workspace.users, "user", call.arguments.optional("cursor"), limit)
    shown = [views.user(call.workspace, user) for user in page]
    return {"members": shown, "cache_ts": int(call.workspace.now())} | following


def _installation(call: Call) -> dict[str, Any]:
    team = call.workspace.team
    return {
        "app_id": team.app_id,
        "authed_user": {"id": team.installer_id},
        "scope": ",".join(call.access.scopes),
        "token_type": "bot",
        "bot_user_id": team.bot_user_id,
        "team": {"id": team.id, "name": team.name},
        "enterprise": None,
        "is_enterprise_install": False,
    }


METHODS = {
    "apps.uninstall": Method(apps_uninstall, TIER_3),
    "auth.revoke": Method(auth_revoke, TIER_3),
    "auth.test": Method(auth_test, SPECIAL),
    "chat.delete": Method(posting.delete, TIER_3, ("chat:write",), writes=True),
    "chat.getPermalink": Method(posting.get_permalink, SPECIAL),
    "chat.postMessage": Method(posting.post_message, POSTS_PER_MINUTE, ("chat:write",), writes=True),
    "chat.update": Method(posting.update, TIER_3, ("chat:write",), writes=True),
    "conversations.history": Method(conversations.history, TIER_3, HISTORY),
    "conversations.info": Method(conversations.info, TIER_3, READ),
    "conversations.join": Method(conversations.join, TIER_3, ("channels:join",), writes=True),
    "conversations.list": Method(conversations.list_all, TIER_2, READ),
    "conversations.members": Method(conversations.members, TIER_4, READ),
    "conversations.open": Method(conversations.open_im, TIER_3, OPEN, writes=True),
    "conversations.replies": Method(conversations.replies, TIER_3, HISTORY),
    "emoji.list": Method(reactions.list_emoji, TIER_2, ("emoji:read",)),
    "oauth.v2.access": Method(oauth_access, SPECIAL, is_open=True),
    "oauth.v2.exchange": Method(oauth_exchange, SPECIAL, is_open=True),
    "reactions.add": Method(reactions.add, TIER_3, ("reactions:write",), writes=True),
    "reactions.get": Method(reactions.get, TIER_3, ("reactions:read",)),
    "reactions.remove": Method(reactions.remove, TIER_2, ("reactions:write",), writes=True),
    "users.conversations": Method(conversations.list_joined, TIER_3, READ),
    "users.info": Method(users_info, TIER_4, ("users:read",)),
    "users.list": Method(users_list, TIER_2, ("users:read",)),
}
