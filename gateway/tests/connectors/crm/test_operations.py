"""The crm operations, from the caller's side, against the emulator on real HTTP."""

from collections.abc import Mapping
from typing import Any

import pytest

from connector_gateway.kit.casts import NOT_A_DATETIME
from gateway.tests.connectors.crm.vendor_view import VendorInspector
from harness.gateway_server import Gateway
from harness.requirement import requirement
from workspace_sandbox.crm.data.default_data import OWNERS
from workspace_sandbox.crm.data.object_types import CONTACTS
from workspace_sandbox.crm.data.property_definitions import Definition

STAGES = [
    *("Appointment Scheduled", "Qualified To Buy", "Presentation Scheduled", "Decision Maker Bought-In"),
    *("Contract Sent", "Closed Won", "Closed Lost"),
]


def contact(gateway: Gateway, email: str, properties: Mapping[str, Any] | None = None, **more: Any) -> Any:
    return gateway.post("/crm/contacts", email=email, properties=dict(properties or {}), **more)


def deal(gateway: Gateway, **more: Any) -> Any:
    arguments = {"dealname": "Acme renewal", "pipeline": "default", "dealstage": "qualifiedtobuy"}
    return gateway.post("/crm/deals", **(arguments | more))


# Writing contacts


@requirement("crm-1", "crm-2")
def test_a_new_contact_is_created(gateway: Gateway, portal: VendorInspector) -> None:
    reply = contact(gateway, "  Ana.New@Acme.test ", {"firstname": "Ana", "lifecyclestage": "lead"})

    assert 200 == reply.status
    assert reply.data == {
        "contact_id": portal.contact("ana.new@acme.test")["hs_object_id"],
        "action": "created",
        "email": "ana.new@acme.test",
        "properties_written": ["email", "firstname", "lifecyclestage"],
        "portal_id": "4471120",
    }


@requirement("crm-1", "crm-3", "crm-5")
def test_emails_match_regardless_of_case_and_spaces(gateway: Gateway, portal: VendorInspector) -> None:
    first = contact(gateway, "case@acme.test", {"firstname": "Ana"})
    repeat = contact(gateway, "\tCASE@Acme.Test ", {"lastname": "Poe", "email": " Case@acme.test"})

    assert repeat.data == {
        "contact_id": first.data["contact_id"],
        "action": "updated",
        "email": "case@acme.test",
        "properties_written": ["lastname"],
        "portal_id": "4471120",
    }
    assert 1 == portal.count("contacts", email="case@acme.test", firstname="Ana", lastname="Poe")


@requirement("crm-5", "crm-6")
def test_skip_leaves_an_existing_contact_unchanged(gateway: Gateway, portal: VendorInspector) -> None:
    first = contact(gateway, "skip@acme.test", {"firstname": "Ana"})
    gateway.clear("crm")
    repeat = contact(gateway, "Skip@acme.test", {"firstname": "Eve"}, on_conflict="skip", associate_company="no.test")

    assert repeat.data == {
        "contact_id": first.data["contact_id"],
        "action": "skipped",
        "email": "skip@acme.test",
        "properties_written": [],
        "portal_id": "4471120",
    }
    assert "Ana" == portal.contact("skip@acme.test")["firstname"]
    assert [] == [method for method, path, _ in gateway.journal("crm") if "batch/read" not in path]


@requirement("crm-5")
def test_skip_creates_a_missing_contact(gateway: Gateway) -> None:
    reply = contact(gateway, "fresh.skip@acme.test", {"firstname": "Ana"}, on_conflict="skip")

    assert ("created", ["email", "firstname"]) == (reply.data["action"], reply.data["properties_written"])


def test_a_secondary_email_updates_its_contact(gateway: Gateway, portal: VendorInspector) -> None:
    reply = contact(gateway, "old.address5@mail.example", {"jobtitle": "Owner of two addresses"})

    assert "updated" == reply.data["action"]
    assert "farida.nakamura@fennel-archi.example" == reply.data["email"]
    assert ["jobtitle"] == reply.data["properties_written"]
    assert "Owner of two addresses" == portal.contact(reply.data["email"])["jobtitle"]


def test_skip_accepts_a_contact_created_concurrently(gateway: Gateway) -> None:
    reply = contact(gateway, "second.address46@mail.example", {"firstname": "Eve"}, on_conflict="skip")

    assert ("skipped", []) == (reply.data["action"], reply.data["properties_written"])
    assert ("POST", "/crm/objects/2026-09/contacts", 409) in gateway.journal("crm")


def test_concurrent_writes_of_one_new_email_create_one_contact(gateway: Gateway, portal: VendorInspector) -> None:
    replies = gateway.together(*[lambda: contact(gateway, "crowd@acme.test", {"firstname": "Ana"})] * 20)

    assert sorted(reply.data["action"] for reply in replies) == ["created", *["updated"] * 19]
    assert 1 == portal.count("contacts", email="crowd@acme.test")


