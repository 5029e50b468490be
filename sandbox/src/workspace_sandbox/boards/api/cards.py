"""Routes of cards."""

from collections.abc import Mapping
from typing import Any

from workspace_sandbox.boards import object_json
from workspace_sandbox.boards.api import labels
from workspace_sandbox.boards.arguments import Arguments
from workspace_sandbox.boards.computed_fields import CARD, LABEL, select_fields
from workspace_sandbox.boards.data.objects import Board, Card, CardList, Label, Member
from workspace_sandbox.boards.error_responses import HIDDEN_CARD, LIST_NOT_FOUND, NO_BOARD_FOR_CARD, ApiError, invalid
from workspace_sandbox.boards.request import ApiRequest
from workspace_sandbox.kit.error_responses import require

TEXTS = ("name", "desc")
FLAGS = ("closed", "dueComplete")
DATES = ("due", "start")
REFERENCES = ("idList", "idBoard", "idLabels", "idMembers", "idAttachmentCover")
PUTTABLE = frozenset({*TEXTS, *FLAGS, *DATES, *REFERENCES, "pos", "subscribed"})
IGNORED = frozenset({"dueReminder", "cover"})
"""Fields that can be set, but are not stored."""


def create(request: ApiRequest) -> Any:
    """Create a card."""
    card_list = _list_for_card(request)
    arguments = request.arguments
    values: dict[str, Any] = {
        "desc": arguments.text("desc"),
        "due": arguments.date("due"),
        "start": arguments.date("start"),
        "due_complete": arguments.has_value("dueComplete") and arguments.flag("dueComplete"),
        "labels": _labels(card_list.board, arguments),
        "members": _members(card_list.board, arguments),
    }
    name, position = arguments.text("name"), arguments.position()
    card = request.store.add_card(request.author, card_list, name, position, **values)
    return select_fields(CARD, card) | {"attachments": [], "stickers": [], "limits": {}}


def _describe(member: Member) -> dict[str, str]:
    return {"id": member.id, "name": member.full_name}


def _list_for_card(request: ApiRequest) -> CardList:
    card_list = request.store.lists.get(request.arguments.identifier("idList"))
    # Unlike the 404 of lists, the text mentions a board (observed in public live tests).
    if card_list is None:
        raise ApiError(404, NO_BOARD_FOR_CARD)
    if not request.can_see(card_list):
        raise ApiError(401, HIDDEN_CARD)
    return card_list


def _labels(board: Board, arguments: Arguments) -> list[Label]:
    return _all_of(board.labels, arguments, "idLabels")


def _members(board: Board, arguments: Arguments) -> list[Member]:
    return _all_of(board.members, arguments, "idMembers")


def _all_of(available: Mapping[str, Any], arguments: Arguments, name: str) -> list[Any]:
    identifiers = arguments.identifiers(name)
    if not all(identifier in available for identifier in identifiers):
        raise arguments.error(name)
    return [available[identifier] for identifier in identifiers]


def read(request: ApiRequest) -> Any:
    """Return a card."""
    return object_json.card(request.card, request.arguments)


def update(request: ApiRequest) -> Any:
    """Update a card, and move it to another list if one is given."""
    card, arguments = request.card, request.arguments
    # All parameters are validated before anything changes, so that a rejected request has no effect.
    target = _target(request, card)
    changes = _changes(arguments)
    new_labels = _labels(target.board, arguments) if "idLabels" in arguments else None
    members = _members(target.board, arguments) if "idMembers" in arguments else None
    position = arguments.position() if "pos" in arguments else None
    cover_id = _cover(arguments, card)
    request.store.move_card(request.author, card, target)
    request.store.update_card(request.author, card, changes)
    if position is not None:
        card.pos = request.store.resolve_position(card, position)
    card.labels = card.labels if new_labels is None else new_labels
    card.members = card.members if members is None else members
    if arguments.has_value("subscribed"):
        card.subscribed = arguments.flag("subscribed")
    card.cover_id = cover_id
    card.active_at = request.now
    return select_fields(CARD, card)


def _cover(arguments: Arguments, card: Card) -> str | None:
    if "idAttachmentCover" not in arguments:
        return card.cover_id
    cover_id = arguments.raw("idAttachmentCover") or None
    if cover_id is not None and cover_id not in card.attachments:
        raise arguments.error("idAttachmentCover")
    return cover_id


