"""What a person does in the application, by the name of the action."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from workspace_sandbox.crm.catalogue import COMPANIES, CONTACTS, DEALS, KIND_NAMES, NOTES, Kind
from workspace_sandbox.crm.directory import DealStage, Pipeline
from workspace_sandbox.crm.records import Maker, Record
from workspace_sandbox.crm.state import Portal
from workspace_sandbox.crm.wire import Rejection

Act = Callable[[Portal, Mapping[str, Any]], dict[str, Any]]


def act(portal: Portal, action: Mapping[str, Any]) -> dict[str, Any]:
    """Do *action*; a ``ValueError`` says what is wrong with it."""
    name = str(action.get("action"))
    if name not in ACTS:
        raise ValueError(f"no action {name!r}; there are {', '.join(ACTS)}")
    try:
        return ACTS[name](portal, action)
    except Rejection as rejection:
        raise ValueError(rejection.message) from rejection
    except KeyError as missing:
        raise ValueError(f"{name} needs {missing}") from missing


def _create(kind: Kind) -> Act:
    def create(portal: Portal, action: Mapping[str, Any]) -> dict[str, Any]:
        draft = portal.draft_new(kind, action["properties"], action.get("associations"), _maker(portal, action))
        portal.commit(draft)
        return _everything(portal, draft.record)

    return create


def _maker(portal: Portal, action: Mapping[str, Any]) -> Maker:
    """A person, unless the action names another application by its ``app_id``."""
    if "app_id" in action:
        return Maker.application(action["app_id"])
    return Maker.person(portal.account.user_id)


def _update(kind: Kind) -> Act:
    def update(portal: Portal, action: Mapping[str, Any]) -> dict[str, Any]:
        record = portal.find(kind, str(action[f"{kind.singular}_id"]))
        draft = portal.draft_change(record, action["properties"])
        portal.commit(draft)
        return _everything(portal, draft.record)

    return update


def _archive(portal: Portal, action: Mapping[str, Any]) -> dict[str, Any]:
    kind = KIND_NAMES.get(str(action["type"]))
    if kind is None:
        raise ValueError(f"no object type {action['type']!r}")
    record = portal.find(kind, str(action["id"]))
    portal.archive(record)
    return {"id": str(record.id), "archived": True}


def _create_pipeline(portal: Portal, action: Mapping[str, Any]) -> dict[str, Any]:
    number = 98_112_300 + 10 * len(portal.pipelines)
    stages = tuple(
        DealStage(str(number + position), str(label), "0.5") for position, label in enumerate(action["stages"], 1)
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


ACTS: Mapping[str, Act] = {
    "create_contact": _create(CONTACTS),
    "create_company": _create(COMPANIES),
    "create_deal": _create(DEALS),
    "create_note": _create(NOTES),
    "update_contact": _update(CONTACTS),
    "update_company": _update(COMPANIES),
    "update_deal": _update(DEALS),
    "archive": _archive,
    "create_pipeline": _create_pipeline,
    "archive_owner": _archive_owner,
}
