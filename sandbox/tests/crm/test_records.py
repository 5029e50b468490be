"""Records of the HubSpot emulator, and the owners, pipelines and properties of a portal."""

from typing import Any

import pytest

from sandbox.tests.crm.hubspot_client import OBJECTS, Api, codes


def test_created_contact_has_string_values_and_a_normalised_email(crm: Api) -> None:
    body = {"properties": {"email": "  Mixed.Case@Example.TEST ", "firstname": "Zoë", "annualrevenue": 1250.5}}
    response = crm("POST", f"{OBJECTS}/contacts", body)

    assert 201 == response.status_code
    contact = response.json()
    assert "mixed.case@example.test" == contact["properties"]["email"]
    assert "1250.5" == contact["properties"]["annualrevenue"]
    assert contact["properties"]["hs_object_id"] == contact["id"]
    assert contact["archived"] is False
    assert contact["createdAt"].endswith("Z")


def test_default_properties_are_returned_unless_properties_are_requested(crm: Api) -> None:
    contact = crm.create("contacts", email="defaults@example.test")

    defaults = crm.read("contacts", contact)
    chosen = crm.read("contacts", contact, "phone", "no_such_property")

    assert {"createdate", "email", "firstname", "hs_object_id", "lastmodifieddate", "lastname"} == set(defaults)
    assert defaults["firstname"] is None
    assert {"phone", "createdate", "lastmodifieddate", "hs_object_id"} == set(chosen)


def test_properties_can_be_repeated_or_comma_separated(crm: Api) -> None:
    path = f"{OBJECTS}/contacts/{crm.example('contact_id')}"
    joined = crm("GET", f"{path}?properties=tier,phone")
    repeated = crm("GET", f"{path}?properties=tier&properties=phone")

    assert joined.json() == repeated.json()
    assert "tier" in joined.json()["properties"]


@pytest.mark.parametrize("written", ["ana%2Blight%40example.test", "ana%2Blight@example.test"])
def test_contact_is_found_by_email_in_any_encoding(crm: Api, written: str) -> None:
    contact = crm.create("contacts", email="ana+light@example.test")
    response = crm("GET", f"{OBJECTS}/contacts/{written}?idProperty=email&properties=email")

    assert 200 == response.status_code
    assert response.json()["id"] == contact


def test_secondary_email_of_another_contact_is_rejected(crm: Api) -> None:
    contact = crm.create("contacts", email="first@example.test", hs_additional_emails="Second@example.test")
    created = crm("POST", f"{OBJECTS}/contacts", {"properties": {"email": "second@example.test"}})
    hidden = crm("GET", f"{OBJECTS}/contacts/second@example.test?idProperty=email")
    crm.knobs(secondary_email_lookup=True)
    by_secondary = crm("GET", f"{OBJECTS}/contacts/second@example.test?idProperty=email")

    assert f"Existing ID: {contact}" in created.json()["message"]
    assert 404 == hidden.status_code
    assert by_secondary.json()["id"] == contact


def test_update_returns_the_sent_properties_and_empty_strings_clear_values(crm: Api) -> None:
    contact = crm.create("contacts", email="change@example.test", phone="1", firstname="A")
    response = crm("PATCH", f"{OBJECTS}/contacts/{contact}", {"properties": {"phone": "", "firstname": "B"}})

    assert 200 == response.status_code
    assert response.json()["properties"]["phone"] is None
    assert "B" == response.json()["properties"]["firstname"]
    assert "email" not in response.json()["properties"]


def test_contact_can_be_updated_by_email(crm: Api) -> None:
    contact = crm.create("contacts", email="by.address@example.test")
    response = crm(
        "PATCH", f"{OBJECTS}/contacts/by.address@example.test?idProperty=email", {"properties": {"city": "Bergen"}}
    )

    assert response.json()["id"] == contact
    assert "Bergen" == crm.read("contacts", contact, "city")["city"]


