"""What people do in the workspace, played for tests."""

from collections.abc import Callable, Mapping
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from workspace_sandbox.chat import emoji
from workspace_sandbox.chat.channel import TS, Channel, Message
from workspace_sandbox.chat.messages import escaped
from workspace_sandbox.chat.state import Workspace
from workspace_sandbox.chat.uploads import File
from workspace_sandbox.kit.acts import Act

Action = Mapping[str, Any]
SUBTYPES = {None, "bot_message", "file_share", "me_message", "thread_broadcast"}
MOST_IN_NAME = 80


def perform(workspace: Workspace, action: Action) -> dict[str, Any]:
    """Do *action*, or say in a ``ValueError`` what is wrong with it."""
    act = ACTIONS.get(str(action.get("action")))
    if act is None:
        raise ValueError(f"no action {action.get('action')!r}; there are {', '.join([*ACTIONS, *SETTINGS])}")
    return act.do(workspace, action)


def _message(workspace: Workspace, action: Action) -> dict[str, Any]:
    channel = _open_channel(workspace, action)
    subtype = action.get("subtype")
    if subtype not in SUBTYPES:
        raise ValueError(f"no subtype {subtype!r} that people write")
    fields = {"thread_ts": _thread(channel, action), "subtype": subtype}
    text = escaped(_text(action, "text")) if action.get("escape", True) else _text(action, "text")
    if subtype == "bot_message":
        message = workspace.post(channel, text, None, bot_id="B09CLASSIC1", username="Build", **fields)
    else:
        author = _author(workspace, channel, action)
        client = uuid5(NAMESPACE_URL, f"{channel.id}/{workspace.now()}/{len(channel.messages)}")
        message = workspace.post(channel, text, author, client_msg_id=str(client), **fields)
    return {"ts": message.ts, "channel_id": channel.id}


def _edit(workspace: Workspace, action: Action) -> dict[str, Any]:
    channel, message = _existing(workspace, action)
    editor = message.user or workspace.team.installer_id
    workspace.change(channel, message, editor, text=escaped(_text(action, "text")))
    return {"ts": message.ts}


def _unfurl(workspace: Workspace, action: Action) -> dict[str, Any]:
    channel, message = _existing(workspace, action)
    preview = {"id": 1, "title": "Preview", "from_url": "https://northwind.example/", "fallback": "Preview"}
    workspace.change(channel, message, None, attachments=[*message.attachments, preview])
    return {"ts": message.ts}


def _delete(workspace: Workspace, action: Action) -> dict[str, Any]:
    channel, message = _existing(workspace, action)
    workspace.delete(channel, message)
    return {"ts": message.ts}


def _react(workspace: Workspace, action: Action) -> dict[str, Any]:
    channel, message = _existing(workspace, action)
    name = emoji.canonical(_text(action, "name"))
    if name is None:
        raise ValueError(f"no emoji {action['name']!r}")
    author = _author(workspace, channel, action)
    if author not in message.reactions.get(name, []):
        workspace.react(channel, message, name, author)
    return {"ts": message.ts}


def _share_file(workspace: Workspace, action: Action) -> dict[str, Any]:
    channel = _open_channel(workspace, action)
    author, now = _author(workspace, channel, action), int(workspace.now())
    content, text = str(action.get("content", "")).encode(), escaped(str(action.get("text", "")))
    file = File(workspace.new_file_id(), _text(action, "name"), author, now, "", content=content, complete=True)
    workspace.files[file.id] = file
    message = workspace.post(channel, text, author, subtype="file_share", files=[file.id])
    workspace.share(channel, message, file)
    return {"ts": message.ts, "file_id": file.id}


def _invite(workspace: Workspace, action: Action) -> dict[str, Any]:
    channel = _open_channel(workspace, action)
    user = _user(workspace, str(action.get("user", workspace.team.bot_user_id)))
    if channel.type == "im":
        raise ValueError(f"nobody can be invited to {channel.id}")
    if user not in channel.members:
        workspace.join(channel, user, inviter=next(iter(channel.members), workspace.team.installer_id))
    return {"channel_id": channel.id}


def _kick(workspace: Workspace, action: Action) -> dict[str, Any]:
    channel = _channel(workspace, action)
    workspace.leave(channel, _user(workspace, str(action.get("user", workspace.team.bot_user_id))))
    return {"channel_id": channel.id}


def _archive(workspace: Workspace, action: Action) -> dict[str, Any]:
    return _set_archived(workspace, _channel(workspace, action), archived=True)


def _unarchive(workspace: Workspace, action: Action) -> dict[str, Any]:
    return _set_archived(workspace, _channel(workspace, action), archived=False)


def _set_archived(workspace: Workspace, channel: Channel, *, archived: bool) -> dict[str, Any]:
    if channel.type == "im":
        raise ValueError(f"{channel.id} cannot be archived")
    workspace.archive(channel, workspace.team.installer_id, archived=archived)
    return {"channel_id": channel.id}


