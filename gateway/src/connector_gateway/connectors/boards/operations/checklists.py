"""Attachment of checklists, and completion after an interrupted call."""

from collections.abc import Sequence
from functools import partial

from connector_gateway.connectors.boards import mapping, vendor_models
from connector_gateway.connectors.boards.client import REQUEST
from connector_gateway.connectors.boards.mapping import StoredData
from connector_gateway.connectors.boards.models import AttachChecklist, Checklist
from connector_gateway.connectors.boards.operations.cached_lookups import (
    ON_A_CARD,
    REMEMBER_SECONDS,
    BoardsCall,
    full_card_id,
)
from connector_gateway.connectors.boards.operations.in_doubt_search import our_actions
from connector_gateway.kit.errors import GatewayError
from connector_gateway.kit.operation import writes
from connector_gateway.kit.upstream.budget import TypicalRequests
from connector_gateway.kit.write_steps import Match, SentStep, StepInput, StepResult, WriteStep

FINISHED = "finished"
"""The cached value of a finished checklist. For an unfinished one, its intended items are cached."""


# Write steps


async def _send_checklist(ctx: BoardsCall, intent: StepInput, _: str) -> StepResult:
    return mapping.stored_checklist(await ctx.upstream.create_checklist(intent["card_id"], intent["name"]))


async def _find_checklists(
    expected: Sequence[str], ctx: BoardsCall, intent: StepInput, sent: SentStep
) -> Sequence[Match]:
    """Return the empty checklists of that name that this app put on the card.

    After a restore they may already have items: the first ones of *expected*, or all of them.
    """
    present = await ctx.upstream.get_card_checklists(intent["card_id"])
    empty = {
        one.id: one
        for one in mapping.named(intent["name"], present)
        if not one.check_items or (sent.restored and mapping.is_prefix(one, expected))
    }
    listing = ctx.upstream.get_card_actions(intent["card_id"], "addChecklistToCard", sent.earliest)
    return [
        Match(mapping.stored_checklist(empty[created.id]), created.id, action.date.timestamp())
        for action in await our_actions(ctx, listing)
        if (created := action.data.checklist) is not None and created.id in empty
    ]


async def _send_item(ctx: BoardsCall, intent: StepInput, _: str) -> StepResult:
    card_id, checklist_id = intent["card_id"], intent["checklist_id"]
    item = await ctx.upstream.create_check_item(card_id, checklist_id, intent["name"], intent["place"])
    return {"item_id": item.id}


async def _find_item(ctx: BoardsCall, intent: StepInput, _: SentStep) -> Sequence[Match]:
    """Return the item at the position chosen for it. The position serves as its marker."""
    for checklist in await ctx.upstream.get_card_checklists(intent["card_id"]):
        if checklist.id == intent["checklist_id"]:
            return [Match({"item_id": item.id}) for item in checklist.check_items if mapping.is_item(item, intent)]
    return []


def _creation_step(expected: Sequence[str]) -> "WriteStep[BoardsCall]":
    return WriteStep(
        "create the checklist",
        _send_checklist,
        partial(_find_checklists, expected),
        object_kind="checklist",
        public_result=mapping.public_checklist,
        dry_run_result=mapping.dry_run_checklist,
    )


ADD_ITEM = WriteStep("add an item", _send_item, _find_item, dry_run_result=lambda _: {})


# The operation


@writes(
    "POST /cards/{card_id}/checklists",
    errors=ON_A_CARD,
    requests=TypicalRequests(4 * REQUEST, 4 * REQUEST, "existing checklists; two items"),
    examples=[lambda one: {"card_id": one["card_id"], "name": "Launch", "items": ["Draft", "Review"]}],
)
async def attach_checklist(ctx: BoardsCall, params: AttachChecklist) -> Checklist:
    """Attach a checklist with its items to a card.

    By default, nothing is done if the card has a checklist of that name.

    If an interrupted call with the same name and items left a checklist unfinished, that checklist is completed.
    """
    card_id = await full_card_id(ctx, params.card_id)
    async with ctx.exclusive(f"checklists {card_id}"):
        plan = await ctx.plan(partial(_checklist, ctx, card_id, params))
        if plan["skipped"] is not None:
            return mapping.checklist(plan["skipped"], card_id, 0, skipped=True)
        started = plan["unfinished"] or await ctx.step(_creation_step(params.items), _intent(card_id, params))
        await _add_items(ctx, card_id, started, params.items)
    return mapping.checklist(started, card_id, len(params.items))