@requirement("crm-4")
def test_values_are_converted_to_the_types_of_their_properties(gateway: Gateway, portal: VendorInspector) -> None:
    sent = {
        "firstname": "Ünal <b>",
        "phone": 4712345678,
        "tier": "gold",
        "topics": ["street", "museum"],
        "nps_score": "9.50",
        "newsletter": True,
        "renewal_date": "2027-01-31",
        "last_demo_at": "2026-11-02T10:30:00+02:00",
        "hubspot_owner_id": "771203",
    }
    reply = contact(gateway, "typed@acme.test", sent)

    assert reply.data["properties_written"] == ["email", *sent]
    assert sent | {
        "phone": "4712345678",
        "topics": "street;museum",
        "nps_score": "9.50",
        "newsletter": "true",
        "last_demo_at": "2026-11-02T08:30:00.000Z",
    } == {name: portal.contact("typed@acme.test")[name] for name in sent}


def test_null_clears_a_property(gateway: Gateway, portal: VendorInspector) -> None:
    contact(gateway, "cleared@acme.test", {"firstname": "Ana", "tier": "gold"})
    reply = contact(gateway, "cleared@acme.test", {"firstname": None, "tier": ""})

    assert ["firstname", "tier"] == reply.data["properties_written"]
    assert {"firstname", "tier"} & portal.contact("cleared@acme.test").keys() == set()


@requirement("crm-55")
def test_the_owner_of_a_deal_is_set_by_email(gateway: Gateway, portal: VendorInspector) -> None:
    deal_id = deal(gateway).data["deal_id"]

    gateway.patch(f"/crm/deals/{deal_id}", properties={"hubspot_owner_id": OWNERS[0].email})

    assert str(OWNERS[0].id) == portal.deal(deal_id)["hubspot_owner_id"]


@requirement("crm-54")
def test_a_value_that_the_portal_ignored_is_not_reported_as_written(gateway: Gateway) -> None:
    contact(gateway, "forward@acme.test", {"lifecyclestage": "customer"})
    reply = contact(gateway, "forward@acme.test", {"lifecyclestage": "lead", "firstname": "Ana"})

    assert ["firstname"] == reply.data["properties_written"]
    assert "lifecyclestage" in reply.headers["warning"]


def test_a_newly_defined_property_can_be_written(gateway: Gateway, portal: VendorInspector) -> None:
    contact(gateway, "warm@acme.test")
    portal.emulator.portal.define(CONTACTS, Definition("brand_new", "Brand new", built_in=False))
    reply = contact(gateway, "warm@acme.test", {"brand_new": "yes"})

    assert ["brand_new"] == reply.data["properties_written"]


@requirement("crm-35", "crm-36")
@pytest.mark.parametrize(
    ("properties", "code", "detail"),
    [
        ({"no_such": 1}, "property_not_found", {"property": "no_such"}),
        ({"tier": "platinum"}, "option_missing", {"property": "tier", "value": "platinum"}),
        ({"topics": "street;sea"}, "option_missing", {"property": "topics", "value": "sea"}),
        ({"tier": "Gold"}, "option_missing", {"allowed": ["gold", "silver", "bronze", "legacy"]}),
        ({"hs_object_id": "1"}, "read_only_field", {"property": "hs_object_id"}),
        ({"nps_score": "many"}, "lossy_cast", {"property": "nps_score", "type": "number", "value": "many"}),
        ({"newsletter": "perhaps"}, "lossy_cast", {"property": "newsletter"}),
        ({"renewal_date": "2026-02-30"}, "lossy_cast", {"property": "renewal_date"}),
        ({"firstname": {"a": 1}}, "lossy_cast", {"property": "firstname"}),
        ({"hubspot_owner_id": "1"}, "option_missing", {"property": "hubspot_owner_id"}),
    ],
)
def test_an_unwritable_property_is_reported_and_nothing_is_written(
    gateway: Gateway, portal: VendorInspector, properties: dict[str, Any], code: str, detail: dict[str, Any]
) -> None:
    reply = contact(gateway, "refused@acme.test", properties, associate_company="untouched.test", create_company=True)

    assert reply.code == code
    assert detail.items() <= reply.details[0].items()
    assert {} == portal.contact("refused@acme.test")


@requirement("common-30", "common-47", "crm-45")
def test_one_response_reports_all_invalid_properties_of_a_contact(gateway: Gateway, portal: VendorInspector) -> None:
    properties = {
        "firstname": "Ana",
        "nps_score": [1.5, {"a": True}],
        "topics": ["sea", "street", "lake"],
        "hs_object_id": "1",
        "no_such": 1,
        "tier": "platinum",
    }
    reply = contact(gateway, "all.wrong@acme.test", properties)

    assert [
        ("lossy_cast", "nps_score", [1.5, {"a": True}]),
        ("option_missing", "topics", "sea"),
        ("option_missing", "topics", "lake"),
        ("read_only_field", "hs_object_id", None),
        ("property_not_found", "no_such", None),
        ("option_missing", "tier", "platinum"),
    ] == [(detail["code"], detail["property"], detail.get("value")) for detail in reply.details]
    assert (422, "lossy_cast") == (reply.status, reply.code)
    assert {} == portal.contact("all.wrong@acme.test")


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({"renewal_date": "2026-02-30"}, f"cannot be converted to date without loss: {NOT_A_DATETIME}."),
        ({"last_demo_at": 10**30}, "cannot be converted to datetime without loss: it is outside the years 1 to 9999."),
        ({"last_demo_at": "0001-01-01T00:00:00+14:00"}, f"without loss: {NOT_A_DATETIME}."),
        ({"nps_score": "many"}, "cannot be converted to number without loss: it is not a plain decimal number."),
        ({"tier": "pla'ti\"num"}, '"tier" has no option "pla\'ti"num".'),
        ({"no_such": 1}, 'The portal has no property "no_such".'),
        ({f"no_such_{number}": 1 for number in range(5)}, "And 2 more."),
    ],
)
def test_error_messages_are_sentences(gateway: Gateway, properties: dict[str, Any], message: str) -> None:
    reply = contact(gateway, "sentences@acme.test", properties)

    assert reply.body["error"]["message"].endswith(message)


