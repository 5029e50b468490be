"""The vendor routes that are played, at every path they go by."""

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from aiohttp import web

from workspace_sandbox.crm import consent, links, objects, schema
from workspace_sandbox.crm.catalogue import KIND_NAMES
from workspace_sandbox.crm.reading import kind_of
from workspace_sandbox.crm.state import Portal

DATED = "{version:2026-0[39]}"
"""The versions that are served, as a segment of the path."""

Handler = Callable[[Portal, web.Request], Awaitable[web.Response]]
Scopes = Callable[[web.Request], tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Family:
    """Where a group of routes is found: under the dated path, and under older ones that mean the same."""

    prefixes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Route:
    """One vendor route; ``lacks`` says what of it is not played, ``scopes`` is absent where no token is needed."""

    method: str
    family: Family
    path: str
    handler: Handler
    scopes: Scopes | None = None
    limit: Literal["burst", "search"] = "burst"
    lacks: str = ""

    @property
    def paths(self) -> Iterator[str]:
        """Every path it is served at."""
        return (prefix + self.path for prefix in self.family.prefixes)


def reads(request: web.Request) -> tuple[str, ...]:
    """The scope for reading records of the type in the path."""
    return (f"crm.objects.{kind_of(request).scope}.read",)


def writes(request: web.Request) -> tuple[str, ...]:
    """The scope for writing records of the type in the path."""
    return (f"crm.objects.{kind_of(request).scope}.write",)


def any_object(request: web.Request) -> tuple[str, ...]:
    """Any scope over any object."""
    del request
    scopes = dict.fromkeys(kind.scope for kind in KIND_NAMES.values())
    return tuple(f"crm.objects.{scope}.{right}" for scope in scopes for right in ("read", "write"))


def properties_read(request: web.Request) -> tuple[str, ...]:
    """Reading any object will do, unless it is about sensitive properties."""
    sensitivity = request.query.get("dataSensitivity", "non_sensitive")
    if sensitivity not in {"sensitive", "highly_sensitive"}:
        return any_object(request)
    return (f"crm.objects.{kind_of(request).scope}.{sensitivity}.read.v2",)


def properties_write(request: web.Request) -> tuple[str, ...]:
    """The scope for changing the properties of the type in the path."""
    return (f"crm.schemas.{kind_of(request).scope}.write",)


def owners(request: web.Request) -> tuple[str, ...]:
    """The scope for owners."""
    del request
    return ("crm.objects.owners.read",)


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
ACCOUNT = Family((f"/account-info/{DATED}", "/account-info/v3"))
CONSENT = Family(("/oauth",))
TOKENS = Family((f"/oauth/{DATED}", "/oauth/v3", "/oauth/v1"))
OLD_TOKENS = Family(("/oauth/v1",))

HISTORY = "propertiesWithHistory is accepted and ignored"
PAIR = "/{type}/{id}/associations/{to_type}/{to_id}"

ROUTES: tuple[Route, ...] = (
    Route("GET", OBJECTS, "/{type}", objects.list_records, reads, lacks=HISTORY),
    Route("POST", OBJECTS, "/{type}", objects.create_record, writes),
    Route("GET", OBJECTS, "/{type}/{id}", objects.read_record, reads, lacks=HISTORY),
    Route("PATCH", OBJECTS, "/{type}/{id}", objects.update_record, writes),
    Route("DELETE", OBJECTS, "/{type}/{id}", objects.archive_record, writes),
    Route("POST", OBJECTS, "/{type}/search", objects.search_records, reads, limit="search"),
    Route("POST", OBJECTS, "/{type}/batch/read", objects.batch_read, reads, lacks=HISTORY),
    Route("POST", OBJECTS, "/{type}/batch/create", objects.batch_create, writes),
    Route("POST", OBJECTS, "/{type}/batch/update", objects.batch_update, writes),
    Route("POST", OBJECTS, "/{type}/batch/upsert", objects.batch_upsert, writes),
    Route("POST", OBJECTS, "/{type}/batch/archive", objects.batch_archive, writes),
    Route("PUT", LINKS, "/{type}/{id}/associations/default/{to_type}/{to_id}", links.associate_default, any_object),
    Route("GET", LINKS, "/{type}/{id}/associations/{to_type}", links.list_associations, any_object),
    Route("PUT", LINKS, PAIR, links.associate, any_object),
    Route("DELETE", LINKS, PAIR, links.dissociate, any_object),
    Route("PUT", OBJECTS, PAIR + "/{association_type}", links.associate_by_type, any_object),
    Route("DELETE", OBJECTS, PAIR + "/{association_type}", links.dissociate_by_type, any_object),
    Route("POST", LINK_BATCHES, "/{type}/{to_type}/batch/read", links.batch_read, any_object),
    Route("POST", LINK_BATCHES, "/{type}/{to_type}/batch/create", links.batch_create, any_object),
    Route("POST", LINK_BATCHES, "/{type}/{to_type}/batch/associate/default", links.batch_associate_default, any_object),
    Route("POST", LINK_BATCHES, "/{type}/{to_type}/batch/archive", links.batch_archive, any_object),
    Route("POST", LINK_BATCHES, "/{type}/{to_type}/batch/labels/archive", links.batch_archive_labels, any_object),
    Route("GET", LINK_BATCHES, "/{type}/{to_type}/labels", links.list_labels, any_object),
    Route("GET", PIPELINES, "/{type}", schema.list_pipelines, any_object, lacks="only deals have pipelines"),
    Route("GET", PIPELINES, "/{type}/{pipeline_id}", schema.read_pipeline, any_object),
    Route("GET", PIPELINES, "/{type}/{pipeline_id}/stages", schema.list_stages, any_object),
    Route("GET", PIPELINES, "/{type}/{pipeline_id}/stages/{stage_id}", schema.read_stage, any_object),
    Route("GET", OWNERS, "", schema.list_owners, owners, lacks="owners have no teams"),
    Route("GET", OWNERS, "/{id}", schema.read_owner, owners),
    Route("GET", PROPERTIES, "/{type}", schema.list_properties, properties_read, lacks="locale is ignored"),
    Route("POST", PROPERTIES, "/{type}", schema.create_property, properties_write, lacks="no formulas"),
    Route("GET", PROPERTIES, "/{type}/{name}", schema.read_property, properties_read, lacks="locale is ignored"),
    Route("PATCH", PROPERTIES, "/{type}/{name}", schema.update_property, properties_write, lacks="the type stays"),
    Route("DELETE", PROPERTIES, "/{type}/{name}", schema.archive_property, properties_write),
    Route("GET", ACCOUNT, "/details", schema.read_account, installed),
    Route("GET", CONSENT, "/authorize", consent.authorise_page, lacks="one application, no sign-in"),
    Route("POST", TOKENS, "/token", consent.issue_token, lacks="no client_credentials"),
    Route("POST", TOKENS, "/token/introspect", consent.introspect_token),
    Route("POST", TOKENS, "/token/revoke", consent.revoke_token),
    Route("GET", OLD_TOKENS, "/access-tokens/{token}", consent.read_access_token),
    Route("GET", OLD_TOKENS, "/refresh-tokens/{token}", consent.read_refresh_token),
    Route("DELETE", OLD_TOKENS, "/refresh-tokens/{token}", consent.delete_refresh_token),
)
"""What is played of the vendor: fully, or but for what ``lacks`` says."""
