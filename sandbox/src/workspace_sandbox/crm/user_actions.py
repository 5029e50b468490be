"""The actions that a user performs in the user interface and its settings."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from workspace_sandbox.crm.data.directory import Owner, Pipeline, deal_stage
from workspace_sandbox.crm.data.object_types import COMPANIES, CONTACTS, DEALS, KIND_NAMES, KINDS, NOTES, Kind
from workspace_sandbox.crm.data.records import PERSON, Creator, Record
from workspace_sandbox.kit.arguments import json_object
from workspace_sandbox.kit.knobs import texts
from workspace_sandbox.kit.user_actions import (
    DELIVERIES,
    Field,
    UserAction,
    UserActions,
    lookup_in,
    optional,
    reader_for,
    text,
)

if TYPE_CHECKING:
    from workspace_sandbox.crm.emulator import CrmEmulator

Shown = dict[str, Any]


def _create(
    hubspot: "CrmEmulator",
    kind: Kind,
    properties: Mapping[str, Any],
    *,
    associations: Any = None,
    app_id: Any = None,
) -> Shown:
    portal = hubspot.portal
    maker = Creator.user(portal.account.user_id) if app_id is None else Creator.application(app_id)
    draft = portal.validate_new(kind, properties, associations, maker)
    portal.commit(draft, source=PERSON)
    return _everything(hubspot, draft.record)


def _update(hubspot: "CrmEmulator", kind: Kind, identifier: str, properties: Mapping[str, Any]) -> Shown:
    draft = hubspot.portal.validate_change(hubspot.portal.find(kind, identifier), properties)
    hubspot.portal.commit(draft, source=PERSON)
    return _everything(hubspot, draft.record)


def _archive(hubspot: "CrmEmulator", kind: Kind, identifier: str) -> Shown:
    record = hubspot.portal.find(kind, identifier)
    hubspot.portal.archive(record, source=PERSON)
    return {"id": str(record.id), "archived": True}


def _create_pipeline(hubspot: "CrmEmulator", label: str, labels: list[str], *, archived: bool = False) -> Shown:
    pipelines = hubspot.portal.pipelines
    number = 98_112_300 + 10 * len(pipelines)
    stages = tuple(deal_stage(str(number + position), one, "0.5") for position, one in enumerate(labels, 1))
    pipeline = pipelines[str(number)] = Pipeline(str(number), label, stages, archived=bool(archived))
    return pipeline.to_json(len(pipelines) - 1)


def _archive_owner(hubspot: "CrmEmulator", owner: Owner) -> Shown:
    hubspot.portal.owners[owner.id] = replace(owner, archived=True)
    return hubspot.portal.owners[owner.id].to_json()


def _subscribe(hubspot: "CrmEmulator", url: str) -> Shown:
    if url and not url.startswith(("http://", "https://")):
        raise ValueError("url must be an address, or empty")
    hubspot.hooks_url = url
    return {"url": url}


def _everything(hubspot: "CrmEmulator", record: Record) -> Shown:
    return record.to_json(record.properties, hubspot.portal.account.portal_id)


def _kind(_: Any, value: Any) -> Kind:
    kind = KIND_NAMES.get(str(value))
    if kind is None:
        raise ValueError(f"is no object type {value!r}; there are {', '.join(kind.plural for kind in KINDS)}")
    return kind


TYPE = Field("type", f"one of {', '.join(kind.plural for kind in KINDS)}", _kind)
PROPERTIES = Field("properties", "values by internal name", reader_for(json_object))
RECORD = Field("id", "the record", lambda _, value: str(value))
MADE = (
    optional("associations", "as the vendor takes them with a new record"),
    optional("app_id", "the application that makes it; otherwise a person does"),
)
OWNER = lookup_in(lambda hubspot: {str(number): owner for number, owner in hubspot.portal.owners.items()})
SHOWN = "the record in the vendor's shape"


def _creates(kind: Kind) -> UserAction:
    do = partial(_call_with_kind, _create, kind)
    return UserAction(do, f"Makes a {kind.singular}.", (PROPERTIES, *MADE), SHOWN)


def _updates(kind: Kind) -> UserAction:
    identifier = Field(f"{kind.singular}_id", f"the {kind.singular}", RECORD.read)
    return UserAction(
        partial(_call_with_kind, _update, kind), f"Changes a {kind.singular}.", (identifier, PROPERTIES), SHOWN
    )


def _call_with_kind(
    do: Callable[..., Shown], kind: Kind, hubspot: "CrmEmulator", *needed: Any, **options: Any
) -> Shown:
    return do(hubspot, kind, *needed, **options)


ACTS: UserActions = {
    "create": UserAction(_create, "Makes a record of any type.", (TYPE, PROPERTIES, *MADE), SHOWN),
    "update": UserAction(_update, "Changes a record of any type.", (TYPE, RECORD, PROPERTIES), SHOWN),
    **{f"create_{kind.singular}": _creates(kind) for kind in (CONTACTS, COMPANIES, DEALS, NOTES)},
    **{f"update_{kind.singular}": _updates(kind) for kind in (CONTACTS, COMPANIES, DEALS)},
    "archive": UserAction(_archive, "Puts a record away.", (TYPE, RECORD), "`id`, `archived`"),
    "create_pipeline": UserAction(
        _create_pipeline,
        "Makes a pipeline of deals.",
        (
            Field("label", "its name", text),
            Field("stages", "names of its stages, in order", reader_for(texts)),
            optional("archived", "true for one that is put away"),
        ),
        "the pipeline in the vendor's shape",
    ),
    "archive_owner": UserAction(
        _archive_owner, "Deactivates a user.", (Field("owner_id", "whom", OWNER),), "the owner in the vendor's shape"
    ),
    "subscribe": UserAction(
        _subscribe,
        "Sends webhooks of records, other than activities, to an address; an empty one ends that.",
        (Field("url", "the address", text),),
        "`url`",
    ),
    "deliveries": DELIVERIES,
}