def test_update_to_a_duplicate_email_is_rejected_without_changes(crm: Api) -> None:
    contact = crm.create("contacts", email="mine@example.test")
    body = {"properties": {"email": crm.example("email"), "city": "Oslo"}}
    response = crm("PATCH", f"{OBJECTS}/contacts/{contact}", body)

    assert 409 == response.status_code
    assert crm.read("contacts", contact, "email", "city")["city"] is None


def test_archived_record_is_hidden_by_default_and_frees_its_email(crm: Api) -> None:
    contact = crm.create("contacts", email="leaver@example.test")
    path = f"{OBJECTS}/contacts/{contact}"
    statuses = [crm("DELETE", path).status_code, crm("DELETE", path).status_code, crm("GET", path).status_code]
    archived = crm("GET", f"{path}?archived=true").json()

    assert [204, 204, 404] == statuses
    assert archived["archived"] is True
    assert "archivedAt" in archived
    assert crm.create("contacts", email="leaver@example.test") != contact


@pytest.mark.parametrize("identifier", ["999999999", "not-a-number", "²", "9" * 5000])
def test_missing_record_error_has_its_id_in_the_context(crm: Api, identifier: str) -> None:
    response = crm("GET", f"{OBJECTS}/deals/{identifier}")

    assert 404 == response.status_code
    assert "Object not found.  objectId are usually numeric." == response.json()["message"]
    assert response.json()["context"] == {"id": [identifier]}
    assert "OBJECT_NOT_FOUND" == response.json()["category"]


def test_list_pages_by_id(crm: Api) -> None:
    first = crm("GET", f"{OBJECTS}/companies?limit=4").json()
    second = crm("GET", f"{OBJECTS}/companies?limit=100&after={first['paging']['next']['after']}").json()

    assert 4 == len(first["results"])
    assert first["paging"]["next"]["after"] == first["results"][-1]["id"]
    assert 61 == len(second["results"])
    assert "paging" not in second


@pytest.mark.parametrize("query", ["limit=101", "limit=0", "limit=many", "after=abc"])
def test_invalid_list_pages_are_rejected(crm: Api, query: str) -> None:
    response = crm("GET", f"{OBJECTS}/contacts?{query}")

    assert 400 == response.status_code
    assert "VALIDATION_ERROR" == response.json()["category"]


def test_object_types_are_accepted_as_plural_singular_and_number(crm: Api) -> None:
    deal = crm.example("deal_id")
    responses = [crm("GET", f"{OBJECTS}/{name}/{deal}").json() for name in ("deals", "deal", "0-3")]

    assert responses[0] == responses[1] == responses[2]
    assert "Unable to infer object type from: tables" == crm("GET", f"{OBJECTS}/tables/1").json()["message"]


@pytest.mark.parametrize(
    "path",
    [
        *("/crm/objects/2026-03/contacts/{id}", "/crm/v3/objects/contacts/{id}", "/crm/v3/objects/contacts/{id}/"),
        *("/crm/v3/objects/0-1/{id}", "/crm/objects/2026-09/contacts/{id}/"),
    ],
)
def test_older_versions_and_trailing_slashes_are_equivalent(crm: Api, path: str) -> None:
    response = crm("GET", path.format(id=crm.example("contact_id")))

    assert response.json()["properties"]["email"] == crm.example("email")


def test_record_returns_associations_on_request(crm: Api) -> None:
    response = crm("GET", f"{OBJECTS}/contacts/{crm.example('contact_id')}?associations=companies,deals,notes")

    associations = response.json()["associations"]
    assert {"id": "9001", "type": "contact_to_company"} in associations["companies"]["results"]
    assert {"id": crm.example("deal_id"), "type": "contact_to_deal"} in associations["deals"]["results"]