@pytest.mark.parametrize("email", ["", "ana", "ana@", "@acme.test", "ana@acme", "ana b@acme.test", "a@b@acme.test", 7])
def test_an_invalid_email_is_rejected_without_a_vendor_request(gateway: Gateway, email: Any) -> None:
    reply = contact(gateway, email)

    assert (422, "invalid_parameters") == (reply.status, reply.code)
    assert ["email"] == [detail["parameter"] for detail in reply.details]
    assert [] == gateway.journal("crm")


def test_a_different_email_among_the_properties_is_rejected(gateway: Gateway) -> None:
    reply = contact(gateway, "one@acme.test", {"email": "other@acme.test"})

    assert (422, "invalid_parameters") == (reply.status, reply.code)
    assert [{"parameter": "properties.email", "message": "Should equal email"}] == reply.facts


@requirement("crm-46")
def test_a_missing_required_property_is_reported(gateway: Gateway) -> None:
    gateway.knob("crm", required_properties={"contacts": ["lastname"]})
    reply = contact(gateway, "required@acme.test", {"firstname": "Ana"})

    assert (422, "upstream_refused") == (reply.status, reply.code)
    assert [
        {
            "code": "upstream_refused",
            "property": "lastname",
            "vendor_code": "REQUIRED_FIELD",
            "vendor_message": "Error creating CONTACT. Some required properties were not set.",
        }
    ] == reply.details


@requirement("crm-49")
def test_a_duplicate_unique_value_is_reported_with_its_contact(gateway: Gateway) -> None:
    reply = contact(gateway, "unique@acme.test", {"erp_id": "ERP-00000"})
    holder = gateway.get("/crm/contacts", property="erp_id", value="ERP-00000").data[0]["contact_id"]

    assert (409, "unique_value_taken") == (reply.status, reply.code)
    assert [{"property": "erp_id", "value": "ERP-00000", "record_id": holder}] == reply.facts


# Lookups by option


@requirement("crm-52")
@pytest.mark.parametrize("value", ["Lead", " lead ", "lead"])
def test_an_option_is_looked_up_by_its_value_or_its_label(gateway: Gateway, value: str) -> None:
    by_value = gateway.get("/crm/contacts", property="lifecyclestage", value="lead")
    response = gateway.get("/crm/contacts", property="lifecyclestage", value=value)

    assert by_value.data == response.data != []
    assert "warning" not in response.headers


@requirement("crm-52")
def test_a_lookup_by_an_unknown_option_returns_a_warning(gateway: Gateway) -> None:
    response = gateway.get("/crm/contacts", property="lifecyclestage", value="Laed")

    assert [] == response.data
    assert "did you mean" in response.headers["warning"]


def test_an_owner_property_is_looked_up_by_email(gateway: Gateway) -> None:
    address = next(owner.email for owner in OWNERS if owner.email and owner.id == 771203)
    by_id = gateway.get("/crm/contacts", property="hubspot_owner_id", value="771203").data
    matches = gateway.get("/crm/contacts", property="hubspot_owner_id", value=address).data

    assert [one["contact_id"] for one in by_id] == [one["contact_id"] for one in matches] != []


# Owners


@requirement("crm-51")
@pytest.mark.parametrize(
    "properties",
    [
        {"owner_email": "{address}"},
        {"owner_email": " {ADDRESS} "},
        {"hubspot_owner_id": "{address}"},
        {"hubspot_owner_id": "771203"},
        {"owner_email": "{address}", "hubspot_owner_id": "771203"},
    ],
)
def test_an_owner_is_set_by_email_or_id(gateway: Gateway, portal: VendorInspector, properties: dict[str, str]) -> None:
    address = next(owner.email for owner in OWNERS if owner.email and owner.id == 771203)
    sent = {name: text.format(address=address, ADDRESS=address.upper()) for name, text in properties.items()}
    reply = contact(gateway, "owned@acme.test", sent)
    read = gateway.get("/crm/contacts", email="owned@acme.test").data[0]

    assert 200 == reply.status
    assert ("771203", address) == (portal.contact("owned@acme.test")["hubspot_owner_id"], read["owner_email"])


@requirement("crm-48")
def test_the_options_of_an_owner_property_are_emails_of_active_owners(gateway: Gateway) -> None:
    listed = gateway.get("/crm/properties", object_type="contacts").data
    (options,) = [one["options"] for one in listed if one["name"] == "hubspot_owner_id"]

    assert sorted(owner.email for owner in OWNERS if owner.email and not owner.archived) == options


