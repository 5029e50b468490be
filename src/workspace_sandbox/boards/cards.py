"""Answers about cards and the comments on them."""

from collections.abc import Mapping
from typing import Any

from workspace_sandbox.boards import labels, views
from workspace_sandbox.boards.arguments import Arguments
from workspace_sandbox.boards.ask import ApiRequest
from workspace_sandbox.boards.fields import CARD, LABEL, pick
from workspace_sandbox.boards.state import Board, Card, CardList, Label, Member
from workspace_sandbox.boards.wire import HIDDEN_CARD, LIST_NOT_FOUND, NO_BOARD_FOR_CARD, Refusal, invalid
from workspace_sandbox.kit.refusals import require

TEXTS = ("name", "desc")
FLAGS = ("closed", "dueComplete")
DATES = ("due", "start")
REFERENCES = ("idList", "idBoard", "idLabels", "idMembers", "idAttachmentCover")
PUTTABLE = frozenset({*TEXTS, *FLAGS, *DATES, *REFERENCES, "pos", "subscribed"})
IGNORED = frozenset({"dueReminder", "cover"})
"""Fields that may be put, and are not kept."""


def create(ask: ApiRequest) -> Any:
    """Create a card."""
    card_list = _list_for_card(ask)
    arguments = ask.arguments
    values: dict[str, Any] = {
        "desc": arguments.text("desc"),
        "due": arguments.date("due"),
        "start": arguments.date("start"),
        "due_complete": arguments.given("dueComplete") and arguments.flag("dueComplete"),
        "labels": _labels(card_list.board, arguments),
        "members": _members(card_list.board, arguments),
    }
    name, place = arguments.text("name"), arguments.place()
    card = ask.store.add_card(ask.author, card_list, name, place, **values)
    return pick(CARD, card) | {"attachments": [], "stickers": [], "limits": {}}


def _told(member: Member) -> dict[str, str]:
    return {"id": member.id, "name": member.full_name}


def _list_for_card(ask: ApiRequest) -> CardList:
    card_list = ask.store.lists.get(ask.arguments.identifier("idList"))
    # Not the 404 text of lists: the text speaks of a board that it did not find (seen in public live tests).
    if card_list is None:
        raise Refusal(404, NO_BOARD_FOR_CARD)
    if not ask.sees(card_list):
        raise Refusal(401, HIDDEN_CARD)
    return card_list


def _labels(board: Board, arguments: Arguments) -> list[Label]:
    return _all_of(board.labels, arguments, "idLabels")


def _members(board: Board, arguments: Arguments) -> list[Member]:
    return _all_of(board.members, arguments, "idMembers")


def _all_of(known: Mapping[str, Any], arguments: Arguments, name: str) -> list[Any]:
    wanted = arguments.identifiers(name)
    if not all(identifier in known for identifier in wanted):
        raise arguments.refusal(name)
    return [known[identifier] for identifier in wanted]


def read(ask: ApiRequest) -> Any:
    """A card."""
    return views.card(ask.card, ask.arguments)


def update(ask: ApiRequest) -> Any:
    """Update a card, perhaps in another list."""
    card, arguments = ask.card, ask.arguments
    # Everything is read before anything changes, so that a refused request leaves the card as it was.
    target = _target(ask, card)
    changes = _changes(arguments)
    worn = _labels(target.board, arguments) if "idLabels" in arguments else None
    members = _members(target.board, arguments) if "idMembers" in arguments else None
    place = arguments.place() if "pos" in arguments else None
    cover_id = _cover(arguments, card)
    ask.store.move_card(ask.author, card, target)
    ask.store.update_card(ask.author, card, changes)
    if place is not None:
        card.pos = ask.store.place_of(card, place)
    card.labels = card.labels if worn is None else worn
    card.members = card.members if members is None else members
    if arguments.given("subscribed"):
        card.subscribed = arguments.flag("subscribed")
    card.cover_id = cover_id
    card.active_at = ask.now
    return pick(CARD, card)


