"""The five boards operations."""

import asyncio
from collections.abc import Awaitable, Iterable, Sequence
from contextlib import suppress
from typing import Any

from connector_gateway.connectors.boards import mapping
from connector_gateway.connectors.boards.client import MAX_CARDS, BoardsClient
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
from connector_gateway.kit.call import Attempt, Call, LookUp
from connector_gateway.kit.errors import (
    BoardNotAuthorised,
    CardNotFound,
    GatewayError,
    LabelNotOnBoard,
    ListNotFound,
    OutcomeUnknown,
    UpstreamConflict,
)
from connector_gateway.kit.operation import reads, writes

BoardsCall = Call[BoardsClient]
Raw = dict[str, Any]

REMEMBER_SECONDS = 24 * 60 * 60.0
"""How long is known what this process has made, and whose account it is: as long as an idempotency key is good."""

SETTLE_SECONDS = 60.0
"""How long a request that was never answered may still be carried out."""

IN_FLIGHT_SECONDS = 3.0
"""How long a request may still be worked on that this service did not live to see answered."""

WHOLE = "whole"
"""What is remembered of a checklist that has all its items; before that, what they are to be."""

ON_A_CARD = (BoardNotAuthorised, CardNotFound, UpstreamConflict)


async def recover_created_card(call: BoardsCall, params: CreateCard, attempt: Attempt) -> CreatedCard | None:
    """The card that an earlier attempt made; None if it made none."""
    list_id = mapping.list_identifier(params.list_id)
    async with call.exclusive(_twins(list_id, params)):
        for action in await call.upstream.get_list_actions(list_id, "createCard", attempt.started_at):
            told = action["data"]["card"]
            if mapping.same_text(told["name"], params.name) and await _is_unclaimed(call, action, told["id"]):
                raw = await call.upstream.get_card(told["id"])
                if mapping.bears(raw, params):
                    _remember_made(call, raw)
                    return mapping.created_card(raw, params.labels)
    return None


@writes(
    "POST /cards",
    errors=[BoardNotAuthorised, ListNotFound, LabelNotOnBoard, UpstreamConflict],
    recover=recover_created_card,
)
async def create_card(call: BoardsCall, params: CreateCard) -> CreatedCard:
    """Create a card at the bottom of a list.

    Labels are named; if the board lacks any of them, nothing is created.
    """
    target = await _open_list(call, params.list_id)
    labels = await call.upstream.get_board_labels(target["idBoard"]) if params.labels else []
    body = mapping.new_card(target["id"], params, mapping.label_ids(labels, params.labels))
    async with call.exclusive(_twins(target["id"], params)):
        raw = await call.upstream.create_card(body)
        _remember_made(call, raw)
    return mapping.created_card(raw, params.labels)


async def recover_moved_card(call: BoardsCall, params: MoveCard, attempt: Attempt) -> MovedCard | None:
    """The card, if it is where an earlier attempt was to take it, with the comment posted; otherwise None.

    Of a move within one list nothing can be seen afterwards.
    """
    progress = attempt.progress
    if "list_from" not in progress:
        return None
    raw, since = await call.upstream.get_card(params.card_id), progress.get("commenting_since")
    if raw["idList"] != mapping.list_identifier(params.list_id) or (since is None and progress["within"]):
        return None
    moved = mapping.moved_card(raw, progress["list_from"], raw["list"]["name"])
    if since is not None and params.comment is not None:
        await call.clock.sleep(attempt.doubted_at + IN_FLIGHT_SECONDS - call.clock.now())
        if await _find_comment(call, raw["id"], params.comment, since):
            return mapping.commented(moved, posted=True)
    return await _with_comment(call, moved, params.comment)


@writes("POST /cards/{card_id}/move", errors=[*ON_A_CARD, ListNotFound], recover=recover_moved_card)
async def move_card(call: BoardsCall, params: MoveCard) -> MovedCard:
    """Move a card to another list of its board, and comment on it if wanted.

    When the comment cannot be posted the move stands, and ``comment_posted`` is false.
    """
    async with call.exclusive(f"card {await _card_id(call, params.card_id)}"):
        card, target = await _together(call.upstream.get_card(params.card_id), _open_list(call, params.list_id))
        if target["idBoard"] != card["idBoard"]:
            raise ListNotFound(
                f"List {target['id']} is not on board {card['idBoard']}, where the card is.",
                {"parameter": "list_id", "value": params.list_id},
            )
        await call.notebook.intend(list_from=card["list"]["name"], within=card["idList"] == target["id"])
        raw = await call.upstream.update_card(card["id"], {"idList": target["id"], "pos": params.position})
    return await _with_comment(call, mapping.moved_card(raw, card["list"]["name"], target["name"]), params.comment)


