"""A caller of the boards room who works on one card, and sees what the application holds."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from harness.gateway_server import Gateway, Reply
from workspace_sandbox.boards import BoardsEmulator
from workspace_sandbox.boards.access import APP
from workspace_sandbox.boards.data.state import Author

UNKNOWN = "0123456789abcdef01234567"
STEPS = ["Draft", "Ask", "Draft", "Ship 🚀", "Tell"]
"""Items of a checklist, one of them twice."""


@dataclass
class Desk:
    """A caller at work on a fresh card, who can also see what the application holds."""

    gateway: Gateway
    card_id: str

    @property
    def emulator(self) -> BoardsEmulator:
        """The application."""
        emulator = self.gateway.sandbox.emulators["boards"]
        assert isinstance(emulator, BoardsEmulator)
        return emulator

    @property
    def examples(self) -> dict[str, Any]:
        """Identifiers of what is there from the beginning."""
        return self.gateway.examples("boards")

    def at(self, card_id: str) -> "Desk":
        """The same with another card."""
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
        """The texts of the comments on the card, oldest first."""
        actions = self.emulator.store.cards[self.card_id].actions
        return [action.data["text"] for action in actions if action.type == "commentCard"]

    def checklists(self) -> list[tuple[str, list[str]]]:
        """The checklists on the card, each with its items in the order in which they are shown."""
        checklists = self.emulator.store.cards[self.card_id].checklists.values()
        ordered = [sorted(checklist.items.values(), key=lambda item: item.pos) for checklist in checklists]
        return [
            (checklist.name, [item.name for item in items])
            for checklist, items in zip(checklists, ordered, strict=True)
        ]

    def author(self, *, seconds_ago: float = 0.0, person: bool = False) -> Author:
        """The account as the author of something, through this application; or a colleague, by hand."""
        seed, at = self.emulator.seed, self.emulator.context.now() - seconds_ago
        return Author(seed.colleague, None, at) if person else Author(seed.owner, APP.id, at)

    def holds_comment(self, text: str, author: Author) -> str:
        """Have a comment on the card; its identifier."""
        return self.emulator.store.comment(author, self.emulator.store.cards[self.card_id], text).id

    def holds_checklist(self, name: str, items: Sequence[str], author: Author) -> str:
        """Have a checklist on the card, its items where ours would be if they were five; its identifier."""
        store = self.emulator.store
        checklist = store.add_checklist(author, store.cards[self.card_id], name)
        for index, item in enumerate(items):
            store.add_item(author.at, checklist, item, 16_389.0 * (index + 1))
        return checklist.id

    def is_in(self, list_id: str) -> None:
        """Have the card in another list."""
        store = self.emulator.store
        store.move_card(self.author(), store.cards[self.card_id], store.lists[list_id])

    def answers(self, path: str, bodies: Sequence[Any]) -> None:
        """Have the next requests to *path* answered with *bodies*, one after the other, as if all were well."""
        for body in bodies:
            self.gateway.fault("boards", path=path, fault="status", status=200, body=body)

    def last_action_id(self) -> str:
        """The identifier of what happened to the card last."""
        return self.emulator.store.cards[self.card_id].actions[-1].id

    def list_id(self) -> str:
        """The list that the card is in."""
        return self.emulator.store.cards[self.card_id].card_list.id

    def place(self) -> tuple[bool, bool]:
        """Whether the card is the first of its list, and whether it is the last."""
        card = self.emulator.store.cards[self.card_id]
        places = [other.pos for other in card.siblings()]
        return card.pos == min(places), card.pos == max(places)

    def cards_called(self, name: str) -> int:
        """How many cards of that name there are."""
        return [card.name for card in self.emulator.store.cards.values()].count(name)

    def sent(self) -> list[tuple[str, str]]:
        """Method and path of what reached the application."""
        return [(method, path) for method, path, _ in self.gateway.journal("boards")]


Move = Callable[[Desk], Desk]
"""Takes a desk over to another gateway before the same application."""