@requirement("crm-50")
@pytest.mark.parametrize("name", ["owner_email", "hubspot_owner_id"])
def test_an_unknown_owner_is_rejected_with_the_existing_emails(gateway: Gateway, name: str) -> None:
    address = next(owner.email for owner in OWNERS if owner.email and not owner.archived)
    reply = contact(gateway, "owned@acme.test", {name: address + "x"})
    (detail,) = reply.details

    assert (409, "option_missing") == (reply.status, reply.code)
    assert (name, address + "x", address) == (detail["property"], detail["value"], detail["did_you_mean"])
    assert address in detail["allowed"]


def test_two_names_of_different_owners_are_rejected(gateway: Gateway) -> None:
    first, second = [owner.email for owner in OWNERS if owner.email and not owner.archived][:2]
    reply = contact(gateway, "owned@acme.test", {"owner_email": first, "hubspot_owner_id": second})

    assert (422, "invalid_parameters") == (reply.status, reply.code)
    assert ["properties.owner_email"] == [detail["parameter"] for detail in reply.details]


# Companies of contacts


@requirement("crm-7")
@pytest.mark.parametrize(
    "reference",
    ["aurora-archi.example", " HTTPS://www.Aurora-Archi.example/about?x=1 ", "aurora-archi.example.", "{company_id}"],
)
def test_a_company_is_specified_by_domain_or_identifier(
    gateway: Gateway, portal: VendorInspector, reference: str
) -> None:
    company_id = portal.company_id("aurora-archi.example")
    reference = reference.format(company_id=company_id)
    reply = contact(gateway, f"linked{len(reference)}@acme.test", associate_company=reference)

    assert portal.list_associations("contacts", reply.data["contact_id"], "companies") == [company_id]


@requirement("crm-9")
@pytest.mark.parametrize(
    ("reference", "more"),
    [
        ("nobody.test", {}),
        ("..", {"create_company": True}),
        ("424242", {}),
        ("424242", {"create_company": True}),
        ("no-such", {"create_company": True}),
    ],
)
def test_a_missing_company_is_rejected_and_no_contact_written(
    gateway: Gateway, portal: VendorInspector, reference: str, more: dict[str, Any]
) -> None:
    reply = contact(gateway, "nowhere@acme.test", associate_company=reference, **more)

    assert (404, "company_not_found") == (reply.status, reply.code)
    assert reply.details[0]["value"] == reference
    assert {} == portal.contact("nowhere@acme.test")


@pytest.mark.parametrize("reference", [" ", "two words.test", "ana@acme.test"])
def test_an_invalid_company_is_rejected(gateway: Gateway, reference: str) -> None:
    reply = contact(gateway, "nowhere@acme.test", associate_company=reference)

    assert 422 == reply.status
    assert [("associate_company", "Should be a domain or an identifier")] == [
        (detail["parameter"], detail["message"]) for detail in reply.details
    ]


@requirement("crm-8")
def test_a_missing_company_is_created_once_despite_a_delayed_search_index(
    gateway: Gateway, portal: VendorInspector
) -> None:
    gateway.knob("crm", search_lag_seconds=60)
    first = contact(gateway, "first@newco.test", associate_company="newco.test", create_company=True)
    second = contact(gateway, "second@newco.test", associate_company="www.newco.test", create_company=True)
    third = contact(gateway, "third@newco.test", associate_company="newco.test")

    company_id = portal.company_id("newco.test")
    assert 1 == portal.count("companies", domain="newco.test")
    assert [
        portal.list_associations("contacts", reply.data["contact_id"], "companies") for reply in (first, second, third)
    ] == [[company_id]] * 3


@requirement("crm-47")
def test_a_new_company_is_used_before_search_and_list_include_it(gateway: Gateway, portal: VendorInspector) -> None:
    gateway.knob("crm", search_lag_seconds=60)
    unlisted: dict[str, Any] = {"fault": "status", "status": 200, "body": {"results": []}, "times": 9}
    gateway.fault("crm", method="GET", path="/crm/objects/2026-09/companies", **unlisted)
    first = contact(gateway, "first@unlisted.test", associate_company="unlisted.test", create_company=True)
    second = contact(gateway, "second@unlisted.test", associate_company="unlisted.test", create_company=True)

    company_id = portal.company_id("unlisted.test")
    assert 1 == portal.count("companies", domain="unlisted.test")
    assert [[company_id]] * 2 == [
        portal.list_associations("contacts", reply.data["contact_id"], "companies") for reply in (first, second)
    ]


def test_a_new_but_deleted_company_is_created_again(gateway: Gateway, portal: VendorInspector) -> None:
    gateway.knob("crm", search_lag_seconds=60)
    contact(gateway, "first@gone.test", associate_company="gone.test", create_company=True)
    created = portal.company_id("gone.test")
    portal.emulator.portal.archive(portal.emulator.portal.records["companies"][created])
    second = contact(gateway, "second@gone.test", associate_company="gone.test", create_company=True)

    assert created != portal.company_id("gone.test")
    assert [portal.company_id("gone.test")] == portal.list_associations(
        "contacts", second.data["contact_id"], "companies"
    )


def test_concurrent_contacts_share_a_new_company(gateway: Gateway, portal: VendorInspector) -> None:
    gateway.together(
        *(
            lambda name=name: contact(gateway, f"{name}@rush.test", associate_company="rush.test", create_company=True)
            for name in "abcdefgh"
        )
    )

    assert 1 == portal.count("companies", domain="rush.test")


