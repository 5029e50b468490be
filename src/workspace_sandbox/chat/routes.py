"""Every route there is: what serves it, how often it may be called, and which scopes open it."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from workspace_sandbox.chat import access, auth, channels, conversations, messages, reactions, users
from workspace_sandbox.chat.access import Home
from workspace_sandbox.chat.call import Call
from workspace_sandbox.chat.throttle import POSTS_PER_MINUTE, SPECIAL, TIER_2, TIER_3, TIER_4
from workspace_sandbox.kit.routes import Route
from workspace_sandbox.kit.stage import Stage

READ = ("channels:read", "groups:read", "mpim:read", "im:read")
HISTORY = ("channels:history", "groups:history", "mpim:history", "im:history")
MANAGE = ("channels:manage", "groups:write")
OPEN = ("channels:manage", "groups:write", "im:write", "mpim:write")


@dataclass(frozen=True, slots=True, kw_only=True)
class Method(Route[Callable[[Call], dict[str, Any]]]):
    """A method of the vendor's, called with GET or POST: how often, and which scopes open it (any one of them)."""

    method: str = "*"
    per_minute: int
    scopes: tuple[str, ...] = ()
    writes: bool = False
    is_open: bool = False
    """Whether it is called without a token."""

    @property
    def name(self) -> str:
        """What the vendor calls it."""
        return self.path.removeprefix("/api/")


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(Route[Callable[[Mapping[str, Home], Stage, web.Request], Awaitable[web.Response]]]):
    """A page for people."""


ROUTES: Sequence[Method | Page] = (
    Method(path="/api/apps.uninstall", handler=auth.uninstall, per_minute=TIER_3),
    Method(path="/api/auth.revoke", handler=auth.revoke, per_minute=TIER_3),
    Method(path="/api/auth.test", handler=auth.test, per_minute=SPECIAL),
    Method(path="/api/chat.delete", handler=messages.delete, per_minute=TIER_3, scopes=("chat:write",), writes=True),
    Method(path="/api/chat.getPermalink", handler=messages.get_permalink, per_minute=SPECIAL),
    Method(
        path="/api/chat.postMessage",
        handler=messages.post_message,
        per_minute=POSTS_PER_MINUTE,
        scopes=("chat:write",),
        writes=True,
        lacks="blocks are kept, not checked by type; text is not linkified",
    ),
    Method(
        path="/api/chat.update",
        handler=messages.update,
        per_minute=TIER_3,
        scopes=("chat:write",),
        writes=True,
        lacks="as chat.postMessage",
    ),
    Method(path="/api/conversations.archive", handler=channels.archive, per_minute=TIER_2, scopes=MANAGE, writes=True),
    Method(path="/api/conversations.create", handler=channels.create, per_minute=TIER_2, scopes=MANAGE, writes=True),
    Method(path="/api/conversations.invite", handler=channels.invite, per_minute=TIER_3, scopes=MANAGE, writes=True),
    Method(
        path="/api/conversations.setTopic", handler=channels.set_topic, per_minute=TIER_2, scopes=MANAGE, writes=True
    ),
    Method(path="/api/conversations.history", handler=conversations.history, per_minute=TIER_3, scopes=HISTORY),
    Method(path="/api/conversations.info", handler=conversations.info, per_minute=TIER_3, scopes=READ),
    Method(
        path="/api/conversations.join",
        handler=conversations.join,
        per_minute=TIER_3,
        scopes=("channels:join",),
        writes=True,
    ),
    Method(path="/api/conversations.list", handler=conversations.list_all, per_minute=TIER_2, scopes=READ),
    Method(path="/api/conversations.members", handler=conversations.members, per_minute=TIER_4, scopes=READ),
    Method(
        path="/api/conversations.open",
        handler=conversations.open_im,
        per_minute=TIER_3,
        scopes=OPEN,
        writes=True,
        lacks="one person at a time",
    ),
    Method(path="/api/conversations.replies", handler=conversations.replies, per_minute=TIER_3, scopes=HISTORY),
    Method(
        path="/api/emoji.list",
        handler=reactions.list_emoji,
        per_minute=TIER_2,
        scopes=("emoji:read",),
        lacks="without categories",
    ),
    Method(path="/api/oauth.v2.access", handler=auth.grant, per_minute=SPECIAL, is_open=True, lacks="bot tokens only"),
    Method(path="/api/oauth.v2.exchange", handler=auth.swap, per_minute=SPECIAL, is_open=True),
    Method(
        path="/api/reactions.add", handler=reactions.add, per_minute=TIER_3, scopes=("reactions:write",), writes=True
    ),
    Method(
        path="/api/reactions.get",
        handler=reactions.get,
        per_minute=TIER_3,
        scopes=("reactions:read",),
        lacks="messages only",
    ),
    Method(
        path="/api/reactions.remove",
        handler=reactions.remove,
        per_minute=TIER_2,
        scopes=("reactions:write",),
        writes=True,
        lacks="messages only",
    ),
    Method(path="/api/users.conversations", handler=conversations.list_joined, per_minute=TIER_3, scopes=READ),
    Method(path="/api/users.info", handler=users.info, per_minute=TIER_4, scopes=("users:read",)),
    Method(path="/api/users.list", handler=users.list_all, per_minute=TIER_2, scopes=("users:read",)),
    Page(method="*", path="/oauth/v2/authorize", handler=access.authorize, lacks="user scopes are ignored"),
)
