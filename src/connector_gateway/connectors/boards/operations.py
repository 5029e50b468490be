"""The five boards operations."""

import asyncio
from collections.abc import Awaitable, Sequence
from functools import partial
from typing import TypeVar

from connector_gateway.connectors.boards import mapping, wire
from connector_gateway.connectors.boards.client import BoardsClient
from connector_gateway.connectors.boards.mapping import Kept
from connector_gateway.connectors.boards.models import (
    AttachChecklist,
    BoardDescription,
    Checklist,
    Comment,
    CommentOnCard,
    CreateCard,
    CreatedCard,
    DescribeBoard,
    MoveCard,
    MovedCard,
)
from connector_gateway.kit.call import Call, LookUp
from connector_gateway.kit.errors import (
    BoardNotAuthorised,
    CardNotFound,
    GatewayError,
    LabelNotOnBoard,
    ListNotFound,
    UpstreamConflict,
)
from connector_gateway.kit.operation import reads, writes
from connector_gateway.kit.writing import Found, Intent, Learned, Sent, Step

BoardsCall = Call[BoardsClient]
A = TypeVar("A")
B = TypeVar("B")

REMEMBER_SECONDS = 24 * 60 * 60.0
"""How long the account and the checklists begun by this process are remembered: as long as an idempotency key holds."""

WHOLE = "whole"
"""What is remembered of a finished checklist; for an unfinished one, its wanted items are remembered."""

ON_A_CARD = (BoardNotAuthorised, CardNotFound, UpstreamConflict)


# The steps that change something


async def _send_card(call: BoardsCall, intent: Intent, _: str) -> Learned:
    return mapping.kept_card(await call.upstream.create_card(intent))


async def _find_cards(call: BoardsCall, intent: Intent, sent: Sent) -> Sequence[Found]:
    """The cards that this application made in the list, and that are what was to be made."""
    found = []
    for action in await _our_actions(
        call, call.upstream.get_list_actions(intent["idList"], "createCard", sent.earliest)
    ):
        told = action.data.card
        if told is not None and mapping.same_text(told.name, intent["name"]):
            card = await call.upstream.get_card(told.id)
            if mapping.is_card(card, intent):
                found.append(Found(mapping.kept_card(card), card.id, action.date.timestamp()))
    return found


async def _send_move(call: BoardsCall, intent: Intent, _: str) -> Learned:
    # Never with ``idBoard``: it would take the card to another board, which the vendor otherwise refuses.
    change = {"idList": intent["list_id"], "pos": intent["position"]}
    return mapping.kept_move(*await call.upstream.move_card(intent["card_id"], change))


async def _find_move(call: BoardsCall, intent: Intent, sent: Sent) -> Sequence[Found]:
    """The card, if it is where it was to go; of a move within one list nothing can be seen afterwards."""
    if intent["within"]:
        return []
    card = await call.upstream.get_card(intent["card_id"])
    if card.id_list != intent["list_id"]:
        return []
    moves = await call.upstream.get_card_actions(card.id, "updateCard:idList", sent.earliest)
    return [Found(mapping.kept_move(card.id, moves[0].date if moves else card.date_last_activity))]


async def _send_comment(call: BoardsCall, intent: Intent, _: str) -> Learned:
    action = await call.upstream.add_comment(intent["card_id"], intent["text"])
    if action.app_creator is not None:
        call.memory.put("app", action.app_creator.id, REMEMBER_SECONDS)
    return mapping.kept_comment(action, intent["card_id"])


async def _find_comments(call: BoardsCall, intent: Intent, sent: Sent) -> Sequence[Found]:
    """The comments of that text that this application posted on the card."""
    listing = call.upstream.get_card_actions(intent["card_id"], "commentCard", sent.earliest)
    return [
        Found(mapping.kept_comment(action, intent["card_id"]), action.id, action.date.timestamp())
        for action in await _our_actions(call, listing)
        if mapping.same_text(action.data.text, intent["text"])
    ]


async def _send_checklist(call: BoardsCall, intent: Intent, _: str) -> Learned:
    return mapping.kept_checklist(await call.upstream.create_checklist(intent["card_id"], intent["name"]))


async def _find_checklists(call: BoardsCall, intent: Intent, sent: Sent) -> Sequence[Found]:
    """The checklists of that name that this application put on the card, and that are empty."""
    present = await call.upstream.get_card_checklists(intent["card_id"])
    empty = {one.id: one for one in mapping.called(intent["name"], present) if not one.check_items}
    listing = call.upstream.get_card_actions(intent["card_id"], "addChecklistToCard", sent.earliest)
    return [
        Found(mapping.kept_checklist(empty[made.id]), made.id, action.date.timestamp())
        for action in await _our_actions(call, listing)
        if (made := action.data.checklist) is not None and made.id in empty
    ]


