"""Longer sequences of the vendor's Python SDK: tickets, lists, pipelines and labels."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hubspot import HubSpot
from hubspot.crm import lists, pipelines, properties, tickets

from harness.sandbox_server import run_emulators
from workspace_sandbox.crm import CrmEmulator
from workspace_sandbox.kit.state.pickling import dump_state, restore


@pytest.fixture(scope="module")
def emulator() -> Iterator[CrmEmulator]:
    with run_emulators(crm=CrmEmulator) as sandbox:
        crm_emulator = sandbox.emulators["crm"]
        assert isinstance(crm_emulator, CrmEmulator)
        crm_emulator.context.knobs.update(limits=False, search_lag_seconds=0)
        yield crm_emulator


@pytest.fixture(scope="module")
def hubspot(emulator: CrmEmulator) -> HubSpot:
    return HubSpot(access_token=emulator.credentials()["token"], host=emulator.context.addresses["base"])


def error_response(caught: Any) -> tuple[int, str]:
    return caught.value.status, json.loads(caught.value.body)["message"]


def filter_branch(name: str, **operation: Any) -> dict[str, Any]:
    """Return a filter branch on one property."""
    criteria = {"includeObjectsWithNoValueSet": False, **operation}
    filters = [{"filterType": "PROPERTY", "property": name, "operation": criteria}]
    inner = {"filterBranchType": "AND", "filterBranchOperator": "AND", "filterBranches": [], "filters": filters}
    return {"filterBranchType": "OR", "filterBranchOperator": "OR", "filterBranches": [inner], "filters": []}


def test_ticket_moves_through_its_pipeline(hubspot: HubSpot, emulator: CrmEmulator) -> None:
    api, contact = hubspot.crm.tickets, emulator.examples()["contact_id"]
    linked = {"to": {"id": contact}, "types": [{"associationCategory": "HUBSPOT_DEFINED", "associationTypeId": 16}]}
    values = {"subject": "Rail hums", "hs_pipeline_stage": "1", "hs_ticket_priority": "HIGH"}
    ticket = api.basic_api.create({"properties": values, "associations": [linked]})
    changed = api.basic_api.update(ticket.id, {"properties": {"hs_pipeline_stage": "4"}})
    matches = api.search_api.do_search({"query": "hums", "properties": ["subject", "hs_pipeline"]})
    read = api.basic_api.get_by_id(ticket.id, associations=["contacts"])
    batch = api.batch_api.update({"inputs": [{"id": ticket.id, "properties": {"content": "Solved"}}]})
    back = hubspot.crm.associations.v4.basic_api.get_page("contacts", contact, "tickets").results

    assert ("4", "0", ticket.id) == (
        changed.properties["hs_pipeline_stage"],
        matches.results[0].properties["hs_pipeline"],
        batch.results[0].id,
    )
    assert [contact] == [one.id for one in read.associations["contacts"].results]
    assert ticket.id in [one.to_object_id for one in back]
    with pytest.raises(tickets.ApiException) as caught:
        api.basic_api.create({"properties": {"subject": "No stage"}, "associations": []})
    assert (400, "Error creating TICKET. Some required properties were not set.") == error_response(caught)


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("line_items", {"name": "Rail", "price": "4.5", "quantity": "3"}),
        ("products", {"name": "Rail", "price": "9"}),
        ("tasks", {"hs_timestamp": "2026-01-05T08:00:00Z", "hs_task_subject": "Call"}),
        ("meetings", {"hs_timestamp": "2026-01-05T08:00:00Z", "hs_meeting_title": "Plan"}),
        ("calls", {"hs_timestamp": "2026-01-05T08:00:00Z", "hs_call_direction": "INBOUND"}),
        ("emails", {"hs_timestamp": "2026-01-05T08:00:00Z", "hs_email_direction": "EMAIL"}),
    ],
)
def test_standard_objects_are_created_and_read(hubspot: HubSpot, kind: str, values: dict[str, str]) -> None:
    api = hubspot.crm.objects.basic_api
    created = api.create(kind, {"properties": values, "associations": []})
    read = api.get_by_id(kind, created.id, properties=[*values, "amount"])

    assert (created.id, values.get("quantity") and "13.5") == (read.id, read.properties.get("amount"))


def test_manual_and_dynamic_lists_are_managed(hubspot: HubSpot, emulator: CrmEmulator) -> None:
    api, members = hubspot.crm.lists.lists_api, hubspot.crm.lists.memberships_api
    contact = emulator.examples()["contact_id"]
    definition = {"name": "By hand", "objectTypeId": "0-1", "processingType": "MANUAL"}
    by_hand = api.create(definition).list.list_id
    added = members.add(by_hand, [contact, "1"])
    gold = filter_branch("tier", operationType="ENUMERATION", operator="IS_ANY_OF", values=["gold"])
    dynamic = api.create({**definition, "name": "Gold", "processingType": "DYNAMIC", "filterBranch": gold}).list
    restore(emulator, dump_state(emulator))
    page = members.get_page(by_hand)
    hubspot.crm.contacts.basic_api.update(contact, {"properties": {"tier": "gold"}})
    mine = {one.list_id for one in members.get_lists("0-1", contact).results}
    renamed = api.update_name(by_hand, list_name="Chosen").updated_list.name
    hits = api.do_search({"query": "cho", "offset": 0})
    api.remove(by_hand)

    assert ([contact], ["1"], [contact]) == (
        added.records_ids_added,
        added.record_ids_missing,
        [one.record_id for one in page.results],
    )
    assert ({by_hand, dynamic.list_id}, "Chosen", [by_hand], False) == (
        mine,
        renamed,
        [one.list_id for one in hits.lists],
        hits.has_more,
    )
    assert 50 < api.get_by_id(dynamic.list_id).list.size < 200
    with pytest.raises(lists.ApiException) as caught:
        api.get_by_id(by_hand)
    assert (404, f"List does not exist with ID {by_hand}.") == error_response(caught)
    with pytest.raises(lists.ApiException, match="is dynamic, and its memberships cannot be changed"):
        members.remove(dynamic.list_id, [contact])


def test_pipelines_and_stages_are_created_and_updated(hubspot: HubSpot) -> None:
    pipelines_api, stages = hubspot.crm.pipelines.pipelines_api, hubspot.crm.pipelines.pipeline_stages_api
    first = {"label": "Heard", "displayOrder": 0, "metadata": {"probability": "0.1"}}
    pipeline = pipelines_api.create("deals", {"label": "Repairs", "displayOrder": 2, "stages": [first]})
    won = stages.create("deals", pipeline.id, {"label": "Paid", "displayOrder": 1, "metadata": {"probability": "1.0"}})
    stages.update("deals", pipeline.id, won.id, {"label": "Paid up", "metadata": {}})
    hubspot.crm.deals.basic_api.create(
        {"properties": {"dealname": "R", "pipeline": pipeline.id, "dealstage": won.id}, "associations": []}
    )
    read = pipelines_api.get_by_id("deals", pipeline.id)
    log = hubspot.crm.pipelines.pipeline_audits_api.get_audit("deals", pipeline.id).results

    assert [("Heard", "false"), ("Paid up", "true")] == [(one.label, one.metadata["isClosed"]) for one in read.stages]
    assert ["UPDATE", "UPDATE", "CREATE"] == [one.action for one in log]
    with pytest.raises(pipelines.ApiException, match="There are records in the stages"):
        pipelines_api.archive("deals", pipeline.id, validate_references_before_delete=True)
    with pytest.raises(pipelines.ApiException, match=r"metadata\.ticketState"):
        stages.create("tickets", "0", {"label": "Odd", "displayOrder": 9, "metadata": {}})


def test_property_groups_and_batches_are_managed(hubspot: HubSpot) -> None:
    groups, batch = hubspot.crm.properties.groups_api, hubspot.crm.properties.batch_api
    groups.create("tickets", {"name": "hardware", "label": "Hardware", "displayOrder": 3})
    definition = {"label": "Serial", "type": "string", "fieldType": "text", "groupName": "hardware"}
    created = batch.create(
        "tickets", {"inputs": [{"name": "serial", **definition}, {"name": "Bad Name", **definition}]}
    )
    read = batch.read("tickets", {"inputs": [{"name": "serial"}, {"name": "nothing"}], "archived": False})
    with pytest.raises(properties.ApiException) as caught:
        groups.archive("tickets", "hardware")
    batch.archive("tickets", {"inputs": [{"name": "serial"}]})
    groups.archive("tickets", "hardware")

    assert (["serial"], 1) == ([one.name for one in created.results], created.num_errors)
    assert (["hardware"], 1) == ([one.group_name for one in read.results], read.num_errors)
    assert (400, "Property group hardware still has properties") == error_response(caught)
    assert "hardware" not in [one.name for one in groups.get_all("tickets").results]


def test_labels_are_created_used_renamed_and_deleted(hubspot: HubSpot, emulator: CrmEmulator) -> None:
    definitions, links = hubspot.crm.associations.v4.schema.definitions_api, hubspot.crm.associations.v4.basic_api
    ticket, company = emulator.examples()["ticket_id"], str(next(iter(emulator.portal.records["companies"])))
    forward, inverse = definitions.create(
        "tickets", "companies", {"name": "pays_for", "label": "Pays for", "inverseLabel": "Paid by"}
    ).results
    links.create(
        "tickets",
        ticket,
        "companies",
        company,
        [{"associationCategory": "USER_DEFINED", "associationTypeId": forward.type_id}],
    )
    definitions.update("tickets", "companies", {"associationTypeId": forward.type_id, "label": "Bills"})
    restore(emulator, dump_state(emulator))
    labels = [one.label for one in links.get_page("tickets", ticket, "companies").results[0].association_types]
    other = [one.label for one in links.get_page("companies", company, "tickets").results[0].association_types]
    definitions.remove("tickets", "companies", forward.type_id)
    remaining = [one.label for one in links.get_page("tickets", ticket, "companies").results[0].association_types]

    assert ("Paid by", [None, "Primary", "Bills"], [None, "Primary"]) == (inverse.label, labels, remaining)
    assert "Paid by" in other
    assert "Bills" not in [one.label for one in definitions.get_all("tickets", "companies").results]