# Searches


@requirement("crm-10", "crm-14", "crm-15")
def test_a_contact_is_looked_up_by_email(gateway: Gateway) -> None:
    reply = gateway.get("/crm/contacts", email=" Ana.Lindqvist@aurora-archi.EXAMPLE ")

    assert reply.body == {
        "run_id": reply.headers["x-run-id"],
        "connector": "crm",
        "status": "ok",
        "data": [
            {
                "contact_id": "50912",
                "email": "ana.lindqvist@aurora-archi.example",
                "firstname": "Ana",
                "lastname": "Lindqvist",
                "phone": "+47 56451726",
                "company": "Kestrel",
                "jobtitle": "Directrice technique",
                "lifecyclestage": "subscriber",
                "owner_email": "mei.tanaka@fjordlicht.example",
            }
        ],
        "next_cursor": None,
    }


@requirement("crm-10")
def test_an_unknown_email_returns_no_contact(gateway: Gateway) -> None:
    reply = gateway.get("/crm/contacts", email="nobody+here@acme.test")

    assert ([], None) == (reply.data, reply.body["next_cursor"])


def test_email_and_unique_values_return_a_contact_before_it_is_indexed(gateway: Gateway) -> None:
    gateway.knob("crm", search_lag_seconds=60)
    response = contact(gateway, "lag+1@acme.test", {"erp_id": "ERP-LAG/1"})
    matches = [
        gateway.get("/crm/contacts", email="lag+1@acme.test"),
        gateway.get("/crm/contacts", property="email", value="LAG+1@acme.test"),
        gateway.get("/crm/contacts", property="erp_id", value="ERP-LAG/1"),
        gateway.get("/crm/contacts", property="hs_object_id", value=response.data["contact_id"]),
    ]

    assert [[item["contact_id"] for item in reply.data] for reply in matches] == [[response.data["contact_id"]]] * 4
    assert "ERP-LAG/1" == matches[2].data[0]["erp_id"]


def test_a_contact_is_searchable_after_indexing(gateway: Gateway) -> None:
    gateway.knob("crm", search_lag_seconds=60)
    contact(gateway, "late@acme.test", {"jobtitle": "Latecomer"})
    before = gateway.get("/crm/contacts", property="jobtitle", value="Latecomer")
    gateway.knob("crm", search_lag_seconds=0)
    after = gateway.get("/crm/contacts", property="jobtitle", value="latecomer")

    assert [] == before.data
    assert ["late@acme.test"] == [item["email"] for item in after.data]


@requirement("crm-13", "crm-17")
def test_all_contacts_are_paginated(gateway: Gateway, portal: VendorInspector) -> None:
    matches = gateway.items("/crm/contacts", limit=100)

    assert [item["contact_id"] for item in matches] == portal.live_ids("contacts")


def test_a_search_continues_after_the_vendor_cap(gateway: Gateway) -> None:
    complete = gateway.items("/crm/contacts", property="tier", value="gold", limit=100)
    gateway.knob("crm", search_cap=10)
    capped = gateway.items("/crm/contacts", property="tier", value="gold", limit=7)

    assert len(complete) > 50
    assert capped == complete
    assert {"gold"} == {item["tier"] for item in complete}


@pytest.mark.parametrize(
    ("email", "at_least"),
    [("Rita.Poe@fjordlicht.example", 50), ("former.rep@fjordlicht.example", 50), ("nobody@fjordlicht.example", 0)],
)
def test_contacts_are_looked_up_by_the_email_of_their_owner(gateway: Gateway, email: str, at_least: int) -> None:
    matches = gateway.items("/crm/contacts", property="owner_email", value=email, limit=100)

    assert len(matches) >= at_least
    assert {item["owner_email"] for item in matches} <= {email.lower()}


def test_owners_are_requested_once_for_many_lookups(gateway: Gateway) -> None:
    gateway.get("/crm/contacts", limit=100)
    gateway.clear("crm")
    gateway.get("/crm/contacts", limit=100)
    gateway.get("/crm/contacts", property="owner_email", value="rita.poe@fjordlicht.example")

    assert 2 == len(gateway.journal("crm"))
    assert [] == [path for _, path, _ in gateway.journal("crm") if "owners" in path]


@requirement("crm-11", "crm-15")
@pytest.mark.parametrize(
    ("name", "value", "visible"),
    [
        ("renewal_date", "2029-03-15", "2029-03-15"),
        ("last_demo_at", "2029-03-15T12:00:00+01:00", "2029-03-15T11:00:00.000Z"),
        ("nps_score", "77.0", "77"),
        ("newsletter", "true", "true"),
        ("topics", "stage;home", "stage;home"),
        ("firstname", " ZEBEDEE ", "Zebedee"),
    ],
)
def test_contacts_are_looked_up_by_properties_of_any_type(
    gateway: Gateway, name: str, value: str, visible: str
) -> None:
    gateway.knob("crm", search_lag_seconds=0)
    contact(gateway, "typed.search@acme.test", {name: visible})
    matches = gateway.items("/crm/contacts", property=name, value=value, limit=100)

    assert {item[name] for item in matches} == {visible}
    assert "typed.search@acme.test" in {item["email"] for item in matches}


