"""Deals, with their pipelines and stages."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import TypeVar

from connector_gateway.connectors.crm import casts, wire
from connector_gateway.connectors.crm.mapping.properties import UNKNOWN, Definitions
from connector_gateway.connectors.crm.mapping.records import Kept, may_be_ours
from connector_gateway.connectors.crm.models import CreatedDeal, CreateDeal, UpdatedDeal
from connector_gateway.kit.casts import quoted
from connector_gateway.kit.errors import AmbiguousPipeline, GatewayError, PipelineNotFound, StageNotFound
from connector_gateway.kit.write_steps import StepInput

FILLED = frozenset({"createdate", "deal_currency_code"})
"""Properties of deals that could be written, and that the application fills in by itself."""

BY_HAND = frozenset({"hs_next_step", "hs_priority"})
"""Properties that people set, among the many of the application's own whose names begin alike."""

N = TypeVar("N", wire.Pipeline, wire.Stage)


def choose_pipeline(pipelines: Sequence[wire.Pipeline], wanted: str) -> wire.Pipeline:
    """The pipeline with that identifier, or else with that name."""
    living = [pipeline for pipeline in pipelines if not pipeline.archived]
    found = _named(living, wanted)
    if len(found) == 1:
        return found[0]
    name = quoted([wanted])
    refusal: type[GatewayError] = AmbiguousPipeline if found else PipelineNotFound
    message = f"{len(found)} pipelines are named {name}." if found else f"There is no pipeline {name}."
    raise refusal(message, {"parameter": "pipeline", "value": wanted, **_choices(found or living)})


def choose_stage(pipeline: wire.Pipeline, wanted: str) -> wire.Stage:
    """The stage of *pipeline* with that identifier, or else with that name."""
    living = [stage for stage in pipeline.stages if not stage.archived]
    found = _named(living, wanted)
    if not found:
        raise StageNotFound(
            f'The pipeline "{pipeline.label}" has no stage {quoted([wanted])}.',
            {"parameter": "dealstage", "value": wanted, "pipeline": pipeline.id, **_choices(living)},
        )
    return found[0]


def new_deal(params: CreateDeal, pipelines: Sequence[wire.Pipeline]) -> Kept:
    """The vendor's form of a new deal, its stage found within its pipeline, and whether that stage is a closed one."""
    pipeline = choose_pipeline(pipelines, params.pipeline)
    stage = choose_stage(pipeline, params.dealstage)
    amount = {} if params.amount is None else {"amount": casts.plain(params.amount)}
    properties = {"dealname": params.dealname, "pipeline": pipeline.id, "dealstage": stage.id, **amount}
    return {"properties": properties, "closed": stage.metadata.is_closed == "true"}


def kept_deal(record: wire.Record, sent: Mapping[str, str]) -> Kept:
    """What is kept of a deal that was made: its identifier, and what it holds of what was *sent*."""
    return {"id": record.id, "properties": {name: record.properties.get(name) or text for name, text in sent.items()}}


def told_deal(kept: Kept) -> Kept:
    """What callers are told of a deal when something else fails."""
    return {"deal_id": kept["id"]}


def created_deal(kept: Kept, contact_id: str | None) -> CreatedDeal:
    """The result of a deal that was made."""
    held = kept["properties"]
    return CreatedDeal(
        deal_id=kept["id"],
        dealname=held["dealname"],
        pipeline=held["pipeline"],
        dealstage=held["dealstage"],
        amount=Decimal(held["amount"]) if held.get("amount") else None,
        associated_contacts=[] if contact_id is None else [contact_id],
    )


def left_empty(known: Definitions, sent: StepInput) -> list[str]:
    """The properties that somebody else might have set, and without which the deal that was *sent* was made.

    The application dates the closing of a deal that begins in a closed stage.
    """
    passed_over = {*sent["properties"], *FILLED, *(("closedate",) if sent["closed"] else ())}
    return [name for name, described in known.items() if name not in passed_over and _set_by_somebody(described)]


def is_deal(record: wire.Record, sent: StepInput, known: Definitions, maker_known: str | None) -> bool:
    """Whether a deal is what was *sent*, no less and no more, and made by an application that may be ours."""
    held, texts = record.properties, sent["properties"]
    # A deal has no natural key and no mark: equal content and the application that made it must do (decision 23).
    alike = all(casts.same(known.get(name, UNKNOWN), text, held.get(name)) for name, text in texts.items())
    return alike and may_be_ours(record, maker_known) and not any(held.get(name) for name in left_empty(known, sent))


def _set_by_somebody(described: wire.Definition) -> bool:
    """Whether a property is one that people or other applications set, and not one of the application's own."""
    internal = described.hubspot_defined and described.name.startswith("hs_") and described.name not in BY_HAND
    computed = described.calculated or described.modification_metadata.read_only_value
    return not (internal or described.hidden or computed)


def move(
    pipelines: Sequence[wire.Pipeline], record: wire.Record, pipeline: str | None, stage: str | None
) -> dict[str, str]:
    """The vendor's form of moving a deal: the stage, given or kept, is one of the pipeline, given or kept."""
    held = record.properties
    chosen = choose_pipeline(pipelines, pipeline or held.get("pipeline") or "")
    moved = {"dealstage": choose_stage(chosen, stage or held.get("dealstage") or "").id}
    return moved if pipeline is None else {"pipeline": chosen.id, **moved}


def kept_change(record: wire.Record) -> Kept:
    """What is stored of a deal that was changed, or only read."""
    return {"id": record.id, "updated_at": casts.timestamp(record.updated_at)}


def assumed_change(intent: StepInput) -> Kept:
    """What a dry run takes for a deal that was changed."""
    return {"id": intent["deal_id"], "updated_at": casts.timestamp(datetime.fromtimestamp(0, UTC))}


def updated_deal(planned: Kept, kept: Kept, *, note_logged: bool) -> UpdatedDeal:
    """The result of a deal that was changed."""
    return UpdatedDeal(
        deal_id=kept["id"],
        dealstage_from=planned["stage_from"],
        dealstage_to=planned["texts"].get("dealstage", planned["stage_from"]),
        note_logged=note_logged,
        updated_at=datetime.fromisoformat(kept["updated_at"]),
    )


def _named(choices: Sequence[N], wanted: str) -> list[N]:
    """The choices that *wanted* names: by identifier, else by exact name, else ignoring case and blanks around it."""
    # In this order: a pipeline may be called by the identifier of another one.
    tests: tuple[Callable[[N], bool], ...] = (
        lambda choice: choice.id == wanted,
        lambda choice: choice.label == wanted,
        lambda choice: choice.label.strip().casefold() == wanted.strip().casefold(),
    )
    for test in tests:
        if found := [choice for choice in choices if test(choice)]:
            return found
    return []


def _choices(choices: Sequence[wire.Pipeline] | Sequence[wire.Stage]) -> dict[str, list[str]]:
    return {"allowed": [choice.label for choice in choices], "identifiers": [choice.id for choice in choices]}