def update_field(request: ApiRequest) -> Any:
    """Update a field of a card."""
    if request.path["field"] in IGNORED:
        return select_fields(CARD, request.card)
    return update(request.as_update(PUTTABLE))


def _changes(arguments: Arguments) -> dict[str, Any]:
    return {
        **{name: arguments.text(name) for name in TEXTS if name in arguments},
        **{name: arguments.flag(name) for name in FLAGS if name in arguments},
        **{name: arguments.date(name) for name in DATES if name in arguments},
    }


def _target(request: ApiRequest, card: Card) -> CardList:
    """Return the list that a card is moved to. It can be on another board only with ``idBoard``."""
    board = card.board
    if "idBoard" in request.arguments:
        board = request.with_path(board=request.arguments.identifier("idBoard")).board
    if "idList" not in request.arguments:
        return card.card_list if board is card.board else _first_open(board)
    target = require(request.store.lists.get(request.arguments.identifier("idList")), ApiError(404, LIST_NOT_FOUND))
    if target.board is not board:
        raise ApiError(404, f"List {target.id} does not exist on board {board.id}")
    return target


def _first_open(board: Board) -> CardList:
    open_lists = sorted((one for one in board.lists.values() if not one.closed), key=lambda one: one.pos)
    if not open_lists:
        raise invalid("idList")
    return open_lists[0]


def delete(request: ApiRequest) -> Any:
    """Delete a card."""
    request.store.delete_card(request.card, request.author)
    return {"limits": {}}


def add_label(request: ApiRequest) -> Any:
    """Add a label of the board to a card."""
    card = request.card
    label = require(card.board.labels.get(request.arguments.identifier("value")), invalid("value"))
    return _add_label(request, card, label)


def create_label(request: ApiRequest) -> Any:
    """Create a label on the board and add it to a card."""
    card = request.card
    label = labels.new_label(request, card.board)
    _add_label(request, card, label)
    return select_fields(LABEL, label)


def _add_label(request: ApiRequest, card: Card, label: Label) -> list[str]:
    if label in card.labels:
        raise ApiError(400, "that label is already on the card")
    card.labels.append(label)
    card.active_at = request.now
    request.store.announce(request.author, "addLabelToCard", card, **labels.action_data(label))
    return [one.id for one in card.labels]


def remove_label(request: ApiRequest) -> Any:
    """Remove a label from a card."""
    card, label = request.card, request.label
    if label not in card.labels:
        raise ApiError(400, "that label is not on the card")
    card.labels.remove(label)
    request.store.announce(request.author, "removeLabelFromCard", card, **labels.action_data(label))
    return {"_value": None}


def add_member(request: ApiRequest) -> Any:
    """Add a member of the board to a card."""
    card = request.card
    member = require(card.board.members.get(request.arguments.identifier("value")), invalid("value"))
    if member in card.members:
        raise ApiError(400, "member is already on the card")
    card.members.append(member)
    request.store.record(request.author, "addMemberToCard", card, idMember=member.id, member=_describe(member))
    return object_json.members(card.members, Arguments({}))


def remove_member(request: ApiRequest) -> Any:
    """Remove a member from a card."""
    card, member = request.card, request.member
    if member not in card.members:
        raise ApiError(400, "member is not on the card")
    card.members.remove(member)
    request.store.record(request.author, "removeMemberFromCard", card, idMember=member.id, member=_describe(member))
    return object_json.members(card.members, Arguments({}))


def voters(request: ApiRequest) -> Any:
    """Return the members who voted for a card."""
    return object_json.members(request.card.voters, request.arguments)


def vote(request: ApiRequest) -> Any:
    """Vote for a card."""
    voted_card, voter = request.card, request.with_path(member=request.arguments.identifier("value")).member
    if voter in voted_card.voters:
        raise ApiError(400, "member has already voted on the card")
    voted_card.voters.append(voter)
    request.store.record(request.author, "voteOnCard", voted_card, voted=True)
    return object_json.members(voted_card.voters, Arguments({}))


def unvote(request: ApiRequest) -> Any:
    """Remove a vote from a card."""
    voted_card, voter = request.card, request.member
    if voter not in voted_card.voters:
        raise ApiError(400, "member has not voted on the card")
    voted_card.voters.remove(voter)
    request.store.record(request.author, "voteOnCard", voted_card, voted=False)
    return object_json.members(voted_card.voters, Arguments({}))
