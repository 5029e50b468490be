"""Routes of pipelines and their stages."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from aiohttp import web

from workspace_sandbox.crm.arguments import read_flag, read_kind, read_list, read_object
from workspace_sandbox.crm.data.object_types import ObjectType
from workspace_sandbox.crm.data.pipelines import Audit, Pipeline, Stage
from workspace_sandbox.crm.data.state import Portal
from workspace_sandbox.crm.error_responses import ApiError, invalid, malformed, resource_not_found
from workspace_sandbox.kit.clock import format_timestamp
from workspace_sandbox.kit.error_responses import require

NEEDED = {"deals": "probability", "tickets": "ticketState"}
"""The required metadata of stages."""

FIRST_ID = 700_000_001


async def list_pipelines(portal: Portal, request: web.Request) -> web.Response:
    """Return all pipelines of an object type with their stages. Only deals and tickets have any."""
    return web.json_response({"results": _list_json(portal, read_kind(request))})


async def read_pipeline(portal: Portal, request: web.Request) -> web.Response:
    """Return a pipeline with its stages."""
    return _pipeline_response(portal, _pipeline(portal, request))


async def create_pipeline(portal: Portal, request: web.Request) -> web.Response:
    """Create a pipeline with its stages."""
    kind, raw = read_kind(request), await read_object(request)
    if kind.pipeline_properties is None:
        raise invalid(f"Object type {kind.type_id} has no pipelines")
    identifier = str(raw.get("pipelineId") or _next_id(portal))
    if identifier in portal.pipelines:
        raise ApiError(409, "CONFLICT", f"Pipeline ID '{identifier}' already exists")
    pipeline = _store(portal, _parse_pipeline(portal, kind, identifier, raw), "CREATE")
    return _pipeline_response(portal, pipeline, status=201)


async def update_pipeline(portal: Portal, request: web.Request) -> web.Response:
    """Update the label or the position of a pipeline, or restore it from the archive."""
    pipeline, raw = _pipeline(portal, request), await read_object(request)
    changed = replace(pipeline, updated=format_timestamp(portal.now), **_changes(raw))
    return _pipeline_response(portal, _store(portal, changed, "UPDATE"))


async def replace_pipeline(portal: Portal, request: web.Request) -> web.Response:
    """Replace a pipeline and its stages. Stages with the ID of an existing one retain it."""
    before, raw = _pipeline(portal, request), await read_object(request)
    replacement = _parse_pipeline(portal, read_kind(request), before.id, raw)
    _check_unused(portal, request, before, [one for one in before.stages if replacement.find_stage(one.id) is None])
    return _pipeline_response(portal, _store(portal, replace(replacement, created=before.created), "UPDATE"))


async def delete_pipeline(portal: Portal, request: web.Request) -> None:
    """Delete a pipeline, optionally only if it has no records."""
    pipeline = _pipeline(portal, request)
    _check_unused(portal, request, pipeline, pipeline.stages)
    del portal.pipelines[pipeline.id]
    _note(portal, pipeline.id, "DELETE")


async def list_stages(portal: Portal, request: web.Request) -> web.Response:
    """Return the stages of a pipeline."""
    return web.json_response({"results": _pipeline(portal, request).to_json(0)["stages"]})


async def read_stage(portal: Portal, request: web.Request) -> web.Response:
    """Return a stage of a pipeline."""
    pipeline = _pipeline(portal, request)
    return _stage_response(pipeline, _stage(pipeline, request))


async def create_stage(portal: Portal, request: web.Request) -> web.Response:
    """Add a stage to a pipeline."""
    pipeline, raw = _pipeline(portal, request), await read_object(request)
    stage = _parse_stage(portal, read_kind(request), raw, str(raw.get("stageId") or _next_id(portal)))
    changed = _store(portal, replace(pipeline, stages=(*pipeline.stages, stage)), "UPDATE")
    _note(portal, stage.id, "CREATE")
    return _stage_response(changed, stage, status=201)


async def update_stage(portal: Portal, request: web.Request) -> web.Response:
    """Update a stage. Metadata that is not sent remains."""
    pipeline, raw = _pipeline(portal, request), await read_object(request)
    before = _stage(pipeline, request)
    metadata = {**before.metadata, **_metadata(raw)}
    return _restaged(portal, pipeline, replace(before, metadata=metadata, **_changes(raw)))


async def replace_stage(portal: Portal, request: web.Request) -> web.Response:
    """Replace a stage."""
    pipeline, raw = _pipeline(portal, request), await read_object(request)
    before = _stage(pipeline, request)
    new_stage = _parse_stage(portal, read_kind(request), raw, before.id)
    return _restaged(portal, pipeline, replace(new_stage, created=before.created))


async def delete_stage(portal: Portal, request: web.Request) -> None:
    """Delete a stage, optionally only if it has no records."""
    pipeline = _pipeline(portal, request)
    stage = _stage(pipeline, request)
    _check_unused(portal, request, pipeline, [stage])
    _store(portal, replace(pipeline, stages=tuple(one for one in pipeline.stages if one is not stage)), "UPDATE")
    _note(portal, stage.id, "DELETE")


async def audit(portal: Portal, request: web.Request) -> web.Response:
    """Return the changes of a pipeline or one of its stages, newest first."""
    pipeline = _pipeline(portal, request)
    identifier = _stage(pipeline, request).id if "stage_id" in request.match_info else pipeline.id
    matches = [one for one in reversed(portal.audits) if one.identifier == identifier]
    return web.json_response({"results": [one.to_json(portal.account.portal_id) for one in matches]})


def _list_json(portal: Portal, kind: ObjectType) -> list[dict[str, Any]]:
    results = [pipeline.to_json(position) for position, pipeline in enumerate(portal.pipelines_of(kind))]
    return sorted(results, key=lambda one: one["displayOrder"])


def _pipeline_response(portal: Portal, pipeline: Pipeline, *, status: int = 200) -> web.Response:
    alike = [one.id for one in portal.pipelines.values() if one.plural == pipeline.plural]
    return web.json_response(pipeline.to_json(alike.index(pipeline.id)), status=status)


def _stage_response(pipeline: Pipeline, stage: Stage, *, status: int = 200) -> web.Response:
    return web.json_response(stage.to_json([one.id for one in pipeline.stages].index(stage.id)), status=status)


def _pipeline(portal: Portal, request: web.Request) -> Pipeline:
    match = portal.pipelines.get(request.match_info["pipeline_id"])
    if match is None or match.plural != read_kind(request).plural:
        raise resource_not_found()
    return match


def _stage(pipeline: Pipeline, request: web.Request) -> Stage:
    return require(pipeline.find_stage(request.match_info["stage_id"]), resource_not_found())


def _parse_pipeline(portal: Portal, kind: ObjectType, identifier: str, raw: Mapping[str, Any]) -> Pipeline:
    stages = read_list(raw, "stages")
    if not isinstance(raw.get("label"), str) or not stages or not all(isinstance(one, dict) for one in stages):
        raise malformed('Some required fields were not set: ["label", "displayOrder", "stages"]')
    first = _next_id(portal) + 1
    new_stages = [
        _parse_stage(portal, kind, one, str(one.get("stageId") or first + number)) for number, one in enumerate(stages)
    ]
    at = format_timestamp(portal.now)
    changes = _changes(raw)
    return Pipeline(identifier, changes.pop("label"), tuple(new_stages), kind.plural, created=at, updated=at, **changes)


def _parse_stage(portal: Portal, kind: ObjectType, raw: Mapping[str, Any], identifier: str) -> Stage:
    metadata, needed = _metadata(raw), NEEDED[kind.plural]
    if not isinstance(raw.get("label"), str) or needed not in metadata:
        raise invalid(f'Some required fields were not set: ["label", "metadata.{needed}"]')
    closed = metadata.get("ticketState") == "CLOSED" or metadata.get("probability") in {"0.0", "1.0"}
    at = format_timestamp(portal.now)
    changes = _changes(raw)
    stage_metadata = {"isClosed": str(closed).lower(), **metadata}
    return Stage(identifier, changes.pop("label"), stage_metadata, created=at, updated=at, **changes)


def _metadata(raw: Mapping[str, Any]) -> dict[str, str]:
    metadata = raw.get("metadata") or {}
    if not isinstance(metadata, dict):
        raise malformed("Cannot deserialize value of type `LinkedHashMap` (metadata)")
    return {name: value if isinstance(value, str) else str(value).lower() for name, value in metadata.items()}


CHANGEABLE: Mapping[str, tuple[str, Callable[[Any], bool]]] = {
    "label": ("label", lambda value: isinstance(value, str) and bool(value)),
    "displayOrder": ("order", lambda value: isinstance(value, int) and not isinstance(value, bool)),
    "archived": ("archived", lambda value: isinstance(value, bool)),
}
"""The attributes that an update can change, with their names and types."""


def _changes(raw: Mapping[str, Any]) -> dict[str, Any]:
    for name, (_, fits) in CHANGEABLE.items():
        if name in raw and not fits(raw[name]):
            raise malformed(f"Cannot deserialize value of {name}")
    return {attribute: raw[name] for name, (attribute, _) in CHANGEABLE.items() if name in raw}


def _restaged(portal: Portal, pipeline: Pipeline, stage: Stage) -> web.Response:
    stage = replace(stage, updated=format_timestamp(portal.now))
    stages = tuple(stage if one.id == stage.id else one for one in pipeline.stages)
    changed = _store(portal, replace(pipeline, stages=stages), "UPDATE")
    _note(portal, stage.id, "UPDATE")
    return _stage_response(changed, stage)


def _store(portal: Portal, pipeline: Pipeline, action: str) -> Pipeline:
    portal.pipelines[pipeline.id] = pipeline
    _note(portal, pipeline.id, action)
    return pipeline


def _note(portal: Portal, identifier: str, action: str) -> None:
    portal.audits.append(Audit(identifier, action, format_timestamp(portal.now), portal.account.user_id))


def _next_id(portal: Portal) -> int:
    # Each request reserves enough IDs for the maximum number of stages.
    return FIRST_ID + 200 * len(portal.audits)


USAGE_CHECKS = ("validateReferencesBeforeDelete", "validateDealStageUsagesBeforeDelete")


def _check_unused(portal: Portal, request: web.Request, pipeline: Pipeline, stages: Any) -> None:
    """Raise an error if *stages* have records and the request demands the check.

    Otherwise, records keep their stage.
    """
    kind, deleted_ids = read_kind(request), {stage.id for stage in stages}
    if kind.pipeline_properties is None or not any(read_flag(request, name) for name in USAGE_CHECKS):
        return
    if any(
        record.properties.get(kind.pipeline_properties[0]) == pipeline.id
        and record.properties.get(kind.pipeline_properties[1]) in deleted_ids
        for record in portal.list_records(kind, 0, archived=False)
    ):
        raise ApiError(400, "VALIDATION_ERROR", "There are records in the stages that would be deleted.")
