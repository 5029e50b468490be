"""The HubSpot emulator, tested with the vendor's Python SDK."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import requests
from hubspot import HubSpot
from hubspot.crm import associations, companies, contacts, deals, owners, pipelines, properties
from hubspot.crm.associations import v4 as associations_v4
from hubspot.crm.objects import notes
from hubspot.oauth import ApiException as OAuthException

from harness.sandbox_server import run_emulators
from workspace_sandbox.crm import CrmEmulator


@pytest.fixture(scope="module")
def emulator() -> Iterator[CrmEmulator]:
    with run_emulators(crm=CrmEmulator) as sandbox:
        crm_emulator = sandbox.emulators["crm"]
        assert isinstance(crm_emulator, CrmEmulator)
        yield crm_emulator


@pytest.fixture
def reset_emulator(emulator: CrmEmulator) -> CrmEmulator:
    emulator.context.reset()
    emulator.reset()
    emulator.context.knobs.update(limits=False, search_lag_seconds=0)
    return emulator


@pytest.fixture
def hubspot(reset_emulator: CrmEmulator) -> HubSpot:
    return client(reset_emulator, reset_emulator.credentials()["token"])


def client(emulator: CrmEmulator, token: str) -> HubSpot:
    return HubSpot(access_token=token, host=emulator.context.addresses["base"])


def new_contact(hubspot: HubSpot, **values: str) -> Any:
    contact = contacts.SimplePublicObjectInputForCreate(properties=values, associations=[])
    return hubspot.crm.contacts.basic_api.create(contact)


def search_for(name: str, value: str, **more: Any) -> contacts.PublicObjectSearchRequest:
    condition = contacts.Filter(property_name=name, operator="EQ", value=value)
    return contacts.PublicObjectSearchRequest(filter_groups=[contacts.FilterGroup(filters=[condition])], **more)


def test_contact_is_created_read_by_email_updated_and_archived(hubspot: HubSpot) -> None:
    contact = new_contact(hubspot, email="Sdk+1@Example.test", firstname="Ana")
    api = hubspot.crm.contacts.basic_api
    change = contacts.SimplePublicObjectInput(properties={"firstname": "Ann"})
    changed = api.update(contact.id, change)
    read = api.get_by_id("sdk+1@example.test", id_property="email", properties=["email", "firstname", "phone"])
    api.archive(contact.id)

    assert contact.id == read.id == changed.id
    assert isinstance(contact.created_at, datetime)
    assert contact.created_at.tzinfo is not None
    assert ("Ann", None) == (read.properties["firstname"], read.properties["phone"])
    with pytest.raises(contacts.ApiException) as caught:
        api.get_by_id(contact.id)
    assert 404 == caught.value.status


def test_duplicate_email_is_a_conflict(hubspot: HubSpot, reset_emulator: CrmEmulator) -> None:
    with pytest.raises(contacts.ApiException) as caught:
        new_contact(hubspot, email=reset_emulator.examples()["email"])

    assert 409 == caught.value.status
    expected = f"Contact already exists. Existing ID: {reset_emulator.examples()['contact_id']}"
    assert json.loads(caught.value.body)["message"] == expected


def test_upsert_marks_new_records(hubspot: HubSpot) -> None:
    batch = contacts.BatchInputSimplePublicObjectBatchInputUpsert(
        inputs=[
            contacts.SimplePublicObjectBatchInputUpsert(
                id="up@example.test", id_property="email", properties={"lifecyclestage": "lead"}
            )
        ]
    )
    first = hubspot.crm.contacts.batch_api.upsert(batch)
    again = hubspot.crm.contacts.batch_api.upsert(batch)

    assert [True, False] == [first.results[0].new, again.results[0].new]
    assert "COMPLETE" == first.status


def test_batch_read_reports_missing_records(hubspot: HubSpot, reset_emulator: CrmEmulator) -> None:
    batch = contacts.BatchReadInputSimplePublicObjectId(
        inputs=[
            contacts.SimplePublicObjectId(id=reset_emulator.examples()["contact_id"]),
            contacts.SimplePublicObjectId(id="1"),
        ],
        properties=["email"],
        properties_with_history=[],
    )
    response = hubspot.crm.contacts.batch_api.read(batch)

    assert 1 == response.num_errors
    assert "OBJECT_NOT_FOUND" == response.errors[0].category
    assert response.results[0].properties["email"] == reset_emulator.examples()["email"]


def test_batches_are_created_updated_and_archived(hubspot: HubSpot) -> None:
    api = hubspot.crm.deals.batch_api
    created = api.create(
        deals.BatchInputSimplePublicObjectBatchInputForCreate(
            inputs=[
                deals.SimplePublicObjectBatchInputForCreate(properties={"dealname": name}, associations=[])
                for name in ("one", "two")
            ]
        )
    )
    identifiers = [deal.id for deal in created.results]
    changed = api.update(
        deals.BatchInputSimplePublicObjectBatchInput(
            inputs=[deals.SimplePublicObjectBatchInput(id=one, properties={"amount": "5"}) for one in identifiers]
        )
    )
    api.archive(
        deals.BatchInputSimplePublicObjectId(inputs=[deals.SimplePublicObjectId(id=one) for one in identifiers])
    )

    assert ["5", "5"] == [deal.properties["amount"] for deal in changed.results]


def test_sdk_lists_all_contacts(hubspot: HubSpot, reset_emulator: CrmEmulator) -> None:
    everyone = hubspot.crm.contacts.get_all(properties=["email"])

    live = [one for one in reset_emulator.portal.records["contacts"].values() if one.archived_at is None]
    assert len(everyone) == len(live)


def test_search_pages_and_sorts(hubspot: HubSpot) -> None:
    sorts = [{"propertyName": "hs_object_id", "direction": "ASCENDING"}]
    api = hubspot.crm.contacts.search_api
    first = api.do_search(search_for("lifecyclestage", "lead", sorts=sorts, properties=["email"], limit=5))
    second = api.do_search(search_for("lifecyclestage", "lead", sorts=sorts, limit=5, after=first.paging.next.after))

    assert first.total == second.total
    assert 10 == len({one.id for one in first.results + second.results})


def test_search_by_an_unknown_property_is_rejected(hubspot: HubSpot) -> None:
    with pytest.raises(contacts.ApiException) as caught:
        hubspot.crm.contacts.search_api.do_search(search_for("no_such_property", "x"))

    assert 400 == caught.value.status


def test_deal_is_created_with_its_contact_and_moved(hubspot: HubSpot, reset_emulator: CrmEmulator) -> None:
    contact = reset_emulator.examples()["contact_id"]
    kind = deals.AssociationSpec(association_category="HUBSPOT_DEFINED", association_type_id=3)
    link = deals.PublicAssociationsForObject(to=deals.PublicObjectId(id=contact), types=[kind])
    values = {"dealname": "Acme", "pipeline": "default", "dealstage": "qualifiedtobuy", "amount": "1250.50"}
    api = hubspot.crm.deals.basic_api
    deal = api.create(deals.SimplePublicObjectInputForCreate(properties=values, associations=[link]))
    moved = api.update(deal.id, deals.SimplePublicObjectInput(properties={"dealstage": "closedwon"}))
    read = api.get_by_id(deal.id, associations=["contacts"])

    assert "1250.50" == deal.properties["amount"]
    assert "closedwon" == moved.properties["dealstage"]
    assert [one.id for one in read.associations["contacts"].results] == [contact]


def test_stage_of_another_pipeline_is_rejected(hubspot: HubSpot, reset_emulator: CrmEmulator) -> None:
    change = deals.SimplePublicObjectInput(properties={"dealstage": "98112231"})
    with pytest.raises(deals.ApiException) as caught:
        hubspot.crm.deals.basic_api.update(reset_emulator.examples()["deal_id"], change)

    assert 400 == caught.value.status


def test_note_is_logged_on_a_deal(hubspot: HubSpot, reset_emulator: CrmEmulator) -> None:
    deal = reset_emulator.examples()["deal_id"]
    kind = notes.AssociationSpec(association_category="HUBSPOT_DEFINED", association_type_id=214)
    link = notes.PublicAssociationsForObject(to=notes.PublicObjectId(id=deal), types=[kind])
    values = {"hs_timestamp": "2026-11-20T09:12:00.000Z", "hs_note_body": "Moved"}
    note = hubspot.crm.objects.notes.basic_api.create(
        notes.SimplePublicObjectInputForCreate(properties=values, associations=[link])
    )
    listed = hubspot.crm.associations.v4.basic_api.get_page("deals", deal, "notes")

    assert note.id in [row.to_object_id for row in listed.results]


def test_company_is_created_and_associated(hubspot: HubSpot) -> None:
    contact = new_contact(hubspot, firstname="x")
    definition = companies.SimplePublicObjectInputForCreate(properties={"domain": "acme.test"}, associations=[])
    company = hubspot.crm.companies.basic_api.create(definition)
    api = hubspot.crm.associations.v4.basic_api
    response = api.create_default("contacts", contact.id, "companies", company.id)
    labelled = api.create(
        "contacts",
        contact.id,
        "companies",
        company.id,
        [{"associationCategory": "USER_DEFINED", "associationTypeId": 38}],
    )
    read = hubspot.crm.associations.v4.batch_api.get_page(
        "contacts",
        "companies",
        associations_v4.BatchInputPublicFetchAssociationsBatchRequest(
            inputs=[associations_v4.PublicFetchAssociationsBatchRequest(id=contact.id)]
        ),
    )
    api.archive("contacts", contact.id, "companies", company.id)

    assert [279, 280] == [row.association_spec.association_type_id for row in response.results]
    assert ["Billing contact"] == labelled.labels
    assert [279, 1, 38] == [kind.type_id for kind in read.results[0].to[0].association_types]
    assert [] == api.get_page("contacts", contact.id, "companies").results


def test_association_in_the_wrong_direction_is_rejected(hubspot: HubSpot, reset_emulator: CrmEmulator) -> None:
    spec = [{"associationCategory": "HUBSPOT_DEFINED", "associationTypeId": 280}]
    contact = reset_emulator.examples()["contact_id"]
    with pytest.raises(associations.v4.ApiException) as caught:
        hubspot.crm.associations.v4.basic_api.create("contacts", contact, "companies", "9001", spec)

    assert 400 == caught.value.status


def test_pipelines_owners_and_properties_are_listed(hubspot: HubSpot) -> None:
    deal_pipelines = hubspot.crm.pipelines.pipelines_api.get_all("deals").results
    matches = hubspot.crm.owners.owners_api.get_page(email="rita.poe@fjordlicht.example").results
    archived = hubspot.crm.owners.owners_api.get_by_id(771231, archived=True)
    contact_properties = hubspot.crm.properties.core_api.get_all("contacts").results
    tier = hubspot.crm.properties.core_api.get_by_name("contacts", "tier")

    assert ["Sales Pipeline", "Partnerships"] == [pipeline.label for pipeline in deal_pipelines]
    assert {"isClosed": "true", "probability": "1.0"} == deal_pipelines[0].stages[5].metadata
    assert ["771203"] == [owner.id for owner in matches]
    assert archived.user_id is None
    assert ["tier", "topics"] == [one.name for one in contact_properties if not one.hubspot_defined][:2]
    assert "gold" == tier.options[0].value


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda hubspot: hubspot.crm.pipelines.pipelines_api.get_by_id("deals", "none"), pipelines.ApiException),
        (lambda hubspot: hubspot.crm.owners.owners_api.get_by_id(1), owners.ApiException),
        (lambda hubspot: hubspot.crm.properties.core_api.get_by_name("contacts", "none"), properties.ApiException),
    ],
)
def test_missing_objects_return_404(hubspot: HubSpot, call: Any, error: type[Exception]) -> None:
    with pytest.raises(error) as caught:
        call(hubspot)

    assert 404 == vars(caught.value)["status"]


def test_owners_with_an_unknown_token_are_rejected(reset_emulator: CrmEmulator) -> None:
    with pytest.raises(owners.ApiException) as caught:
        client(reset_emulator, "pat-x").crm.owners.owners_api.get_page()

    assert 401 == caught.value.status


def test_missing_scope_returns_403(hubspot: HubSpot, reset_emulator: CrmEmulator) -> None:
    reset_emulator.context.knobs["scopes"] = ["oauth"]
    with pytest.raises(deals.ApiException) as caught:
        hubspot.crm.deals.basic_api.get_page()

    assert 403 == caught.value.status


def test_throttled_call_returns_429_with_its_policy(hubspot: HubSpot, reset_emulator: CrmEmulator) -> None:
    reset_emulator.context.knobs.update(limits=True, burst_limit=1)
    hubspot.crm.deals.basic_api.get_page(limit=1)
    with pytest.raises(deals.ApiException) as caught:
        hubspot.crm.deals.basic_api.get_page(limit=1)

    assert 429 == caught.value.status
    assert "TEN_SECONDLY_ROLLING" == json.loads(caught.value.body)["policyName"]


def test_tokens_are_exchanged_refreshed_and_inspected(reset_emulator: CrmEmulator) -> None:
    secrets = {name: reset_emulator.knobs[name] for name in ("client_id", "client_secret")}
    params = {
        "client_id": secrets["client_id"],
        "redirect_uri": "http://localhost/c",
        "scope": "oauth crm.objects.deals.read",
    }
    page = f"{reset_emulator.context.addresses['base']}/oauth/authorize"
    sent_back = requests.get(page, params={**params, "auto_approve": "true"}, allow_redirects=False, timeout=60)
    code = parse_qs(urlsplit(sent_back.headers["Location"]).query)["code"][0]
    oauth = client(reset_emulator, "").oauth
    form = {"grant_type": "authorization_code", "code": code, "redirect_uri": "http://localhost/c"}
    granted = oauth.tokens_api.create(**form, **secrets)
    again = oauth.tokens_api.create(grant_type="refresh_token", refresh_token=granted.refresh_token, **secrets)
    info = oauth.access_tokens_api.get(again.access_token)
    listed = client(reset_emulator, again.access_token).crm.deals.basic_api.get_page(limit=1)
    oauth.refresh_tokens_api.archive(granted.refresh_token)

    assert 4_471_120 == info.hub_id
    assert ["oauth", "crm.objects.deals.read"] == info.scopes
    assert listed.results[0].created_at < datetime.now(UTC)
    with pytest.raises(OAuthException) as caught:
        oauth.tokens_api.create(grant_type="refresh_token", refresh_token=granted.refresh_token, **secrets)
    assert "BAD_REFRESH_TOKEN" == json.loads(caught.value.body)["status"]