async def recover_comment(call: BoardsCall, params: CommentOnCard, attempt: Attempt) -> Comment | None:
    """The comment that an earlier attempt posted; None if it posted none."""
    raw = await _find_comment(call, await _card_id(call, params.card_id), params.text, attempt.started_at)
    return None if raw is None else mapping.comment(raw)


@writes("POST /cards/{card_id}/comments", errors=ON_A_CARD, recover=recover_comment)
async def comment_on_card(call: BoardsCall, params: CommentOnCard) -> Comment:
    """Post a comment on a card."""
    return mapping.comment(await _post(call, await _card_id(call, params.card_id), params.text))


@reads("GET /lists", errors=[BoardNotAuthorised])
async def describe_board(call: BoardsCall, params: DescribeBoard) -> BoardDescription:
    """List the open lists of a board with the number of cards in each, and the board's labels."""
    raw = await call.upstream.get_board(params.board_id, labels=params.include_labels)
    cards = raw["cards"]
    if len(cards) >= MAX_CARDS:
        cards = [card async for card in call.upstream.get_open_cards(params.board_id)]
    return mapping.board(raw, cards)


async def recover_attached_checklist(call: BoardsCall, params: AttachChecklist, attempt: Attempt) -> Checklist | None:
    """The checklist that an earlier attempt began, finished; None if it began none, or may still be at it."""
    card_id = await _card_id(call, params.card_id)
    async with call.exclusive(f"checklists {card_id}"):
        present = await call.upstream.get_card_checklists(card_id)
        begun = attempt.progress.get("checklist_id")
        known = [raw for raw in present if raw["id"] == begun]
        found = known[0] if known else await _unfinished(call, card_id, _called(params.name, present), params.items)
        if found is None or _may_still_come(call, found, params.items, attempt):
            return None
        return await _finish(call, card_id, found, params.items)


@writes("POST /cards/{card_id}/checklists", errors=ON_A_CARD, recover=recover_attached_checklist)
async def attach_checklist(call: BoardsCall, params: AttachChecklist) -> Checklist:
    """Attach a checklist with its items to a card.

    A checklist that an interrupted call of the same name and items has left unfinished is finished.
    """
    card_id = await _card_id(call, params.card_id)
    async with call.exclusive(f"checklists {card_id}"):
        namesakes = _called(params.name, await call.upstream.get_card_checklists(card_id))
        raw = await _unfinished(call, card_id, namesakes, params.items)
        if raw is None and namesakes and params.skip_if_present:
            return mapping.checklist(namesakes[0], card_id, 0, skipped=True)
        if raw is None:
            raw = await call.upstream.create_checklist(card_id, params.name)
        return await _finish(call, card_id, raw, params.items)


# Cards


async def _card_id(call: BoardsCall, card_id: str) -> str:
    """The full identifier of a card, which may also be named by its short link."""

    async def find() -> str:
        return str((await call.upstream.get_card(card_id))["id"])

    known = mapping.full_identifier(card_id)
    return await call.recall(LookUp(f"card {card_id}", REMEMBER_SECONDS, find)) if known is None else known


async def _open_list(call: BoardsCall, list_id: str) -> Raw:
    """A list that is not archived."""
    raw = await call.upstream.get_list(mapping.list_identifier(list_id))
    if raw["closed"]:
        raise ListNotFound(f"List {raw['id']} is archived.", {"parameter": "list_id", "value": list_id})
    return raw


async def _together(first: Awaitable[Raw], second: Awaitable[Raw]) -> tuple[Raw, Raw]:
    """Both results, asked for at the same time; if both are refused, the refusal of the first."""
    one, other = await asyncio.gather(first, second, return_exceptions=True)
    if isinstance(one, BaseException):
        raise one
    if isinstance(other, BaseException):
        raise other
    return one, other


def _twins(list_id: str, params: CreateCard) -> str:
    """The name under which cards are made one after the other that could be taken for each other."""
    return f"new card {list_id} {params.name[:100]}"


# Comments


async def _post(call: BoardsCall, card_id: str, text: str) -> Raw:
    """Post a comment; the answer also tells by which application it was posted."""
    async with call.exclusive(f"comments {card_id}"):
        raw = await call.upstream.add_comment(card_id, text)
        _remember_made(call, raw)
    call.memory.put("app", (raw.get("appCreator") or {}).get("id"), REMEMBER_SECONDS)
    return raw


