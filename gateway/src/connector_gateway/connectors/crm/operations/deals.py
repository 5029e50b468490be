"""Deals: creation, moves, changes and notes."""

from collections.abc import Mapping, Sequence
from functools import partial

from connector_gateway.connectors.crm import mapping, vendor_models
from connector_gateway.connectors.crm.client import REQUEST
from connector_gateway.connectors.crm.mapping.properties import CASTING
from connector_gateway.connectors.crm.mapping.records import StoredData
from connector_gateway.connectors.crm.models import CreatedDeal, CreateDeal, UpdatedDeal, UpdateDeal
from connector_gateway.connectors.crm.operations import in_doubt_search
from connector_gateway.connectors.crm.operations.properties_and_owners import (
    MOVE_ERRORS,
    CrmCall,
    known_values,
    portal_id,
    property_texts,
    run_checks,
    with_pipelines,
    with_properties,
    within_portal,
)
from connector_gateway.kit.clock import utc_datetime
from connector_gateway.kit.concurrent_reads import gather_pair
from connector_gateway.kit.errors import ContactNotFound, DealNotFound, OptionMissing
from connector_gateway.kit.operation import writes
from connector_gateway.kit.upstream.budget import TypicalRequests
from connector_gateway.kit.write_steps import Match, SentStep, StepInput, StepResult, WriteStep

# Write steps


async def _send_deal(ctx: CrmCall, intent: StepInput, _: str) -> StepResult:
    properties, contact_id = intent["properties"], intent["contact_id"]
    creation = ctx.upstream.create_deal(properties, contact_id)
    deal = await (in_doubt_search.in_doubt_until_indexed(creation) if contact_id is None else creation)
    in_doubt_search.remember_creator(ctx, deal)
    return mapping.deals.stored_deal(deal, properties)


async def _find_deals(ctx: CrmCall, intent: StepInput, sent: SentStep) -> Sequence[Match]:
    """Return the deals created by this app that match the intent, including its contact or the absence of one.

    Deals of a contact are visible immediately. For others, the search is conclusive only after its lag.
    """
    contact_id = intent["contact_id"]
    if contact_id is None:
        ids = await in_doubt_search.ids_since(ctx, "deals", sent.earliest)
    else:
        ids = await ctx.upstream.read_associations("contacts", contact_id, "deals")
    definitions = await with_properties(ctx, "deals", lambda definitions: definitions)
    selection = [
        *intent["properties"],
        *mapping.deals.empty_properties(definitions, intent),
        *mapping.records.CREATOR_PROPERTIES,
    ]
    deals, maker = (
        await ctx.upstream.batch_read_objects("deals", ids, selection),
        in_doubt_search.known_creator_id(ctx, intent),
    )
    matches = [deal for deal in deals if mapping.deals.is_deal(deal, intent, definitions, maker)]
    expected_ids = [] if contact_id is None else [contact_id]
    return in_doubt_search.in_order(
        [
            Match(mapping.deals.stored_deal(deal, intent["properties"]), deal.id, deal.created_at.timestamp())
            for deal in matches
            if await ctx.upstream.read_associations("deals", deal.id, "contacts") == expected_ids
        ]
    )


async def _send_change(ctx: CrmCall, intent: StepInput, _: str) -> StepResult:
    return mapping.deals.stored_change(await ctx.upstream.update_object("deals", intent["deal_id"], intent["texts"]))


async def _find_change(ctx: CrmCall, intent: StepInput, _: SentStep) -> Sequence[Match]:
    sent = await known_values(ctx, "deals", intent["texts"])
    deal = await ctx.upstream.read_object("deals", intent["deal_id"], sent.texts)
    return [Match(mapping.deals.stored_change(deal))] if sent.all_match(deal) else []


async def _send_note(ctx: CrmCall, intent: StepInput, _: str) -> StepResult:
    return {"id": (await ctx.upstream.create_note(intent["note"], intent["deal_id"])).id}


async def _find_notes(ctx: CrmCall, intent: StepInput, sent: SentStep) -> Sequence[Match]:
    """Return the notes on the deal with the same text and the exact millisecond chosen for this one.

    After a restore that millisecond is not known any more.
    """
    is_ours = mapping.notes.has_text if sent.restored else mapping.notes.is_note
    note_ids = await ctx.upstream.read_associations("deals", intent["deal_id"], "notes")
    notes = await ctx.upstream.batch_read_objects("notes", note_ids, list(intent["note"]))
    return in_doubt_search.in_order(
        Match({"id": note.id}, note.id, note.created_at.timestamp()) for note in notes if is_ours(note, intent["note"])
    )


CREATE_DEAL = WriteStep(
    "create the deal",
    _send_deal,
    _find_deals,
    object_kind="deal",
    account_scope=within_portal,
    content_keys=lambda intent: [[intent["properties"], intent["contact_id"]]],
    public_result=mapping.deals.public_deal,
)
CHANGE_DEAL = WriteStep(
    "change the deal",
    _send_change,
    _find_change,
    account_scope=within_portal,
    changes=lambda intent: [f"deal {intent['deal_id']}"],
    public_result=mapping.deals.public_deal,
    dry_run_result=mapping.deals.dry_run_change,
)
LOG_NOTE = WriteStep(
    "log the note",
    _send_note,
    _find_notes,
    object_kind="note",
    account_scope=within_portal,
    public_result=mapping.notes.public_note,
)