async def _send_item(call: BoardsCall, intent: Intent, _: str) -> Learned:
    card_id, checklist_id = intent["card_id"], intent["checklist_id"]
    item = await call.upstream.create_check_item(card_id, checklist_id, intent["name"], intent["place"])
    return {"item_id": item.id}


async def _find_item(call: BoardsCall, intent: Intent, _: Sent) -> Sequence[Found]:
    """The item at the position that was chosen for it; the position is its mark."""
    for checklist in await call.upstream.get_card_checklists(intent["card_id"]):
        if checklist.id == intent["checklist_id"]:
            return [Found({"item_id": item.id}) for item in checklist.check_items if mapping.is_item(item, intent)]
    return []


CREATE_CARD = Step("create the card", _send_card, _find_cards, makes="card", tells=mapping.told_card)
MOVE_CARD = Step("move the card", _send_move, _find_move, tells=mapping.told_card)
POST_COMMENT = Step("post the comment", _send_comment, _find_comments, makes="comment", tells=mapping.told_comment)
CREATE_CHECKLIST = Step(
    "create the checklist", _send_checklist, _find_checklists, makes="checklist", tells=mapping.told_checklist
)
ADD_ITEM = Step("add an item", _send_item, _find_item)


# The operations


@writes("POST /cards", errors=[BoardNotAuthorised, ListNotFound, LabelNotOnBoard, UpstreamConflict])
async def create_card(call: BoardsCall, params: CreateCard) -> CreatedCard:
    """Create a card at the bottom of a list.

    Labels are named; if the board lacks any of them, nothing is created.
    """
    body = await call.plan(partial(_new_card, call, params))
    return mapping.created_card(await call.step(CREATE_CARD, body), params.labels)


@writes("POST /cards/{card_id}/move", errors=[*ON_A_CARD, ListNotFound])
async def move_card(call: BoardsCall, params: MoveCard) -> MovedCard:
    """Move a card to another list of its board, and comment on it if wanted.

    When the comment cannot be posted the move stands, and ``comment_posted`` is false.
    """
    async with call.exclusive(f"card {await _card_id(call, params.card_id)}"):
        move = await call.plan(partial(_move, call, params))
        moved = await call.step(MOVE_CARD, move)
    comment = None
    if params.comment is not None:
        comment = await call.try_step(POST_COMMENT, {"card_id": move["card_id"], "text": params.comment})
    return mapping.moved_card(move, moved, comment_posted=comment is not None)


@writes("POST /cards/{card_id}/comments", errors=ON_A_CARD)
async def comment_on_card(call: BoardsCall, params: CommentOnCard) -> Comment:
    """Post a comment on a card."""
    card_id = await call.plan(partial(_card_id, call, params.card_id))
    return mapping.comment(await call.step(POST_COMMENT, {"card_id": card_id, "text": params.text}))


@reads("GET /lists", errors=[BoardNotAuthorised])
async def describe_board(call: BoardsCall, params: DescribeBoard) -> BoardDescription:
    """List the open lists of a board with the number of cards in each, and the board's labels."""
    board = await call.upstream.get_board(params.board_id, labels=params.include_labels)
    lists, cards = await _together(
        call.upstream.get_board_lists(params.board_id), call.upstream.get_board_cards(params.board_id)
    )
    return mapping.board(board, lists, cards)


@writes("POST /cards/{card_id}/checklists", errors=ON_A_CARD)
async def attach_checklist(call: BoardsCall, params: AttachChecklist) -> Checklist:
    """Attach a checklist with its items to a card.

    A checklist that an interrupted call of the same name and items has left unfinished is finished.
    """
    card_id = await _card_id(call, params.card_id)
    async with call.exclusive(f"checklists {card_id}"):
        plan = await call.plan(partial(_checklist, call, card_id, params))
        if plan["skipped"] is not None:
            return mapping.checklist(plan["skipped"], card_id, 0, skipped=True)
        begun = plan["unfinished"] or await call.step(CREATE_CHECKLIST, {"card_id": card_id, "name": params.name})
        await _add_items(call, card_id, begun, params.items)
    return mapping.checklist(begun, card_id, len(params.items))


# Planning


async def _new_card(call: BoardsCall, params: CreateCard) -> Kept:
    """The body of a new card, with everything that it names looked up."""
    target = await _open_list(call, params.list_id)
    labels = await call.upstream.get_board_labels(target.id_board) if params.labels else []
    return mapping.new_card(target.id, params, mapping.label_ids(labels, params.labels))


async def _move(call: BoardsCall, params: MoveCard) -> Kept:
    """Where a card is and where it is to go, on the same board."""
    card, target = await _together(call.upstream.get_card(params.card_id), _open_list(call, params.list_id))
    if target.id_board != card.id_board:
        raise ListNotFound(
            f"List {target.id} is not on board {card.id_board}, where the card is.",
            {"parameter": "list_id", "value": params.list_id},
        )
    return mapping.move(card, target, params.position)