# Planning


def _intent(card_id: str, params: AttachChecklist) -> StepInput:
    return {"card_id": card_id, "name": params.name}


async def _checklist(ctx: BoardsCall, card_id: str, params: AttachChecklist) -> StoredData:
    """Return the existing checklist, which is left unchanged or completed, if there is one."""
    namesakes = mapping.named(params.name, await ctx.upstream.get_card_checklists(card_id))
    unfinished = await _find_unfinished(ctx, card_id, namesakes, params)
    skips = namesakes and unfinished is None and params.skip_if_present
    return {"unfinished": unfinished, "skipped": mapping.stored_checklist(namesakes[0]) if skips else None}


async def _find_unfinished(
    ctx: BoardsCall, card_id: str, namesakes: Sequence[vendor_models.Checklist], params: AttachChecklist
) -> StoredData | None:
    """Return the unfinished checklist that this account began with these items, adopted, or None.

    Without a cache entry in this process, its items, their positions and its creator identify it.
    """
    expected = params.items
    for checklist in namesakes:
        cached = ctx.cache.get(f"checklist {checklist.id}")
        unknown = cached is None and mapping.is_unfinished(checklist, expected)
        is_ours = cached == list(expected) or (unknown and await _is_our_checklist(ctx, card_id, checklist))
        if is_ours and await ctx.adopt(_creation_step(expected), _intent(card_id, params), checklist.id):
            return await _wait_until_settled(ctx, card_id, checklist)
    return None


async def _wait_until_settled(ctx: BoardsCall, card_id: str, checklist: vendor_models.Checklist) -> StoredData:
    """Return a checklist to complete, once no item of an earlier call without a key can appear any more."""
    settles_at = ctx.cache.get(f"unsettled {checklist.id}")
    if settles_at is not None:
        await ctx.wait_until_settled(settles_at, "An item that an earlier call sent may still be added.")
        present = await ctx.upstream.get_card_checklists(card_id)
        checklist = next((one for one in present if one.id == checklist.id), checklist)
    return mapping.stored_checklist(checklist)


async def _is_our_checklist(ctx: BoardsCall, card_id: str, checklist: vendor_models.Checklist) -> bool:
    since = ctx.clock.now() - REMEMBER_SECONDS
    actions = await our_actions(ctx, ctx.upstream.get_card_actions(card_id, "addChecklistToCard", since))
    return any(created.id == checklist.id for action in actions if (created := action.data.checklist) is not None)


# Items


async def _add_items(ctx: BoardsCall, card_id: str, started: StoredData, expected: Sequence[str]) -> None:
    """Add the missing items one after the other, so that only one at a time can be in doubt."""
    cache_key = f"checklist {started['id']}"
    ctx.cache.put(cache_key, list(expected), REMEMBER_SECONDS)
    # One request per item, because the vendor accepts no more.
    for _, name, item_position in mapping.missing_items(started, expected):
        item = {"card_id": card_id, "checklist_id": started["id"], "name": name, "place": item_position}
        settles_at = ctx.clock.now() + ctx.settle_seconds
        try:
            await ctx.step(ADD_ITEM, item)
        except GatewayError as error:
            if error.doubt is not None:
                # For a later call without a key, which would add the item again.
                ctx.cache.put(f"unsettled {started['id']}", settles_at, ctx.settle_seconds)
            raise
    ctx.cache.put(cache_key, FINISHED, REMEMBER_SECONDS)
