"""A caller that writes to one card, with a view of the emulator's state."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from harness.gateway_server import Gateway, Reply
from workspace_sandbox.boards import BoardsEmulator
from workspace_sandbox.boards.access import APP
from workspace_sandbox.boards.data.objects import Author

UNKNOWN = "0123456789abcdef01234567"
STEPS = ["Draft", "Ask", "Draft", "Ship 🚀", "Announce"]
"""Items of a checklist, one of them twice."""


@dataclass
class CardClient:
    """A caller of the boards operations for one card, with access to the emulator's state."""

    gateway: Gateway
    card_id: str

    @property
    def emulator(self) -> BoardsEmulator:
        """The emulator."""
        emulator = self.gateway.sandbox.emulators["boards"]
        assert isinstance(emulator, BoardsEmulator)
        return emulator

    @property
    def examples(self) -> dict[str, Any]:
        """Identifiers of seeded objects."""
        return self.gateway.examples("boards")

    def with_card(self, card_id: str) -> "CardClient":
        """Return a client for another card."""
        return replace(self, card_id=card_id)

    def comment(self, text: Any = "Ship it", **more: Any) -> Reply:
        """Comment on the card."""
        return self.gateway.post(f"/boards/cards/{self.card_id}/comments", text=text, **more)

    def move(self, list_id: Any, **more: Any) -> Reply:
        """Move the card."""
        return self.gateway.post(f"/boards/cards/{self.card_id}/move", list_id=list_id, **more)

    def attach(self, name: Any, items: Any, **more: Any) -> Reply:
        """Attach a checklist to the card."""
        return self.gateway.post(f"/boards/cards/{self.card_id}/checklists", name=name, items=items, **more)

    def create(self, name: Any = "Fix door", **more: Any) -> Reply:
        """Create a card in the first list of the examples, unless another is named."""
        return self.gateway.post("/boards/cards", **{"list_id": self.examples["list_ids"][0], "name": name} | more)

    def comments(self) -> list[str]:
        """Return the texts of the comments on the card, oldest first."""
        actions = self.emulator.store.cards[self.card_id].actions
        return [action.data["text"] for action in actions if action.type == "commentCard"]

    def checklists(self) -> list[tuple[str, list[str]]]:
        """Return the checklists on the card, each with its items in order of position."""
        checklists = self.emulator.store.cards[self.card_id].checklists.values()
        ordered = [sorted(checklist.items.values(), key=lambda item: item.pos) for checklist in checklists]
        return [
            (checklist.name, [item.name for item in items])
            for checklist, items in zip(checklists, ordered, strict=True)
        ]

    def author(self, *, seconds_ago: float = 0.0, person: bool = False) -> Author:
        """Return the account as an author who uses our app, or a colleague who uses none if *person* is true."""
        seed, at = self.emulator.seed, self.emulator.context.now() - seconds_ago
        return Author(seed.colleague, None, at) if person else Author(seed.owner, APP.id, at)

    def add_stored_comment(self, text: str, author: Author) -> str:
        """Add a comment to the card in the emulator, and return its identifier."""
        return self.emulator.store.comment(author, self.emulator.store.cards[self.card_id], text).id

    def add_stored_checklist(self, name: str, items: Sequence[str], author: Author) -> str:
        """Add a checklist to the card in the emulator, and return its identifier.

        Its items have the positions that the gateway gives to items of a list of five.
        """
        store = self.emulator.store
        checklist = store.add_checklist(author, store.cards[self.card_id], name)
        for index, item in enumerate(items):
            store.add_item(author.at, checklist, item, 16_389.0 * (index + 1))
        return checklist.id

    def inject_responses(self, path: str, bodies: Sequence[Any]) -> None:
        """Make the emulator respond to the next requests to *path* with *bodies*, one after the other."""
        for body in bodies:
            self.gateway.fault("boards", path=path, fault="status", status=200, body=body)

    def last_action_id(self) -> str:
        """Return the identifier of the card's last action."""
        return self.emulator.store.cards[self.card_id].actions[-1].id

    def get_list_id(self) -> str:
        """Return the identifier of the card's list."""
        return self.emulator.store.cards[self.card_id].card_list.id

    def is_first_and_last(self) -> tuple[bool, bool]:
        """Return whether the card is the first of its list, and whether it is the last."""
        card = self.emulator.store.cards[self.card_id]
        positions = [other.pos for other in card.neighbours()]
        return card.pos == min(positions), card.pos == max(positions)

    def count_cards(self, name: str) -> int:
        """Return the number of cards of that name."""
        return [card.name for card in self.emulator.store.cards.values()].count(name)

    def list_requests(self) -> list[tuple[str, str]]:
        """Return method and path of the requests that reached the emulator."""
        return [(method, path) for method, path, _ in self.gateway.journal("boards")]


Switch = Callable[[CardClient], CardClient]
"""Returns a client of another gateway in front of the same emulator."""