async def _checklist(call: BoardsCall, card_id: str, params: AttachChecklist) -> Kept:
    """Whether there is one already: to be left as it is, or to be finished."""
    namesakes = mapping.called(params.name, await call.upstream.get_card_checklists(card_id))
    unfinished = await _unfinished(call, card_id, namesakes, params.items)
    skips = namesakes and unfinished is None and params.skip_if_present
    return {"unfinished": unfinished, "skipped": mapping.kept_checklist(namesakes[0]) if skips else None}


# Cards


async def _card_id(call: BoardsCall, card_id: str) -> str:
    """The full identifier of a card, which may also be named by its short link."""

    async def find() -> str:
        return (await call.upstream.get_card(card_id)).id

    known = mapping.full_identifier(card_id)
    return await call.recall(LookUp(f"card {card_id}", REMEMBER_SECONDS, find)) if known is None else known


async def _open_list(call: BoardsCall, list_id: str) -> wire.CardList:
    """A list that is not archived."""
    found = await call.upstream.get_list(mapping.list_identifier(list_id))
    if found.closed:
        raise ListNotFound(f"List {found.id} is archived.", {"parameter": "list_id", "value": list_id})
    return found


async def _together(first: Awaitable[A], second: Awaitable[B]) -> tuple[A, B]:
    """Both results, asked for at the same time; if both are refused, the refusal of the first."""
    one, other = await asyncio.gather(first, second, return_exceptions=True)
    if isinstance(one, BaseException):
        raise one
    if isinstance(other, BaseException):
        raise other
    return one, other


# Checklists


async def _add_items(call: BoardsCall, card_id: str, begun: Kept, wanted: Sequence[str]) -> None:
    """Add the missing items one after the other, so that only one at a time can be in doubt."""
    remembered = f"checklist {begun['id']}"
    call.memory.put(remembered, list(wanted), REMEMBER_SECONDS)
    # One request for each item: the vendor takes no more at once.
    for _, name, place in mapping.missing_items(begun, wanted):
        item = {"card_id": card_id, "checklist_id": begun["id"], "name": name, "place": place}
        settles_at = call.clock.now() + call.settle_seconds
        try:
            await call.step(ADD_ITEM, item)
        except GatewayError as error:
            if error.doubt is not None:
                # For a later call without a key, which would add the item again.
                call.memory.put(f"unsettled {begun['id']}", settles_at, call.settle_seconds)
            raise
    call.memory.put(remembered, WHOLE, REMEMBER_SECONDS)


async def _unfinished(
    call: BoardsCall, card_id: str, namesakes: Sequence[wire.Checklist], wanted: Sequence[str]
) -> Kept | None:
    """The unfinished checklist that a call of this account began with these items, if there is one.

    If this process does not remember it, its items, their positions and its maker identify it.
    """
    for checklist in namesakes:
        remembered = call.memory.get(f"checklist {checklist.id}")
        unknown = remembered is None and mapping.is_unfinished(checklist, wanted)
        begun = remembered == list(wanted) or (unknown and await _is_our_checklist(call, card_id, checklist))
        if begun and await call.may_resume("checklist", checklist.id):
            return await _settled(call, card_id, checklist)
    return None


async def _settled(call: BoardsCall, card_id: str, checklist: wire.Checklist) -> Kept:
    """A checklist to be finished, once no item can appear any more that an earlier call without a key has sent."""
    settles_at = call.memory.get(f"unsettled {checklist.id}")
    if settles_at is not None:
        await call.require_settled(settles_at, "An item that an earlier call sent may still be added.")
        present = await call.upstream.get_card_checklists(card_id)
        checklist = next((one for one in present if one.id == checklist.id), checklist)
    return mapping.kept_checklist(checklist)


async def _is_our_checklist(call: BoardsCall, card_id: str, checklist: wire.Checklist) -> bool:
    """Whether this application put a checklist on the card lately."""
    since = call.clock.now() - REMEMBER_SECONDS
    actions = await _our_actions(call, call.upstream.get_card_actions(card_id, "addChecklistToCard", since))
    return any(made.id == checklist.id for action in actions if (made := action.data.checklist) is not None)


# Recognising what a write has made


async def _our_actions(call: BoardsCall, listing: Awaitable[Sequence[wire.Action]]) -> Sequence[wire.Action]:
    """Those of *listing* that this account did through this application, oldest first."""
    actions = await listing
    me = await call.recall(LookUp("me", REMEMBER_SECONDS, call.upstream.get_me))
    # Which application is ours is told by the answer to our first comment, and nowhere else.
    app = call.memory.get("app")
    return [action for action in reversed(actions) if mapping.is_by(action, me.id, app)]