@requirement("crm-12", "crm-16")
@pytest.mark.parametrize(
    ("query", "parameter"),
    [
        ({"property": "tier"}, "value"),
        ({"value": "gold"}, "property"),
        ({"property": "tier", "value": "  "}, "value"),
        ({"email": "ana@acme.test", "property": "tier", "value": "gold"}, "property"),
        ({"limit": 0}, "limit"),
        ({"limit": 101}, "limit"),
        ({"limit": "many"}, "limit"),
        ({"tier": "gold"}, "tier"),
    ],
)
def test_an_inconsistent_lookup_is_rejected(gateway: Gateway, query: dict[str, Any], parameter: str) -> None:
    reply = gateway.get("/crm/contacts", **query)

    assert (422, "invalid_parameters") == (reply.status, reply.code)
    assert parameter in [detail["parameter"] for detail in reply.details]


@requirement("crm-35")
def test_a_lookup_by_an_unknown_property_lists_the_existing_ones(gateway: Gateway) -> None:
    reply = gateway.get("/crm/contacts", property="teir", value="gold")

    assert (404, "property_not_found") == (reply.status, reply.code)
    assert "tier" in reply.details[0]["allowed"]


def test_a_number_property_is_not_looked_up_by_text(gateway: Gateway) -> None:
    reply = gateway.get("/crm/contacts", property="nps_score", value="many")

    assert (422, "lossy_cast") == (reply.status, reply.code)
    assert [("lossy_cast", "nps_score", "many")] == [
        (detail["code"], detail["property"], detail["value"]) for detail in reply.details
    ]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"email": "a b@acme.test"}, "Should be an e-mail address"),
        ({"property": "tier", "value": "  "}, "Should not be blank"),
    ],
)
def test_an_invalid_filter_is_explained(gateway: Gateway, query: dict[str, str], message: str) -> None:
    reply = gateway.get("/crm/contacts", **query)

    assert [message] == [detail["message"] for detail in reply.details]


# Opening deals


@requirement("crm-18", "crm-19", "crm-24")
def test_a_deal_is_opened_in_a_stage_for_a_contact(gateway: Gateway, portal: VendorInspector) -> None:
    reply = deal(gateway, pipeline="Sales Pipeline", dealstage="Qualified To Buy", amount=1250.5, contact_id="50912")
    deal_id = reply.data["deal_id"]

    assert reply.data == {
        "deal_id": deal_id,
        "dealname": "Acme renewal",
        "pipeline": "default",
        "dealstage": "qualifiedtobuy",
        "amount": 1250.5,
        "associated_contacts": ["50912"],
    }
    assert [50912] == portal.list_associations("deals", deal_id, "contacts")


@requirement("crm-20", "crm-22")
@pytest.mark.parametrize(
    ("pipeline", "dealstage"),
    [("98112230", "98112233"), ("Partnerships", "Contract Sent"), (" partnerships", "CONTRACT sent")],
)
def test_pipeline_and_stage_are_specified_by_identifier_or_name(
    gateway: Gateway, pipeline: str, dealstage: str
) -> None:
    reply = deal(gateway, pipeline=pipeline, dealstage=dealstage)

    assert ("98112230", "98112233") == (reply.data["pipeline"], reply.data["dealstage"])
    assert (None, []) == (reply.data["amount"], reply.data["associated_contacts"])


@requirement("crm-23")
@pytest.mark.parametrize(
    ("sent", "stored"),
    [
        ("1250.50", "1250.50"),
        ("0.1", "0.1"),
        ("0", "0"),
        ("-12.34", "-12.34"),
        ("99999999999.99", "99999999999.99"),
        ("1E+3", "1000"),
        ("123456789012345", "123456789012345"),
    ],
)
def test_an_amount_is_sent_exactly(gateway: Gateway, portal: VendorInspector, sent: str, stored: str) -> None:
    connection_id = gateway.connections["crm"]
    reply = gateway.request(
        "POST",
        "/v1/connectors/crm/deals",
        headers={"Content-Type": "application/json"},
        content=f'{{"connection_id": "{connection_id}", "dealname": "d", "pipeline": "default", '
        f'"dealstage": "closedwon", "amount": {sent}}}',
    )

    assert reply.data["amount"] == float(sent)
    assert portal.deal(reply.data["deal_id"])["amount"] == stored


@pytest.mark.parametrize("amount", [123456789012345678901234567890, 12345678901234567, "12", True, [1]])
def test_an_amount_that_json_numbers_cannot_represent_is_rejected(gateway: Gateway, amount: Any) -> None:
    reply = deal(gateway, amount=amount)

    assert (422, "invalid_parameters") == (reply.status, reply.code)
    assert ["amount"] == [detail["parameter"] for detail in reply.details]


@requirement("crm-20")
def test_an_unknown_pipeline_is_rejected_with_the_existing_ones(gateway: Gateway) -> None:
    reply = deal(gateway, pipeline="Renewals")

    assert (404, "pipeline_not_found") == (reply.status, reply.code)
    assert "Renewals" == reply.details[0]["value"]
    assert ["Sales Pipeline", "Partnerships"] == reply.details[0]["allowed"][:2]