def test_deal_properties_follow_its_stage(crm: Api) -> None:
    deal = crm.create("deals", dealname="Acme renewal", pipeline="default", dealstage="qualifiedtobuy", amount="900")
    crm("PATCH", f"{OBJECTS}/deals/{deal}", {"properties": {"dealstage": "closedwon"}})
    properties = crm.read("deals", deal, "hs_is_closed", "hs_is_closed_won", "hs_deal_stage_probability", "amount")

    assert (
        "true",
        "true",
        "1.0",
    ) == (properties["hs_is_closed"], properties["hs_is_closed_won"], properties["hs_deal_stage_probability"])
    assert "900" == properties["amount"]


@pytest.mark.parametrize(
    "properties",
    [
        {"pipeline": "98112230", "dealstage": "qualifiedtobuy"},
        {"dealstage": "98112231"},
        {"dealstage": "Qualified To Buy"},
        {"pipeline": "nowhere"},
    ],
)
def test_stage_of_another_pipeline_is_rejected(crm: Api, properties: dict[str, str]) -> None:
    response = crm("POST", f"{OBJECTS}/deals", {"properties": {"dealname": "x", **properties}})

    assert 400 == response.status_code
    assert ["INVALID_OPTION"] == codes(response)


def test_moving_to_another_pipeline_requires_one_of_its_stages(crm: Api) -> None:
    deal = f"{OBJECTS}/deals/{crm.create('deals', dealname='x', dealstage='contractsent')}"
    alone = crm("PATCH", deal, {"properties": {"pipeline": "98112230"}})
    together = crm("PATCH", deal, {"properties": {"pipeline": "98112230", "dealstage": "98112233"}})

    assert 400 == alone.status_code
    assert 200 == together.status_code


def test_deals_can_share_a_name(crm: Api) -> None:
    assert crm.create("deals", dealname="twice") != crm.create("deals", dealname="twice")


def test_companies_can_share_a_domain_but_require_a_name_or_domain(crm: Api) -> None:
    first, second = crm.create("companies", domain="twice.test"), crm.create("companies", domain="twice.test")
    empty = crm("POST", f"{OBJECTS}/companies", {"properties": {"city": "Oslo"}})

    assert first != second
    assert 400 == empty.status_code


def test_note_requires_a_timestamp_and_is_associated_with_its_deal(crm: Api) -> None:
    deal = crm.example("deal_id")
    link = [{"to": {"id": deal}, "types": [{"associationCategory": "HUBSPOT_DEFINED", "associationTypeId": 214}]}]
    bare = crm("POST", f"{OBJECTS}/notes", {"properties": {"hs_note_body": "x"}, "associations": link})
    note = crm.create("notes", link, hs_note_body="Moved <b>on</b>", hs_timestamp="2026-11-20T09:12:00.000Z")
    listed = crm("GET", f"{OBJECTS}/deals/{deal}/associations/notes").json()

    assert 400 == bare.status_code
    assert {"properties": ["hs_timestamp"]} == bare.json()["context"]
    assert int(note) in [row["toObjectId"] for row in listed["results"]]
    assert "Moved on" == crm.read("notes", note, "hs_body_preview")["hs_body_preview"]


@pytest.mark.parametrize(
    ("to", "type_id"),
    [("999999999", 214), ("{deal}", 213), ("{deal}", 5)],
    ids=["missing record", "wrong direction", "other objects"],
)
def test_record_with_an_invalid_association_is_not_created(crm: Api, to: str, type_id: int) -> None:
    spec = {"associationCategory": "HUBSPOT_DEFINED", "associationTypeId": type_id}
    link = [{"to": {"id": to.format(deal=crm.example("deal_id"))}, "types": [spec]}]
    before = len(crm.emulator.portal.records["notes"])
    response = crm("POST", f"{OBJECTS}/notes", {"properties": {"hs_timestamp": 1}, "associations": link})

    assert 400 == response.status_code
    assert len(crm.emulator.portal.records["notes"]) == before


