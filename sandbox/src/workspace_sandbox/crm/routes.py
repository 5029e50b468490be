"""The emulated routes of the vendor, with all their paths."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal

from aiohttp import web

from workspace_sandbox.crm.access import HubSpotOAuth
from workspace_sandbox.crm.api import (
    association_labels,
    associations,
    list_memberships,
    lists,
    objects,
    owners,
    pipelines,
    properties,
    property_groups,
)
from workspace_sandbox.crm.arguments import read_kind
from workspace_sandbox.crm.data.object_types import KINDS
from workspace_sandbox.crm.data.state import Portal
from workspace_sandbox.kit.routes import PageRoute, Route

DATED = "{version:2026-0[39]}"
"""The supported versions, as a segment of the path."""

Handler = Callable[[Portal, web.Request], Awaitable[web.Response | None]]
"""Handles a request. None results in a 204."""

Scopes = Callable[[web.Request], tuple[str, ...]]


@dataclass(frozen=True, kw_only=True)
class ApiRoute(Route[Handler]):
    """A route with its alternative scopes and its budget."""

    scopes: Scopes
    limit: Literal["burst", "search"] = "burst"


def reads(request: web.Request) -> tuple[str, ...]:
    """Return the scope for reading records of the type in the path."""
    return (read_kind(request).scope_for("read"),)


def writes(request: web.Request) -> tuple[str, ...]:
    """Return the scope for writing records of the type in the path."""
    return (read_kind(request).scope_for("write"),)


def any_object(request: web.Request) -> tuple[str, ...]:
    """Return all scopes of any object type."""
    del request
    return tuple(dict.fromkeys(right for kind in KINDS for right in (kind.scope_for("read"), kind.scope_for("write"))))


def reads_properties(request: web.Request) -> tuple[str, ...]:
    """Return the scopes for properties: reading any object, or a special scope for sensitive properties."""
    sensitivity = request.query.get("dataSensitivity", "non_sensitive")
    if sensitivity not in {"sensitive", "highly_sensitive"}:
        return any_object(request)
    return (f"crm.objects.{read_kind(request).scope}.{sensitivity}.read.v2",)


def changes_properties(request: web.Request) -> tuple[str, ...]:
    """Return the scope for changing the properties of the type in the path."""
    return (read_kind(request).schema_scope,)


def only(scope: str) -> Scopes:
    """Return a function that requires one fixed scope."""
    return lambda _: (scope,)


reads_owners, installed = only("crm.objects.owners.read"), only("oauth")
reads_lists, writes_lists = only("crm.lists.read"), only("crm.lists.write")

OBJECTS = ApiRoute.at(f"/crm/objects/{DATED}", "/crm/v3/objects")
LINKS = ApiRoute.at(f"/crm/objects/{DATED}", "/crm/v4/objects")
LINK_BATCHES = ApiRoute.at(f"/crm/associations/{DATED}", "/crm/v4/associations")
PIPELINES = ApiRoute.at(f"/crm/pipelines/{DATED}", "/crm/v3/pipelines")
OWNERS = ApiRoute.at(f"/crm/owners/{DATED}", "/crm/v3/owners")
PROPERTIES = ApiRoute.at(f"/crm/properties/{DATED}", "/crm/v3/properties")
LISTS = ApiRoute.at(f"/crm/lists/{DATED}", "/crm/v3/lists")
LABELS = ApiRoute.at(f"/crm/associations/{DATED}", "/crm/v4/associations", "/crm/associations/v4")
ACCOUNT = ApiRoute.at(f"/account-info/{DATED}", "/account-info/v3")
CONSENT = PageRoute.at("/oauth")
TOKENS = PageRoute.at(f"/oauth/{DATED}", "/oauth/v3", "/oauth/v1")
OLD_TOKENS = PageRoute.at("/oauth/v1")

AUDITED = "previous values are not returned"
BEFORE = "before is ignored"
FILTERED = "only property filters are supported"
PIPELINED = "only deals and tickets have pipelines"
HISTORY = "propertiesWithHistory is accepted and ignored"
PAIR = "/{type}/{id}/associations/{to_type}/{to_id}"

ROUTES: tuple[ApiRoute | PageRoute, ...] = (
    OBJECTS("GET /{type}", objects.list_records, HISTORY, scopes=reads),
    OBJECTS("POST /{type}", objects.create_record, scopes=writes),
    OBJECTS("GET /{type}/{id}", objects.read_record, HISTORY, scopes=reads),
    OBJECTS("PATCH /{type}/{id}", objects.update_record, scopes=writes),
    OBJECTS("DELETE /{type}/{id}", objects.archive_record, scopes=writes),
    OBJECTS("POST /{type}/search", objects.search_records, scopes=reads, limit="search"),
    OBJECTS("POST /{type}/batch/read", objects.batch_read, HISTORY, scopes=reads),
    OBJECTS("POST /{type}/batch/create", objects.batch_create, scopes=writes),
    OBJECTS("POST /{type}/batch/update", objects.batch_update, scopes=writes),
    OBJECTS("POST /{type}/batch/upsert", objects.batch_upsert, scopes=writes),
    OBJECTS("POST /{type}/batch/archive", objects.batch_archive, scopes=writes),
    LINKS("PUT /{type}/{id}/associations/default/{to_type}/{to_id}", associations.associate_default, scopes=any_object),
    LINKS("GET /{type}/{id}/associations/{to_type}", associations.list_associations, scopes=any_object),
    LINKS(f"PUT {PAIR}", associations.associate, scopes=any_object),
    LINKS(f"DELETE {PAIR}", associations.dissociate, scopes=any_object),
    OBJECTS(f"PUT {PAIR}/{{association_type}}", associations.associate_by_type, scopes=any_object),
    OBJECTS(f"DELETE {PAIR}/{{association_type}}", associations.dissociate_by_type, scopes=any_object),
    LINK_BATCHES("POST /{type}/{to_type}/batch/read", associations.batch_read, scopes=any_object),
    LINK_BATCHES("POST /{type}/{to_type}/batch/create", associations.batch_create, scopes=any_object),
    LINK_BATCHES(
        "POST /{type}/{to_type}/batch/associate/default", associations.batch_associate_default, scopes=any_object
    ),
    LINK_BATCHES("POST /{type}/{to_type}/batch/archive", associations.batch_archive, scopes=any_object),
    LINK_BATCHES("POST /{type}/{to_type}/batch/labels/archive", associations.batch_archive_labels, scopes=any_object),
    LABELS("GET /{type}/{to_type}/labels", association_labels.list_labels, scopes=any_object),
    LABELS("POST /{type}/{to_type}/labels", association_labels.create_label, scopes=any_object),
    LABELS("PUT /{type}/{to_type}/labels", association_labels.update_label, scopes=any_object),
    LABELS("DELETE /{type}/{to_type}/labels/{type_id}", association_labels.delete_label, scopes=any_object),
    PIPELINES("GET /{type}", pipelines.list_pipelines, PIPELINED, scopes=any_object),
    PIPELINES("POST /{type}", pipelines.create_pipeline, PIPELINED, scopes=changes_properties),
    PIPELINES("PATCH /{type}/{pipeline_id}", pipelines.update_pipeline, scopes=changes_properties),
    PIPELINES("PUT /{type}/{pipeline_id}", pipelines.replace_pipeline, scopes=changes_properties),
    PIPELINES("DELETE /{type}/{pipeline_id}", pipelines.delete_pipeline, scopes=changes_properties),
    PIPELINES("GET /{type}/{pipeline_id}/audit", pipelines.audit, AUDITED, scopes=any_object),
    PIPELINES("POST /{type}/{pipeline_id}/stages", pipelines.create_stage, scopes=changes_properties),
    PIPELINES("PATCH /{type}/{pipeline_id}/stages/{stage_id}", pipelines.update_stage, scopes=changes_properties),
    PIPELINES("PUT /{type}/{pipeline_id}/stages/{stage_id}", pipelines.replace_stage, scopes=changes_properties),
    PIPELINES("DELETE /{type}/{pipeline_id}/stages/{stage_id}", pipelines.delete_stage, scopes=changes_properties),
    PIPELINES("GET /{type}/{pipeline_id}/stages/{stage_id}/audit", pipelines.audit, AUDITED, scopes=any_object),
    PIPELINES("GET /{type}/{pipeline_id}", pipelines.read_pipeline, scopes=any_object),
    PIPELINES("GET /{type}/{pipeline_id}/stages", pipelines.list_stages, scopes=any_object),
    PIPELINES("GET /{type}/{pipeline_id}/stages/{stage_id}", pipelines.read_stage, scopes=any_object),
    OWNERS("GET ", owners.list_owners, "owners have no teams", scopes=reads_owners),
    OWNERS("GET /{id}", owners.read_owner, scopes=reads_owners),
    PROPERTIES("GET /{type}", properties.list_properties, "locale is ignored", scopes=reads_properties),
    PROPERTIES("POST /{type}", properties.create_property, "no formulas", scopes=changes_properties),
    PROPERTIES("POST /{type}/batch/read", properties.batch_read, "locale is ignored", scopes=reads_properties),
    PROPERTIES("POST /{type}/batch/create", properties.batch_create, "no formulas", scopes=changes_properties),
    PROPERTIES("POST /{type}/batch/archive", properties.batch_archive, scopes=changes_properties),
    PROPERTIES("GET /{type}/groups", property_groups.list_groups, "locale is ignored", scopes=reads_properties),
    PROPERTIES("POST /{type}/groups", property_groups.create_group, scopes=changes_properties),
    PROPERTIES("GET /{type}/groups/{name}", property_groups.read_group, "locale is ignored", scopes=reads_properties),
    PROPERTIES("PATCH /{type}/groups/{name}", property_groups.update_group, scopes=changes_properties),
    PROPERTIES("DELETE /{type}/groups/{name}", property_groups.archive_group, scopes=changes_properties),
    PROPERTIES("GET /{type}/{name}", properties.read_property, "locale is ignored", scopes=reads_properties),
    PROPERTIES("PATCH /{type}/{name}", properties.update_property, "the type cannot change", scopes=changes_properties),
    PROPERTIES("DELETE /{type}/{name}", properties.archive_property, scopes=changes_properties),
    LISTS("POST ", lists.create_list, FILTERED, scopes=writes_lists),
    LISTS("GET ", lists.read_lists, scopes=reads_lists),
    LISTS("POST /search", lists.search_lists, "sort; additionalProperties other than the size", scopes=reads_lists),
    LISTS("GET /object-type-id/{type_id}/name/{name}", lists.read_list_by_name, scopes=reads_lists),
    LISTS("GET /records/{type_id}/{id}/memberships", list_memberships.list_lists, scopes=reads_lists),
    LISTS("POST /records/memberships/batch/read", list_memberships.batch_read, scopes=reads_lists),
    LISTS("GET /{list_id}", lists.get_list, scopes=reads_lists),
    LISTS("DELETE /{list_id}", lists.delete_list, scopes=writes_lists),
    LISTS("PUT /{list_id}/restore", lists.restore_list, "also after 90 days", scopes=writes_lists),
    LISTS("PUT /{list_id}/update-list-name", lists.rename_list, scopes=writes_lists),
    LISTS("PUT /{list_id}/update-list-filters", lists.refilter_list, FILTERED, scopes=writes_lists),
    LISTS("GET /{list_id}/memberships", list_memberships.list_memberships, BEFORE, scopes=reads_lists),
    LISTS("DELETE /{list_id}/memberships", list_memberships.remove_all, scopes=writes_lists),
    LISTS("GET /{list_id}/memberships/join-order", list_memberships.list_by_joining, BEFORE, scopes=reads_lists),
    LISTS("PUT /{list_id}/memberships/add", list_memberships.add_members, scopes=writes_lists),
    LISTS("PUT /{list_id}/memberships/remove", list_memberships.remove_members, scopes=writes_lists),
    LISTS("PUT /{list_id}/memberships/add-and-remove", list_memberships.change_members, scopes=writes_lists),
    LISTS("PUT /{list_id}/memberships/add-from/{source_id}", list_memberships.add_from, scopes=writes_lists),
    ACCOUNT("GET /details", owners.read_account, scopes=installed),
    CONSENT("GET /authorize", HubSpotOAuth.authorize, "one app, no sign-in"),
    CONSENT("POST /authorize", HubSpotOAuth.authorize, "one app, no sign-in"),
    TOKENS("POST /token", HubSpotOAuth.token, "no client_credentials"),
    TOKENS("POST /token/introspect", HubSpotOAuth.introspect),
    TOKENS("POST /token/revoke", HubSpotOAuth.revoke),
    OLD_TOKENS("GET /access-tokens/{token}", HubSpotOAuth.read_access_token),
    OLD_TOKENS("GET /refresh-tokens/{token}", HubSpotOAuth.read_refresh_token),
    OLD_TOKENS("DELETE /refresh-tokens/{token}", HubSpotOAuth.delete_refresh_token),
)
"""All emulated routes. ``unsupported`` describes the unsupported parts."""
