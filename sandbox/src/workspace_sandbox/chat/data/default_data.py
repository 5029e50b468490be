"""The default workspace with its history, identical each time."""

from collections.abc import Callable
from dataclasses import replace
from random import Random

from workspace_sandbox.chat.data import sample_text
from workspace_sandbox.chat.data.channel import MICROSECONDS, Channel, ChannelType, Message, to_ts
from workspace_sandbox.chat.data.state import Team, User, Workspace

TEAM = Team(
    id="T04NW2K7QLM",
    name="Northwind Labs",
    domain="northwind-labs",
    app_id="A05RELAY7X2",
    bot_id="B05RELAY9KD",
    bot_user_id="U05RELAYBOT",
    bot_name="relay",
    installer_id="U04NW000001",
)

ANNEX = Team(
    id="T09HRB0RQ2K",
    name="Harbour Collective",
    domain="harbour-collective",
    app_id=TEAM.app_id,
    bot_id="B09RELAY2HC",
    bot_user_id="U09RELAYBOT",
    bot_name="relay",
    installer_id="U09HC000001",
)
"""A second workspace, in which the app is not installed by default."""

VISITOR = replace(TEAM, app_id="A07VISITOR3", bot_id="B07VISITOR8Q", bot_user_id="U07VISITBOT", bot_name="visitor")
"""The app of another vendor in the first workspace. It is in no channel, and its events are sent elsewhere."""

BEGAN = 1_735_689_600
ENDED = 1_759_000_000
"""The end of the history, which begins on 2025-01-01, in epoch seconds."""

EXAMPLES = {
    "channel_id": "C04GENERAL1",
    "channel": "general",
    "private_channel_id": "C04PRIVATE1",
    "foreign_private_channel_id": "C04FOREIGN1",
    "archived_channel_id": "C04ARCHIVE1",
    "message_ts": "1759000100.000100",
    "foreign_message_ts": "1759000200.000200",
    "user_id": "U04NW000002",
}

NAMED: list[tuple[str, str, ChannelType, bool, int]] = [
    ("C04PRIVATE1", "leadership-sync", "private_channel", True, 40),
    ("C04FOREIGN1", "compensation-2025", "private_channel", False, 12),
    ("C04WARROOM1", "war-room", "public_channel", True, 15),
    ("G04WARROOM2", "war-room", "private_channel", True, 10),
    ("C04FINANCE1", "finance", "public_channel", False, 12),
    ("G04FINANCE2", "finance", "private_channel", False, 6),
    ("C04BERLIN01", "büro-berlin", "public_channel", True, 25),
    ("C04TOKYO001", "東京オフィス", "public_channel", True, 25),
    ("C04LONGNAME", "longest-name-there-can-be-" + "x" * 54, "public_channel", True, 0),
    ("C04EMPTY001", "nobody-wrote-yet", "public_channel", True, 0),
]
"""ID, name, type, membership of the bot, and number of messages of the special channels.

Two names occur twice: a public channel and an old group, one with the bot and one without.
"""

GENERAL_MESSAGES = 240
ARCHIVED_IN_A_ROW = 60
PARTNERS = 14


def default_workspace(now: Callable[[], float]) -> Workspace:
    """Return the default workspace. *now* is its clock."""
    return _Seed(now).build()


def second_workspace(now: Callable[[], float]) -> Workspace:
    """Return the second workspace, with two users and a channel."""
    new_workspace = Workspace(ANNEX, now)
    people = [("U09HC000001", "Marit Solheim"), ("U09HC000002", "Tadeo Ruiz")]
    for identifier, name in people:
        new_workspace.users[identifier] = User(identifier, name.split()[0].lower(), name, is_admin=True)
    new_workspace.users[ANNEX.bot_user_id] = User(ANNEX.bot_user_id, ANNEX.bot_name, "Relay", is_bot=True)
    members = dict.fromkeys([*(identifier for identifier, _ in people), ANNEX.bot_user_id])
    general = Channel("C09HARBOUR1", "general", "public_channel", ANNEX.installer_id, BEGAN, members, is_general=True)
    general.updated = BEGAN * 1000
    general.add(Message(to_ts(ENDED * MICROSECONDS), "Welcome aboard ⚓", ANNEX.installer_id))
    new_workspace.channels[general.id] = general
    return new_workspace


def other_app_workspace(now: Callable[[], float]) -> Workspace:
    """Return the first workspace as seen by the other app, without any channels."""
    new_workspace = Workspace(VISITOR, now)
    new_workspace.users[VISITOR.bot_user_id] = User(VISITOR.bot_user_id, VISITOR.bot_name, "Visitor", is_bot=True)
    return new_workspace


