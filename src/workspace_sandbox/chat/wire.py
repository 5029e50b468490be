"""How the vendor answers and refuses, and how its objects look in answers and events."""

import math
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from aiohttp import web

from workspace_sandbox.kit.refusals import Refused, RefusedWith
from workspace_sandbox.kit.stage import EmulatorContext

if TYPE_CHECKING:
    from workspace_sandbox.chat.channel import Channel, Message
    from workspace_sandbox.chat.state import User, Workspace
    from workspace_sandbox.chat.uploads import File

SHOWN_REPLIERS = 5


# Answers


def warned(body: dict[str, Any], warnings: list[str]) -> dict[str, Any]:
    """*body* with the vendor's remarks, which it makes on success and refusal alike."""
    # A missing charset is remarked on, and the call still succeeds: a client must not read remarks as refusals.
    if not warnings:
        return body
    about = body.get("response_metadata", {}) | {"warnings": warnings}
    return body | {"warning": ",".join(warnings), "response_metadata": about}


# Refusals


# Slack refuses with status 200. Only 429 and its own failures show in the status line.
class SlackError(Refused):
    """Ends a method with ``ok: false`` and this code; *details* are further keys of the answer."""

    def __init__(self, code: str, status: int = 200, headers: Mapping[str, str] | None = None, **details: Any) -> None:
        super().__init__(code)
        self.code = code
        self.status = status
        self.headers = headers
        self.details = details

    def body(self) -> dict[str, Any]:
        """Return the answer."""
        return {"ok": False, "error": self.code, **self.details}

    def response(self, _: EmulatorContext) -> web.Response:
        """Return it."""
        return web.json_response(self.body(), status=self.status, headers=self.headers)


too_large = partial(SlackError, "request_too_large", 413)
failed = partial(SlackError, "internal_error", 500)


def rate_limited(seconds: float, code: str = "ratelimited") -> SlackError:
    """A method that was called too often: nothing was done, and there is room again after *seconds*."""
    # ``Retry-After`` is in whole seconds. A zero would invite the client to come back at once.
    return SlackError(code, 429, {"Retry-After": str(max(1, math.ceil(seconds)))})


def unknown(request: web.Request, status: int) -> Refused:
    """A method that there is not, or a page."""
    if request.path.startswith("/api/"):
        return SlackError("unknown_method", req_method=request.path.removeprefix("/api/"))
    page = "<!doctype html><title>There has been a glitch</title>"
    return RefusedWith(web.Response(status=status, text=page, content_type="text/html"))


def absent(message: str) -> SlackError:
    """A method that is not played."""
    return SlackError("not_implemented", 501, detail=message)


def throttled(_: EmulatorContext, seconds: float) -> SlackError:
    """A method that was called too often."""
    return rate_limited(seconds)


def invalid_arguments(*messages: str) -> SlackError:
    """The refusal of arguments that do not fit the method, with a line for each fault."""
    return SlackError("invalid_arguments", response_metadata={"messages": [f"[ERROR] {line}" for line in messages]})


# Objects


def message(workspace: "Workspace", channel: "Channel", shown: "Message", *, metadata: bool = False) -> dict[str, Any]:
    """A message, with its *metadata* only where that was asked for."""
    raw: dict[str, Any] = {"type": "message", "ts": shown.ts, "text": shown.text, "team": workspace.team.id}
    optional = {
        "user": shown.user,
        "subtype": shown.subtype,
        "bot_id": shown.bot_id,
        "app_id": shown.app_id,
        "username": shown.username,
        "client_msg_id": shown.client_msg_id,
        "blocks": shown.blocks,
        "attachments": shown.attachments,
        "edited": shown.edited,
        "reactions": reactions(shown),
        "files": [file(workspace, workspace.files[identifier]) for identifier in shown.files],
        "upload": bool(shown.files),
        "pinned_to": [channel.id] if shown.ts in channel.pins else [],
        "metadata": shown.metadata if metadata else None,
    }
    # Slack leaves out what is empty. A client that expects ``edited`` or ``blocks`` to be there must fail here too.
    raw |= {name: value for name, value in optional.items() if value}
    if shown.bot_id == workspace.team.bot_id:
        raw["bot_profile"] = bot(workspace) | {"team_id": workspace.team.id}
    return raw | shown.told | _thread(channel, shown)


def message_event(workspace: "Workspace", channel: "Channel", shown: "Message") -> dict[str, Any]:
    """The event that tells of a new message."""
    place = {"channel": channel.id, "channel_type": channel.event_type, "event_ts": shown.ts}
    return message(workspace, channel, shown, metadata=True) | place


def mention_event(workspace: "Workspace", channel: "Channel", shown: "Message") -> dict[str, Any]:
    """The event that tells of a message that mentions the bot, beside the one of the message."""
    said = message(workspace, channel, shown)
    return said | {"type": "app_mention", "channel": channel.id, "event_ts": shown.ts}


def reaction_event(happened: str, channel: "Channel", shown: "Message", name: str, user: str) -> dict[str, Any]:
    """The event that tells of a reaction; who wrote the message is left out where no user did."""
    item = {"type": "message", "channel": channel.id, "ts": shown.ts}
    author = {"item_user": shown.user} if shown.user else {}
    return {"type": happened, "user": user, "reaction": name, "item": item, **author}


