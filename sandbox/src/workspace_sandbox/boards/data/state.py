"""A store with all objects, and the rules for changing them."""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

from workspace_sandbox.boards.data.custom_field_objects import CustomField
from workspace_sandbox.boards.data.objects import (
    Action,
    Author,
    Board,
    Card,
    CardList,
    CheckItem,
    Checklist,
    Label,
    Member,
    Organization,
    Position,
    resolve_position,
)
from workspace_sandbox.boards.error_responses import ApiError
from workspace_sandbox.kit.clock import format_timestamp
from workspace_sandbox.kit.state.random_ids import ReproducibleRandom
from workspace_sandbox.kit.webhook_sender import ignore_event

LINK_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

CARD_ATTRIBUTES = {
    "name": "name",
    "desc": "desc",
    "closed": "closed",
    "due": "due",
    "start": "start",
    "dueComplete": "due_complete",
    "pos": "pos",
}
"""The vendor's names of the fields whose old values a card's actions contain."""


class Store:
    """All objects by ID, and all operations on them."""

    def __init__(self, random: ReproducibleRandom) -> None:
        self.random = random
        self.members: dict[str, Member] = {}
        self.boards: dict[str, Board] = {}
        self.lists: dict[str, CardList] = {}
        self.labels: dict[str, Label] = {}
        self.cards: dict[str, Card] = {}
        self.checklists: dict[str, Checklist] = {}
        self.actions: dict[str, Action] = {}
        self.links: dict[str, str] = {}
        self.webhooks: dict[str, Any] = {}
        self.custom_fields: dict[str, CustomField] = {}
        self.organizations: dict[str, Organization] = {}
        self.emit: Callable[[Action], None] = ignore_event
        """A callback for every action."""
        self._process = random.getrandbits(40)
        self._minted = random.getrandbits(20)

    def break_cycles(self) -> None:
        """Break all reference cycles between the objects."""
        for board in self.boards.values():
            _clear_all(board.lists, board.labels, board.actions, board.custom_fields)
        for card_list in self.lists.values():
            card_list.cards.clear()
        for card in self.cards.values():
            _clear_all(card.checklists, card.actions)
        for checklist in self.checklists.values():
            checklist.items.clear()

    def new_id(self, at: float) -> str:
        """Return a new ID from the seconds of *at*, a process and a counter."""
        self._minted += 1
        process = self._process ^ self.random.offset
        return f"{int(at) & 0xFFFFFFFF:08x}{process:010x}{self._minted & 0xFFFFFF:06x}"

    def link(self, identifier: str) -> str:
        """Return a new short link to *identifier*."""
        short_link = "".join(LINK_LETTERS[byte % len(LINK_LETTERS)] for byte in self.random.randbytes(8))
        self.links[short_link] = identifier
        return short_link

    def add_member(self, at: float, username: str, full_name: str, email: str, bio: str = "") -> Member:
        """Add a member."""
        member = Member(self.new_id(at), username, full_name, email, bio)
        self.members[member.id] = member
        return member

    def member(self, name: str) -> Member | None:
        """Return the member with *name* as ID or username, or None."""
        return self.members.get(name) or next((one for one in self.members.values() if one.username == name), None)

    def add_board(self, author: Author, name: str, desc: str = "") -> Board:
        """Create a board, which only its author can see."""
        identifier = self.new_id(author.at)
        board = Board(identifier, self.link(identifier), name, desc, members={author.member.id: author.member})
        board.organization = next((one for one in self.organizations.values() if author.member.id in one.members), None)
        self.boards[board.id] = board
        self.record(author, "createBoard", board)
        return board

    def delete_board(self, board: Board) -> None:
        """Delete a board and its contents."""
        for card in list(board.cards()):
            self.delete_card(card)
        self._remove_all(self.lists, board.lists)
        self._remove_all(self.labels, board.labels)
        self._remove_all(self.actions, [action.id for action in board.actions])
        self._remove_all(self.custom_fields, board.custom_fields)
        del self.boards[board.id]

    def add_list(self, author: Author, board: Board, name: str, position: Position = "bottom") -> CardList:
        """Create a list."""
        pos = resolve_position([other.pos for other in board.lists.values()], position)
        card_list = CardList(self.new_id(author.at), board, name, pos)
        self.lists[card_list.id] = board.lists[card_list.id] = card_list
        self.record(author, "createList", card_list)
        return card_list

    def resolve_position(self, thing: Card | CardList | Checklist | CheckItem, position: Position) -> float:
        """Return the number of *position* for *thing* among its neighbours."""
        return resolve_position([other.pos for other in thing.neighbours() if other is not thing], position)

    def update_list(self, author: Author, card_list: CardList, changes: Mapping[str, Any]) -> None:
        """Update the name, state or position of a list. Records an action for each changed value."""
        for name, value in changes.items():
            old = getattr(card_list, name)
            if old != value:
                setattr(card_list, name, value)
                self.record(author, "updateList", card_list, old={name: old})

    def move_list(self, author: Author, card_list: CardList, board: Board) -> None:
        """Move a list and its cards to another board, without their labels."""
        if board is card_list.board:
            return
        del card_list.board.lists[card_list.id]
        card_list.board = board
        board.lists[card_list.id] = card_list
        # Labels and the short numbers of cards belong to a board, so they cannot be moved.
        for card in card_list.cards.values():
            self._assign_to_board(card)
        self.record(author, "moveListToBoard", card_list)

    def add_label(self, at: float, board: Board, name: str, color: str | None) -> Label:
        """Create a label."""
        label = Label(self.new_id(at), board, name, color)
        self.labels[label.id] = board.labels[label.id] = label
        return label

    def delete_label(self, label: Label) -> None:
        """Delete a label, and remove it from cards."""
        for card in label.board.cards():
            card.labels = [other for other in card.labels if other is not label]
        del self.labels[label.id], label.board.labels[label.id]

    def add_card(
        self, author: Author, card_list: CardList, name: str, position: Position = "bottom", **values: Any
    ) -> Card:
        """Create a card. *values* are attributes of ``Card``."""
        identifier = self.new_id(author.at)
        card_list.board.cards_made += 1
        pos = resolve_position((other.pos for other in card_list.cards.values()), position)
        number = card_list.board.cards_made
        card = Card(identifier, self.link(identifier), card_list, number, name, pos, author.at, **values)
        self.cards[card.id] = card_list.cards[card.id] = card
        self.record(author, "createCard", card)
        return card

    def update_card(self, author: Author, card: Card, changes: Mapping[str, Any]) -> None:
        """Update a card with *changes* under the vendor's names. Records an action for each changed value."""
        for name, value in changes.items():
            old = getattr(card, CARD_ATTRIBUTES[name])
            if old != value:
                setattr(card, CARD_ATTRIBUTES[name], value)
                self.record(author, "updateCard", card, {name: value}, old={name: old})

    def move_card(self, author: Author, card: Card, target: CardList) -> None:
        """Move a card to another list. Does nothing if it is already there."""
        source = card.card_list
        if target is source:
            return
        del source.cards[card.id]
        target.cards[card.id] = card
        card.card_list = target
        if target.board is not source.board:
            self._assign_to_board(card)
            self.record(author, "moveCardToBoard", card, boardSource={"id": source.board.id, "name": source.board.name})
            return
        moved = {"listBefore": _named(source), "listAfter": _named(target), "old": {"idList": source.id}}
        # A move is an update with the names of both lists. There is no separate action type.
        self.record(author, "updateCard", card, {"idList": target.id}, **moved)

    def delete_card(self, card: Card, author: Author | None = None) -> None:
        """Delete a card with its checklists and actions. With an *author*, listeners are notified."""
        gone = {"id": card.id, "idShort": card.number, "shortLink": card.short_link}
        self._remove_all(self.checklists, card.checklists)
        for action in list(card.actions):
            self.delete_action(action)
        del self.cards[card.id], card.card_list.cards[card.id], self.links[card.short_link]
        if author is not None:
            self.record(author, "deleteCard", card.card_list, card=gone)

    def comment(self, author: Author, card: Card, text: str) -> Action:
        """Create a comment."""
        return self.record(author, "commentCard", card, text=text, textData={"emoji": {}})

    def edit_comment(self, action: Action, text: str, at: float) -> None:
        """Update the text of a comment."""
        action.data |= {"text": text, "dateLastEdited": format_timestamp(at)}

    def delete_action(self, action: Action) -> None:
        """Delete a comment and its action."""
        del self.actions[action.id]
        action.board.actions.remove(action)
        if action.card:
            action.card.actions.remove(action)

    def add_checklist(self, author: Author, card: Card, name: str, position: Position = "bottom") -> Checklist:
        """Add a checklist to a card."""
        pos = resolve_position([other.pos for other in card.checklists.values()], position)
        checklist = Checklist(self.new_id(author.at), card, name, pos)
        self.checklists[checklist.id] = card.checklists[checklist.id] = checklist
        self.record(author, "addChecklistToCard", card, checklist={"id": checklist.id, "name": name})
        return checklist

    def delete_checklist(self, checklist: Checklist) -> None:
        """Remove a checklist from its card."""
        del self.checklists[checklist.id], checklist.card.checklists[checklist.id]

    def add_item(
        self,
        at: float,
        checklist: Checklist,
        name: str,
        position: Position = "bottom",
        *,
        max_items: int = 200,
        **values: Any,
    ) -> CheckItem:
        """Add an item to a checklist with fewer than *max_items* items. *values* are attributes of ``CheckItem``."""
        # Trello's page on limits describes its numbers as examples that vary, so the caller provides one.
        if len(checklist.items) >= max_items:
            raise ApiError(403, {"message": "Checklist item limit exceeded", "error": "LIMIT_EXCEEDED"})
        pos = resolve_position([other.pos for other in checklist.items.values()], position)
        item = CheckItem(self.new_id(at), checklist, name, pos, **values)
        checklist.items[item.id] = item
        checklist.card.active_at = at
        return item

    def set_complete(self, author: Author, item: CheckItem, *, complete: bool) -> None:
        """Complete or reopen an item."""
        if item.complete == complete:
            return
        item.complete = complete
        item_data = {"id": item.id, "name": item.name, "state": "complete" if complete else "incomplete"}
        self.record(author, "updateCheckItemStateOnCard", item.checklist.card, checkItem=item_data)

    def record(
        self,
        author: Author,
        kind: str,
        subject: Board | CardList | Card,
        new: Mapping[str, Any] = MappingProxyType({}),
        **data: Any,
    ) -> Action:
        """Record an action on *subject* and its board. *new* are changes of the card, *data* is that of the action."""
        action = self._action(author, kind, subject, new, data)
        board, card = action.board, action.card
        board.active_at = max(board.active_at, author.at)
        self.actions[action.id] = action
        board.actions.append(action)
        if card:
            card.active_at = max(card.active_at, author.at)
            card.actions.append(action)
        self.emit(action)
        return action

    def announce(self, author: Author, kind: str, subject: Board | CardList | Card, **data: Any) -> None:
        """Notify listeners of an action that is not recorded."""
        self.emit(self._action(author, kind, subject, {}, data))

    def _action(
        self,
        author: Author,
        kind: str,
        subject: Board | CardList | Card,
        new: Mapping[str, Any],
        extra: Mapping[str, Any],
    ) -> Action:
        board = subject.board
        data: dict[str, Any] = {"board": {"id": board.id, "name": board.name, "shortLink": board.short_link}}
        card = subject if isinstance(subject, Card) else None
        card_list = subject if isinstance(subject, CardList) else card and card.card_list
        if card_list and "listBefore" not in extra:
            data["list"] = _named(card_list)
        if card:
            data["card"] = {
                "id": card.id,
                "name": card.name,
                "idShort": card.number,
                "shortLink": card.short_link,
                **new,
            }
        return Action(self.new_id(author.at), kind, author, board, card, data | dict(extra))

    def _assign_to_board(self, card: Card) -> None:
        """Assign a short number to a card that was moved to another board, and clear its labels and custom fields."""
        card.labels = []
        card.custom_items = {}
        card.board.cards_made += 1
        card.number = card.board.cards_made

    @staticmethod
    def _remove_all(collection: dict[str, Any], identifiers: Iterable[str]) -> None:
        for identifier in identifiers:
            collection.pop(identifier, None)


def _named(card_list: CardList) -> dict[str, str]:
    return {"id": card_list.id, "name": card_list.name}


def _clear_all(*collections: dict[str, Any] | list[Any]) -> None:
    for collection in collections:
        collection.clear()