class _Seed:
    """Fills a workspace, with its own random generator."""

    def __init__(self, now: Callable[[], float]) -> None:
        self.random = Random(20_250_101)
        self.workspace = Workspace(TEAM, now)
        self.people: list[str] = []

    def build(self) -> Workspace:
        self._users()
        self._general()
        self._old_projects()
        for number, name in enumerate(sample_text.channel_names()):
            is_ours = number % 3 == 0
            self._channel(
                f"C04PUB{number:05d}", name, "public_channel", is_member=is_ours, messages=12 if is_ours else 1
            )
        for number, name in enumerate(sample_text.private_names()):
            self._channel(f"C04PRV{number:05d}", name, "private_channel", is_member=number % 4 == 0, messages=4)
        for identifier, name, kind, is_member, messages in NAMED:
            self._channel(identifier, name, kind, is_member=is_member, messages=messages)
        self._conversations()
        return self.workspace

    def _users(self) -> None:
        for number, (real_name, display_name) in enumerate(sample_text.PEOPLE, 1):
            name = display_name.lower() if display_name and display_name.isascii() else f"person{number}"
            user = User(
                f"U04NW{number:06d}", name, real_name, display_name, title=self.random.choice(sample_text.TITLES)
            )
            user.is_admin, user.deleted = number <= 3, number in sample_text.DELETED
            self.workspace.users[user.id] = user
            if not user.deleted:
                self.people.append(user.id)
        for bot in (
            User(TEAM.bot_user_id, TEAM.bot_name, "Relay", is_bot=True),
            User("U05DEPLOYER", "deployer", "Deployer", is_bot=True),
            User("USLACKBOT", "slackbot", "Slackbot", "Slackbot"),
        ):
            self.workspace.users[bot.id] = bot

    def _general(self) -> None:
        general = self._channel("C04GENERAL1", "general", "public_channel", is_member=True, messages=0)
        general.is_general = True
        general.topic = "Company-wide announcements & work-based matters"
        general.members = dict.fromkeys([*self.people, TEAM.bot_user_id, "U05DEPLOYER"])
        self._add_messages(general, GENERAL_MESSAGES)
        own_ts, other_ts = EXAMPLES["message_ts"], EXAMPLES["foreign_message_ts"]
        release = Message(
            own_ts, "Release 4.2 is out :tada: <https://status.northwind.example|status>", TEAM.bot_user_id
        )
        release.bot_id, release.app_id = TEAM.bot_id, TEAM.app_id
        general.add(release)
        general.add(Message(other_ts, "Great work everyone, 東京 says thanks 🎉", EXAMPLES["user_id"]))
        self._channel("C04RANDOM01", "random", "public_channel", is_member=True, messages=60)

    def _old_projects(self) -> None:
        """Create consecutive archived channels, so that whole pages of a list are empty after filtering."""
        for number in range(1, ARCHIVED_IN_A_ROW + 1):
            is_member = number == 1
            identifier, name = f"C04ARCHIVE{number}", f"2024-project-{number:02d}"
            self._channel(identifier, name, "public_channel", is_member=is_member, messages=3).is_archived = True

    def _channel(self, identifier: str, name: str, kind: ChannelType, *, is_member: bool, messages: int) -> Channel:
        created = BEGAN - self.random.randrange(1, 40_000_000)
        members = self._pick_members(self.people, self.random.randint(2, 24)) + [TEAM.bot_user_id] * is_member
        channel = Channel(identifier, name, kind, members[0], created, dict.fromkeys(members))
        channel.updated = created * 1000
        channel.purpose = self.random.choice(sample_text.PURPOSES)
        self.workspace.channels[identifier] = channel
        self._add_messages(channel, messages)
        return channel

    def _add_messages(self, channel: Channel, messages: int) -> None:
        """Create messages of the members, some with threads and reactions."""
        people = [member for member in channel.members if member != TEAM.bot_user_id]
        roots: list[str] = []
        for number in range(messages):
            message = self._add_message(channel, self._random_ts(number, messages), people)
            if roots and self.random.random() < 0.3:
                message.thread_ts = self.random.choice(roots[-4:])
                channel.threads.setdefault(message.thread_ts, []).append(message.ts)
            else:
                roots.append(message.ts)

    def _random_ts(self, number: int, messages: int) -> str:
        step = (ENDED - BEGAN) // messages
        return to_ts(int((BEGAN + number * step + self.random.random() * step) * MICROSECONDS))

    def _add_message(self, channel: Channel, ts: str, people: list[str]) -> Message:
        message = Message(ts, self.random.choice(sample_text.SENTENCES), self.random.choice(people))
        if self.random.random() < 0.2:
            names = self._pick_members(sample_text.REACTIONS, self.random.randint(1, 3))
            message.reactions = {name: self._pick_members(people, 2) for name in names}
        channel.add(message)
        return message

    def _pick_members(self, everyone: list[str], number: int) -> list[str]:
        """Return *number* consecutive users from a circular list."""
        start = int(self.random.random() * len(everyone))
        return (everyone[start:] + everyone[:start])[:number]

    def _conversations(self) -> None:
        """Create direct conversations of the bot, one with a deactivated user, and one between two other users."""
        deactivated = f"U04NW{sample_text.DELETED[0]:06d}"
        pairs = [(TEAM.bot_user_id, user) for user in [*self.people[1:PARTNERS], deactivated]]
        for number, pair in enumerate([*pairs, (self.people[0], self.people[1])], 1):
            channel = Channel(f"D04IM{number:06d}", "", "im", pair[1], BEGAN, dict.fromkeys(pair))
            channel.updated = BEGAN * 1000
            self.workspace.channels[channel.id] = channel
            self._add_messages(channel, 3)