async def _find_comment(call: BoardsCall, card_id: str, text: str, since: float) -> Raw | None:
    """A comment of that text, posted since by this account, that no other call has for its own."""
    async with call.exclusive(f"comments {card_id}"):
        for raw in await call.upstream.get_card_actions(card_id, "commentCard", since):
            if mapping.same_text(raw["data"]["text"], text) and await _is_unclaimed(call, raw, raw["id"]):
                _remember_made(call, raw)
                return raw
    return None


async def _with_comment(call: BoardsCall, moved: MovedCard, text: str | None) -> MovedCard:
    """A move with its comment posted, if there is one and nothing goes wrong with it."""
    if text is None:
        return moved
    since = call.clock.now()
    await call.notebook.note(commenting_since=since)
    try:
        await _post(call, moved.card_id, text)
    except GatewayError as error:
        if error.doubt is None:
            return moved
    else:
        return mapping.commented(moved, posted=True)
    with suppress(GatewayError):
        return mapping.commented(moved, posted=await _find_comment(call, moved.card_id, text, since) is not None)
    return moved


# Checklists


def _called(name: str, checklists: Iterable[Raw]) -> list[Raw]:
    return [raw for raw in checklists if mapping.same_text(raw["name"], name)]


async def _finish(call: BoardsCall, card_id: str, raw: Raw, wanted: Sequence[str]) -> Checklist:
    """Add the items that a checklist lacks, one after the other, so that only one at a time can be in doubt."""
    remembered = f"checklist {raw['id']}"
    call.memory.put(remembered, list(wanted), REMEMBER_SECONDS)
    for index, name, place in mapping.missing_items(raw, wanted):
        await call.notebook.note(checklist_id=raw["id"], sent=index)
        await call.upstream.create_check_item(card_id, raw["id"], name, place)
    call.memory.put(remembered, WHOLE, REMEMBER_SECONDS)
    return mapping.checklist(raw, card_id, len(wanted))


async def _unfinished(call: BoardsCall, card_id: str, namesakes: Sequence[Raw], wanted: Sequence[str]) -> Raw | None:
    """The checklist that a call of this account began with these items and did not finish, if there is one.

    What this process does not remember is known by its items and their places, and by who put it on the card.
    """
    for raw in namesakes:
        remembered = call.memory.get(f"checklist {raw['id']}")
        if remembered == list(wanted):
            _require_settled(call, raw, wanted)
            return raw
        if remembered is None and mapping.is_unfinished(raw, wanted) and await _is_our_checklist(call, card_id, raw):
            return raw
    return None


async def _is_our_checklist(call: BoardsCall, card_id: str, checklist: Raw) -> bool:
    """Whether this account put a checklist on the card lately."""
    since = call.clock.now() - REMEMBER_SECONDS
    for action in await call.upstream.get_card_actions(card_id, "addChecklistToCard", since):
        if action["data"]["checklist"]["id"] == checklist["id"]:
            return await _is_ours(call, action)
    return False


def _may_still_come(call: BoardsCall, raw: Raw, wanted: Sequence[str], attempt: Attempt) -> bool:
    """Whether an item that an attempt has sent is not there, and may yet be."""
    sent = attempt.progress.get("sent")
    missing = any(index == sent for index, _, _ in mapping.missing_items(raw, wanted))
    if missing and attempt.doubt == "silent":
        until = attempt.doubted_at + SETTLE_SECONDS
        call.memory.put(f"unsettled {raw['id']}", (sent, until), until - call.clock.now())
    return missing and attempt.doubt in {"silent", "cut", "interrupted"}


def _require_settled(call: BoardsCall, raw: Raw, wanted: Sequence[str]) -> None:
    """Refuse to add an item again while it may still come by itself."""
    sent, until = call.memory.get(f"unsettled {raw['id']}") or (None, 0.0)
    if any(index == sent for index, _, _ in mapping.missing_items(raw, wanted)):
        raise OutcomeUnknown(
            "An item of an earlier attempt may still be added by the application.",
            retry_after=until - call.clock.now(),
        )


# Recognising what a write has made


def _remember_made(call: BoardsCall, raw: Raw) -> None:
    """Claim an object, so that no other call takes it for its own."""
    call.memory.put(f"made {raw['id']}", value=True, seconds=REMEMBER_SECONDS)


async def _is_unclaimed(call: BoardsCall, action: Raw, made_id: str) -> bool:
    """Whether what an action has made is ours, and no other call has it for its own."""
    return not call.memory.get(f"made {made_id}") and await _is_ours(call, action)


async def _is_ours(call: BoardsCall, action: Raw) -> bool:
    """Whether this account did it, by this application as far as that is known."""
    me = await call.recall(LookUp("me", REMEMBER_SECONDS, call.upstream.get_me))
    return mapping.is_by(action, me["id"], call.memory.get("app"))
