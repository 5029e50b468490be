"""All routes, with their handlers, rate limits and scopes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from workspace_sandbox.chat.access import SlackOAuth
from workspace_sandbox.chat.api import (
    auth,
    channel_administration,
    conversations_and_history,
    files,
    membership,
    messages,
    pins,
    reactions,
    scheduled_messages,
    team,
    users,
)
from workspace_sandbox.chat.rate_limits import POSTS_PER_MINUTE, SPECIAL, TIER_2, TIER_3, TIER_4
from workspace_sandbox.chat.request import ApiRequest
from workspace_sandbox.kit.routes import PageRoute, Route, page

READ = ("channels:read", "groups:read", "mpim:read", "im:read")
HISTORY = ("channels:history", "groups:history", "mpim:history", "im:history")
MANAGE = ("channels:manage", "groups:write")
OPEN = ("channels:manage", "groups:write", "im:write", "mpim:write")


@dataclass(frozen=True, kw_only=True)
class ApiRoute(Route[Callable[[ApiRequest], dict[str, Any]]]):
    """A method of the Web API, called with GET or POST, with its rate limit and alternative scopes."""

    method: str = "*"
    per_minute: int
    scopes: tuple[str, ...] = ()
    writes: bool = False
    is_open: bool = False
    """Whether the method needs no token."""

    @property
    def name(self) -> str:
        """The vendor's name of the method."""
        return self.path.removeprefix("/api/")


CHAT = {"scopes": ("chat:write",), "writes": True}
WRITE = {"scopes": (*OPEN,), "writes": True}


def _method(name: str, handler: Callable[[ApiRequest], dict[str, Any]], per_minute: int, **more: Any) -> ApiRoute:
    return ApiRoute(path=f"/api/{name}", handler=handler, per_minute=per_minute, **more)