@requirement("crm-22", "crm-37")
@pytest.mark.parametrize("stage", ["Pilot", "98112232", "nowhere"])
def test_a_stage_of_another_pipeline_is_rejected_with_the_valid_ones(gateway: Gateway, stage: str) -> None:
    before = len(gateway.journal("crm"))
    reply = deal(gateway, dealstage=stage)

    assert (404, "stage_not_found") == (reply.status, reply.code)
    assert STAGES == reply.details[0]["allowed"]
    assert [] == [path for method, path, _ in gateway.journal("crm")[before:] if method == "POST"]


def test_a_newly_created_pipeline_is_found(gateway: Gateway) -> None:
    deal(gateway)
    created = gateway.act("crm", action="create_pipeline", label="Fresh", stages=["One", "Two"])
    reply = deal(gateway, pipeline="Fresh", dealstage="Two")

    assert reply.data["pipeline"] == created["id"]


@requirement("crm-21")
def test_an_ambiguous_pipeline_name_is_rejected_with_the_identifiers(gateway: Gateway) -> None:
    ids = [gateway.act("crm", action="create_pipeline", label="Twins", stages=["One"])["id"] for _ in range(2)]
    reply = deal(gateway, pipeline="twins", dealstage="One")

    assert (409, "ambiguous_pipeline") == (reply.status, reply.code)
    assert reply.details[0]["identifiers"] == ids


def test_an_archived_pipeline_is_ignored(gateway: Gateway) -> None:
    gateway.act("crm", action="create_pipeline", label="Bygone", stages=["One"], archived=True)
    reply = deal(gateway, pipeline="Bygone", dealstage="One")

    assert "pipeline_not_found" == reply.code


@pytest.mark.parametrize("contact_id", ["424242"])
def test_a_deal_for_an_unknown_contact_is_rejected(gateway: Gateway, portal: VendorInspector, contact_id: str) -> None:
    reply = deal(gateway, dealname="for nobody", contact_id=contact_id)

    assert (404, "contact_not_found") == (reply.status, reply.code)
    assert 0 == portal.count("deals", dealname="for nobody")


def test_a_deal_requires_name_pipeline_and_stage(gateway: Gateway) -> None:
    reply = gateway.post("/crm/deals", dealname=" ", contact_id="a/b")

    assert (422, "invalid_parameters") == (reply.status, reply.code)
    assert "Should not be blank" == reply.details[0]["message"]
    assert ["dealname", "pipeline", "dealstage", "contact_id"] == [detail["parameter"] for detail in reply.details]


# Changing deals


@requirement("crm-25", "crm-27", "crm-28")
def test_a_deal_is_moved_changed_and_noted(gateway: Gateway, portal: VendorInspector) -> None:
    deal_id = deal(gateway).data["deal_id"]
    reply = gateway.patch(
        f"/crm/deals/{deal_id}",
        dealstage="Closed Won",
        properties={"amount": "900.10", "risk": "low", "signed_on": "2026-11-20"},
        note="Moved <b>after</b> the call\n& signed",
    )
    notes = portal.notes(deal_id, "Moved &lt;b&gt;after&lt;/b&gt; the call<br>&amp; signed")

    assert reply.data == {
        "deal_id": deal_id,
        "dealstage_from": "qualifiedtobuy",
        "dealstage_to": "closedwon",
        "note_logged": True,
        "updated_at": reply.data["updated_at"],
    }
    assert reply.data["updated_at"].endswith("Z")
    assert 1 == portal.count("deals", hs_object_id=deal_id, dealstage="closedwon", amount="900.10", risk="low")
    assert 1 == len(notes)


@requirement("crm-26")
def test_a_change_of_properties_retains_the_stage(gateway: Gateway, portal: VendorInspector) -> None:
    deal_id = deal(gateway).data["deal_id"]
    reply = gateway.patch(f"/crm/deals/{deal_id}", properties={"dealname": "Renamed", "amount": 0.3})

    assert ("qualifiedtobuy", "qualifiedtobuy") == (reply.data["dealstage_from"], reply.data["dealstage_to"])
    assert reply.data["note_logged"] is False
    assert 1 == portal.count("deals", hs_object_id=deal_id, dealname="Renamed", amount="0.3")


def test_a_note_changes_no_properties(gateway: Gateway, portal: VendorInspector) -> None:
    deal_id = deal(gateway).data["deal_id"]
    before = portal.deal(deal_id)
    reply = gateway.patch(f"/crm/deals/{deal_id}", note="Just a word")

    assert (True, "qualifiedtobuy") == (reply.data["note_logged"], reply.data["dealstage_to"])
    assert portal.deal(deal_id) == before
    assert 1 == len(portal.notes(deal_id, "Just a word"))


def test_a_move_to_the_current_stage_succeeds(gateway: Gateway) -> None:
    deal_id = deal(gateway).data["deal_id"]
    reply = gateway.patch(f"/crm/deals/{deal_id}", dealstage="Qualified To Buy")

    assert ("qualifiedtobuy", "qualifiedtobuy") == (reply.data["dealstage_from"], reply.data["dealstage_to"])


def test_the_stage_can_be_one_of_the_properties(gateway: Gateway) -> None:
    deal_id = deal(gateway).data["deal_id"]
    reply = gateway.patch(f"/crm/deals/{deal_id}", properties={"dealstage": "Contract Sent"})

    assert "contractsent" == reply.data["dealstage_to"]