# The operations


@writes(
    "POST /deals",
    errors=[ContactNotFound, OptionMissing, *MOVE_ERRORS],
    requests=TypicalRequests(3 * REQUEST, 2 * REQUEST, "pipelines and contact, concurrently"),
    examples=[
        lambda one: {
            "dealname": "Aurora: 20 seats",
            "pipeline": one["pipeline"],
            "dealstage": one["stages"][0],
            "amount": 1250.5,
            "contact_id": one["contact_id"],
        }
    ],
)
async def create_deal(ctx: CrmCall, params: CreateDeal) -> CreatedDeal:
    """Open a new deal in a stage of a pipeline.

    For an existing deal, use ``crm_update_deal``.
    """
    deal = await ctx.plan(partial(_new_deal, ctx, params))
    return mapping.deals.created_deal(await ctx.step(CREATE_DEAL, deal), deal["contact_id"])


@writes(
    "PATCH /deals/{deal_id}",
    errors=[DealNotFound, *CASTING, *MOVE_ERRORS],
    idempotent=False,
    requests=TypicalRequests(4 * REQUEST, 3 * REQUEST, "deal, for its former stage; pipelines; a note"),
    examples=[
        lambda one: {"deal_id": one["deal_id"], "dealstage": one["stages"][1], "note": "Signed"},
        lambda one: {"deal_id": one["deal_id"], "dealstage": one["stages"][0]},
    ],
)
async def update_deal(ctx: CrmCall, params: UpdateDeal) -> UpdatedDeal:
    """Change a deal: move it to another stage, write properties such as its amount, and log a note.

    For a new deal, use ``crm_create_deal``.

    If only the note fails, the change remains and ``note_logged`` is false.
    """
    # Exclusive, so that the former stage in the result is the one that this change replaced.
    async with ctx.exclusive(f"deal {params.deal_id}"):
        plan = await ctx.plan(partial(_change, ctx, params))
        change = {"portal": plan.get("portal", ""), "deal_id": plan["id"], "texts": plan["texts"]}
        stored = await ctx.step(CHANGE_DEAL, change) if plan["texts"] else plan
        note_logged = plan["note"] is not None and await _log(ctx, plan)
    return mapping.deals.updated_deal(plan, stored, note_logged=note_logged)


# Planning


async def _new_deal(ctx: CrmCall, params: CreateDeal) -> StoredData:
    check = partial(with_pipelines, ctx, lambda pipelines: mapping.deals.new_deal(params, pipelines))
    [deal], contact_id = await gather_pair(run_checks(check), _full_contact_id(ctx, params.contact_id))
    ctx.record_casts(partial(mapping.deals.cast_report, params.model_dump(mode="json"), deal["properties"]))
    return {**deal, "contact_id": contact_id, **await in_doubt_search.our_creator_id(ctx)}


async def _full_contact_id(ctx: CrmCall, contact_id: str | None) -> str | None:
    """Return the identifier of a contact as the vendor has it, or None if no contact is given."""
    return None if contact_id is None else (await ctx.upstream.read_object("contacts", contact_id, ["email"])).id


async def _change(ctx: CrmCall, params: UpdateDeal) -> StoredData:
    """Plan the change of a deal, and the note with the millisecond that marks it."""
    note = None if params.note is None else mapping.notes.note_properties(params.note, utc_datetime(ctx.clock.now()))
    selection = dict.fromkeys(["pipeline", "dealstage", *(params.properties or {})])
    deal = await ctx.upstream.read_object("deals", params.deal_id, selection)
    written, moved = await run_checks(partial(_texts, ctx, params), partial(_move, ctx, params, deal))
    stage_from = deal.properties.get("dealstage")
    return {
        **mapping.deals.stored_change(deal),
        "portal": await portal_id(ctx),
        "stage_from": stage_from,
        "texts": {**written, **moved},
        "note": note,
    }


async def _texts(ctx: CrmCall, params: UpdateDeal) -> Mapping[str, str]:
    """Return the properties to write in the vendor's form, except those that move the deal."""
    values = (params.properties or {}).items()
    properties = {name: value for name, value in values if name not in {"dealstage", "pipeline"}}
    if not properties:
        return {}
    return await property_texts(ctx, "deals", properties)


async def _move(ctx: CrmCall, params: UpdateDeal, deal: vendor_models.Record) -> Mapping[str, str]:
    """Return the vendor's form of the deal's move, with the stage looked up in its pipeline."""
    properties = params.properties or {}
    stage, pipeline = properties.get("dealstage", params.dealstage), properties.get("pipeline")
    if stage is None and pipeline is None:
        return {}
    moved = await with_pipelines(ctx, lambda pipelines: mapping.deals.move(pipelines, deal, pipeline, stage))
    ctx.record_casts(partial(mapping.deals.cast_report, {"pipeline": pipeline, "dealstage": stage}, moved))
    return moved


async def _log(ctx: CrmCall, plan: StoredData) -> bool:
    """Log the note, which may fail only after another change. Returns whether it was logged."""
    note = {"portal": plan.get("portal", ""), "deal_id": plan["id"], "note": plan["note"]}
    if plan["texts"]:
        return await ctx.try_step(LOG_NOTE, note) is not None
    await ctx.step(LOG_NOTE, note)
    return True