ROUTES: Sequence[ApiRoute | PageRoute] = (
    _method("api.test", team.test, TIER_4, is_open=True),
    _method("apps.uninstall", auth.uninstall, TIER_3),
    _method("auth.revoke", auth.revoke, TIER_3),
    _method("auth.test", auth.test, SPECIAL),
    _method("bots.info", team.bot_info, TIER_3, scopes=("users:read",), unsupported="only the bot of the app"),
    _method("chat.delete", messages.delete, TIER_3, **CHAT),
    _method("chat.deleteScheduledMessage", scheduled_messages.delete, TIER_3, **CHAT),
    _method("chat.getPermalink", messages.get_permalink, SPECIAL),
    _method("chat.meMessage", messages.post_me, TIER_3, **CHAT),
    _method("chat.postEphemeral", messages.post_ephemeral, TIER_4, **CHAT),
    _method(
        "chat.postMessage",
        messages.post_message,
        POSTS_PER_MINUTE,
        unsupported="blocks are stored without checks of their type; URLs in texts are not linked",
        **CHAT,
    ),
    _method("chat.scheduleMessage", scheduled_messages.schedule, TIER_3, unsupported="as chat.postMessage", **CHAT),
    _method(
        "chat.scheduledMessages.list", scheduled_messages.list_all, TIER_3, unsupported="oldest and latest are ignored"
    ),
    _method("chat.update", messages.update, TIER_3, unsupported="as chat.postMessage", **CHAT),
    _method("conversations.archive", channel_administration.archive, TIER_2, scopes=MANAGE, writes=True),
    _method("conversations.close", membership.close, TIER_2, **WRITE),
    _method("conversations.create", channel_administration.create, TIER_2, scopes=MANAGE, writes=True),
    _method("conversations.history", conversations_and_history.history, TIER_3, scopes=HISTORY),
    _method("conversations.info", conversations_and_history.info, TIER_3, scopes=READ),
    _method("conversations.invite", channel_administration.invite, TIER_3, scopes=MANAGE, writes=True),
    _method("conversations.join", conversations_and_history.join, TIER_3, scopes=("channels:join",), writes=True),
    _method("conversations.kick", membership.kick, TIER_3, scopes=MANAGE, writes=True),
    _method("conversations.leave", membership.leave, TIER_3, scopes=MANAGE, writes=True),
    _method("conversations.list", conversations_and_history.list_all, TIER_2, scopes=READ),
    _method("conversations.mark", membership.mark, TIER_3, **WRITE),
    _method("conversations.members", conversations_and_history.members, TIER_4, scopes=READ),
    _method("conversations.open", conversations_and_history.open_im, TIER_3, **WRITE),
    _method("conversations.rename", channel_administration.rename, TIER_2, scopes=MANAGE, writes=True),
    _method("conversations.replies", conversations_and_history.replies, TIER_3, scopes=HISTORY),
    _method("conversations.setPurpose", channel_administration.set_purpose, TIER_2, scopes=MANAGE, writes=True),
    _method("conversations.setTopic", channel_administration.set_topic, TIER_2, scopes=MANAGE, writes=True),
    _method("conversations.unarchive", channel_administration.unarchive, TIER_2, scopes=MANAGE, writes=True),
    _method("emoji.list", reactions.list_emoji, TIER_2, scopes=("emoji:read",), unsupported="without categories"),
    _method("files.completeUploadExternal", files.complete_upload, TIER_4, scopes=("files:write",), writes=True),
    _method("files.delete", files.delete, TIER_3, scopes=("files:write",), writes=True),
    _method("files.getUploadURLExternal", files.get_upload_url, TIER_4, scopes=("files:write",), writes=True),
    _method("files.info", files.info, TIER_4, scopes=("files:read",), unsupported="previews and thumbnails"),
    _method("files.list", files.list_all, TIER_3, scopes=("files:read",), unsupported="previews and thumbnails"),
    _method(
        "files.upload", files.reject_old_upload, TIER_2, scopes=("files:write",), unsupported="discontinued in 2025"
    ),
    _method("oauth.v2.access", auth.grant, SPECIAL, is_open=True, unsupported="bot tokens only"),
    _method("oauth.v2.exchange", auth.swap, SPECIAL, is_open=True),
    _method("pins.add", pins.add, TIER_2, scopes=("pins:write",), writes=True),
    _method("pins.list", pins.list_all, TIER_2, scopes=("pins:read",)),
    _method("pins.remove", pins.remove, TIER_2, scopes=("pins:write",), writes=True),
    _method("reactions.add", reactions.add, TIER_3, scopes=("reactions:write",), writes=True),
    _method("reactions.get", reactions.get, TIER_3, scopes=("reactions:read",), unsupported="messages only"),
    _method("reactions.list", reactions.list_all, TIER_2, scopes=("reactions:read",), unsupported="messages only"),
    _method(
        "reactions.remove",
        reactions.remove,
        TIER_2,
        scopes=("reactions:write",),
        writes=True,
        unsupported="messages only",
    ),
    _method("team.info", team.info, TIER_3, scopes=("team:read",)),
    _method("users.conversations", conversations_and_history.list_joined, TIER_3, scopes=READ),
    _method("users.getPresence", users.presence, TIER_3, scopes=("users:read",), unsupported="presence never changes"),
    _method("users.info", users.info, TIER_4, scopes=("users:read",)),
    _method("users.list", users.list_all, TIER_2, scopes=("users:read",)),
    _method("users.lookupByEmail", users.look_up_by_email, TIER_3, scopes=("users:read.email",)),
    _method("users.profile.get", users.profile, TIER_4, scopes=("users.profile:read",), unsupported="custom fields"),
    page("* /oauth/v2/authorize", SlackOAuth.authorize, "user scopes are ignored"),
    page("POST /upload/v1/{ticket}", files.receive_content),
    page("GET /files-pri/{file}/{name}", files.download),
    page("GET /files-pri/{file}/download/{name}", files.download),
)
