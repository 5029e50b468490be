"""The vendor routes that are played, at every path they go by."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Literal

from aiohttp import web

from workspace_sandbox.crm import (
    associations,
    groups,
    labels,
    lists,
    memberships,
    objects,
    owners,
    pipelines,
    properties,
)
from workspace_sandbox.crm.access import Grants
from workspace_sandbox.crm.arguments import kind_of
from workspace_sandbox.crm.kinds import KINDS
from workspace_sandbox.crm.state import Portal
from workspace_sandbox.kit.routes import Page, Route

DATED = "{version:2026-0[39]}"
"""The versions that are served, as a segment of the path."""

Handler = Callable[[Portal, web.Request], Awaitable[web.Response]]
Scopes = Callable[[web.Request], tuple[str, ...]]


@dataclass(frozen=True, kw_only=True)
class ScopedRoute(Route[Handler]):
    """A route with the scopes of which it wants one, and the budget it is charged to."""

    scopes: Scopes
    limit: Literal["burst", "search"] = "burst"


@dataclass(frozen=True, slots=True)
class Family:
    """Where a group of routes is found: under the dated path, and under older ones that mean the same."""

    prefixes: tuple[str, ...]

    def route(self, method: str, path: str, handler: Handler, scopes: Scopes, **more: Any) -> ScopedRoute:
        """Return one of its routes."""
        here, *older = (prefix + path for prefix in self.prefixes)
        return ScopedRoute(method=method, path=here, aliases=tuple(older), handler=handler, scopes=scopes, **more)

    def page(self, method: str, path: str, handler: Any, lacks: str = "") -> Page:
        """Return one of its routes that wants no token."""
        here, *older = (prefix + path for prefix in self.prefixes)
        return Page(method=method, path=here, aliases=tuple(older), handler=handler, lacks=lacks)


def reads(request: web.Request) -> tuple[str, ...]:
    """The scope for reading records of the type in the path."""
    return (kind_of(request).right("read"),)


def writes(request: web.Request) -> tuple[str, ...]:
    """The scope for writing records of the type in the path."""
    return (kind_of(request).right("write"),)


def any_object(request: web.Request) -> tuple[str, ...]:
    """Any scope over any object."""
    del request
    return tuple(dict.fromkeys(right for kind in KINDS for right in (kind.right("read"), kind.right("write"))))


def reads_properties(request: web.Request) -> tuple[str, ...]:
    """Reading any object will do, unless it is about sensitive properties."""
    sensitivity = request.query.get("dataSensitivity", "non_sensitive")
    if sensitivity not in {"sensitive", "highly_sensitive"}:
        return any_object(request)
    return (f"crm.objects.{kind_of(request).scope}.{sensitivity}.read.v2",)


def changes_properties(request: web.Request) -> tuple[str, ...]:
    """The scope for changing the properties of the type in the path."""
    return (kind_of(request).schema_right,)


def reads_owners(request: web.Request) -> tuple[str, ...]:
    """The scope for owners."""
    del request
    return ("crm.objects.owners.read",)


def reads_lists(request: web.Request) -> tuple[str, ...]:
    """The scope for reading lists."""
    del request
    return ("crm.lists.read",)


def writes_lists(request: web.Request) -> tuple[str, ...]:
    """The scope for changing lists."""
    del request
    return ("crm.lists.write",)


def installed(request: web.Request) -> tuple[str, ...]:
    """What every installed application has."""
    del request
    return ("oauth",)


OBJECTS = Family((f"/crm/objects/{DATED}", "/crm/v3/objects"))
LINKS = Family((f"/crm/objects/{DATED}", "/crm/v4/objects"))
LINK_BATCHES = Family((f"/crm/associations/{DATED}", "/crm/v4/associations"))
PIPELINES = Family((f"/crm/pipelines/{DATED}", "/crm/v3/pipelines"))
OWNERS = Family((f"/crm/owners/{DATED}", "/crm/v3/owners"))
PROPERTIES = Family((f"/crm/properties/{DATED}", "/crm/v3/properties"))
LISTS = Family((f"/crm/lists/{DATED}", "/crm/v3/lists"))
LABELS = Family((f"/crm/associations/{DATED}", "/crm/v4/associations", "/crm/associations/v4"))
ACCOUNT = Family((f"/account-info/{DATED}", "/account-info/v3"))
CONSENT = Family(("/oauth",))
TOKENS = Family((f"/oauth/{DATED}", "/oauth/v3", "/oauth/v1"))
OLD_TOKENS = Family(("/oauth/v1",))

AUDITED = "what it was before is not told"
BEFORE = "before is ignored"
FILTERED = "filters of properties alone"
PIPELINED = "only deals and tickets have pipelines"
HISTORY = "propertiesWithHistory is accepted and ignored"
PAIR = "/{type}/{id}/associations/{to_type}/{to_id}"

ROUTES: tuple[ScopedRoute | Page, ...] = (
    OBJECTS.route("GET", "/{type}", objects.list_records, reads, lacks=HISTORY),
    OBJECTS.route("POST", "/{type}", objects.create_record, writes),
    OBJECTS.route("GET", "/{type}/{id}", objects.read_record, reads, lacks=HISTORY),
    OBJECTS.route("PATCH", "/{type}/{id}", objects.update_record, writes),
    OBJECTS.route("DELETE", "/{type}/{id}", objects.archive_record, writes),
    OBJECTS.route("POST", "/{type}/search", objects.search_records, reads, limit="search"),
    OBJECTS.route("POST", "/{type}/batch/read", objects.batch_read, reads, lacks=HISTORY),
    OBJECTS.route("POST", "/{type}/batch/create", objects.batch_create, writes),
    OBJECTS.route("POST", "/{type}/batch/update", objects.batch_update, writes),
    OBJECTS.route("POST", "/{type}/batch/upsert", objects.batch_upsert, writes),
    OBJECTS.route("POST", "/{type}/batch/archive", objects.batch_archive, writes),
    LINKS.route(
        "PUT", "/{type}/{id}/associations/default/{to_type}/{to_id}", associations.associate_default, any_object
    ),
    LINKS.route("GET", "/{type}/{id}/associations/{to_type}", associations.list_associations, any_object),
    LINKS.route("PUT", PAIR, associations.associate, any_object),
    LINKS.route("DELETE", PAIR, associations.dissociate, any_object),
    OBJECTS.route("PUT", PAIR + "/{association_type}", associations.associate_by_type, any_object),
    OBJECTS.route("DELETE", PAIR + "/{association_type}", associations.dissociate_by_type, any_object),
    LINK_BATCHES.route("POST", "/{type}/{to_type}/batch/read", associations.batch_read, any_object),
    LINK_BATCHES.route("POST", "/{type}/{to_type}/batch/create", associations.batch_create, any_object),
    LINK_BATCHES.route(
        "POST",
        "/{type}/{to_type}/batch/associate/default",
        associations.batch_associate_default,
        any_object,
    ),
    LINK_BATCHES.route("POST", "/{type}/{to_type}/batch/archive", associations.batch_archive, any_object),
    LINK_BATCHES.route("POST", "/{type}/{to_type}/batch/labels/archive", associations.batch_archive_labels, any_object),
    LABELS.route("GET", "/{type}/{to_type}/labels", labels.list_labels, any_object),
    LABELS.route("POST", "/{type}/{to_type}/labels", labels.create_label, any_object),
    LABELS.route("PUT", "/{type}/{to_type}/labels", labels.update_label, any_object),
    LABELS.route("DELETE", "/{type}/{to_type}/labels/{type_id}", labels.delete_label, any_object),
    PIPELINES.route("GET", "/{type}", pipelines.list_pipelines, any_object, lacks=PIPELINED),
    PIPELINES.route("POST", "/{type}", pipelines.create_pipeline, changes_properties, lacks=PIPELINED),
    PIPELINES.route("PATCH", "/{type}/{pipeline_id}", pipelines.update_pipeline, changes_properties),
    PIPELINES.route("PUT", "/{type}/{pipeline_id}", pipelines.replace_pipeline, changes_properties),
    PIPELINES.route("DELETE", "/{type}/{pipeline_id}", pipelines.delete_pipeline, changes_properties),
    PIPELINES.route("GET", "/{type}/{pipeline_id}/audit", pipelines.audit, any_object, lacks=AUDITED),
    PIPELINES.route("POST", "/{type}/{pipeline_id}/stages", pipelines.create_stage, changes_properties),
    PIPELINES.route("PATCH", "/{type}/{pipeline_id}/stages/{stage_id}", pipelines.update_stage, changes_properties),
    PIPELINES.route("PUT", "/{type}/{pipeline_id}/stages/{stage_id}", pipelines.replace_stage, changes_properties),
    PIPELINES.route("DELETE", "/{type}/{pipeline_id}/stages/{stage_id}", pipelines.delete_stage, changes_properties),
    PIPELINES.route("GET", "/{type}/{pipeline_id}/stages/{stage_id}/audit", pipelines.audit, any_object, lacks=AUDITED),
    PIPELINES.route("GET", "/{type}/{pipeline_id}", pipelines.read_pipeline, any_object),
    PIPELINES.route("GET", "/{type}/{pipeline_id}/stages", pipelines.list_stages, any_object),
    PIPELINES.route("GET", "/{type}/{pipeline_id}/stages/{stage_id}", pipelines.read_stage, any_object),
    OWNERS.route("GET", "", owners.list_owners, reads_owners, lacks="owners have no teams"),
    OWNERS.route("GET", "/{id}", owners.read_owner, reads_owners),
    PROPERTIES.route("GET", "/{type}", properties.list_properties, reads_properties, lacks="locale is ignored"),
    PROPERTIES.route("POST", "/{type}", properties.create_property, changes_properties, lacks="no formulas"),
    PROPERTIES.route("POST", "/{type}/batch/read", properties.batch_read, reads_properties, lacks="locale is ignored"),
    PROPERTIES.route("POST", "/{type}/batch/create", properties.batch_create, changes_properties, lacks="no formulas"),
    PROPERTIES.route("POST", "/{type}/batch/archive", properties.batch_archive, changes_properties),
    PROPERTIES.route("GET", "/{type}/groups", groups.list_groups, reads_properties, lacks="locale is ignored"),
    PROPERTIES.route("POST", "/{type}/groups", groups.create_group, changes_properties),
    PROPERTIES.route("GET", "/{type}/groups/{name}", groups.read_group, reads_properties, lacks="locale is ignored"),
    PROPERTIES.route("PATCH", "/{type}/groups/{name}", groups.update_group, changes_properties),
    PROPERTIES.route("DELETE", "/{type}/groups/{name}", groups.archive_group, changes_properties),
    PROPERTIES.route("GET", "/{type}/{name}", properties.read_property, reads_properties, lacks="locale is ignored"),
    PROPERTIES.route("PATCH", "/{type}/{name}", properties.update_property, changes_properties, lacks="the type stays"),
    PROPERTIES.route("DELETE", "/{type}/{name}", properties.archive_property, changes_properties),
    LISTS.route("POST", "", lists.create_list, writes_lists, lacks=FILTERED),
    LISTS.route("GET", "", lists.read_lists, reads_lists),
    LISTS.route("POST", "/search", lists.search_lists, reads_lists, lacks="sort; of additionalProperties but the size"),
    LISTS.route("GET", "/object-type-id/{type_id}/name/{name}", lists.read_list_by_name, reads_lists),
    LISTS.route("GET", "/records/{type_id}/{id}/memberships", memberships.list_lists, reads_lists),
    LISTS.route("POST", "/records/memberships/batch/read", memberships.batch_read, reads_lists),
    LISTS.route("GET", "/{list_id}", lists.read_list, reads_lists),
    LISTS.route("DELETE", "/{list_id}", lists.delete_list, writes_lists),
    LISTS.route("PUT", "/{list_id}/restore", lists.restore_list, writes_lists, lacks="also after 90 days"),
    LISTS.route("PUT", "/{list_id}/update-list-name", lists.rename_list, writes_lists),
    LISTS.route("PUT", "/{list_id}/update-list-filters", lists.refilter_list, writes_lists, lacks=FILTERED),
    LISTS.route("GET", "/{list_id}/memberships", memberships.list_members, reads_lists, lacks=BEFORE),
    LISTS.route("DELETE", "/{list_id}/memberships", memberships.remove_all, writes_lists),
    LISTS.route("GET", "/{list_id}/memberships/join-order", memberships.list_by_joining, reads_lists, lacks=BEFORE),
    LISTS.route("PUT", "/{list_id}/memberships/add", memberships.add_members, writes_lists),
    LISTS.route("PUT", "/{list_id}/memberships/remove", memberships.remove_members, writes_lists),
    LISTS.route("PUT", "/{list_id}/memberships/add-and-remove", memberships.change_members, writes_lists),
    LISTS.route("PUT", "/{list_id}/memberships/add-from/{source_id}", memberships.add_from, writes_lists),
    ACCOUNT.route("GET", "/details", owners.read_account, installed),
    CONSENT.page("GET", "/authorize", Grants.authorize, lacks="one application, no sign-in"),
    CONSENT.page("POST", "/authorize", Grants.authorize, lacks="one application, no sign-in"),
    TOKENS.page("POST", "/token", Grants.token, lacks="no client_credentials"),
    TOKENS.page("POST", "/token/introspect", Grants.introspect),
    TOKENS.page("POST", "/token/revoke", Grants.revoke),
    OLD_TOKENS.page("GET", "/access-tokens/{token}", Grants.read_access_token),
    OLD_TOKENS.page("GET", "/refresh-tokens/{token}", Grants.read_refresh_token),
    OLD_TOKENS.page("DELETE", "/refresh-tokens/{token}", Grants.delete_refresh_token),
)
"""What is played of the vendor: fully, or but for what ``lacks`` says."""
