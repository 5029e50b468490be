"""A workspace with its users, conversations and events."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from workspace_sandbox.chat import object_json
from workspace_sandbox.chat.data.channel import MICROSECONDS, Channel, ChannelType, Message, to_ts
from workspace_sandbox.chat.data.files import File
from workspace_sandbox.chat.error_responses import ApiError
from workspace_sandbox.kit.webhook_sender import ignore_event

if TYPE_CHECKING:
    from workspace_sandbox.chat.api.scheduled_messages import ScheduledMessage


@dataclass(frozen=True, slots=True)
class Team:
    """The data of a workspace and of the app that is installed in it."""

    id: str
    name: str
    domain: str
    app_id: str
    bot_id: str
    bot_user_id: str
    bot_name: str
    installer_id: str

    @property
    def email_domain(self) -> str:
        """The domain of the users' email addresses."""
        return f"{self.domain}.example"

    @property
    def url(self) -> str:
        """The URL of the workspace."""
        return f"https://{self.domain}.slack.com/"


@dataclass(slots=True)
class User:
    """A user or a bot."""

    id: str
    name: str
    real_name: str
    display_name: str = ""
    deleted: bool = False
    is_bot: bool = False
    is_admin: bool = False
    title: str = ""
    tz: str = "Europe/Amsterdam"
    updated: int = 1_735_689_600