def test_required_properties_of_the_portal_are_enforced(crm: Api) -> None:
    crm.knobs(required_properties={"deals": ["amount", "closedate"]})
    response = crm("POST", f"{OBJECTS}/deals", {"properties": {"dealname": "x", "amount": "1"}})

    assert 400 == response.status_code
    assert ["closedate"] == response.json()["errors"][0]["context"]["properties"]


def test_contact_is_associated_with_the_company_of_its_email_domain(crm: Api) -> None:
    crm.knobs(auto_company=True)
    existing_domain = crm.create("contacts", email="somebody.new@aurora-archi.example")
    new_domain = crm.create("contacts", email="a@brand-new.example")
    free_mail = crm.create("contacts", email="a@gmail.com")
    linked = [
        crm("GET", f"{OBJECTS}/contacts/{one}/associations/companies").json()
        for one in (existing_domain, new_domain, free_mail)
    ]

    assert [1, 1, 0] == [len(response["results"]) for response in linked]
    assert 9001 == linked[0]["results"][0]["toObjectId"]


def test_pipelines_contain_stages_with_string_metadata(crm: Api) -> None:
    pipelines = crm("GET", "/crm/pipelines/2026-09/deals").json()["results"]
    stages = crm("GET", "/crm/pipelines/2026-09/deals/default/stages").json()["results"]
    stage = crm("GET", "/crm/pipelines/2026-09/deals/default/stages/closedwon").json()

    assert ["default", "98112230"] == [pipeline["id"] for pipeline in pipelines]
    assert pipelines[0] == crm("GET", "/crm/pipelines/2026-09/deals/default").json()
    assert pipelines[0]["stages"] == stages
    assert {"isClosed": "true", "probability": "1.0"} == stage["metadata"]
    assert {"results": []} == crm("GET", "/crm/pipelines/2026-09/contacts").json()
    assert 404 == crm("GET", "/crm/pipelines/2026-09/deals/none").status_code
    assert 404 == crm("GET", "/crm/pipelines/2026-09/deals/default/stages/none").status_code


def test_archived_owners_are_listed_only_on_request(crm: Api) -> None:
    active = crm("GET", "/crm/owners/2026-09?limit=4").json()
    rest = crm("GET", f"/crm/owners/2026-09?after={active['paging']['next']['after']}").json()["results"]
    archived = crm("GET", "/crm/owners/2026-09/?archived=true").json()["results"]

    assert ["PERSON", "QUEUE"] == [owner["type"] for owner in rest]
    assert "email" not in rest[1]
    assert [None, None] == [owner["userId"] for owner in archived]
    assert 88166 == archived[0]["userIdIncludingInactive"]


def test_owner_is_found_by_email_id_or_user_id(crm: Api) -> None:
    by_email = crm("GET", "/crm/owners/2026-09?email=Rita.Poe@fjordlicht.example").json()["results"]
    by_id = crm("GET", "/crm/owners/2026-09/771203").json()
    by_user = crm("GET", "/crm/owners/2026-09/88123?idProperty=userId").json()
    statuses = [
        crm("GET", f"/crm/owners/2026-09/{path}").status_code
        for path in ("771231", "771231?archived=true", "771203?archived=true", "1", "1?idProperty=email")
    ]

    assert by_email == [by_id]
    assert by_user == by_id
    assert [404, 200, 404, 404, 400] == statuses


def test_only_standard_properties_are_marked_as_hubspot_defined(crm: Api) -> None:
    properties = crm("GET", "/crm/properties/2026-09/contacts").json()["results"]
    by_name = {one["name"]: one for one in properties}

    assert len(properties) >= 300
    assert by_name["email"]["hubspotDefined"] is True
    assert "hubspotDefined" not in by_name["tier"]
    assert ["gold", "silver", "bronze", "legacy"] == [option["value"] for option in by_name["tier"]["options"]]
    assert by_name["tier"]["options"][3]["hidden"] is True
    assert by_name["hs_object_id"]["modificationMetadata"]["readOnlyValue"] is True
    assert by_name["hubspot_owner_id"]["externalOptions"] is True
    assert "OWNER" == by_name["hubspot_owner_id"]["referencedObjectType"]
    assert by_name["import_batch"]["hidden"] is True
    assert by_name["erp_id"]["hasUniqueValue"] is True
    assert "old_segment" not in by_name
    assert "passport_number" not in by_name