def test_a_deal_is_moved_to_a_stage_of_another_pipeline(gateway: Gateway, portal: VendorInspector) -> None:
    deal_id = deal(gateway).data["deal_id"]
    without_stage = gateway.patch(f"/crm/deals/{deal_id}", properties={"pipeline": "Partnerships"})
    reply = gateway.patch(f"/crm/deals/{deal_id}", dealstage="Pilot", properties={"pipeline": "Partnerships"})

    assert "stage_not_found" == without_stage.code
    assert "98112232" == reply.data["dealstage_to"]
    assert "98112230" == portal.deal(deal_id)["pipeline"]


@pytest.mark.parametrize(
    ("change", "status", "code"),
    [
        ({"dealstage": "Pilot"}, 404, "stage_not_found"),
        ({"dealstage": "closedwon", "properties": {"pipeline": "Nowhere"}}, 404, "pipeline_not_found"),
        ({"dealstage": "closedwon", "properties": {"no_such": 1}}, 404, "property_not_found"),
        ({"dealstage": "closedwon", "properties": {"risk": "none"}}, 409, "option_missing"),
        ({"dealstage": "closedwon", "properties": {"hs_is_closed": "true"}}, 422, "read_only_field"),
        ({"dealstage": "closedwon", "properties": {"amount": "a lot"}}, 422, "lossy_cast"),
        ({"dealstage": "closedwon", "note": "<" * 20_000}, 422, "invalid_parameters"),
        ({"dealstage": "closedwon", "properties": {"dealstage": "closedlost"}}, 422, "invalid_parameters"),
        ({"properties": {"pipeline": 7}}, 422, "invalid_parameters"),
        ({"note": ""}, 422, "invalid_parameters"),
        ({}, 422, "invalid_parameters"),
    ],
)
def test_a_partially_invalid_change_is_not_applied(
    gateway: Gateway, portal: VendorInspector, change: dict[str, Any], status: int, code: str
) -> None:
    deal_id = deal(gateway).data["deal_id"]
    before = portal.deal(deal_id)
    reply = gateway.patch(f"/crm/deals/{deal_id}", **change)

    assert (reply.status, reply.code) == (status, code)
    assert portal.deal(deal_id) == before


@requirement("common-30", "crm-45")
def test_one_response_reports_all_errors_of_a_deals_change(gateway: Gateway) -> None:
    deal_id = deal(gateway).data["deal_id"]
    properties = {"risk": "none", "no_such": 1, "amount": "a lot"}
    reply = gateway.patch(f"/crm/deals/{deal_id}", dealstage="Nowhere", properties=properties)

    assert ["option_missing", "property_not_found", "lossy_cast", "stage_not_found"] == [
        detail["code"] for detail in reply.details
    ]
    assert (409, "option_missing") == (reply.status, reply.code)
    assert STAGES == reply.details[3]["allowed"]


@pytest.mark.parametrize("deal_id", ["424242"])
def test_an_unknown_deal_is_not_found(gateway: Gateway, deal_id: str) -> None:
    reply = gateway.patch(f"/crm/deals/{deal_id}", dealstage="Closed Won")

    assert (404, "deal_not_found") == (reply.status, reply.code)
    assert reply.facts == [{"parameter": "deal_id", "value": deal_id}]


# Properties


@requirement("crm-32", "crm-33")
def test_the_properties_of_an_object_type_are_listed(gateway: Gateway) -> None:
    reply = gateway.get("/crm/properties", object_type="contacts")
    by_name = {item["name"]: item for item in reply.data}

    assert "next_cursor" not in reply.body
    assert len(by_name) > 300
    assert {
        "name": "tier",
        "label": "Tier",
        "type": "enumeration",
        "options": ["gold", "silver", "bronze", "legacy"],
        "custom": True,
    } == by_name["tier"]
    assert {"name": "email", "label": "Email", "type": "string", "options": [], "custom": False} == by_name["email"]


@requirement("crm-34")
@pytest.mark.parametrize(
    ("object_type", "names"),
    [("companies", ["account_code", "segment"]), ("deals", ["external_ref", "risk", "signed_on"])],
)
def test_custom_properties_are_listed_on_request(gateway: Gateway, object_type: str, names: list[str]) -> None:
    reply = gateway.get("/crm/properties", object_type=object_type, custom_only="true")

    assert [item["name"] for item in reply.data] == names
    assert {True} == {item["custom"] for item in reply.data}


def test_options_of_deals_include_pipelines_and_stages(gateway: Gateway) -> None:
    reply = gateway.get("/crm/properties", object_type="deals")
    options = {item["name"]: item["options"] for item in reply.data}

    assert ["default", "98112230"] == options["pipeline"][:2]
    assert ["low", "medium", "high"] == options["risk"]


def test_an_unknown_object_type_is_rejected_with_the_allowed_types(gateway: Gateway) -> None:
    reply = gateway.get("/crm/properties", object_type="tickets", custom_only="perhaps")

    assert (422, "invalid_parameters") == (reply.status, reply.code)
    assert ["object_type", "custom_only"] == [detail["parameter"] for detail in reply.details]
    assert "contacts" in reply.details[0]["allowed"]
