"""What a person does in the application, by the name of the action."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from workspace_sandbox.crm.directory import Pipeline, deal_stage
from workspace_sandbox.crm.kinds import COMPANIES, CONTACTS, DEALS, KIND_NAMES, KINDS, NOTES, Kind
from workspace_sandbox.crm.records import PERSON, Maker, Record
from workspace_sandbox.crm.state import Portal
from workspace_sandbox.crm.wire import Rejection
from workspace_sandbox.kit.acts import Act

Do = Callable[[Portal, Mapping[str, Any]], dict[str, Any]]


def perform(portal: Portal, action: Mapping[str, Any]) -> dict[str, Any]:
    """Do *action*; a ``ValueError`` says what is wrong with it."""
    name = str(action.get("action"))
    if name not in ACTS:
        raise ValueError(f"no action {name!r}; there are {', '.join([*ACTS, *SETTINGS])}")
    try:
        return ACTS[name].do(portal, action)
    except Rejection as rejection:
        raise ValueError(rejection.message) from rejection
    except KeyError as missing:
        raise ValueError(f"{name} needs {missing}") from missing


def _kind(action: Mapping[str, Any]) -> Kind:
    kind = KIND_NAMES.get(str(action["type"]))
    if kind is None:
        raise ValueError(f"no object type {action['type']!r}; there are {', '.join(kind.plural for kind in KINDS)}")
    return kind


def _create_any(portal: Portal, action: Mapping[str, Any]) -> dict[str, Any]:
    return _create(_kind(action))(portal, action)


def _update_any(portal: Portal, action: Mapping[str, Any]) -> dict[str, Any]:
    kind = _kind(action)
    return _update(kind)(portal, {**action, f"{kind.singular}_id": action["id"]})


def _create(kind: Kind) -> Do:
    def create(portal: Portal, action: Mapping[str, Any]) -> dict[str, Any]:
        draft = portal.draft_new(kind, action["properties"], action.get("associations"), _maker(portal, action))
        portal.commit(draft, source=PERSON)
        return _everything(portal, draft.record)

    return create


def _maker(portal: Portal, action: Mapping[str, Any]) -> Maker:
    """A person, unless the action names another application by its ``app_id``."""
    if "app_id" in action:
        return Maker.application(action["app_id"])
    return Maker.person(portal.account.user_id)


def _update(kind: Kind) -> Do:
    def update(portal: Portal, action: Mapping[str, Any]) -> dict[str, Any]:
        record = portal.find(kind, str(action[f"{kind.singular}_id"]))
        draft = portal.draft_change(record, action["properties"])
        portal.commit(draft, source=PERSON)
        return _everything(portal, draft.record)

    return update


def _archive(portal: Portal, action: Mapping[str, Any]) -> dict[str, Any]:
    record = portal.find(_kind(action), str(action["id"]))
    portal.archive(record, source=PERSON)
    return {"id": str(record.id), "archived": True}


def _create_pipeline(portal: Portal, action: Mapping[str, Any]) -> dict[str, Any]:
    number = 98_112_300 + 10 * len(portal.pipelines)
    stages = tuple(
        deal_stage(str(number + position), str(label), "0.5") for position, label in enumerate(action["stages"], 1)
    )
    pipeline = Pipeline(str(number), str(action["label"]), stages, archived=bool(action.get("archived")))
    portal.pipelines[pipeline.id] = pipeline
    return pipeline.described(len(portal.pipelines) - 1)


def _archive_owner(portal: Portal, action: Mapping[str, Any]) -> dict[str, Any]:
    owner = portal.owners[int(action["owner_id"])]
    portal.owners[owner.id] = replace(owner, archived=True)
    return portal.owners[owner.id].described()


def _everything(portal: Portal, record: Record) -> dict[str, Any]:
    return record.described(record.properties, portal.account.portal_id)


TYPE = {"type": f"one of {', '.join(kind.plural for kind in KINDS)}"}
PROPERTIES = {"properties": "values by internal name"}
MADE = {
    "associations": "as the vendor takes them with a new record",
    "app_id": "the application that makes it; otherwise a person does",
}
SHOWN = "the record in the vendor's shape"

SETTINGS: Mapping[str, Act[None]] = {
    "subscribe": Act(
        None,
        "Sends webhooks of records, other than activities, to an address; an empty one ends that.",
        {"url": "the address"},
        answers="`url`",
    ),
    "deliveries": Act(
        None,
        "Tells how deliveries went.",
        answers="`deliveries`: `event_id`, `type`, `attempt`, `status`, `reason` of each",
    ),
}
"""What is done in the settings of the application; the emulator does it."""

ACTS: Mapping[str, Act[Do]] = {
    "create": Act(_create_any, "Makes a record of any type.", TYPE | PROPERTIES, MADE, SHOWN),
    "update": Act(
        _update_any, "Changes a record of any type.", TYPE | {"id": "the record"} | PROPERTIES, answers=SHOWN
    ),
    "create_contact": Act(_create(CONTACTS), "Makes a contact.", PROPERTIES, MADE, SHOWN),
    "create_company": Act(_create(COMPANIES), "Makes a company.", PROPERTIES, MADE, SHOWN),
    "create_deal": Act(_create(DEALS), "Makes a deal.", PROPERTIES, MADE, SHOWN),
    "create_note": Act(_create(NOTES), "Makes a note.", PROPERTIES, MADE, SHOWN),
    "update_contact": Act(
        _update(CONTACTS), "Changes a contact.", {"contact_id": "the contact"} | PROPERTIES, answers=SHOWN
    ),
    "update_company": Act(
        _update(COMPANIES), "Changes a company.", {"company_id": "the company"} | PROPERTIES, answers=SHOWN
    ),
    "update_deal": Act(_update(DEALS), "Changes a deal.", {"deal_id": "the deal"} | PROPERTIES, answers=SHOWN),
    "archive": Act(
        _archive,
        "Puts a record away.",
        TYPE | {"id": "the record"},
        answers="`id`, `archived`",
    ),
    "create_pipeline": Act(
        _create_pipeline,
        "Makes a pipeline of deals.",
        {"label": "its name", "stages": "names of its stages, in order"},
        {"archived": "true for one that is put away"},
        "the pipeline in the vendor's shape",
    ),
    "archive_owner": Act(
        _archive_owner,
        "Deactivates a user.",
        {"owner_id": "whom"},
        answers="the owner in the vendor's shape",
    ),
}
