"""Creation, moves and comments of cards."""

from collections.abc import Sequence
from functools import partial

from connector_gateway.connectors.boards import mapping, models, vendor_models
from connector_gateway.connectors.boards.client import REQUEST
from connector_gateway.connectors.boards.mapping import StoredData
from connector_gateway.connectors.boards.operations.cached_lookups import (
    ON_A_CARD,
    REMEMBER_SECONDS,
    BoardsCall,
    full_card_id,
)
from connector_gateway.connectors.boards.operations.in_doubt_search import our_actions
from connector_gateway.kit.concurrent_reads import gather_pair
from connector_gateway.kit.errors import BoardNotAuthorised, LabelNotOnBoard, ListNotFound
from connector_gateway.kit.operation import writes
from connector_gateway.kit.upstream.budget import TypicalRequests
from connector_gateway.kit.write_steps import Match, SentStep, StepInput, StepResult, WriteStep

# Write steps


async def _send_card(ctx: BoardsCall, intent: StepInput, _: str) -> StepResult:
    return mapping.stored_card(await ctx.upstream.create_card(intent))


async def _find_cards(ctx: BoardsCall, intent: StepInput, sent: SentStep) -> Sequence[Match]:
    """Return the cards that this app created in the list and that match the intent."""
    matches = []
    for action in await our_actions(ctx, ctx.upstream.get_list_actions(intent["idList"], "createCard", sent.earliest)):
        card_ref = action.data.card
        if card_ref is not None and mapping.same_text(card_ref.name, intent["name"]):
            card = await ctx.upstream.get_card(card_ref.id)
            if mapping.is_card(card, intent):
                matches.append(Match(mapping.stored_card(card), card.id, action.date.timestamp()))
    return matches


async def _send_move(ctx: BoardsCall, intent: StepInput, _: str) -> StepResult:
    # Without ``idBoard``, which would move the card to another board. The vendor rejects that otherwise.
    change = {"idList": intent["list_id"], "pos": intent["position"]}
    return mapping.stored_move(*await ctx.upstream.move_card(intent["card_id"], change))


async def _find_move(ctx: BoardsCall, intent: StepInput, sent: SentStep) -> Sequence[Match]:
    """Return the card if it is in the target list. A move within one list leaves no evidence."""
    if intent["within"]:
        return []
    card = await ctx.upstream.get_card(intent["card_id"])
    if card.id_list != intent["list_id"]:
        return []
    moves = await ctx.upstream.get_card_actions(card.id, "updateCard:idList", sent.earliest)
    return [Match(mapping.stored_move(card.id, moves[0].date if moves else card.date_last_activity))]


async def _send_comment(ctx: BoardsCall, intent: StepInput, _: str) -> StepResult:
    action = await ctx.upstream.add_comment(intent["card_id"], intent["text"])
    if action.app_creator is not None:
        ctx.cache.put("app", action.app_creator.id, REMEMBER_SECONDS)
    return mapping.stored_comment(action, intent["card_id"])


async def _find_comments(ctx: BoardsCall, intent: StepInput, sent: SentStep) -> Sequence[Match]:
    listing = ctx.upstream.get_card_actions(intent["card_id"], "commentCard", sent.earliest)
    return [
        Match(mapping.stored_comment(action, intent["card_id"]), action.id, action.date.timestamp())
        for action in await our_actions(ctx, listing)
        if mapping.same_text(action.data.text, intent["text"])
    ]


CREATE_CARD = WriteStep(
    "create the card", _send_card, _find_cards, object_kind="card", public_result=mapping.public_card
)
MOVE_CARD = WriteStep(
    "move the card",
    _send_move,
    _find_move,
    changes=lambda intent: [f"card {intent['card_id']}"],
    public_result=mapping.public_card,
    dry_run_result=mapping.dry_run_move,
)
POST_COMMENT = WriteStep(
    "post the comment",
    _send_comment,
    _find_comments,
    object_kind="comment",
    public_result=mapping.public_comment,
    notifies=lambda intent: models.mentions(intent["text"]),
)


# The operations


