"""The routes of pipelines and their stages."""

from typing import Any

from aiohttp import web

from workspace_sandbox.crm.arguments import kind_of
from workspace_sandbox.crm.catalogue import DEALS, Kind
from workspace_sandbox.crm.directory import Pipeline
from workspace_sandbox.crm.state import Portal
from workspace_sandbox.crm.wire import resource_not_found


async def list_pipelines(portal: Portal, request: web.Request) -> web.Response:
    """Every pipeline of an object type with its stages; only deals have any here."""
    return web.json_response({"results": _pipelines(portal, kind_of(request))})


async def read_pipeline(portal: Portal, request: web.Request) -> web.Response:
    """One pipeline with its stages."""
    return web.json_response(_pipeline(portal, request))


async def list_stages(portal: Portal, request: web.Request) -> web.Response:
    """The stages of one pipeline."""
    return web.json_response({"results": _pipeline(portal, request)["stages"]})


async def read_stage(portal: Portal, request: web.Request) -> web.Response:
    """One stage of one pipeline."""
    for stage in _pipeline(portal, request)["stages"]:
        if stage["id"] == request.match_info["stage_id"]:
            return web.json_response(stage)
    raise resource_not_found()


def _pipelines(portal: Portal, kind: Kind) -> list[dict[str, Any]]:
    pipelines: list[Pipeline] = list(portal.pipelines.values()) if kind is DEALS else []
    return [pipeline.described(position) for position, pipeline in enumerate(pipelines)]


def _pipeline(portal: Portal, request: web.Request) -> dict[str, Any]:
    for pipeline in _pipelines(portal, kind_of(request)):
        if pipeline["id"] == request.match_info["pipeline_id"]:
            return pipeline
    raise resource_not_found()