def _cover(arguments: Arguments, card: Card) -> str | None:
    if "idAttachmentCover" not in arguments:
        return card.cover_id
    wanted = arguments.raw("idAttachmentCover") or None
    if wanted is not None and wanted not in card.attachments:
        raise arguments.refusal("idAttachmentCover")
    return wanted


def update_field(ask: ApiRequest) -> Any:
    """Update one field of a card."""
    if ask.path["field"] in IGNORED:
        return pick(CARD, ask.card)
    return update(ask.as_update(PUTTABLE))


def _changes(arguments: Arguments) -> dict[str, Any]:
    return {
        **{name: arguments.text(name) for name in TEXTS if name in arguments},
        **{name: arguments.flag(name) for name in FLAGS if name in arguments},
        **{name: arguments.date(name) for name in DATES if name in arguments},
    }


def _target(ask: ApiRequest, card: Card) -> CardList:
    """The list a card shall be in; only with ``idBoard`` may it be on another board."""
    board = card.board
    if "idBoard" in ask.arguments:
        board = ask.having(board=ask.arguments.identifier("idBoard")).board
    if "idList" not in ask.arguments:
        return card.card_list if board is card.board else _first_open(board)
    wanted = require(ask.store.lists.get(ask.arguments.identifier("idList")), Refusal(404, LIST_NOT_FOUND))
    if wanted.board is not board:
        raise Refusal(404, f"List {wanted.id} does not exist on board {board.id}")
    return wanted


def _first_open(board: Board) -> CardList:
    found = sorted((one for one in board.lists.values() if not one.closed), key=lambda one: one.pos)
    if not found:
        raise invalid("idList")
    return found[0]


def delete(ask: ApiRequest) -> Any:
    """Delete a card."""
    ask.store.delete_card(ask.card, ask.author)
    return {"limits": {}}


def add_label(ask: ApiRequest) -> Any:
    """Put a label of the board on a card."""
    card = ask.card
    label = require(card.board.labels.get(ask.arguments.identifier("value")), invalid("value"))
    return _wear(ask, card, label)


def create_label(ask: ApiRequest) -> Any:
    """Create a label of the board and put it on a card."""
    card = ask.card
    label = labels.new_label(ask, card.board)
    _wear(ask, card, label)
    return pick(LABEL, label)


def _wear(ask: ApiRequest, card: Card, label: Label) -> list[str]:
    if label in card.labels:
        raise Refusal(400, "that label is already on the card")
    card.labels.append(label)
    card.active_at = ask.now
    ask.store.announce(ask.author, "addLabelToCard", card, **labels.told(label))
    return [one.id for one in card.labels]


def remove_label(ask: ApiRequest) -> Any:
    """Take a label off a card."""
    card, label = ask.card, ask.label
    if label not in card.labels:
        raise Refusal(400, "that label is not on the card")
    card.labels.remove(label)
    ask.store.announce(ask.author, "removeLabelFromCard", card, **labels.told(label))
    return {"_value": None}


def add_member(ask: ApiRequest) -> Any:
    """Add a member of the board to a card."""
    card = ask.card
    member = require(card.board.members.get(ask.arguments.identifier("value")), invalid("value"))
    if member in card.members:
        raise Refusal(400, "member is already on the card")
    card.members.append(member)
    ask.store.record(ask.author, "addMemberToCard", card, idMember=member.id, member=_told(member))
    return views.members(card.members, Arguments({}))


def remove_member(ask: ApiRequest) -> Any:
    """Take a member off a card."""
    card, member = ask.card, ask.member
    if member not in card.members:
        raise Refusal(400, "member is not on the card")
    card.members.remove(member)
    ask.store.record(ask.author, "removeMemberFromCard", card, idMember=member.id, member=_told(member))
    return views.members(card.members, Arguments({}))