@writes(
    "POST /cards",
    errors=[BoardNotAuthorised, ListNotFound, LabelNotOnBoard],
    targets=["list_id"],
    requests=TypicalRequests(3 * REQUEST, 3 * REQUEST, "list and labels: Trello accepts cards in archived lists"),
    examples=[
        lambda one: {
            "list_id": one["list_ids"][0],
            "name": "Press release",
            "due": "2026-12-01T09:00:00Z",
            "labels": ["urgent"],
        }
    ],
)
async def create_card(ctx: BoardsCall, params: models.CreateCard) -> models.CreatedCard:
    """Create a new card in a list of a board, at its bottom.

    Use ``boards_describe_board`` to find the list and the names of labels. If the board lacks a label, nothing is
    created.
    """
    body = await ctx.plan(partial(_new_card, ctx, params))
    return mapping.created_card(await ctx.step(CREATE_CARD, body), params.labels)


@writes(
    "POST /cards/{card_id}/move",
    errors=[*ON_A_CARD, ListNotFound],
    overwrites=True,
    requests=TypicalRequests(4 * REQUEST, 4 * REQUEST, "card and list, concurrently; a comment"),
    examples=[
        lambda one: {"card_id": one["card_id"], "list_id": one["list_ids"][1], "comment": "Ready to start"},
        lambda one: {"card_id": one["card_id"], "list_id": one["list_ids"][0]},
    ],
)
async def move_card(ctx: BoardsCall, params: models.MoveCard) -> models.MovedCard:
    """Move a card to another list of its board, to the top or the bottom, optionally with a comment.

    For a comment alone, use ``boards_comment_on_card``.

    If the comment cannot be posted, the card is moved anyway and ``comment_posted`` is false.
    """
    async with ctx.exclusive(f"card {await full_card_id(ctx, params.card_id)}"):
        move = await ctx.plan(partial(_move, ctx, params))
        moved = await ctx.step(MOVE_CARD, move)
    comment = None
    if params.comment is not None:
        comment = await ctx.try_step(POST_COMMENT, {"card_id": move["card_id"], "text": params.comment})
    return mapping.moved_card(move, moved, comment_posted=comment is not None)


@writes(
    "POST /cards/{card_id}/comments",
    errors=ON_A_CARD,
    requests=TypicalRequests(REQUEST, REQUEST),
    examples=[lambda one: {"card_id": one["card_id"], "text": "Ship it", "idempotency_key": "ship-it"}],
)
async def comment_on_card(ctx: BoardsCall, params: models.CommentOnCard) -> models.Comment:
    """Post a comment on a card.

    To move the card as well, use ``boards_move_card``.
    """
    card_id = await ctx.plan(partial(full_card_id, ctx, params.card_id))
    return mapping.comment(await ctx.step(POST_COMMENT, {"card_id": card_id, "text": params.text}))


# Planning


async def _new_card(ctx: BoardsCall, params: models.CreateCard) -> StoredData:
    target = await _open_list(ctx, params.list_id)
    labels = await ctx.upstream.get_board_labels(target.id_board) if params.labels else []
    label_ids = mapping.label_ids(labels, params.labels)
    ctx.record_casts(partial(mapping.label_casts, params.labels, label_ids))
    return mapping.new_card(target.id, params, label_ids)


async def _move(ctx: BoardsCall, params: models.MoveCard) -> StoredData:
    """Return the current and the target position of a card, on the same board."""
    card, target = await gather_pair(ctx.upstream.get_card(params.card_id), _open_list(ctx, params.list_id))
    if target.id_board != card.id_board:
        raise ListNotFound(
            f"List {target.id} is not on board {card.id_board}, where the card is.",
            {"parameter": "list_id", "value": params.list_id},
        )
    return mapping.move(card, target, params.position)


async def _open_list(ctx: BoardsCall, list_id: str) -> vendor_models.CardList:
    card_list = await ctx.upstream.get_list(mapping.list_identifier(list_id))
    if card_list.closed:
        raise ListNotFound(f"List {card_list.id} is archived.", {"parameter": "list_id", "value": list_id})
    return card_list
