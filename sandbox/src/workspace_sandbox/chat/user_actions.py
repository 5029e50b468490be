"""The actions that users perform in the workspace."""

from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import NAMESPACE_URL, uuid5

from workspace_sandbox.chat.api import emoji
from workspace_sandbox.chat.api.messages import escape as escape_text
from workspace_sandbox.chat.data.channel import TS, Channel, Message
from workspace_sandbox.chat.data.files import File
from workspace_sandbox.chat.data.state import Workspace
from workspace_sandbox.kit.error_responses import require
from workspace_sandbox.kit.user_actions import (
    DELIVERIES,
    ActionField,
    UserAction,
    UserActions,
    flag,
    lookup_in,
    optional,
    text,
)

if TYPE_CHECKING:
    from workspace_sandbox.chat.emulator import ChatEmulator

ActionResult = dict[str, Any]
SUBTYPES = ("bot_message", "file_share", "me_message", "thread_broadcast")
MAX_NAME_LENGTH = 80


def _post(
    slack: "ChatEmulator",
    channel: Channel,
    message_text: str,
    *,
    user: str | None = None,
    thread_ts: str | None = None,
    subtype: str | None = None,
    escape: bool = True,
) -> ActionResult:
    workspace = slack.workspace
    fields = {"thread_ts": _thread(channel, thread_ts), "subtype": subtype}
    content = escape_text(message_text) if escape else message_text
    if subtype == "bot_message":
        message = workspace.post(channel, content, None, bot_id="B09CLASSIC1", username="Build", **fields)
    else:
        author = _author(workspace, channel, user)
        client = uuid5(NAMESPACE_URL, f"{channel.id}/{workspace.now()}/{len(channel.messages)}")
        message = workspace.post(channel, content, author, client_msg_id=str(client), **fields)
    return {"ts": message.ts, "channel_id": channel.id}


def _edit(slack: "ChatEmulator", channel: Channel, ts: str, message_text: str) -> ActionResult:
    message = _message(channel, ts)
    slack.workspace.change(
        channel, message, message.user or slack.workspace.team.installer_id, text=escape_text(message_text)
    )
    return {"ts": ts}


def _unfurl(slack: "ChatEmulator", channel: Channel, ts: str) -> ActionResult:
    message = _message(channel, ts)
    preview = {"id": 1, "title": "Preview", "from_url": "https://northwind.example/", "fallback": "Preview"}
    slack.workspace.change(channel, message, None, attachments=[*message.attachments, preview])
    return {"ts": ts}


def _delete(slack: "ChatEmulator", channel: Channel, ts: str) -> ActionResult:
    slack.workspace.delete(channel, _message(channel, ts))
    return {"ts": ts}


def _react(slack: "ChatEmulator", channel: Channel, ts: str, name: str, *, user: str | None = None) -> ActionResult:
    message, author = _message(channel, ts), _author(slack.workspace, channel, user)
    if author not in message.reactions.get(name, []):
        slack.workspace.react(channel, message, name, author)
    return {"ts": ts}


def _share_file(
    slack: "ChatEmulator", channel: Channel, name: str, *, content: str = "", text: str = "", user: str | None = None
) -> ActionResult:
    workspace, author = slack.workspace, _author(slack.workspace, channel, user)
    file = File(
        workspace.new_file_id(), name, author, int(workspace.now()), "", content=content.encode(), complete=True
    )
    workspace.files[file.id] = file
    message = workspace.post(channel, escape_text(text), author, subtype="file_share", files=[file.id])
    workspace.share(channel, message, file)
    return {"ts": message.ts, "file_id": file.id}


def _invite(slack: "ChatEmulator", channel: Channel, *, user: str | None = None) -> ActionResult:
    workspace, user_id = slack.workspace, user or slack.workspace.team.bot_user_id
    _check_not_im(channel)
    if user_id not in channel.members:
        workspace.join(channel, user_id, inviter=next(iter(channel.members), workspace.team.installer_id))
    return {"channel_id": channel.id}


def _kick(slack: "ChatEmulator", channel: Channel, *, user: str | None = None) -> ActionResult:
    slack.workspace.leave(channel, user or slack.workspace.team.bot_user_id)
    return {"channel_id": channel.id}


def _archive(slack: "ChatEmulator", channel: Channel, *, archived: bool = True) -> ActionResult:
    _check_not_im(channel)
    slack.workspace.archive(channel, slack.workspace.team.installer_id, archived=archived)
    return {"channel_id": channel.id}


def _rename(slack: "ChatEmulator", channel: Channel, name: str) -> ActionResult:
    _check_not_im(channel)
    if not 0 < len(name) <= MAX_NAME_LENGTH or name != name.lower() or set(name) & set(" ."):
        raise ValueError(f"{channel.id} cannot be named {name!r}")
    slack.workspace.rename(channel, name, slack.workspace.team.installer_id)
    return {"channel_id": channel.id}