def file(workspace: "Workspace", shown: "File") -> dict[str, Any]:
    """A file, with the conversations where the bot sees it."""
    shared = (workspace.channels[identifier] for identifier in shown.shares)
    seen = ((channel.id, channel.type) for channel in shared if workspace.sees(channel))
    return shown.describe(workspace.team.id, workspace.team.url, workspace.base, seen)


def reactions(shown: "Message") -> list[dict[str, Any]]:
    """Who reacted with what."""
    return [{"name": name, "users": users, "count": len(users)} for name, users in shown.reactions.items()]


def channel(workspace: "Workspace", shown: "Channel", *, membership: bool, members: bool) -> dict[str, Any]:
    """A conversation; *membership* adds ``is_member`` and *members* adds ``num_members``, which an ``im`` lacks."""
    # A conversation between two has neither a name nor a count of members: the reference shows neither for it.
    if shown.type == "im":
        return _im(workspace, shown)
    is_group = shown.id.startswith("G")
    raw: dict[str, Any] = {
        "id": shown.id,
        "name": shown.name,
        "name_normalized": shown.name,
        "is_channel": not is_group,
        "is_group": is_group,
        "is_im": False,
        "is_mpim": shown.type == "mpim",
        "is_private": shown.is_private,
        "is_archived": shown.is_archived,
        "is_general": shown.is_general,
        "is_shared": False,
        "is_ext_shared": False,
        "is_org_shared": False,
        "is_pending_ext_shared": False,
        "pending_shared": [],
        "parent_conversation": None,
        "context_team_id": workspace.team.id,
        "created": shown.created,
        "updated": shown.updated,
        "creator": shown.creator,
        "unlinked": 0,
        "topic": _noted(shown, shown.topic),
        "purpose": _noted(shown, shown.purpose),
        "previous_names": shown.previous_names,
    }
    if membership:
        raw["is_member"] = workspace.is_member(shown)
    if members:
        raw["num_members"] = len(shown.members)
    return raw


def user(workspace: "Workspace", shown: "User", *, with_email: bool) -> dict[str, Any]:
    """A person or bot; an address needs a scope of its own."""
    raw: dict[str, Any] = {
        "id": shown.id,
        "team_id": workspace.team.id,
        "name": shown.name,
        "deleted": shown.deleted,
        "is_bot": shown.is_bot,
        "is_app_user": False,
        "updated": shown.updated,
        "profile": profile(workspace, shown, with_email=with_email),
    }
    return raw if shown.deleted else raw | {"real_name": shown.real_name, "tz": shown.tz} | _rank(shown)


def profile(workspace: "Workspace", shown: "User", *, with_email: bool) -> dict[str, Any]:
    """What somebody tells of themselves; bots have no address."""
    told = {
        "real_name": shown.real_name,
        "real_name_normalized": shown.real_name,
        "display_name": shown.display_name,
        "display_name_normalized": shown.display_name,
        "title": shown.title,
        "status_text": "",
        "status_emoji": "",
        "team": workspace.team.id,
    }
    email = workspace.email(shown)
    return told | ({"email": email} if with_email and email else {})


def _rank(shown: "User") -> dict[str, bool]:
    guest = {"is_restricted": False, "is_ultra_restricted": False}
    return {"is_admin": shown.is_admin, "is_owner": False, "is_primary_owner": False} | guest


def _thread(channel: "Channel", shown: "Message") -> dict[str, Any]:
    if shown.thread_ts is not None:
        parent = channel.messages.get(shown.thread_ts)
        known = {"parent_user_id": parent.user} if parent and parent.user else {}
        return {"thread_ts": shown.thread_ts} | known
    replies = channel.threads.get(shown.ts)
    if not replies:
        return {}
    repliers = list(dict.fromkeys(channel.messages[ts].user for ts in replies))
    return {
        "thread_ts": shown.ts,
        "reply_count": len(replies),
        "reply_users_count": len(repliers),
        "reply_users": repliers[:SHOWN_REPLIERS],
        "latest_reply": replies[-1],
        "is_locked": False,
        "subscribed": False,
    }


def _im(workspace: "Workspace", shown: "Channel") -> dict[str, Any]:
    partner = workspace.partner(shown)
    return {
        "id": shown.id,
        "created": shown.created,
        "updated": shown.updated,
        "is_archived": shown.is_archived,
        "is_im": True,
        "is_org_shared": False,
        "context_team_id": workspace.team.id,
        "user": partner.id if partner else workspace.team.bot_user_id,
        "is_user_deleted": bool(partner and partner.deleted),
        "priority": 0,
    }


def _noted(shown: "Channel", value: str) -> Mapping[str, Any]:
    return {"value": value, "creator": shown.creator if value else "", "last_set": shown.created if value else 0}


def bot(workspace: "Workspace") -> dict[str, Any]:
    """The bot of the application."""
    team = workspace.team
    return {
        "id": team.bot_id,
        "app_id": team.app_id,
        "user_id": team.bot_user_id,
        "name": team.bot_name,
        "icons": {
            f"image_{size}": f"https://a.slack-edge.com/80588/img/plugins/app/bot_{size}.png" for size in (36, 48, 72)
        },
        "deleted": False,
        "updated": 1_735_689_600,
    }
