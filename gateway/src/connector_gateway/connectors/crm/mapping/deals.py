"""Deals, with their pipelines and stages."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import TypeVar

from connector_gateway.connectors.crm import value_casts, vendor_models
from connector_gateway.connectors.crm.mapping.properties import UNCHECKED, Definitions
from connector_gateway.connectors.crm.mapping.records import StoredData, may_be_ours
from connector_gateway.connectors.crm.models import CreatedDeal, CreateDeal, UpdatedDeal
from connector_gateway.kit.casts import quote_names
from connector_gateway.kit.errors import AmbiguousPipeline, GatewayError, PipelineNotFound, StageNotFound
from connector_gateway.kit.write_steps import StepInput

VENDOR_DEFAULTS = frozenset({"createdate", "deal_currency_code"})
"""Writable properties of deals that the vendor also sets automatically."""

USER_PROPERTIES = frozenset({"hs_next_step", "hs_priority"})
"""Properties that people set, although their names have the prefix of the vendor's own."""

N = TypeVar("N", vendor_models.Pipeline, vendor_models.Stage)


def choose_pipeline(pipelines: Sequence[vendor_models.Pipeline], text: str) -> vendor_models.Pipeline:
    """Return the pipeline with that identifier, or else with that name."""
    living = [pipeline for pipeline in pipelines if not pipeline.archived]
    matches = _match_by_name(living, text)
    if len(matches) == 1:
        return matches[0]
    name = quote_names([text])
    error_class: type[GatewayError] = AmbiguousPipeline if matches else PipelineNotFound
    message = f"{len(matches)} pipelines are named {name}." if matches else f"There is no pipeline {name}."
    raise error_class(message, {"parameter": "pipeline", "value": text, **_choices(matches or living)})


def choose_stage(pipeline: vendor_models.Pipeline, text: str) -> vendor_models.Stage:
    """Return the stage of *pipeline* with that identifier, or else with that name."""
    living = [stage for stage in pipeline.stages if not stage.archived]
    matches = _match_by_name(living, text)
    if not matches:
        raise StageNotFound(
            f'The pipeline "{pipeline.label}" has no stage {quote_names([text])}.',
            {"parameter": "dealstage", "value": text, "pipeline": pipeline.id, **_choices(living)},
        )
    return matches[0]


def new_deal(params: CreateDeal, pipelines: Sequence[vendor_models.Pipeline]) -> StoredData:
    """Return the vendor's form of a new deal with its stage's id, and whether that stage is closed."""
    pipeline = choose_pipeline(pipelines, params.pipeline)
    stage = choose_stage(pipeline, params.dealstage)
    amount = {} if params.amount is None else {"amount": value_casts.format_number(params.amount)}
    properties = {"dealname": params.dealname, "pipeline": pipeline.id, "dealstage": stage.id, **amount}
    return {"properties": properties, "closed": stage.metadata.is_closed == "true"}


def stored_deal(record: vendor_models.Record, sent: Mapping[str, str]) -> StoredData:
    """Return the stored form of a created deal: its id and its values of the *sent* properties."""
    return {"id": record.id, "properties": {name: record.properties.get(name) or text for name, text in sent.items()}}


def public_deal(stored: StoredData) -> StoredData:
    """Return the part of a deal that is included in the error when a later step fails."""
    return {"deal_id": stored["id"]}


def created_deal(stored: StoredData, contact_id: str | None) -> CreatedDeal:
    """Return the result of creating a deal."""
    properties = stored["properties"]
    return CreatedDeal(
        deal_id=stored["id"],
        dealname=properties["dealname"],
        pipeline=properties["pipeline"],
        dealstage=properties["dealstage"],
        amount=Decimal(properties["amount"]) if properties.get("amount") else None,
        associated_contacts=[] if contact_id is None else [contact_id],
    )


def empty_properties(definitions: Definitions, sent: StepInput) -> list[str]:
    """Return the properties that others could have set but that the *sent* deal leaves empty.

    The vendor sets the close date of a deal that starts in a closed stage.
    """
    passed_over = {*sent["properties"], *VENDOR_DEFAULTS, *(("closedate",) if sent["closed"] else ())}
    return [name for name, described in definitions.items() if name not in passed_over and _is_user_property(described)]


def is_deal(record: vendor_models.Record, sent: StepInput, definitions: Definitions, maker_known: str | None) -> bool:
    """Return True if a deal has exactly the *sent* values and was created by an app that may be ours."""
    current, texts = record.properties, sent["properties"]
    # A deal has no natural key and no marker, so equal content and the creating app are the only evidence.
    has_values = all(
        value_casts.equal_values(definitions.get(name, UNCHECKED), text, current.get(name))
        for name, text in texts.items()
    )
    return (
        has_values
        and may_be_ours(record, maker_known)
        and not any(current.get(name) for name in empty_properties(definitions, sent))
    )


def _is_user_property(described: vendor_models.Definition) -> bool:
    """Return True if people or other apps set a property, not the vendor itself."""
    internal = described.hubspot_defined and described.name.startswith("hs_") and described.name not in USER_PROPERTIES
    computed = described.calculated or described.modification_metadata.read_only_value
    return not (internal or described.hidden or computed)


def move(
    pipelines: Sequence[vendor_models.Pipeline], record: vendor_models.Record, pipeline: str | None, stage: str | None
) -> dict[str, str]:
    """Return the vendor's form of a move. The stage, given or unchanged, must belong to the pipeline."""
    current = record.properties
    chosen = choose_pipeline(pipelines, pipeline or current.get("pipeline") or "")
    moved = {"dealstage": choose_stage(chosen, stage or current.get("dealstage") or "").id}
    return moved if pipeline is None else {"pipeline": chosen.id, **moved}


def stored_change(record: vendor_models.Record) -> StoredData:
    """Return the stored form of a deal that was changed or only read."""
    return {"id": record.id, "updated_at": value_casts.format_datetime(record.updated_at)}


def dry_run_change(intent: StepInput) -> StoredData:
    """Return the assumed result of changing a deal, for dry runs."""
    return {"id": intent["deal_id"], "updated_at": value_casts.format_datetime(datetime.fromtimestamp(0, UTC))}


def updated_deal(planned: StoredData, stored: StoredData, *, note_logged: bool) -> UpdatedDeal:
    """Return the result of changing a deal."""
    return UpdatedDeal(
        deal_id=stored["id"],
        dealstage_from=planned["stage_from"],
        dealstage_to=planned["texts"].get("dealstage", planned["stage_from"]),
        note_logged=note_logged,
        updated_at=datetime.fromisoformat(stored["updated_at"]),
    )


def _match_by_name(choices: Sequence[N], text: str) -> list[N]:
    """Return the choices that match *text*.

    Identifiers have precedence over exact names, and these over names that differ in case or blanks.
    """
    # In this order, because a pipeline's name may be the identifier of another one.
    tests: tuple[Callable[[N], bool], ...] = (
        lambda choice: choice.id == text,
        lambda choice: choice.label == text,
        lambda choice: choice.label.strip().casefold() == text.strip().casefold(),
    )
    for test in tests:
        if matches := [choice for choice in choices if test(choice)]:
            return matches
    return []


def _choices(choices: Sequence[vendor_models.Pipeline] | Sequence[vendor_models.Stage]) -> dict[str, list[str]]:
    return {"allowed": [choice.label for choice in choices], "identifiers": [choice.id for choice in choices]}