def _create(slack: "ChatEmulator", name: str, *, is_private: bool = False) -> ActionResult:
    workspace = slack.workspace
    if any(channel.name == name for channel in workspace.channels.values()):
        raise ValueError(f"a channel named {name!r} already exists")
    return {"channel_id": workspace.create_channel(name, workspace.team.installer_id, private=is_private).id}


def _verify_url(slack: "ChatEmulator") -> ActionResult:
    if not slack.context.knobs["events_url"]:
        raise ValueError("the knob events_url is empty")
    return {"challenge": slack.deliverer.verify()}


def _open(slack: "ChatEmulator", value: Any) -> Channel:
    channel: Channel = CHANNEL.read(slack, value)
    if channel.is_archived:
        raise ValueError(f"{channel.id} is archived")
    return channel


def _subtype(_: Any, value: Any) -> str:
    if value not in SUBTYPES:
        raise ValueError(f"must be one of {', '.join(SUBTYPES)}, not {value!r}")
    return str(value)


def _emoji(slack: "ChatEmulator", value: Any) -> str:
    return require(emoji.canonical_name(text(slack, value)), ValueError(f"is not a known emoji: {value!r}"))


def _user(slack: "ChatEmulator", value: Any) -> str:
    if value not in slack.workspace.users:
        raise ValueError(f"is not a known user: {value!r}")
    return str(value)


def _check_not_im(channel: Channel) -> None:
    if channel.type == "im":
        raise ValueError(f"{channel.id} is a direct conversation, which cannot be changed")


def _message(channel: Channel, ts: str) -> Message:
    if ts not in channel.messages:
        raise ValueError(f"message {ts!r} does not exist in {channel.id}")
    return channel.messages[ts]


def _author(workspace: Workspace, channel: Channel, user: str | None) -> str:
    """Return the author of an action: *user*, who joins a public channel first, or any user in the channel."""
    if user is None:
        people = (member for member in channel.members if not workspace.users[member].is_bot)
        return next(people, workspace.team.installer_id)
    if user not in channel.members and channel.is_private:
        raise ValueError(f"user {user} is not in {channel.id}")
    channel.members.setdefault(user)
    return user


def _thread(channel: Channel, ts: str | None) -> str | None:
    if ts is None:
        return None
    root = channel.find_thread_parent(ts) if TS.fullmatch(ts) else None
    if root is None:
        raise ValueError(f"message {ts!r} does not exist in {channel.id}, so it cannot be replied to")
    return root.ts


CHANNEL = ActionField("channel_id", "the channel", lookup_in(lambda slack: slack.workspace.channels))
OPEN = ActionField("channel_id", "the channel", _open)
MESSAGE = (OPEN, ActionField("ts", "the message", text))
BY = optional("user", "the user who acts; default: the first person in the channel", _user)
WHO = optional("user", "the user; default: the bot", _user)
NAME = ActionField("name", "the new name", text)

USER_ACTIONS: UserActions = {
    "message": UserAction(
        _post,
        "Posts a message as a user.",
        (
            OPEN,
            ActionField("text", "the text of the message", text),
            BY,
            optional("thread_ts", "the parent message of the reply", text),
            optional("subtype", f"one of {', '.join(SUBTYPES)}", _subtype),
            optional("escape", "false posts the text unescaped, as the API returns it", flag),
        ),
        "`ts`, `channel_id`",
    ),
    "edit": UserAction(_edit, "Edits a message.", (*MESSAGE, ActionField("text", "the new text", text)), "`ts`"),
    "unfurl": UserAction(_unfurl, "Adds a link preview, as Slack does automatically.", MESSAGE, "`ts`"),
    "delete": UserAction(_delete, "Deletes a message.", MESSAGE, "`ts`"),
    "react": UserAction(
        _react, "Reacts to a message.", (*MESSAGE, ActionField("name", "an emoji without colons", _emoji), BY), "`ts`"
    ),
    "share_file": UserAction(
        _share_file,
        "Shares a file as a user.",
        (
            OPEN,
            NAME.with_description("the file name; its extension is the file type"),
            optional("content", "the text content of the file", text),
            optional("text", "the text of the message", text),
            BY,
        ),
        "`ts`, `file_id`",
    ),
    "invite": UserAction(_invite, "Adds a user to a channel.", (OPEN, WHO), "`channel_id`"),
    "kick": UserAction(_kick, "Removes a user from a channel.", (CHANNEL, WHO), "`channel_id`"),
    "archive": UserAction(_archive, "Archives a channel.", (CHANNEL,), "`channel_id`"),
    "unarchive": UserAction(partial(_archive, archived=False), "Unarchives a channel.", (CHANNEL,), "`channel_id`"),
    "rename": UserAction(_rename, "Renames a channel.", (CHANNEL, NAME), "`channel_id`"),
    "create": UserAction(
        _create,
        "Creates a channel with one member.",
        (
            NAME.with_description("the name of the channel"),
            optional("is_private", "true creates a private channel", flag),
        ),
        "`channel_id`",
    ),
    "verify_url": UserAction(_verify_url, "Sends the challenge to the URL in the knob events_url.", (), "`challenge`"),
    "deliveries": DELIVERIES,
}
