"""The default account, which sees three boards, and a board of another user."""

from dataclasses import dataclass, field
from itertools import count, cycle
from typing import Any

from workspace_sandbox.boards.data.objects import (
    SHADES,
    STEP,
    Author,
    Board,
    Card,
    CardList,
    Member,
    Organization,
)
from workspace_sandbox.boards.data.state import Store
from workspace_sandbox.kit.clock import format_timestamp
from workspace_sandbox.kit.state.random_ids import ReproducibleRandom

FIRST_CREATED_AT = 1_767_600_000.0
"""The creation time of the first board, 2026-01-05 08:00 UTC."""

ORGANIZATION_ID = "63a1b2c3d4e5f60718293a4b"

STEP_SECONDS = 9_000.0
"""Seconds between two events in the default data."""

OPEN_LISTS = (
    ("Backlog", 240),
    ("To do", 130),
    ("In progress", 60),
    ("Waiting", 45),
    ("Review ✅", 55),
    ("Waiting", 20),
)
"""The open lists of the main board with their cards. One name occurs twice."""

DONE = ("Done", 90)
ARCHIVED_LISTS = (("To do", 18), ("Ideas 2024 (alt)", 9))

NAMES = (
    "bug", "feature", "documentation", "urgent", "customer", "design", "research", "security", "performance",
    "accessibility", "billing", "onboarding", "mobile", "web", "api", "Überfällig", "später", "prioridad alta",
    "日本語", "срочно", "🚀 launch", "🐛", "à valider", "legal", "hiring", "finance", "ops", "on-call",
    "infrastructure", "database", "migration", "analytics", "marketing", "sales", "support", "partner", "beta",
    "blocked", "needs info", "won't do", "good first task", "quarter 1", "quarter 2", "quarter 3", "quarter 4",
    "europe", "americas", "asia", "release notes", "translation", "contract", "procurement", "travel",
    "newsletter", "webinar", "press", "Bug", "bug",
)  # fmt: skip
"""Label names of the main board in order. ``bug`` occurs twice, and once in capitals."""

UNNAMED = ("green", "yellow", "orange", "red", "purple", "blue", None)

EXAMPLE_LABELS = ("urgent", "日本語", "press")
"""An early label, one in another script, and one beyond the default limit of 50."""

VERBS = ("Fix", "Write", "Review", "Plan", "Ship", "Measure", "Translate", "Prüfen:", "Redesign", "Test", "Investigate")
THINGS = (
    "the sign-up form", "door sensors", "release notes", "the pricing page", "invoice export", "search ranking",
    "the onboarding mail", "retry policy", "the café poster", "keyboard shortcuts", "dark mode", "日本語の翻訳",
    "dashboards",
)  # fmt: skip
DESCRIPTIONS = (
    "",
    "",
    "**Why**\n\nSee the notes of the last meeting.",
    "- [ ] talk to design\n- [ ] naïve draft 🙂",
    "",
)
COMMENTS = ("Looks good.", "Can we do this *next* week?", "Erledigt ✔", "See <https://example.com/notes>.", "+1")
STEPS = ("Draft", "Ask for feedback", "Füge Bilder hinzu", "Publish", "Tell everyone 🎉")


@dataclass(slots=True)
class DefaultAccount:
    """The default data, and the names of example objects."""

    store: Store
    owner: Member
    allowed_at: float
    colleague: Member
    examples: dict[str, Any] = field(default_factory=dict)


