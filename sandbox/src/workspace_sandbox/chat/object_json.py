"""Slack's objects in the format of responses and events."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workspace_sandbox.chat.data.channel import Channel, Message
    from workspace_sandbox.chat.data.files import File
    from workspace_sandbox.chat.data.state import User, Workspace


MAX_REPLIERS = 5


def message(workspace: "Workspace", channel: "Channel", model: "Message", *, metadata: bool = False) -> dict[str, Any]:
    """Return a message, with its *metadata* if requested."""
    raw: dict[str, Any] = {"type": "message", "ts": model.ts, "text": model.text, "team": workspace.team.id}
    optional = {
        "user": model.user,
        "subtype": model.subtype,
        "bot_id": model.bot_id,
        "app_id": model.app_id,
        "username": model.username,
        "client_msg_id": model.client_msg_id,
        "blocks": model.blocks,
        "attachments": model.attachments,
        "edited": model.edited,
        "reactions": reactions(model),
        "files": [file(workspace, workspace.files[identifier]) for identifier in model.files],
        "upload": bool(model.files),
        "pinned_to": [channel.id] if model.ts in channel.pins else [],
        "metadata": model.metadata if metadata else None,
    }
    # Slack omits empty fields. A client that requires ``edited`` or ``blocks`` must fail here too.
    raw |= {name: value for name, value in optional.items() if value}
    if model.bot_id == workspace.team.bot_id:
        raw["bot_profile"] = bot(workspace) | {"team_id": workspace.team.id}
    return raw | model.extra | _thread(channel, model)


def message_event(workspace: "Workspace", channel: "Channel", model: "Message") -> dict[str, Any]:
    """Return the event for a new message."""
    fields = {"channel": channel.id, "channel_type": channel.event_type, "event_ts": model.ts}
    return message(workspace, channel, model, metadata=True) | fields


def mention_event(workspace: "Workspace", channel: "Channel", model: "Message") -> dict[str, Any]:
    """Return the event for a message that mentions the bot, which follows the message event."""
    event = message(workspace, channel, model)
    return event | {"type": "app_mention", "channel": channel.id, "event_ts": model.ts}


def reaction_event(event_type: str, channel: "Channel", model: "Message", name: str, user: str) -> dict[str, Any]:
    """Return the event for a reaction. The message's author is omitted if it is not a user."""
    item = {"type": "message", "channel": channel.id, "ts": model.ts}
    author = {"item_user": model.user} if model.user else {}
    return {"type": event_type, "user": user, "reaction": name, "item": item, **author}


def file(workspace: "Workspace", model: "File") -> dict[str, Any]:
    """Return a file with the conversations in which the bot can see it."""
    shared = (workspace.channels[identifier] for identifier in model.shares)
    visible = ((channel.id, channel.type) for channel in shared if workspace.can_see(channel))
    return model.describe(workspace.team.id, workspace.team.url, workspace.base, visible)


def reactions(model: "Message") -> list[dict[str, Any]]:
    """Return the reactions with their users."""
    return [{"name": name, "users": users, "count": len(users)} for name, users in model.reactions.items()]


def channel(workspace: "Workspace", model: "Channel", *, membership: bool, members: bool) -> dict[str, Any]:
    """Return a conversation.

    *membership* adds ``is_member`` and *members* adds ``num_members``, which an ``im`` lacks.
    """
    # A conversation of two users has neither a name nor a member count in the documentation.
    if model.type == "im":
        return _im(workspace, model)
    is_group = model.id.startswith("G")
    raw: dict[str, Any] = {
        "id": model.id,
        "name": model.name,
        "name_normalized": model.name,
        "is_channel": not is_group,
        "is_group": is_group,
        "is_im": False,
        "is_mpim": model.type == "mpim",
        "is_private": model.is_private,
        "is_archived": model.is_archived,
        "is_general": model.is_general,
        "is_shared": False,
        "is_ext_shared": False,
        "is_org_shared": False,
        "is_pending_ext_shared": False,
        "pending_shared": [],
        "parent_conversation": None,
        "context_team_id": workspace.team.id,
        "created": model.created,
        "updated": model.updated,
        "creator": model.creator,
        "unlinked": 0,
        "topic": _noted(model, model.topic),
        "purpose": _noted(model, model.purpose),
        "previous_names": model.previous_names,
    }
    if membership:
        raw["is_member"] = workspace.is_member(model)
    if members:
        raw["num_members"] = len(model.members)
    return raw


def user(workspace: "Workspace", model: "User", *, with_email: bool) -> dict[str, Any]:
    """Return a user or bot. The email address needs a separate scope."""
    raw: dict[str, Any] = {
        "id": model.id,
        "team_id": workspace.team.id,
        "name": model.name,
        "deleted": model.deleted,
        "is_bot": model.is_bot,
        "is_app_user": False,
        "updated": model.updated,
        "profile": profile(workspace, model, with_email=with_email),
    }
    return raw if model.deleted else raw | {"real_name": model.real_name, "tz": model.tz} | _rank(model)


def profile(workspace: "Workspace", model: "User", *, with_email: bool) -> dict[str, Any]:
    """Return the profile of a user. Bots have no email address."""
    profile_json = {
        "real_name": model.real_name,
        "real_name_normalized": model.real_name,
        "display_name": model.display_name,
        "display_name_normalized": model.display_name,
        "title": model.title,
        "status_text": "",
        "status_emoji": "",
        "team": workspace.team.id,
    }
    email = workspace.email(model)
    return profile_json | ({"email": email} if with_email and email else {})


def _rank(model: "User") -> dict[str, bool]:
    guest = {"is_restricted": False, "is_ultra_restricted": False}
    return {"is_admin": model.is_admin, "is_owner": False, "is_primary_owner": False} | guest


def _thread(channel: "Channel", model: "Message") -> dict[str, Any]:
    if model.thread_ts is not None:
        parent = channel.messages.get(model.thread_ts)
        author = {"parent_user_id": parent.user} if parent and parent.user else {}
        return {"thread_ts": model.thread_ts} | author
    replies = channel.threads.get(model.ts)
    if not replies:
        return {}
    repliers = list(dict.fromkeys(channel.messages[ts].user for ts in replies))
    return {
        "thread_ts": model.ts,
        "reply_count": len(replies),
        "reply_users_count": len(repliers),
        "reply_users": repliers[:MAX_REPLIERS],
        "latest_reply": replies[-1],
        "is_locked": False,
        "subscribed": False,
    }


def _im(workspace: "Workspace", model: "Channel") -> dict[str, Any]:
    partner = workspace.im_partner(model)
    return {
        "id": model.id,
        "created": model.created,
        "updated": model.updated,
        "is_archived": model.is_archived,
        "is_im": True,
        "is_org_shared": False,
        "context_team_id": workspace.team.id,
        "user": partner.id if partner else workspace.team.bot_user_id,
        "is_user_deleted": bool(partner and partner.deleted),
        "priority": 0,
    }


def _noted(model: "Channel", value: str) -> Mapping[str, Any]:
    return {"value": value, "creator": model.creator if value else "", "last_set": model.created if value else 0}


def bot(workspace: "Workspace") -> dict[str, Any]:
    """Return the bot of the app."""
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