class Workspace:
    """The objects and rules of a workspace, as seen by the installed bot."""

    def __init__(self, team: Team, now: Callable[[], float]) -> None:
        self.team = team
        self.now = now
        self.users: dict[str, User] = {}
        self.channels: dict[str, Channel] = {}
        self.sent: dict[tuple[str, str], Message] = {}
        """The bot's own messages by channel and ``client_msg_id``."""
        self.files: dict[str, File] = {}
        self.scheduled: dict[str, ScheduledMessage] = {}
        self.addresses: dict[str, str] = {}
        self.emit: Callable[[dict[str, Any]], None] = ignore_event
        """A callback for every event that the bot receives."""

    @property
    def base(self) -> str:
        """The base URL of the emulator."""
        return self.addresses.get("base", "https://files.slack.com")

    def email(self, user: User) -> str:
        """Return the email address of a user, or an empty string for a bot."""
        return "" if user.is_bot or user.id == "USLACKBOT" else f"{user.name}@{self.team.email_domain}"

    def is_member(self, channel: Channel) -> bool:
        """Return True if the bot is in *channel*."""
        return self.team.bot_user_id in channel.members

    def can_see(self, channel: Channel) -> bool:
        """Return True if the bot can see *channel*."""
        return not channel.is_private or self.is_member(channel)

    def visible(self, channel_id: str) -> Channel:
        """Return the channel with that ID. Unknown and hidden channels raise the same error."""
        channel = self.channels.get(channel_id)
        if channel is None or not self.can_see(channel):
            raise ApiError("channel_not_found")
        return channel

    def joined(self, channel_id: str) -> Channel:
        """Return the channel with that ID. Raises an error if the bot is not in it."""
        channel = self.visible(channel_id)
        if not self.is_member(channel):
            raise ApiError("not_in_channel")
        return channel

    def find_public(self, name: str) -> Channel:
        """Return the public channel with that name. Private channels cannot be found by name."""
        for channel in self.channels.values():
            if channel.name == name and not channel.is_private:
                return channel
        raise ApiError("channel_not_found")

    def message(self, channel: Channel, ts: str) -> Message:
        """Return the message with that ID in *channel*."""
        try:
            return channel.messages[ts]
        except KeyError:
            raise ApiError("message_not_found") from None

    def im_partner(self, channel: Channel) -> User | None:
        """Return the user of the bot's ``im``."""
        others = [member for member in channel.members if member != self.team.bot_user_id]
        return self.users[others[0]] if channel.type == "im" and others else None

    def direct_with(self, users: list[User]) -> tuple[Channel, bool]:
        """Return the bot's conversation with exactly *users*, and whether it was created."""
        members = dict.fromkeys([self.team.bot_user_id, *(user.id for user in users)])
        kind: ChannelType = "im" if len(users) == 1 else "mpim"
        for channel in self.channels.values():
            if channel.type == kind and channel.members.keys() == members.keys():
                was_open, channel.is_open = channel.is_open, True
                return channel, not was_open
        now = int(self.now())
        if kind == "im":
            identifier, name, creator = f"D0{users[0].id[2:]}", "", users[0].id
        else:
            identifier, creator = f"C0NEW{len(self.channels):06d}", self.team.bot_user_id
            name = f"mpdm-{'--'.join(self.users[member].name for member in members)}-1"
        opened = Channel(identifier, name, kind, creator, now, members, updated=now * 1000)
        self.channels[opened.id] = opened
        return opened, True

    def create_channel(self, name: str, creator: str, *, private: bool) -> Channel:
        """Create a channel with its creator as member. Everyone receives an event about a public one."""
        identifier, now = f"C0NEW{len(self.channels):06d}", int(self.now())
        kind: ChannelType = "private_channel" if private else "public_channel"
        channel = Channel(identifier, name, kind, creator, now, {creator: None}, updated=now * 1000)
        self.channels[identifier] = channel
        event = {"id": identifier, "name": name, "name_normalized": name, "created": now, "creator": creator}
        self.emit_event(channel, {"type": "channel_created", "channel": event}, to_all=not private)
        return channel

    def archive(self, channel: Channel, user: str, *, archived: bool) -> None:
        """Archive or unarchive *channel* as *user*, and post a message about it."""
        word = "archive" if archived else "unarchive"
        self.post(channel, f"<@{user}> {word}d the channel", user, subtype=f"channel_{word}")
        channel.is_archived, channel.updated = archived, int(self.now() * 1000)
        event = {"type": f"{channel.family}_{word}", "channel": channel.id, "user": user}
        self.emit_event(channel, event, to_all=not channel.is_private)

    def rename(self, channel: Channel, name: str, user: str) -> None:
        """Rename *channel* as *user*, and post a message about it."""
        text = f'<@{user}> has renamed the channel from "{channel.name}" to "{name}"'
        change = {"old_name": channel.name, "name": name}
        channel.previous_names, channel.name = [channel.name, *channel.previous_names], name
        channel.updated = int(self.now() * 1000)
        self.post(channel, text, user, subtype="channel_name", extra=change)
        renamed = {"id": channel.id, "name": name, "name_normalized": name, "created": channel.created}
        self.emit_event(
            channel, {"type": f"{channel.family}_rename", "channel": renamed}, to_all=not channel.is_private
        )

    def set_note(self, channel: Channel, what: Literal["topic", "purpose"], value: str, user: str) -> None:
        """Set the topic or the purpose of *channel* as *user*, and post a message about it."""
        setattr(channel, what, value)
        channel.updated = int(self.now() * 1000)
        text = f"<@{user}> set the channel {what}: {value}" if value else f"<@{user}> cleared the channel {what}"
        self.post(channel, text, user, subtype=f"channel_{what}", extra={what: value})

    def post(self, channel: Channel, text: str, user: str | None, **fields: Any) -> Message:
        """Post *text* in *channel*."""
        message = Message(channel.next_ts(self.now()), text, user, **fields)
        channel.add(message)
        self.emit_event(channel, object_json.message_event(self, channel, message))
        if f"<@{self.team.bot_user_id}>" in text and user != self.team.bot_user_id and channel.type != "im":
            self.emit_event(channel, object_json.mention_event(self, channel, message))
        return message

    def post_as_bot(self, channel: Channel, text: str, **fields: Any) -> Message:
        """Post *text* in *channel* as the bot."""
        team = self.team
        message = self.post(channel, text, team.bot_user_id, bot_id=team.bot_id, app_id=team.app_id, **fields)
        if message.client_msg_id:
            self.sent[channel.id, message.client_msg_id] = message
        return message

    def change(self, channel: Channel, message: Message, editor: str | None, **fields: Any) -> None:
        """Replace *fields* of *message*. Without an *editor*, it does not count as edited (a link preview)."""
        before = object_json.message(self, channel, message)
        for name, value in fields.items():
            setattr(message, name, value)
        if editor is not None:
            message.edited = {"user": editor, "ts": f"{int(self.now())}.000000"}
        after = object_json.message(self, channel, message)
        self.emit_event(channel, self._hidden(channel, "message_changed", message=after, previous_message=before))

    def delete(self, channel: Channel, message: Message) -> None:
        """Delete *message*. If it has replies, a tombstone remains."""
        before = object_json.message(self, channel, message)
        if channel.threads.get(message.ts):
            message.subtype, message.user, message.text = "tombstone", "USLACKBOT", "This message was deleted."
            message.bot_id, message.app_id, message.metadata = None, None, None
        else:
            del channel.messages[message.ts]
            channel.pins.pop(message.ts, None)
            if message.thread_ts in channel.threads:
                channel.threads[message.thread_ts].remove(message.ts)
        event = self._hidden(channel, "message_deleted", deleted_ts=message.ts, previous_message=before)
        self.emit_event(channel, event)

    def join(self, channel: Channel, user: str, inviter: str | None = None) -> None:
        """Add *user* to *channel*, and post a message about it."""
        channel.members[user] = None
        event = {"type": "member_joined_channel", "user": user, "channel": channel.id, "team": self.team.id}
        self.emit_event(channel, event | {"channel_type": channel.id[0]} | ({"inviter": inviter} if inviter else {}))
        self.post(channel, f"<@{user}> has joined the channel", user, subtype="channel_join")

    def new_file_id(self) -> str:
        """Return an ID for a new file."""
        return f"F0NEW{len(self.files):06d}"

    def share(self, channel: Channel, message: Message, file: File) -> None:
        """Record that *message* shares *file* in *channel*."""
        file.shares.setdefault(channel.id, []).append(message.ts)
        event = {"type": "file_shared", "channel_id": channel.id, "user_id": file.user}
        self.emit_event(channel, event | {"file_id": file.id, "file": {"id": file.id}})

    def leave(self, channel: Channel, user: str) -> None:
        """Remove *user* from *channel*."""
        if user not in channel.members:
            return
        location = {"channel": channel.id, "channel_type": channel.id[0], "team": self.team.id}
        self.emit_event(channel, {"type": "member_left_channel", "user": user} | location)
        del channel.members[user]
        if user == self.team.bot_user_id:
            event = {"type": f"{channel.family}_left", "channel": channel.id, "actor_id": user}
            self.emit_event(channel, event, to_all=True)

    def react(self, channel: Channel, message: Message, name: str, user: str) -> None:
        """Add a reaction of *user* to *message*."""
        message.reactions[name] = [*message.reactions.get(name, []), user]
        self.emit_event(channel, object_json.reaction_event("reaction_added", channel, message, name, user))

    def unreact(self, channel: Channel, message: Message, name: str, user: str) -> None:
        """Remove a reaction of *user* from *message*."""
        message.reactions[name].remove(user)
        if not message.reactions[name]:
            del message.reactions[name]
        self.emit_event(channel, object_json.reaction_event("reaction_removed", channel, message, name, user))

    def emit_event(self, channel: Channel | None, event: dict[str, Any], *, to_all: bool = False) -> None:
        """Emit *event* if the bot is in *channel*, or unconditionally with *to_all*."""
        if to_all or channel is None or self.is_member(channel):
            self.emit({"event_ts": to_ts(int(self.now() * MICROSECONDS))} | event)

    def _hidden(self, channel: Channel, subtype: str, **fields: Any) -> dict[str, Any]:
        """Return a hidden message event with its own ID."""
        ts = channel.next_ts(self.now())
        common = {"type": "message", "subtype": subtype, "hidden": True, "channel": channel.id, "ts": ts}
        return common | {"event_ts": ts, "channel_type": channel.event_type} | fields