def _rename(workspace: Workspace, action: Action) -> dict[str, Any]:
    channel, name = _channel(workspace, action), _text(action, "name")
    if channel.type == "im" or not 0 < len(name) <= MOST_IN_NAME or name != name.lower() or set(name) & set(" ."):
        raise ValueError(f"{channel.id} cannot be named {name!r}")
    workspace.rename(channel, name, workspace.team.installer_id)
    return {"channel_id": channel.id}


def _create(workspace: Workspace, action: Action) -> dict[str, Any]:
    name, private = _text(action, "name"), bool(action.get("is_private", False))
    if any(channel.name == name for channel in workspace.channels.values()):
        raise ValueError(f"name {name!r} is taken")
    return {"channel_id": workspace.found(name, workspace.team.installer_id, private=private).id}


def _text(action: Action, name: str) -> str:
    value = action.get(name)
    if not isinstance(value, str):
        raise ValueError(f"{name} is missing, or not text")
    return value


def _channel(workspace: Workspace, action: Action) -> Channel:
    channel = workspace.channels.get(_text(action, "channel_id"))
    if channel is None:
        raise ValueError(f"no channel {action['channel_id']!r}")
    return channel


def _open_channel(workspace: Workspace, action: Action) -> Channel:
    channel = _channel(workspace, action)
    if channel.is_archived:
        raise ValueError(f"channel {channel.id} is archived")
    return channel


def _existing(workspace: Workspace, action: Action) -> tuple[Channel, Message]:
    channel, ts = _open_channel(workspace, action), _text(action, "ts")
    if ts not in channel.messages:
        raise ValueError(f"no message {ts!r} in {channel.id}")
    return channel, channel.messages[ts]


def _user(workspace: Workspace, user_id: str) -> str:
    if user_id not in workspace.users:
        raise ValueError(f"no user {user_id!r}")
    return user_id


def _author(workspace: Workspace, channel: Channel, action: Action) -> str:
    """Who acts: the named user, who is let into a public channel first, or any person in the channel."""
    if "user" not in action:
        people = (member for member in channel.members if not workspace.users[member].is_bot)
        return next(people, workspace.team.installer_id)
    user = _user(workspace, str(action["user"]))
    if user not in channel.members and channel.is_private:
        raise ValueError(f"user {user} is not in {channel.id}")
    channel.members.setdefault(user)
    return user


def _thread(channel: Channel, action: Action) -> str | None:
    ts = action.get("thread_ts")
    if ts is None:
        return None
    root = channel.root_of(ts) if isinstance(ts, str) and TS.fullmatch(ts) else None
    if root is None:
        raise ValueError(f"no message {ts!r} in {channel.id} to reply to")
    return root.ts


CHANNEL = {"channel_id": "the channel"}
MESSAGE = CHANNEL | {"ts": "the message"}
BY = {"user": "who does it; otherwise the first person in the channel"}
WHO = {"user": "who; otherwise the bot"}

ACTIONS: Mapping[str, Act[Callable[[Workspace, Action], dict[str, Any]]]] = {
    "message": Act(
        _message,
        "Posts a message as a person.",
        CHANNEL | {"text": "what is written"},
        BY
        | {
            "thread_ts": "the message that it replies to",
            "subtype": f"one of {', '.join(sorted(filter(None, SUBTYPES)))}",
            "escape": "false takes the text as it is on the wire",
        },
        answers="`ts`, `channel_id`",
    ),
    "edit": Act(_edit, "Edits a message.", MESSAGE | {"text": "the new text"}, answers="`ts`"),
    "unfurl": Act(_unfurl, "Adds a preview of a link, as the vendor does by itself.", MESSAGE, answers="`ts`"),
    "delete": Act(_delete, "Deletes a message.", MESSAGE, answers="`ts`"),
    "react": Act(_react, "Reacts to a message.", MESSAGE | {"name": "an emoji without colons"}, BY, answers="`ts`"),
    "share_file": Act(
        _share_file,
        "Shares a file as a person.",
        CHANNEL | {"name": "its name, of which the end is its type"},
        {"content": "the text in it", "text": "what is written with it"} | BY,
        answers="`ts`, `file_id`",
    ),
    "invite": Act(_invite, "Lets somebody into a channel.", CHANNEL, WHO, answers="`channel_id`"),
    "kick": Act(_kick, "Puts somebody out of a channel.", CHANNEL, WHO, answers="`channel_id`"),
    "archive": Act(_archive, "Archives a channel.", CHANNEL, answers="`channel_id`"),
    "unarchive": Act(_unarchive, "Takes a channel out of the archive.", CHANNEL, answers="`channel_id`"),
    "rename": Act(_rename, "Renames a channel.", CHANNEL | {"name": "the new name"}, answers="`channel_id`"),
    "create": Act(
        _create,
        "Makes a channel with one person in it.",
        {"name": "its name"},
        {"is_private": "true for a private one"},
        answers="`channel_id`",
    ),
}

SETTINGS: Mapping[str, Act[None]] = {
    "verify_url": Act(None, "Sends the challenge to the address of the knob events_url.", answers="`challenge`"),
    "deliveries": Act(None, "Tells how deliveries went.", answers="`deliveries`, one for each attempt"),
}
"""What is done in the settings of the application; the emulator does it."""
