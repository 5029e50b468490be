"""The actions that a user performs in the user interface and its settings."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from workspace_sandbox.crm.data.account import Owner
from workspace_sandbox.crm.data.object_types import COMPANIES, CONTACTS, DEALS, KIND_NAMES, KINDS, NOTES, ObjectType
from workspace_sandbox.crm.data.pipelines import Pipeline, deal_stage
from workspace_sandbox.crm.data.records import PERSON, Creator, Record
from workspace_sandbox.kit.input_validation import json_object, texts
from workspace_sandbox.kit.user_actions import (
    DELIVERIES,
    ActionField,
    UserAction,
    UserActions,
    lookup_in,
    optional,
    reader_for,
    text,
)

if TYPE_CHECKING:
    from workspace_sandbox.crm.emulator import CrmEmulator

ActionResult = dict[str, Any]


def _create(
    hubspot: "CrmEmulator",
    kind: ObjectType,
    properties: Mapping[str, Any],
    *,
    associations: Any = None,
    app_id: Any = None,
) -> ActionResult:
    portal = hubspot.portal
    maker = Creator.user(portal.account.user_id) if app_id is None else Creator.application(app_id)
    draft = portal.validate_new(kind, properties, associations, maker)
    portal.commit(draft, source=PERSON)
    return _everything(hubspot, draft.record)


def _update(hubspot: "CrmEmulator", kind: ObjectType, identifier: str, properties: Mapping[str, Any]) -> ActionResult:
    draft = hubspot.portal.validate_change(hubspot.portal.find(kind, identifier), properties)
    hubspot.portal.commit(draft, source=PERSON)
    return _everything(hubspot, draft.record)


def _archive(hubspot: "CrmEmulator", kind: ObjectType, identifier: str) -> ActionResult:
    record = hubspot.portal.find(kind, identifier)
    hubspot.portal.archive(record, source=PERSON)
    return {"id": str(record.id), "archived": True}


def _create_pipeline(hubspot: "CrmEmulator", label: str, labels: list[str], *, archived: bool = False) -> ActionResult:
    pipelines = hubspot.portal.pipelines
    number = 98_112_300 + 10 * len(pipelines)
    stages = tuple(deal_stage(str(number + position), one, "0.5") for position, one in enumerate(labels, 1))
    pipeline = pipelines[str(number)] = Pipeline(str(number), label, stages, archived=bool(archived))
    return pipeline.to_json(len(pipelines) - 1)


def _archive_owner(hubspot: "CrmEmulator", owner: Owner) -> ActionResult:
    hubspot.portal.owners[owner.id] = replace(owner, archived=True)
    return hubspot.portal.owners[owner.id].to_json()


def _subscribe(hubspot: "CrmEmulator", url: str) -> ActionResult:
    if url and not url.startswith(("http://", "https://")):
        raise ValueError("url must be an http or https URL, or empty")
    hubspot.hooks_url = url
    return {"url": url}


def _everything(hubspot: "CrmEmulator", record: Record) -> ActionResult:
    return record.to_json(record.properties, hubspot.portal.account.portal_id)


def _kind(_: Any, value: Any) -> ObjectType:
    kind = KIND_NAMES.get(str(value))
    if kind is None:
        raise ValueError(f"must be one of {', '.join(kind.plural for kind in KINDS)}, not {value!r}")
    return kind


TYPE = ActionField("type", f"one of {', '.join(kind.plural for kind in KINDS)}", _kind)
PROPERTIES = ActionField("properties", "values by internal property name", reader_for(json_object))
RECORD = ActionField("id", "the id of the record", lambda _, value: str(value))
CREATION_FIELDS = (
    optional("associations", "associations in the API's format for new records"),
    optional("app_id", "the app that creates the record; default: a user"),
)
OWNER = lookup_in(lambda hubspot: {str(number): owner for number, owner in hubspot.portal.owners.items()})
RECORD_RESULT = "the record in the API's format"


def _creates(kind: ObjectType) -> UserAction:
    do = partial(_call_with_kind, _create, kind)
    return UserAction(do, f"Creates a {kind.singular}.", (PROPERTIES, *CREATION_FIELDS), RECORD_RESULT)


def _updates(kind: ObjectType) -> UserAction:
    identifier = ActionField(f"{kind.singular}_id", f"the id of the {kind.singular}", RECORD.read)
    return UserAction(
        partial(_call_with_kind, _update, kind), f"Updates a {kind.singular}.", (identifier, PROPERTIES), RECORD_RESULT
    )


def _call_with_kind(
    do: Callable[..., ActionResult], kind: ObjectType, hubspot: "CrmEmulator", *needed: Any, **options: Any
) -> ActionResult:
    return do(hubspot, kind, *needed, **options)


USER_ACTIONS: UserActions = {
    "create": UserAction(_create, "Creates a record of any type.", (TYPE, PROPERTIES, *CREATION_FIELDS), RECORD_RESULT),
    "update": UserAction(_update, "Updates a record of any type.", (TYPE, RECORD, PROPERTIES), RECORD_RESULT),
    **{f"create_{kind.singular}": _creates(kind) for kind in (CONTACTS, COMPANIES, DEALS, NOTES)},
    **{f"update_{kind.singular}": _updates(kind) for kind in (CONTACTS, COMPANIES, DEALS)},
    "archive": UserAction(_archive, "Archives a record.", (TYPE, RECORD), "`id`, `archived`"),
    "create_pipeline": UserAction(
        _create_pipeline,
        "Creates a deal pipeline.",
        (
            ActionField("label", "the name of the pipeline", text),
            ActionField("stages", "the names of the stages, in order", reader_for(texts)),
            optional("archived", "true creates an archived pipeline"),
        ),
        "the pipeline in the API's format",
    ),
    "archive_owner": UserAction(
        _archive_owner,
        "Deactivates a user.",
        (ActionField("owner_id", "the id of the owner", OWNER),),
        "the owner in the API's format",
    ),
    "subscribe": UserAction(
        _subscribe,
        "Sends webhooks of records other than activities to a URL. An empty URL stops them.",
        (ActionField("url", "the URL, or empty", text),),
        "`url`",
    ),
    "deliveries": DELIVERIES,
}