def test_archived_and_sensitive_properties_are_listed_separately(crm: Api) -> None:
    archived = crm("GET", "/crm/properties/2026-09/contacts?archived=true").json()["results"]
    without_scope = crm("GET", "/crm/properties/2026-09/contacts?dataSensitivity=sensitive")
    nonsense = crm("GET", "/crm/properties/2026-09/contacts?dataSensitivity=secret")
    crm.knobs(scopes=["crm.objects.contacts.sensitive.read.v2"])
    sensitive = crm("GET", "/crm/properties/2026-09/contacts?dataSensitivity=sensitive").json()["results"]

    assert ["old_segment"] == [one["name"] for one in archived]
    assert 403 == without_scope.status_code
    assert ["passport_number"] == [one["name"] for one in sensitive]
    assert 400 == nonsense.status_code


def test_stages_and_pipelines_are_options_of_their_properties(crm: Api) -> None:
    stage = crm("GET", "/crm/properties/2026-09/deals/dealstage").json()
    pipeline = crm("GET", "/crm/properties/2026-09/0-3/pipeline").json()

    assert 12 == len(stage["options"])
    assert ["default", "98112230"] == [option["value"] for option in pipeline["options"]]


def test_custom_property_can_be_created_updated_written_and_archived(crm: Api) -> None:
    path = "/crm/properties/2026-09/contacts"
    definition = {
        "name": "shoe_size",
        "label": "Shoe size",
        "type": "enumeration",
        "fieldType": "select",
        "groupName": "contactinformation",
        "options": [{"label": "Small", "value": "s", "hidden": False}],
    }
    created = crm("POST", path, definition)
    again = crm("POST", path, definition)
    larger = [*definition["options"], {"label": "Large", "value": "l"}]
    changed = crm("PATCH", f"{path}/shoe_size", {"label": "Size", "options": larger})
    contact = crm.create("contacts", shoe_size="l")
    archived = crm("DELETE", f"{path}/shoe_size")

    assert (201, 409, 204) == (created.status_code, again.status_code, archived.status_code)
    assert "Size" == changed.json()["label"]
    assert "shoe_size" not in crm.read("contacts", contact, "shoe_size")
    assert 404 == crm("GET", f"{path}/shoe_size").status_code
    assert 200 == crm("GET", f"{path}/shoe_size?archived=true").status_code
    assert 400 == crm("PATCH", f"{path}/email", {"label": "x"}).status_code
    assert 400 == crm("DELETE", f"{path}/email").status_code


@pytest.mark.parametrize(
    "change",
    [
        {"name": "Shoe Size"},
        {"options": "x"},
        {"type": "colour"},
        {"groupName": "none"},
        {"label": ""},
        {"options": ["x"]},
    ],
)
def test_invalid_custom_properties_are_rejected(crm: Api, change: dict[str, Any]) -> None:
    definition = {
        "name": "shoe",
        "label": "Shoe",
        "type": "string",
        "fieldType": "text",
        "groupName": "contactinformation",
    }
    response = crm("POST", "/crm/properties/2026-09/contacts", definition | change)

    assert 400 == response.status_code


def test_account_details_contain_a_numeric_portal_id(crm: Api) -> None:
    account = crm("GET", "/account-info/2026-09/details").json()

    assert str(account["portalId"]) == crm.example("portal_id")
    assert account == crm("GET", "/account-info/v3/details").json()