class DefaultDataBuilder:
    """Creates the objects in a store, each a little later than the previous one."""

    def __init__(self) -> None:
        self.store = Store(ReproducibleRandom("boards"))
        self._steps = count()
        self._cards = count()
        add = self.store.add_member
        self.owner = add(self.now(), "gatewaybot", "Gateway Bot", "bot@northwind.example", "Acts for the team.")
        self.colleague = add(self.now(), "ines.marchetti", "Inès Marchetti", "ines@northwind.example")
        northwind = Organization(ORGANIZATION_ID, "northwindtools", "Northwind Tools")
        northwind.members = {one.id: one for one in (self.owner, self.colleague)}
        northwind.roles = {self.colleague.id: "normal"}
        self.store.organizations[northwind.id] = northwind
        self.stranger = add(self.now(), "r.okafor", "Rowan Okafor", "rowan@elsewhere.example")

    def now(self) -> float:
        """Return the time of the next step."""
        return FIRST_CREATED_AT + next(self._steps) * STEP_SECONDS

    def author_for(self, member: Member) -> Author:
        """Return *member* as the author of a change in the user interface."""
        return Author(member, None, self.now())

    def board(self, name: str, desc: str = "") -> Board:
        """Create a board of the owner and the colleague."""
        board = self.store.add_board(self.author_for(self.owner), name, desc)
        board.members[self.colleague.id] = self.colleague
        return board

    def labels(self, board: Board) -> None:
        """Create all labels of the main board, in a sequence of colors."""
        at, colors = self.now(), cycle(sorted(SHADES))
        for name in NAMES[:6]:
            self.store.add_label(at, board, name, next(colors))
        for color in UNNAMED:
            self.store.add_label(at, board, "", color)
        for name in NAMES[6:]:
            self.store.add_label(at, board, name, next(colors))

    def cards(self, card_list: CardList, amount: int) -> list[Card]:
        """Create a list with varied cards."""
        return [self.card(card_list, STEP * (position + 1)) for position in range(amount)]

    def card(self, card_list: CardList, position: float) -> Card:
        """Create a card that differs from the previous ones in most fields."""
        number, labels = next(self._cards), list(card_list.board.labels.values())
        author = self.author_for(self.owner if number % 2 else self.colleague)
        label = number % max(1, len(labels))
        return self.store.add_card(
            author,
            card_list,
            f"{VERBS[number % len(VERBS)]} {THINGS[number % len(THINGS)]}",
            position,
            desc=DESCRIPTIONS[number % len(DESCRIPTIONS)],
            due=format_timestamp(author.at + number % 90 * 86_400) if number % 3 == 0 else None,
            labels=labels[label : label + number % 4 % 3],
            members=[author.member] if number % 4 == 0 else [],
        )

    def work_on(self, card: Card) -> None:
        """Add a checklist and comments to a card."""
        checklist = self.store.add_checklist(self.author_for(self.colleague), card, "Before we ship")
        for done, step in enumerate(STEPS):
            self.store.add_item(self.now(), checklist, step, complete=done < 2)
        for text, member in zip(COMMENTS, cycle((self.owner, self.colleague)), strict=False):
            self.store.comment(self.author_for(member), card, text)

    def archive(self, cards: list[Card]) -> None:
        """Archive cards."""
        for card in cards:
            self.store.update_card(self.author_for(self.colleague), card, {"closed": True})

    def archived_list(self, board: Board, name: str, amount: int) -> CardList:
        """Create an archived list that contains cards."""
        card_list = self.store.add_list(self.author_for(self.owner), board, name)
        self.cards(card_list, amount)
        self.store.update_list(self.author_for(self.owner), card_list, {"closed": True})
        return card_list


def build_default_account() -> DefaultAccount:
    """Create the default data, identical each time."""
    builder = DefaultDataBuilder()
    allowed_at = builder.now()
    examples = _main_board(builder) | _other_boards(builder)
    return DefaultAccount(builder.store, builder.owner, allowed_at, builder.colleague, examples)


def _main_board(builder: DefaultDataBuilder) -> dict[str, Any]:
    board = builder.board("Product launch 🚀", "Everything until the **launch**.")
    builder.labels(board)
    lists = [builder.store.add_list(builder.author_for(builder.owner), board, name) for name, _ in OPEN_LISTS]
    for card_list, (_, amount) in zip(lists, OPEN_LISTS, strict=True):
        builder.archive(builder.cards(card_list, amount)[::15])
    done, amount = DONE
    finished = builder.cards(builder.store.add_list(builder.author_for(builder.owner), board, done), amount)
    archived = [builder.archived_list(board, name, amount) for name, amount in ARCHIVED_LISTS]
    worked_on = [card for card_list in lists[1:4] for card in list(card_list.cards.values())[1:5]]
    for card in worked_on:
        builder.work_on(card)
    for card in finished[:10]:
        builder.store.move_card(builder.author_for(builder.colleague), card, lists[4])
    return {
        "board_id": board.id,
        "list_ids": [lists[1].id, lists[2].id],
        "labels": list(EXAMPLE_LABELS),
        "card_id": worked_on[0].id,
        "archived_list_id": archived[0].id,
    }


def _other_boards(builder: DefaultDataBuilder) -> dict[str, Any]:
    operations = builder.board("Operations")
    inbox, _ = (
        builder.store.add_list(builder.author_for(builder.owner), operations, name) for name in ("Inbox", "Running")
    )
    builder.store.add_label(builder.now(), operations, "incident", "red")
    builder.cards(inbox, 12)
    closed = builder.board("Launch of last year")
    builder.cards(builder.store.add_list(builder.author_for(builder.owner), closed, "Done"), 5)
    closed.closed = True
    hidden = builder.store.add_board(builder.author_for(builder.stranger), "Board of directors")
    secret = builder.store.add_list(builder.author_for(builder.stranger), hidden, "Agenda")
    agenda = builder.store.add_card(builder.author_for(builder.stranger), secret, "Numbers nobody else sees")
    return {
        "other_board_id": operations.id,
        "other_board_list_id": inbox.id,
        "closed_board_id": closed.id,
        "hidden_board_id": hidden.id,
        "hidden_list_id": secret.id,
        "hidden_card_id": agenda.id,
    }
