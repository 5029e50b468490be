"""How the stand-in behaves over HTTP, at the dated paths."""

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import requests

from connector_gateway.kit.clock import SystemClock
from harness.clocks import HandClock
from harness.playing import playing
from workspace_sandbox.crm import CrmEmulator
from workspace_sandbox.crm.access import challenge_of
from workspace_sandbox.crm.emulator import TRAILING_SLASH
from workspace_sandbox.crm.routes import ROUTES
from workspace_sandbox.crm.search import tokens
from workspace_sandbox.kit.stage import Stage

OBJECTS = "/crm/objects/2026-09"
LINKS = "/crm/associations/2026-09"
BEGAN = 1_780_000_000.0


@dataclass
class Api:
    """A caller with the seeded token, and the hand on the control routes."""

    base: str
    control_base: str
    emulator: CrmEmulator
    session: requests.Session

    def __call__(self, method: str, path: str, body: Any = None, **more: Any) -> requests.Response:
        headers = {"Authorization": f"Bearer {self.emulator.credentials()['token']}", **more.pop("headers", {})}
        sent = {"json": body} if body is not None else {}
        return self.session.request(method, self.base + path, headers=headers, timeout=10, **sent, **more)

    def control(self, path: str, method: str = "POST", **body: Any) -> Any:
        answer = self.session.request(method, f"{self.control_base}/_control/{path}", json=body, timeout=10)
        return answer.json()

    def knobs(self, **knobs: Any) -> None:
        self.control("crm/knobs", **knobs)

    def example(self, name: str) -> Any:
        return self.emulator.examples()[name]

    def make(self, kind: str, associations: Any = None, **properties: Any) -> str:
        """The id of a new record."""
        body = {"properties": properties, "associations": associations or []}
        answer = self("POST", f"{OBJECTS}/{kind}", body)
        assert 201 == answer.status_code, answer.text
        return str(answer.json()["id"])

    def read(self, kind: str, identifier: str, *properties: str) -> dict[str, Any]:
        answer = self("GET", f"{OBJECTS}/{kind}/{identifier}", params={"properties": ",".join(properties)})
        assert 200 == answer.status_code, answer.text
        return dict(answer.json()["properties"])

    def find(self, kind: str, *filters: dict[str, Any], **more: Any) -> dict[str, Any]:
        answer = self("POST", f"{OBJECTS}/{kind}/search", {"filterGroups": [{"filters": list(filters)}], **more})
        assert 200 == answer.status_code, answer.text
        return dict(answer.json())


@pytest.fixture(scope="module")
def played() -> Iterator[Api]:
    with playing(crm=CrmEmulator) as sandbox, requests.Session() as session:
        session.trust_env = False
        emulator = sandbox.emulators["crm"]
        assert isinstance(emulator, CrmEmulator)
        yield Api(emulator.stage.addresses["base"], sandbox.address, emulator, session)


@pytest.fixture
def limited(played: Api) -> Api:
    """The seed, with everything as it is at first."""
    played.emulator.stage.clock = SystemClock()
    played.control("reset")
    return played


@pytest.fixture
def crm(limited: Api) -> Api:
    """The seed, without limits and without lag."""
    limited.knobs(limits=False, search_lag_seconds=0)
    return limited


@pytest.fixture
def clock(limited: Api) -> HandClock:
    """A clock in the emulator's hands."""
    clock = HandClock(BEGAN)
    limited.emulator.stage.clock = clock
    return clock


def equal(name: str, value: str) -> dict[str, Any]:
    return {"propertyName": name, "operator": "EQ", "value": value}


def ids(answer: dict[str, Any]) -> list[str]:
    return [record["id"] for record in answer["results"]]


def codes(answer: requests.Response) -> list[str]:
    return [error["code"] for error in answer.json()["errors"]]


# Records


def test_a_new_contact_answers_201_with_text_values_and_normalised_address(crm: Api) -> None:
    body = {"properties": {"email": "  Mixed.Case@Example.TEST ", "firstname": "Zoë", "annualrevenue": 1250.5}}
    answer = crm("POST", f"{OBJECTS}/contacts", body)

    assert 201 == answer.status_code
    made = answer.json()
    assert "mixed.case@example.test" == made["properties"]["email"]
    assert "1250.5" == made["properties"]["annualrevenue"]
    assert made["properties"]["hs_object_id"] == made["id"]
    assert made["archived"] is False
    assert made["createdAt"].endswith("Z")


def test_defaults_come_unless_properties_are_asked_for(crm: Api) -> None:
    contact = crm.make("contacts", email="defaults@example.test")

    defaults = crm.read("contacts", contact)
    chosen = crm.read("contacts", contact, "phone", "no_such_property")

    assert {"createdate", "email", "firstname", "hs_object_id", "lastmodifieddate", "lastname"} == set(defaults)
    assert defaults["firstname"] is None
    assert {"phone", "createdate", "lastmodifieddate", "hs_object_id"} == set(chosen)


def test_properties_may_be_repeated_or_joined_by_commas(crm: Api) -> None:
    path = f"{OBJECTS}/contacts/{crm.example('contact_id')}"
    joined = crm("GET", f"{path}?properties=tier,phone")
    repeated = crm("GET", f"{path}?properties=tier&properties=phone")

    assert joined.json() == repeated.json()
    assert "tier" in joined.json()["properties"]


@pytest.mark.parametrize("written", ["ana%2Blight%40example.test", "ana%2Blight@example.test"])
def test_a_contact_is_found_by_its_address_however_it_is_encoded(crm: Api, written: str) -> None:
    contact = crm.make("contacts", email="ana+light@example.test")
    answer = crm("GET", f"{OBJECTS}/contacts/{written}?idProperty=email&properties=email")

    assert 200 == answer.status_code
    assert answer.json()["id"] == contact


def test_a_used_address_is_refused_with_the_id_only_in_the_text(crm: Api) -> None:
    email, contact = crm.example("email"), crm.example("contact_id")
    answer = crm("POST", f"{OBJECTS}/contacts", {"properties": {"email": email.upper()}})

    assert 409 == answer.status_code
    assert answer.json()["message"] == f"Contact already exists. Existing ID: {contact}"
    assert "CONFLICT" == answer.json()["category"]


def test_a_further_address_of_another_contact_is_taken_too(crm: Api) -> None:
    contact = crm.make("contacts", email="first@example.test", hs_additional_emails="Second@example.test")
    created = crm("POST", f"{OBJECTS}/contacts", {"properties": {"email": "second@example.test"}})
    hidden = crm("GET", f"{OBJECTS}/contacts/second@example.test?idProperty=email")
    crm.knobs(secondary_email_lookup=True)
    found = crm("GET", f"{OBJECTS}/contacts/second@example.test?idProperty=email")

    assert f"Existing ID: {contact}" in created.json()["message"]
    assert 404 == hidden.status_code
    assert found.json()["id"] == contact


def test_a_change_answers_what_was_sent_and_an_empty_text_clears(crm: Api) -> None:
    contact = crm.make("contacts", email="change@example.test", phone="1", firstname="A")
    answer = crm("PATCH", f"{OBJECTS}/contacts/{contact}", {"properties": {"phone": "", "firstname": "B"}})

    assert 200 == answer.status_code
    assert answer.json()["properties"]["phone"] is None
    assert "B" == answer.json()["properties"]["firstname"]
    assert "email" not in answer.json()["properties"]


def test_a_contact_can_be_changed_by_its_address(crm: Api) -> None:
    contact = crm.make("contacts", email="by.address@example.test")
    answer = crm(
        "PATCH", f"{OBJECTS}/contacts/by.address@example.test?idProperty=email", {"properties": {"city": "Bergen"}}
    )

    assert answer.json()["id"] == contact
    assert "Bergen" == crm.read("contacts", contact, "city")["city"]


def test_changing_to_a_used_address_is_refused_and_changes_nothing(crm: Api) -> None:
    contact = crm.make("contacts", email="mine@example.test")
    body = {"properties": {"email": crm.example("email"), "city": "Oslo"}}
    answer = crm("PATCH", f"{OBJECTS}/contacts/{contact}", body)

    assert 409 == answer.status_code
    assert crm.read("contacts", contact, "email", "city")["city"] is None


def test_an_archived_record_is_gone_unless_asked_for_and_frees_its_address(crm: Api) -> None:
    contact = crm.make("contacts", email="leaver@example.test")
    path = f"{OBJECTS}/contacts/{contact}"
    statuses = [crm("DELETE", path).status_code, crm("DELETE", path).status_code, crm("GET", path).status_code]
    archived = crm("GET", f"{path}?archived=true").json()

    assert [204, 204, 404] == statuses
    assert archived["archived"] is True
    assert "archivedAt" in archived
    assert crm.make("contacts", email="leaver@example.test") != contact


@pytest.mark.parametrize("identifier", ["999999999", "not-a-number", "²", "9" * 5000])
def test_a_missing_record_is_refused_with_its_id_in_the_context(crm: Api, identifier: str) -> None:
    answer = crm("GET", f"{OBJECTS}/deals/{identifier}")

    assert 404 == answer.status_code
    assert "Object not found.  objectId are usually numeric." == answer.json()["message"]
    assert answer.json()["context"] == {"id": [identifier]}
    assert "OBJECT_NOT_FOUND" == answer.json()["category"]


def test_a_list_pages_by_id(crm: Api) -> None:
    first = crm("GET", f"{OBJECTS}/companies?limit=4").json()
    second = crm("GET", f"{OBJECTS}/companies?limit=100&after={first['paging']['next']['after']}").json()

    assert 4 == len(first["results"])
    assert first["paging"]["next"]["after"] == first["results"][-1]["id"]
    assert 61 == len(second["results"])
    assert "paging" not in second


@pytest.mark.parametrize("query", ["limit=101", "limit=0", "limit=many", "after=abc"])
def test_a_list_refuses_pages_that_do_not_exist(crm: Api, query: str) -> None:
    answer = crm("GET", f"{OBJECTS}/contacts?{query}")

    assert 400 == answer.status_code
    assert "VALIDATION_ERROR" == answer.json()["category"]


def test_object_types_go_by_plural_singular_and_number(crm: Api) -> None:
    deal = crm.example("deal_id")
    answers = [crm("GET", f"{OBJECTS}/{name}/{deal}").json() for name in ("deals", "deal", "0-3")]

    assert answers[0] == answers[1] == answers[2]
    assert "Unable to infer object type from: tables" == crm("GET", f"{OBJECTS}/tables/1").json()["message"]


@pytest.mark.parametrize(
    "path",
    [
        *("/crm/objects/2026-03/contacts/{id}", "/crm/v3/objects/contacts/{id}", "/crm/v3/objects/contacts/{id}/"),
        *("/crm/v3/objects/0-1/{id}", "/crm/objects/2026-09/contacts/{id}/"),
    ],
)
def test_older_versions_and_trailing_slashes_mean_the_same(crm: Api, path: str) -> None:
    answer = crm("GET", path.format(id=crm.example("contact_id")))

    assert answer.json()["properties"]["email"] == crm.example("email")


def test_a_record_tells_its_associations_when_asked(crm: Api) -> None:
    answer = crm("GET", f"{OBJECTS}/contacts/{crm.example('contact_id')}?associations=companies,deals,notes")

    told = answer.json()["associations"]
    assert {"id": "9001", "type": "contact_to_company"} in told["companies"]["results"]
    assert {"id": crm.example("deal_id"), "type": "contact_to_deal"} in told["deals"]["results"]


# Values


@pytest.mark.parametrize(
    ("kind", "name", "given", "kept"),
    [
        ("contacts", "annualrevenue", "1250.50", "1250.50"),
        ("contacts", "annualrevenue", 42, "42"),
        ("contacts", "annualrevenue", 42.0, "42"),
        ("contacts", "newsletter", True, "true"),
        ("contacts", "newsletter", "FALSE", "false"),
        ("contacts", "renewal_date", "2026-11-20", "2026-11-20"),
        ("contacts", "renewal_date", 1_795_132_800_000, "2026-11-20"),
        ("contacts", "last_demo_at", "2026-11-20T10:00:00+01:00", "2026-11-20T09:00:00.000Z"),
        ("contacts", "last_demo_at", "1795132800123", "2026-11-20T00:00:00.123Z"),
        ("contacts", "tier", "gold", "gold"),
        ("contacts", "tier", "legacy", "legacy"),
        ("contacts", "topics", "home;museum;home", "home;museum"),
        ("contacts", "hubspot_owner_id", "771231", "771231"),
        ("deals", "amount", "99999999999999.99", "99999999999999.99"),
        ("companies", "domain", "HTTPS://www.Acme.Test/about", "acme.test"),
    ],
)
def test_values_are_kept_as_text_of_their_type(crm: Api, kind: str, name: str, given: Any, kept: str) -> None:
    record = crm.make(kind, **{name: given}, **({"name": "x"} if kind == "companies" else {}))

    assert crm.read(kind, record, name)[name] == kept


@pytest.mark.parametrize(
    ("name", "given", "code"),
    [
        ("no_such_property", "x", "PROPERTY_DOESNT_EXIST"),
        ("old_segment", "x", "PROPERTY_DOESNT_EXIST"),
        ("email", "nobody", "INVALID_EMAIL"),
        ("email", "a@b", "INVALID_EMAIL"),
        ("tier", "Gold", "INVALID_OPTION"),
        ("tier", "gold;silver", "INVALID_OPTION"),
        ("topics", "home;cellar", "INVALID_OPTION"),
        ("newsletter", "maybe", "INVALID_OPTION"),
        ("hubspot_owner_id", "88123", "INVALID_OPTION"),
        ("annualrevenue", "1,250", "INVALID_INTEGER"),
        ("annualrevenue", "NaN", "INVALID_INTEGER"),
        ("renewal_date", "20.11.2026", "INVALID_LONG"),
        ("renewal_date", "1795132800123", "INVALID_DATE"),
        ("last_demo_at", "soon", "INVALID_LONG"),
        ("last_demo_at", "9" * 30, "INVALID_LONG"),
        ("hs_object_id", "1", "READ_ONLY_VALUE"),
        ("createdate", "2026-01-01", "READ_ONLY_VALUE"),
        ("city", "x" * 65_537, "INVALID_LENGTH"),
    ],
)
def test_wrong_values_are_refused_with_the_fault_embedded_in_the_message(
    crm: Api, name: str, given: str, code: str
) -> None:
    answer = crm("PATCH", f"{OBJECTS}/contacts/{crm.example('contact_id')}", {"properties": {name: given}})

    assert 400 == answer.status_code
    embedded = json.loads(answer.json()["message"].removeprefix("Property values were not valid: "))
    assert [(fault["error"], fault["name"]) for fault in embedded] == [(code, name)]
    assert embedded[0]["isValid"] is False
    assert 4_471_120 == embedded[0]["portalId"]
    assert codes(answer) == [code]
    assert answer.json()["errors"][0]["context"] == {"propertyName": [name]}


def test_all_faults_are_reported_together_and_nothing_is_written(crm: Api) -> None:
    contact = crm.make("contacts", email="all.faults@example.test")
    body = {"properties": {"city": "Rome", "foo": "1", "tier": "x"}}
    answer = crm("PATCH", f"{OBJECTS}/contacts/{contact}", body)

    assert ["PROPERTY_DOESNT_EXIST", "INVALID_OPTION"] == codes(answer)
    assert crm.read("contacts", contact, "city")["city"] is None


def test_a_leading_semicolon_appends_an_option(crm: Api) -> None:
    contact = crm.make("contacts", topics="home")
    crm("PATCH", f"{OBJECTS}/contacts/{contact}", {"properties": {"topics": ";stage"}})

    assert "home;stage" == crm.read("contacts", contact, "topics")["topics"]


def test_a_lifecycle_stage_only_goes_forward_unless_cleared(crm: Api) -> None:
    contact = crm.make("contacts", lifecyclestage="customer")
    path, back = f"{OBJECTS}/contacts/{contact}", {"properties": {"lifecyclestage": "lead"}}
    tolerated = crm("PATCH", path, back).status_code, crm.read("contacts", contact, "lifecyclestage")
    crm.knobs(backward_lifecycle="refuse")
    refused = crm("PATCH", path, back)
    crm("PATCH", path, {"properties": {"lifecyclestage": ""}})
    crm("PATCH", path, back)

    assert 200 == tolerated[0]
    assert "customer" == tolerated[1]["lifecyclestage"]
    assert 400 == refused.status_code
    assert "lead" == crm.read("contacts", contact, "lifecyclestage")["lifecyclestage"]


def test_a_unique_custom_property_names_records_and_may_not_repeat(crm: Api) -> None:
    found = crm("GET", f"{OBJECTS}/contacts/ERP-00000?idProperty=erp_id").json()
    clash = crm("POST", f"{OBJECTS}/contacts", {"properties": {"erp_id": "ERP-00000"}})
    unknown = crm("GET", f"{OBJECTS}/contacts/Ana?idProperty=firstname")

    assert found["id"] == crm.example("contact_id")
    assert 409 == clash.status_code
    assert "CONFLICT" == clash.json()["category"]
    assert 400 == unknown.status_code


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ("{", 400),
        ("[]", 400),
        ("{}", 400),
        ('{"properties": []}', 400),
        ('{"properties": {"city": {"a": 1}}}', 400),
    ],
)
def test_bodies_of_the_wrong_shape_are_refused(crm: Api, body: str, status: int) -> None:
    headers = {"Content-Type": "application/json"}
    answer = crm("POST", f"{OBJECTS}/contacts", headers=headers, data=body)

    assert answer.status_code == status
    assert answer.json()["message"].startswith("Invalid input JSON")


def test_a_body_that_is_not_json_is_an_unsupported_media_type(crm: Api) -> None:
    answer = crm("POST", f"{OBJECTS}/contacts", data={"email": "a@b.test"})

    assert 415 == answer.status_code


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/batch/read", {"inputs": "x"}),
        ("/batch/read", {"inputs": ["x"]}),
        ("/batch/read", {"inputs": [{}]}),
        ("/batch/read", {"inputs": [{"id": "1"}], "properties": "email"}),
        ("/batch/read", {"inputs": [{"id": "1"}], "idProperty": ["email"]}),
        ("/batch/upsert", {"inputs": [{"id": "a@b.test", "idProperty": "email"}]}),
        ("/batch/create", {"inputs": [{"properties": {}, "associations": 5}]}),
        ("/batch/create", {"inputs": [{"properties": {}, "associations": [{"to": {}}]}]}),
        ("/batch/upsert", {"inputs": [{"id": "1", "idProperty": "domain", "properties": {}}]}),
        ("/search", []),
        ("/search", {"sorts": [5]}),
    ],
)
def test_batches_and_searches_of_the_wrong_shape_are_refused(crm: Api, path: str, body: Any) -> None:
    answer = crm("POST", f"{OBJECTS}/contacts{path}", body)

    assert 400 == answer.status_code
    assert "VALIDATION_ERROR" == answer.json()["category"]


# Deals, companies, notes


def test_a_deal_knows_whether_its_stage_is_closed(crm: Api) -> None:
    deal = crm.make("deals", dealname="Acme renewal", pipeline="default", dealstage="qualifiedtobuy", amount="900")
    crm("PATCH", f"{OBJECTS}/deals/{deal}", {"properties": {"dealstage": "closedwon"}})
    told = crm.read("deals", deal, "hs_is_closed", "hs_is_closed_won", "hs_deal_stage_probability", "amount")

    assert (
        "true",
        "true",
        "1.0",
    ) == (told["hs_is_closed"], told["hs_is_closed_won"], told["hs_deal_stage_probability"])
    assert "900" == told["amount"]


@pytest.mark.parametrize(
    "properties",
    [
        {"pipeline": "98112230", "dealstage": "qualifiedtobuy"},
        {"dealstage": "98112231"},
        {"dealstage": "Qualified To Buy"},
        {"pipeline": "nowhere"},
    ],
)
def test_a_stage_must_be_one_of_the_pipeline(crm: Api, properties: dict[str, str]) -> None:
    answer = crm("POST", f"{OBJECTS}/deals", {"properties": {"dealname": "x", **properties}})

    assert 400 == answer.status_code
    assert ["INVALID_OPTION"] == codes(answer)


def test_moving_to_another_pipeline_needs_one_of_its_stages(crm: Api) -> None:
    deal = f"{OBJECTS}/deals/{crm.make('deals', dealname='x', dealstage='contractsent')}"
    alone = crm("PATCH", deal, {"properties": {"pipeline": "98112230"}})
    together = crm("PATCH", deal, {"properties": {"pipeline": "98112230", "dealstage": "98112233"}})

    assert 400 == alone.status_code
    assert 200 == together.status_code


def test_deals_may_have_the_same_name(crm: Api) -> None:
    assert crm.make("deals", dealname="twice") != crm.make("deals", dealname="twice")


def test_companies_may_have_the_same_domain_but_need_a_name_or_one(crm: Api) -> None:
    first, second = crm.make("companies", domain="twice.test"), crm.make("companies", domain="twice.test")
    empty = crm("POST", f"{OBJECTS}/companies", {"properties": {"city": "Oslo"}})

    assert first != second
    assert 400 == empty.status_code


def test_a_note_needs_a_timestamp_and_joins_its_deal(crm: Api) -> None:
    deal = crm.example("deal_id")
    link = [{"to": {"id": deal}, "types": [{"associationCategory": "HUBSPOT_DEFINED", "associationTypeId": 214}]}]
    bare = crm("POST", f"{OBJECTS}/notes", {"properties": {"hs_note_body": "x"}, "associations": link})
    note = crm.make("notes", link, hs_note_body="Moved <b>on</b>", hs_timestamp="2026-11-20T09:12:00.000Z")
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
def test_a_record_with_a_wrong_association_is_not_made(crm: Api, to: str, type_id: int) -> None:
    spec = {"associationCategory": "HUBSPOT_DEFINED", "associationTypeId": type_id}
    link = [{"to": {"id": to.format(deal=crm.example("deal_id"))}, "types": [spec]}]
    before = len(crm.emulator.portal.records["notes"])
    answer = crm("POST", f"{OBJECTS}/notes", {"properties": {"hs_timestamp": 1}, "associations": link})

    assert 400 == answer.status_code
    assert len(crm.emulator.portal.records["notes"]) == before


def test_portal_rules_make_a_create_fail_that_would_have_worked(crm: Api) -> None:
    crm.knobs(required_properties={"deals": ["amount", "closedate"]})
    answer = crm("POST", f"{OBJECTS}/deals", {"properties": {"dealname": "x", "amount": "1"}})

    assert 400 == answer.status_code
    assert ["closedate"] == answer.json()["errors"][0]["context"]["properties"]


def test_a_portal_may_add_the_company_of_an_address_by_itself(crm: Api) -> None:
    crm.knobs(auto_company=True)
    known = crm.make("contacts", email="somebody.new@aurora-archi.example")
    made = crm.make("contacts", email="a@brand-new.example")
    free = crm.make("contacts", email="a@gmail.com")
    linked = [crm("GET", f"{OBJECTS}/contacts/{one}/associations/companies").json() for one in (known, made, free)]

    assert [1, 1, 0] == [len(answer["results"]) for answer in linked]
    assert 9001 == linked[0]["results"][0]["toObjectId"]


# Batches


def test_an_upsert_tells_whether_the_record_is_new(crm: Api) -> None:
    inputs = [{"idProperty": "email", "id": "New@example.test", "properties": {"firstname": "Ana"}}]
    first = crm("POST", f"{OBJECTS}/contacts/batch/upsert", {"inputs": inputs})
    again = crm("POST", f"{OBJECTS}/contacts/batch/upsert", {"inputs": inputs})

    assert (200, 200) == (first.status_code, again.status_code)
    assert "COMPLETE" == first.json()["status"]
    assert [True, False] == [one["new"] for one in first.json()["results"] + again.json()["results"]]
    assert "new@example.test" == first.json()["results"][0]["properties"]["email"]
    assert first.json()["results"][0]["id"] == again.json()["results"][0]["id"]


def test_an_upsert_with_one_bad_input_writes_nothing(crm: Api) -> None:
    inputs = [
        {"idProperty": "email", "id": "good@example.test", "properties": {}},
        {"idProperty": "email", "id": "bad", "properties": {}},
    ]
    answer = crm("POST", f"{OBJECTS}/contacts/batch/upsert", {"inputs": inputs})

    assert 400 == answer.status_code
    assert 404 == crm("GET", f"{OBJECTS}/contacts/good@example.test?idProperty=email").status_code


def test_an_upsert_by_a_further_address_conflicts(crm: Api) -> None:
    contact = crm.make("contacts", email="main@example.test", hs_additional_emails="side@example.test")
    inputs = [{"idProperty": "email", "id": "side@example.test", "properties": {}}]
    answer = crm("POST", f"{OBJECTS}/contacts/batch/upsert", {"inputs": inputs})

    assert 409 == answer.status_code
    assert answer.json()["message"].endswith(f"Existing ID: {contact}")


def test_a_batch_read_names_what_is_missing_in_a_207(crm: Api) -> None:
    wanted = {"inputs": [{"id": crm.example("deal_id")}, {"id": "1"}], "properties": ["amount"]}
    mixed = crm("POST", f"{OBJECTS}/deals/batch/read", wanted)
    by_email = {"inputs": [{"id": crm.example("email")}], "idProperty": "email", "properties": []}
    whole = crm("POST", f"{OBJECTS}/contacts/batch/read", by_email)

    assert 207 == mixed.status_code
    assert 1 == mixed.json()["numErrors"]
    assert {"ids": ["1"]} == mixed.json()["errors"][0]["context"]
    assert ids(mixed.json()) == [crm.example("deal_id")]
    assert 200 == whole.status_code
    assert ids(whole.json()) == [crm.example("contact_id")]


def test_batches_create_update_and_archive(crm: Api) -> None:
    created = crm(
        "POST",
        f"{OBJECTS}/contacts/batch/create",
        {"inputs": [{"properties": {"email": f"b{n}@example.test"}, "objectWriteTraceId": f"t{n}"} for n in (1, 2)]},
    )
    made = ids(created.json())
    updated = crm(
        "POST",
        f"{OBJECTS}/contacts/batch/update",
        {"inputs": [{"id": made[0], "properties": {"city": "Oslo"}}, {"id": "1", "properties": {"city": "Oslo"}}]},
    )
    archived = crm("POST", f"{OBJECTS}/contacts/batch/archive", {"inputs": [{"id": one} for one in [*made, "1"]]})

    assert 201 == created.status_code
    assert ["t1", "t2"] == [one["objectWriteTraceId"] for one in created.json()["results"]]
    assert 207 == updated.status_code
    assert ids(updated.json()) == made[:1]
    assert 204 == archived.status_code
    assert 404 == crm("GET", f"{OBJECTS}/contacts/{made[1]}").status_code


def test_a_batch_with_the_same_address_twice_writes_nothing(crm: Api) -> None:
    inputs = [{"properties": {"email": "same@example.test"}}, {"properties": {"email": "SAME@example.test"}}]
    answer = crm("POST", f"{OBJECTS}/contacts/batch/create", {"inputs": inputs})
    repeated: list[Any] = [{"idProperty": "email", "id": mail, "properties": {}} for mail in ("s@e.test", "S@e.test")]
    upsert = crm("POST", f"{OBJECTS}/contacts/batch/upsert", {"inputs": repeated})

    assert 409 == answer.status_code
    assert 400 == upsert.status_code
    assert 404 == crm("GET", f"{OBJECTS}/contacts/same@example.test?idProperty=email").status_code


@pytest.mark.parametrize("count", [0, 101])
def test_a_batch_takes_up_to_a_hundred_inputs(crm: Api, count: int) -> None:
    answer = crm("POST", f"{OBJECTS}/contacts/batch/read", {"inputs": [{"id": str(n)} for n in range(count)]})

    assert 400 == answer.status_code


# Search


def test_a_search_lags_behind_what_reads_already_show(limited: Api, clock: HandClock) -> None:
    contact = limited.make("contacts", email="lag@example.test")
    wanted = equal("email", "lag@example.test")
    at_once = limited.find("contacts", wanted)["total"]
    clock.at += 2.0
    later = limited.find("contacts", wanted)["total"]
    limited("PATCH", f"{OBJECTS}/contacts/{contact}", {"properties": {"city": "Riga"}})
    stale = limited.find("contacts", wanted, properties=["city"])["results"][0]["properties"]["city"]
    current = limited.read("contacts", contact, "city")["city"]
    limited("DELETE", f"{OBJECTS}/contacts/{contact}")
    clock.at += 2.0

    assert (0, 1, None, "Riga") == (at_once, later, stale, current)
    assert 0 == limited.find("contacts", wanted)["total"]


def test_the_seed_is_searchable_at_once(limited: Api) -> None:
    found = limited.find("companies", equal("domain", limited.example("company_domain")), limit=2)

    assert 2 == found["total"]
    assert "9001" == found["results"][0]["id"]


def test_a_search_pages_by_offset(crm: Api) -> None:
    sorts = [{"propertyName": "hs_object_id", "direction": "ASCENDING"}]
    everything = [{"propertyName": "hs_object_id", "operator": "HAS_PROPERTY"}]
    first = crm.find("contacts", *everything, sorts=sorts, limit=25)
    second = crm.find("contacts", *everything, sorts=sorts, limit=25, after=first["paging"]["next"]["after"])

    assert {"next": {"after": "25"}} == first["paging"]
    assert 50 == len({*ids(first), *ids(second)})
    assert first["total"] == second["total"] == 1043


def test_a_search_gives_ten_with_defaults_when_nothing_is_said(crm: Api) -> None:
    answer = crm("POST", f"{OBJECTS}/contacts/search", {}).json()

    assert 10 == len(answer["results"])
    assert set(answer["results"][0]["properties"]) >= {"email", "firstname", "lastname"}


@pytest.mark.parametrize(
    "body",
    [
        {"limit": 201},
        {"after": "soon"},
        {"after": "9950", "limit": 100},
        {"sorts": ["createdate", "email"]},
        {"sorts": ["no_such_property"]},
        {"query": "x" * 3001},
        {"filterGroups": [{"filters": [equal("email", "x")]}] * 6},
        {"filterGroups": [{"filters": [equal("email", "x")] * 7}]},
        {"filterGroups": [{"filters": [equal("email", "x")] * 5}] * 4},
        {"filterGroups": [{"filters": [{"propertyName": "email", "operator": "LIKE", "value": "x"}]}]},
        {"filterGroups": [{"filters": [{"propertyName": "email", "operator": "EQ"}]}]},
        {"filterGroups": [{"filters": [{"propertyName": "email", "operator": "IN"}]}]},
        {"filterGroups": [{"filters": [{"operator": "EQ", "value": "x"}]}]},
        {"filterGroups": [{"filters": [equal("createdate", "yesterday")]}]},
        {"filterGroups": {"filters": []}},
        {"filterGroups": ["x"]},
    ],
)
def test_a_search_refuses_what_breaks_its_rules(crm: Api, body: dict[str, Any]) -> None:
    answer = crm("POST", f"{OBJECTS}/contacts/search", body)

    assert 400 == answer.status_code
    assert "VALIDATION_ERROR" == answer.json()["category"]


def test_a_search_over_an_unknown_property_names_it(crm: Api) -> None:
    body = {"filterGroups": [{"filters": [equal("no_such_property", "x")]}]}
    answer = crm("POST", f"{OBJECTS}/contacts/search", body)

    assert ["PROPERTY_DOESNT_EXIST"] == codes(answer)
    assert {"propertyName": ["no_such_property"]} == answer.json()["errors"][0]["context"]


def test_the_cap_is_a_refusal_and_not_an_empty_page(crm: Api) -> None:
    crm.knobs(search_cap=100)
    last = crm("POST", f"{OBJECTS}/contacts/search", {"limit": 50, "after": "50"})
    beyond = crm("POST", f"{OBJECTS}/contacts/search", {"limit": 50, "after": last.json()["paging"]["next"]["after"]})

    assert (200, 400) == (last.status_code, beyond.status_code)
    assert 100 == last.json()["total"]


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ([equal("city", "OSLO")], "abc"),
        ([equal("tier", "gold")], "a"),
        ([equal("tier", "GOLD")], ""),
        ([{"propertyName": "tier", "operator": "NEQ", "value": "gold"}], "b"),
        ([{"propertyName": "city", "operator": "IN", "values": ["oslo", "rome"]}], "abc"),
        ([{"propertyName": "city", "operator": "IN", "values": ["OSLO"]}], ""),
        ([{"propertyName": "tier", "operator": "NOT_IN", "values": ["gold"]}], "bc"),
        ([{"propertyName": "tier", "operator": "HAS_PROPERTY"}], "ab"),
        ([{"propertyName": "tier", "operator": "NOT_HAS_PROPERTY"}], "c"),
        ([{"propertyName": "nps_score", "operator": "GT", "value": "9"}], "c"),
        ([{"propertyName": "nps_score", "operator": "GTE", "value": "9"}], "bc"),
        ([{"propertyName": "nps_score", "operator": "LT", "value": 9}], "a"),
        ([{"propertyName": "nps_score", "operator": "LTE", "value": "9"}], "ab"),
        ([{"propertyName": "nps_score", "operator": "BETWEEN", "value": "3", "highValue": "9"}], "b"),
        ([{"propertyName": "renewal_date", "operator": "GTE", "value": "1795132800000"}], "a"),
        ([{"propertyName": "renewal_date", "operator": "LT", "value": "2026-11-20"}], "b"),
        ([equal("topics", "home;stage")], "a"),
        ([{"propertyName": "topics", "operator": "CONTAINS_TOKEN", "value": "stage"}], "ab"),
        ([{"propertyName": "topics", "operator": "NOT_CONTAINS_TOKEN", "value": "stage"}], "c"),
        ([{"propertyName": "email", "operator": "CONTAINS_TOKEN", "value": "*@search-a.test"}], "a"),
        ([{"propertyName": "email", "operator": "CONTAINS_TOKEN", "value": "someb*"}], "b"),
        ([equal("tier", "gold"), equal("nps_score", "9")], ""),
    ],
)
def test_filters_find_what_they_say(crm: Api, filters: list[dict[str, Any]], found: str) -> None:
    made = {
        crm.make("contacts", email="x@search-a.test", tier="gold", nps_score="2", topics="home;stage"): "a",
        crm.make("contacts", email="somebody@b.test", tier="silver", nps_score="9", topics="stage"): "b",
        crm.make("contacts", nps_score="10"): "c",
    }
    for identifier, date in zip(made, ("2026-11-20", "2026-11-19", ""), strict=True):
        crm("PATCH", f"{OBJECTS}/contacts/{identifier}", {"properties": {"city": "Oslo", "renewal_date": date}})
    here = {"propertyName": "city", "operator": "EQ", "value": "oslo"}
    answer = crm.find("contacts", here, *filters)

    assert "".join(sorted(made[one] for one in ids(answer))) == found


def test_groups_are_alternatives_and_sorts_put_absent_values_last(crm: Api) -> None:
    first, second = crm.make("deals", dealname="s1", amount="9"), crm.make("deals", dealname="s2", amount="1000")
    third = crm.make("deals", dealname="s3")
    body = {
        "filterGroups": [{"filters": [equal("dealname", name)]} for name in ("s1", "s2", "S3")],
        "sorts": [{"propertyName": "amount", "direction": "DESCENDING"}],
    }
    answer = crm("POST", f"{OBJECTS}/deals/search", body).json()
    ascending = crm("POST", f"{OBJECTS}/deals/search", body | {"sorts": ["amount"]}).json()

    assert ids(answer) == [second, first, third]
    assert ids(ascending) == [first, second, third]


def test_a_search_may_ask_for_associated_records(crm: Api) -> None:
    deal = crm.example("deal_id")
    found = crm.find("contacts", equal("associations.deal", deal))
    unknown = {"filterGroups": [{"filters": [equal("associations.planet", "1")]}]}

    assert crm.example("contact_id") in ids(found)
    assert 400 == crm("POST", f"{OBJECTS}/contacts/search", unknown).status_code


def test_free_text_finds_the_beginnings_of_words(crm: Api) -> None:
    contact = crm.make("contacts", firstname="Žofie", lastname="Unterholzner", email="z@holz.test")
    answer = crm("POST", f"{OBJECTS}/contacts/search", {"query": "unterh žof"}).json()

    assert ids(answer) == [contact]


def test_tokens_are_words_and_pieces() -> None:
    assert {"home", "big", "stage", "home;big stage"} == tokens("Home;Big stage")


# Associations


@pytest.mark.parametrize(
    "path",
    [f"{LINKS}/deals/contacts/batch/create", f"{LINKS}/deals/contacts/batch/archive", f"{LINKS}/x/contacts/labels"],
)
def test_associations_of_the_wrong_shape_are_refused(crm: Api, path: str) -> None:
    answer = crm("GET" if path.endswith("labels") else "POST", path, {"inputs": [{"from": "1", "to": []}]})

    assert 400 == answer.status_code


def test_records_without_a_relation_cannot_be_associated(crm: Api) -> None:
    note, contact = crm.make("notes", hs_timestamp=1), crm.example("contact_id")
    other = crm.make("contacts", firstname="x")
    answer = crm("PUT", f"{OBJECTS}/contacts/{contact}/associations/default/contacts/{other}")
    unknown = crm("GET", f"{OBJECTS}/notes/{note}?associations=planets")

    assert (400, 400) == (answer.status_code, unknown.status_code)


def test_a_default_association_is_told_in_both_directions_and_repeats(crm: Api) -> None:
    contact, company = crm.make("contacts", firstname="x"), crm.make("companies", name="x")
    path = f"{OBJECTS}/contacts/{contact}/associations/default/companies/{company}"
    first, again = crm("PUT", path), crm("PUT", path)

    assert (200, 200) == (first.status_code, again.status_code)
    assert first.json()["results"] == [
        {
            "from": {"id": contact},
            "to": {"id": company},
            "associationSpec": {"associationCategory": "HUBSPOT_DEFINED", "associationTypeId": 279},
        },
        {
            "from": {"id": company},
            "to": {"id": contact},
            "associationSpec": {"associationCategory": "HUBSPOT_DEFINED", "associationTypeId": 280},
        },
    ]


def test_the_first_company_is_primary_and_the_second_is_not(crm: Api) -> None:
    contact = crm.make("contacts", firstname="x")
    companies = [crm.make("companies", name=name) for name in "ab"]
    for company in companies:
        crm("PUT", f"{OBJECTS}/contact/{contact}/associations/default/company/{company}")
    rows = crm("GET", f"/crm/v4/objects/contacts/{contact}/associations/companies").json()["results"]

    assert [row["toObjectId"] for row in rows] == [int(company) for company in companies]
    assert [[279, 1], [279]] == [[kind["typeId"] for kind in row["associationTypes"]] for row in rows]
    assert {"category": "HUBSPOT_DEFINED", "typeId": 1, "label": "Primary"} == rows[0]["associationTypes"][1]


def test_a_typed_association_answers_201_with_labels_and_displaces_the_primary(crm: Api) -> None:
    deal = crm.make("deals", dealname="x")
    companies = [crm.make("companies", name=name) for name in "ab"]
    crm("PUT", f"{OBJECTS}/deals/{deal}/associations/default/companies/{companies[0]}")
    spec = [{"associationCategory": "HUBSPOT_DEFINED", "associationTypeId": 5}]
    answer = crm("PUT", f"{OBJECTS}/deals/{deal}/associations/companies/{companies[1]}", spec)
    rows = crm("GET", f"{OBJECTS}/deals/{deal}/associations/companies").json()["results"]

    assert 201 == answer.status_code
    assert answer.json() == {
        "fromObjectTypeId": "0-3",
        "fromObjectId": int(deal),
        "toObjectTypeId": "0-2",
        "toObjectId": int(companies[1]),
        "labels": ["Primary"],
    }
    assert [[341], [341, 5]] == [[kind["typeId"] for kind in row["associationTypes"]] for row in rows]


def test_a_label_of_the_portal_can_be_set_listed_and_taken_away(crm: Api) -> None:
    deal, contact = crm.make("deals", dealname="x"), crm.make("contacts", firstname="x")
    spec = [{"associationCategory": "USER_DEFINED", "associationTypeId": 36}]
    crm("PUT", f"{OBJECTS}/deals/{deal}/associations/contacts/{contact}", spec)
    labelled = crm("GET", f"{OBJECTS}/contacts/{contact}/associations/deals").json()["results"]
    one = {"from": {"id": deal}, "to": {"id": contact}, "types": spec}
    crm("POST", f"{LINKS}/deals/contacts/batch/labels/archive", {"inputs": [one]})
    plain = crm("GET", f"{OBJECTS}/contacts/{contact}/associations/deals").json()["results"]
    labels = crm("GET", "/crm/v4/associations/deals/contacts/labels").json()["results"]

    assert [None, "Decision maker"] == [kind["label"] for kind in labelled[0]["associationTypes"]]
    assert [4] == [kind["typeId"] for kind in plain[0]["associationTypes"]]
    assert [3, 36] == [kind["typeId"] for kind in labels]


def test_the_number_of_the_other_direction_is_refused(crm: Api) -> None:
    spec = [{"associationCategory": "HUBSPOT_DEFINED", "associationTypeId": 280}]
    path = f"{OBJECTS}/contacts/{crm.example('contact_id')}/associations/companies/9001"
    answers = [crm("PUT", path, body) for body in (spec, [], [{"associationTypeId": 1}])]

    assert [400, 400, 400] == [answer.status_code for answer in answers]


def test_an_association_can_be_removed_and_needs_both_records(crm: Api) -> None:
    contact, company = crm.make("contacts", firstname="x"), crm.make("companies", name="x")
    crm("PUT", f"{OBJECTS}/contacts/{contact}/associations/default/companies/{company}")
    removed = crm("DELETE", f"{OBJECTS}/contacts/{contact}/associations/companies/{company}")
    missing = crm("PUT", f"{OBJECTS}/contacts/{contact}/associations/default/companies/1")

    assert 204 == removed.status_code
    assert {"results": []} == crm("GET", f"{OBJECTS}/companies/{company}/associations/contacts").json()
    assert 404 == missing.status_code


def test_taking_the_unlabelled_type_away_leaves_nothing(crm: Api) -> None:
    contact, company = crm.make("contacts", city="x"), crm.make("companies", name="x")
    path = f"{OBJECTS}/contacts/{contact}/associations/companies/{company}"
    crm("PUT", f"{OBJECTS}/contacts/{contact}/associations/default/companies/{company}")
    crm("DELETE", f"{path}/1")
    after_primary = crm("GET", f"{OBJECTS}/contacts/{contact}/associations/companies").json()["results"]
    crm("DELETE", f"{path}/279")

    assert [279] == [kind["typeId"] for kind in after_primary[0]["associationTypes"]]
    assert {"results": []} == crm("GET", f"{OBJECTS}/contacts/{contact}/associations/companies").json()


def test_the_older_path_with_the_type_at_its_end_still_works(crm: Api) -> None:
    note = crm.make("notes", hs_timestamp=1)
    deal = crm.example("deal_id")
    path = f"{OBJECTS}/notes/{note}/associations/deals/{deal}"
    added = crm("PUT", f"{path}/note_to_deal")
    removed = crm("DELETE", f"{path}/214")

    assert (added.status_code, added.json()["id"], removed.status_code) == (200, note, 204)
    assert 400 == crm("PUT", f"{path}/5").status_code


def test_batches_of_associations_create_read_and_archive(crm: Api) -> None:
    deal, contact, other = (
        crm.make("deals", dealname="x"),
        crm.make("contacts", city="x"),
        crm.make("contacts", city="y"),
    )
    spec = [{"associationCategory": "HUBSPOT_DEFINED", "associationTypeId": 3}]
    pair = {"from": {"id": deal}, "to": {"id": contact}}
    made = crm("POST", f"{LINKS}/deals/contacts/batch/create", {"inputs": [pair | {"types": spec}]})
    default = crm("POST", f"{LINKS}/deals/contacts/batch/associate/default", {"inputs": [pair | {"to": {"id": other}}]})
    read = crm("POST", f"{LINKS}/contacts/deals/batch/read", {"inputs": [{"id": contact}]})
    archive = {"inputs": [{"from": {"id": deal}, "to": [{"id": contact}, {"id": other}]}]}
    archived = crm("POST", f"{LINKS}/deals/contacts/batch/archive", archive)
    empty = crm("POST", f"{LINKS}/contacts/deals/batch/read", {"inputs": [{"id": contact}]})
    wrong = crm("POST", f"{LINKS}/deals/contacts/batch/create", {"inputs": [pair | {"to": {"id": 1}, "types": spec}]})

    assert (201, 200, 200, 204) == (made.status_code, default.status_code, read.status_code, archived.status_code)
    assert read.json()["results"][0]["to"][0]["toObjectId"] == int(deal)
    assert 207 == empty.status_code
    assert "crm.associations.NO_ASSOCIATIONS_FOUND" == empty.json()["errors"][0]["subCategory"]
    assert ["INVALID_OBJECT_IDS"] == codes(wrong)


def test_associations_are_paged_and_archived_records_leave_them(crm: Api) -> None:
    company = crm.make("companies", name="big")
    contacts = [crm.make("contacts", city="x") for _ in range(3)]
    for contact in contacts:
        crm("PUT", f"{OBJECTS}/contacts/{contact}/associations/default/companies/{company}")
    crm("DELETE", f"{OBJECTS}/contacts/{contacts[0]}")
    path = f"{OBJECTS}/companies/{company}/associations/contacts?limit=1"
    first = crm("GET", path).json()
    second = crm("GET", f"{path}&after={first['paging']['next']['after']}").json()

    assert [row["toObjectId"] for row in first["results"] + second["results"]] == [int(one) for one in contacts[1:]]
    assert "paging" not in second


# What a portal has beside records


def test_pipelines_come_with_stages_whose_metadata_is_text(crm: Api) -> None:
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


def test_owners_are_active_ones_unless_archived_are_asked_for(crm: Api) -> None:
    active = crm("GET", "/crm/owners/2026-09?limit=4").json()
    rest = crm("GET", f"/crm/owners/2026-09?after={active['paging']['next']['after']}").json()["results"]
    archived = crm("GET", "/crm/owners/2026-09/?archived=true").json()["results"]

    assert ["PERSON", "QUEUE"] == [owner["type"] for owner in rest]
    assert "email" not in rest[1]
    assert [None, None] == [owner["userId"] for owner in archived]
    assert 88166 == archived[0]["userIdIncludingInactive"]


def test_an_owner_is_found_by_address_id_or_user(crm: Api) -> None:
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


def test_properties_are_a_long_list_where_custom_ones_lack_a_mark(crm: Api) -> None:
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


def test_archived_and_sensitive_properties_are_lists_of_their_own(crm: Api) -> None:
    archived = crm("GET", "/crm/properties/2026-09/contacts?archived=true").json()["results"]
    refused = crm("GET", "/crm/properties/2026-09/contacts?dataSensitivity=sensitive")
    nonsense = crm("GET", "/crm/properties/2026-09/contacts?dataSensitivity=secret")
    crm.knobs(scopes=["crm.objects.contacts.sensitive.read.v2"])
    sensitive = crm("GET", "/crm/properties/2026-09/contacts?dataSensitivity=sensitive").json()["results"]

    assert ["old_segment"] == [one["name"] for one in archived]
    assert 403 == refused.status_code
    assert ["passport_number"] == [one["name"] for one in sensitive]
    assert 400 == nonsense.status_code


def test_stages_and_pipelines_are_the_options_of_their_properties(crm: Api) -> None:
    stage = crm("GET", "/crm/properties/2026-09/deals/dealstage").json()
    pipeline = crm("GET", "/crm/properties/2026-09/0-3/pipeline").json()

    assert 12 == len(stage["options"])
    assert ["default", "98112230"] == [option["value"] for option in pipeline["options"]]


def test_a_custom_property_can_be_made_changed_written_and_archived(crm: Api) -> None:
    path = "/crm/properties/2026-09/contacts"
    wanted = {
        "name": "shoe_size",
        "label": "Shoe size",
        "type": "enumeration",
        "fieldType": "select",
        "groupName": "contactinformation",
        "options": [{"label": "Small", "value": "s", "hidden": False}],
    }
    made = crm("POST", path, wanted)
    again = crm("POST", path, wanted)
    larger = [*wanted["options"], {"label": "Large", "value": "l"}]
    changed = crm("PATCH", f"{path}/shoe_size", {"label": "Size", "options": larger})
    contact = crm.make("contacts", shoe_size="l")
    archived = crm("DELETE", f"{path}/shoe_size")

    assert (201, 409, 204) == (made.status_code, again.status_code, archived.status_code)
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
def test_a_custom_property_must_make_sense(crm: Api, change: dict[str, Any]) -> None:
    wanted = {"name": "shoe", "label": "Shoe", "type": "string", "fieldType": "text", "groupName": "contactinformation"}
    answer = crm("POST", "/crm/properties/2026-09/contacts", wanted | change)

    assert 400 == answer.status_code


def test_the_account_tells_its_portal_id_as_a_number(crm: Api) -> None:
    account = crm("GET", "/account-info/2026-09/details").json()

    assert str(account["portalId"]) == crm.example("portal_id")
    assert account == crm("GET", "/account-info/v3/details").json()


# Who may call


@pytest.mark.parametrize("header", [{}, {"Authorization": "Bearer nonsense"}, {"Authorization": "Basic cGF0"}])
def test_a_call_without_a_known_token_is_refused(crm: Api, header: dict[str, str]) -> None:
    answer = crm.session.get(f"{crm.base}{OBJECTS}/contacts", headers=header, timeout=10)

    assert 401 == answer.status_code
    assert "INVALID_AUTHENTICATION" == answer.json()["category"]
    assert answer.json()["message"].startswith("Authentication credentials not found.")
    assert "x-hubspot-auth-failure" in answer.headers


def test_a_withdrawn_authorisation_is_refused_until_it_is_given_again(crm: Api) -> None:
    token = crm.emulator.credentials()
    crm.control("crm/revoke")
    refused = crm("GET", "/account-info/2026-09/details")
    crm.control("crm/authorise")
    served = crm("GET", "/account-info/2026-09/details")

    assert (401, 200) == (refused.status_code, served.status_code)
    assert crm.emulator.credentials() == token


@pytest.mark.parametrize(
    ("method", "path", "granted", "needed"),
    [
        ("GET", f"{OBJECTS}/notes", "crm.objects.deals.read", "crm.objects.contacts.read"),
        ("POST", f"{OBJECTS}/deals", "crm.objects.deals.read", "crm.objects.deals.write"),
        ("POST", f"{OBJECTS}/deals/search", "crm.objects.deals.write", "crm.objects.deals.read"),
        ("GET", "/crm/owners/2026-09", "crm.objects.deals.read", "crm.objects.owners.read"),
        ("GET", "/crm/pipelines/2026-09/deals", "oauth", "crm.objects.contacts.read"),
    ],
)
def test_a_missing_scope_is_named(crm: Api, method: str, path: str, granted: str, needed: str) -> None:
    crm.knobs(scopes=[granted])
    answer = crm(method, path, {} if method == "POST" else None)

    assert 403 == answer.status_code
    assert "MISSING_SCOPES" == answer.json()["category"]
    assert needed in answer.json()["errors"][0]["context"]["requiredGranularScopes"]
    assert "scopes" in answer.json()["links"]


# OAuth


def consent(crm: Api, **more: str) -> dict[str, list[str]]:
    """What the consent page sends back."""
    asked = {
        "client_id": crm.emulator.knobs["client_id"],
        "redirect_uri": "http://localhost/callback?x=1",
        "scope": "oauth crm.objects.contacts.read",
        "auto_approve": "true",
        "state": "s1",
        **more,
    }
    answer = crm.session.get(f"{crm.base}/oauth/authorize", params=asked, allow_redirects=False, timeout=10)
    assert 302 == answer.status_code, answer.text
    return parse_qs(urlsplit(answer.headers["Location"]).query)


def token(crm: Api, path: str = "/oauth/2026-09/token", **form: str) -> requests.Response:
    secrets = {name: crm.emulator.knobs[name] for name in ("client_id", "client_secret")}
    return crm.session.post(crm.base + path, data={**secrets, **form}, timeout=10)


def exchange(crm: Api, **more: str) -> requests.Response:
    code = consent(crm)["code"][0]
    redirect = "http://localhost/callback?x=1"
    return token(crm, grant_type="authorization_code", code=code, redirect_uri=redirect, **more)


def test_the_consent_page_asks_and_offers_both_portals(crm: Api) -> None:
    asked = {"client_id": crm.emulator.knobs["client_id"], "redirect_uri": "http://localhost/c", "scope": "oauth"}
    page = crm.session.get(f"{crm.base}/oauth/authorize", params=asked, timeout=10)
    wrong = [{"scope": ""}, {"client_id": "x"}, {"redirect_uri": "ftp:x"}, {"code_challenge": "x"}]
    refused = [crm.session.get(f"{crm.base}/oauth/authorize", params=asked | one, timeout=10) for one in wrong]

    assert page.headers["Content-Type"].startswith("text/html")
    assert "fjordlicht.example" in page.text
    assert "nordwolke.example" in page.text
    assert [400, 400, 400, 400] == [answer.status_code for answer in refused]


def test_a_code_gives_a_long_token_for_the_granted_scopes(crm: Api) -> None:
    sent_back = consent(crm)
    answer = exchange(crm).json()
    contacts, deals = (
        crm("GET", f"{OBJECTS}/{kind}", headers={"Authorization": f"Bearer {answer['access_token']}"})
        for kind in ("contacts", "deals")
    )

    assert ["s1"] == sent_back["state"]
    assert ["1"] == sent_back["x"]
    assert len(answer["access_token"]) > 300
    assert "bearer" == answer["token_type"]
    assert 1800 == answer["expires_in"]
    assert str(answer["hub_id"]) == crm.example("portal_id")
    assert ["oauth", "crm.objects.contacts.read"] == answer["scopes"]
    assert (200, 403) == (contacts.status_code, deals.status_code)


def test_a_code_is_good_once_for_a_while_and_for_its_redirect(limited: Api, clock: HandClock) -> None:
    redirect = "http://localhost/callback?x=1"
    used = {"grant_type": "authorization_code", "code": consent(limited)["code"][0], "redirect_uri": redirect}
    old = {**used, "code": consent(limited)["code"][0]}
    elsewhere = {**used, "code": consent(limited)["code"][0], "redirect_uri": "http://localhost/other"}
    first, again, other = token(limited, **used), token(limited, **used), token(limited, **elsewhere)
    clock.at += 301
    late = token(limited, **old)

    assert [200, 400, 400, 400] == [answer.status_code for answer in (first, again, other, late)]
    assert "BAD_AUTH_CODE" == again.json()["status"]
    assert "MISMATCH_REDIRECT_URI_AUTH_CODE" == other.json()["status"]
    assert "EXPIRED_AUTH_CODE" == late.json()["status"]
    assert "invalid_grant" == late.json()["error"]


def test_a_challenge_wants_its_verifier(crm: Api) -> None:
    challenge = {"code_challenge": challenge_of("v" * 43), "code_challenge_method": "S256"}
    form = {"grant_type": "authorization_code", "redirect_uri": "http://localhost/callback?x=1"}
    wrong = token(crm, **form, code=consent(crm, **challenge)["code"][0], code_verifier="w" * 43)
    right = token(crm, **form, code=consent(crm, **challenge)["code"][0], code_verifier="v" * 43)

    assert (400, 200) == (wrong.status_code, right.status_code)


def test_a_token_lasts_half_an_hour_and_is_refreshed(limited: Api, clock: HandClock) -> None:
    first = exchange(limited).json()
    bearer = {"Authorization": f"Bearer {first['access_token']}"}
    clock.at += 1799
    fresh = limited("GET", "/account-info/2026-09/details", headers=bearer)
    clock.at += 4
    stale = limited("GET", "/account-info/2026-09/details", headers=bearer)
    refreshed = token(limited, grant_type="refresh_token", refresh_token=first["refresh_token"]).json()

    assert 200 == fresh.status_code
    assert 401 == stale.status_code
    assert "EXPIRED_AUTHENTICATION" == stale.json()["category"]
    assert "The OAuth token used to make this call expired 3 second(s) ago." == stale.json()["message"]
    assert "expire time" in stale.json()["context"]
    assert refreshed["refresh_token"] == first["refresh_token"]
    assert refreshed["access_token"] != first["access_token"]


def test_an_uninstalled_application_cannot_refresh(crm: Api) -> None:
    granted = exchange(crm).json()
    crm.control("crm/revoke")
    answer = token(crm, grant_type="refresh_token", refresh_token=granted["refresh_token"])
    called = crm("GET", f"{OBJECTS}/contacts", headers={"Authorization": f"Bearer {granted['access_token']}"})

    assert 400 == answer.status_code
    assert {
        "error": "invalid_grant",
        "error_description": "refresh token is invalid, expired or revoked",
        "status": "BAD_REFRESH_TOKEN",
        "message": "refresh token is invalid, expired or revoked",
    } == answer.json()
    assert 401 == called.status_code


def test_a_revoked_refresh_token_takes_its_access_tokens_along(crm: Api) -> None:
    granted = exchange(crm).json()
    revoked = token(crm, "/oauth/2026-09/token/revoke", token=granted["refresh_token"])
    called = crm("GET", f"{OBJECTS}/contacts", headers={"Authorization": f"Bearer {granted['access_token']}"})

    assert (200, 401) == (revoked.status_code, called.status_code)
    assert 400 == token(crm, grant_type="refresh_token", refresh_token=granted["refresh_token"]).status_code


def test_tokens_can_be_introspected_in_both_forms(crm: Api) -> None:
    granted = exchange(crm).json()
    path = "/oauth/2026-09/token/introspect"
    access = token(crm, path, token_type_hint="access_token", token=granted["access_token"]).json()
    refresh = token(crm, path, refresh_token=granted["refresh_token"]).json()
    unknown = token(crm, path, token="x").json()
    old = crm.session.get(f"{crm.base}/oauth/v1/access-tokens/{granted['access_token']}", timeout=10).json()
    older = crm.session.get(f"{crm.base}/oauth/v1/refresh-tokens/{granted['refresh_token']}", timeout=10).json()
    gone = [
        crm.session.get(f"{crm.base}/oauth/v1/{one}-tokens/x", timeout=10).status_code for one in ("access", "refresh")
    ]

    assert (True, True, {"active": False}) == (access["active"], refresh["active"], unknown)
    assert {4_471_120} == {one["hub_id"] for one in (access, refresh, old, older)}
    assert [404, 404] == gone
    assert {"user", "user_id", "hub_domain", "app_id"} <= set(access)


@pytest.mark.parametrize(
    ("form", "status"),
    [
        ({"client_secret": "wrong"}, "BAD_CLIENT_SECRET"),
        ({"client_id": "wrong"}, "BAD_CLIENT_ID"),
        ({"grant_type": "password"}, "BAD_GRANT_TYPE"),
        ({"grant_type": "refresh_token"}, "BAD_REFRESH_TOKEN"),
    ],
)
def test_wrong_token_requests_are_refused(crm: Api, form: dict[str, str], status: str) -> None:
    answer = token(crm, **form)

    assert 400 == answer.status_code
    assert answer.json()["status"] == status


def test_only_the_oldest_token_page_reads_the_query(crm: Api) -> None:
    refresh = exchange(crm).json()["refresh_token"]
    form = {"grant_type": "refresh_token"}
    dated = token(crm, f"/oauth/2026-09/token?refresh_token={refresh}", **form)
    oldest = token(crm, f"/oauth/v1/token?refresh_token={refresh}", **form)

    assert (400, 200) == (dated.status_code, oldest.status_code)


# Limits


def test_the_burst_is_refused_with_its_policy_and_headers_until_it_has_passed(limited: Api, clock: HandClock) -> None:
    served = [limited("GET", "/account-info/2026-09/details") for _ in range(110)]
    refused = limited("GET", "/account-info/2026-09/details")
    clock.at += 10.001
    again = limited("GET", "/account-info/2026-09/details")

    assert {200} == {answer.status_code for answer in served}
    assert "110" == served[0].headers["X-HubSpot-RateLimit-Max"]
    assert "109" == served[0].headers["X-HubSpot-RateLimit-Remaining"]
    assert "10000" == served[0].headers["X-HubSpot-RateLimit-Interval-Milliseconds"]
    assert "649999" == served[0].headers["X-HubSpot-RateLimit-Daily-Remaining"]
    assert 429 == refused.status_code
    assert "0" == refused.headers["X-HubSpot-RateLimit-Remaining"]
    assert "You have reached your ten_secondly_rolling limit." == refused.json()["message"]
    assert "RATE_LIMIT" == refused.json()["errorType"]
    assert "RATE_LIMITS" == refused.json()["category"]
    assert "TEN_SECONDLY_ROLLING" == refused.json()["policyName"]
    assert 200 == again.status_code


def test_searches_have_a_budget_of_their_own_without_headers(limited: Api, clock: HandClock) -> None:
    answers = [limited("POST", f"{OBJECTS}/{kind}/search", {}) for kind in ["contacts", "deals", "notes"] * 2]
    clock.at += 1.001
    later = limited("POST", f"{OBJECTS}/contacts/search", {})
    burst = limited("GET", "/account-info/2026-09/details")

    assert [answer.status_code for answer in answers] == [200] * 5 + [429]
    assert "SECONDLY" == answers[5].json()["policyName"]
    assert "You have reached your secondly limit." == answers[5].json()["message"]
    assert not [name for answer in answers for name in answer.headers if "RateLimit" in name]
    assert 200 == later.status_code
    assert "109" == burst.headers["X-HubSpot-RateLimit-Remaining"]


def test_the_day_ends_at_midnight_in_the_zone_of_the_account(limited: Api, clock: HandClock) -> None:
    clock.at = 1_780_009_200.0 - 1  # one second before 2026-05-29 00:00 at +01:00
    limited.knobs(daily_limit=1)
    answers = [limited("GET", "/account-info/2026-09/details") for _ in range(2)]
    clock.at += 1
    tomorrow = limited("GET", "/account-info/2026-09/details")

    assert [200, 429] == [answer.status_code for answer in answers]
    assert "DAILY" == answers[1].json()["policyName"]
    assert 200 == tomorrow.status_code


def test_an_application_has_no_daily_budget_and_a_burst_of_its_own(limited: Api, clock: HandClock) -> None:
    limited.knobs(burst_limit=1)
    bearer = {"Authorization": f"Bearer {exchange(limited).json()['access_token']}"}
    static = limited("GET", "/account-info/2026-09/details")
    app = limited("GET", "/account-info/2026-09/details", headers=bearer)

    assert (200, 200) == (static.status_code, app.status_code)
    assert "X-HubSpot-RateLimit-Daily" not in app.headers


def test_without_limits_nothing_is_counted(crm: Api) -> None:
    answers = [crm("POST", f"{OBJECTS}/contacts/search", {"limit": 1}) for _ in range(7)]

    assert {200} == {answer.status_code for answer in answers}


# Trouble


@pytest.mark.parametrize(
    ("outage", "status", "content_type"),
    [
        ("locked", 423, "application/json"),
        ("migrating", 477, "application/json"),
        ("bad_gateway", 502, "text/html"),
        ("timeout", 524, "text/html"),
    ],
)
def test_outages_speak_the_vendors_dialect(crm: Api, outage: str, status: int, content_type: str) -> None:
    crm.knobs(outage=outage)
    answer = crm("POST", f"{OBJECTS}/contacts", {"properties": {"email": "outage@example.test"}})

    assert answer.status_code == status
    assert answer.headers["Content-Type"].startswith(content_type)
    assert ("Retry-After" in answer.headers) == (outage == "migrating")


def test_a_lock_does_not_keep_from_reading(crm: Api) -> None:
    crm.knobs(outage="locked")

    assert 200 == crm("GET", f"{OBJECTS}/contacts?limit=1").status_code
    assert 200 == crm("POST", f"{OBJECTS}/contacts/search", {}).status_code


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/", 404),
        ("GET", "/crm/objects/2025-09/contacts", 404),
        ("GET", "/crm/v3/objects", 404),
        ("GET", "/crm/v3/objects/contacts?properties=" + "x" * 7_500, 414),
        ("DELETE", "/account-info/2026-09/details", 405),
    ],
)
def test_unknown_routes_are_answered_with_a_page(crm: Api, method: str, path: str, status: int) -> None:
    answer = crm(method, path)

    assert answer.status_code == status
    assert answer.headers["Content-Type"].startswith("text/html")


@pytest.mark.parametrize(
    ("fault", "written"),
    [
        ({"fault": "status", "status": 503, "body": "down"}, False),
        ({"fault": "delay", "seconds": 0.01}, True),
        ({"fault": "drop_before"}, False),
        ({"fault": "drop_after"}, True),
        ({"fault": "garbage"}, True),
        ({"fault": "slow_body", "seconds": 0.02}, True),
    ],
    ids=lambda value: value["fault"] if isinstance(value, dict) else "",
)
def test_faults_strike_before_or_after_the_write(crm: Api, fault: dict[str, Any], *, written: bool) -> None:
    crm.session.post(f"{crm.control_base}/_control/crm/faults", json={"method": "POST", "path": OBJECTS, **fault})
    with suppress(requests.ConnectionError):
        crm("POST", f"{OBJECTS}/contacts", {"properties": {"email": "fault@example.test"}})
    found = crm("GET", f"{OBJECTS}/contacts/fault@example.test?idProperty=email")

    assert (found.status_code == 200) == written


def test_a_bug_is_answered_in_the_dialect_too(crm: Api) -> None:
    crm.knobs(required_properties="nonsense")
    answer = crm("POST", f"{OBJECTS}/contacts", {"properties": {"city": "Oslo"}})

    assert 500 == answer.status_code
    assert "internal error" == answer.json()["message"]


def test_a_reset_repeats_the_same_ids_and_correlations(limited: Api, clock: HandClock) -> None:
    def story() -> list[Any]:
        return [
            limited.make("contacts", email="again@example.test"),
            limited.make("deals", dealname="again"),
            limited("GET", f"{OBJECTS}/contacts/1").json(),
            limited.find("contacts", equal("tier", "gold"), limit=3),
            limited.emulator.examples(),
        ]

    first = story()
    limited.control("reset")
    second = story()

    assert first == second


def test_the_seed_is_large_and_has_rough_edges(crm: Api) -> None:
    records = crm.emulator.portal.records
    contacts = list(records["contacts"].values())

    assert len(contacts) >= 1000
    assert len([one for one in records["companies"].values() if "domain" in one.properties]) >= 60
    assert len(records["deals"]) >= 80
    assert 2 == len({deal.properties["pipeline"] for deal in records["deals"].values()})
    assert any("email" not in one.properties for one in contacts)
    assert any(";" in one.properties.get("hs_additional_emails", "") for one in contacts)
    assert any(not one.properties.get("firstname", "a").isascii() for one in contacts)
    assert any(one.archived_at for one in contacts)
    assert all(one.properties["email"].islower() for one in contacts if "email" in one.properties)


def test_every_seeded_value_would_be_accepted(crm: Api) -> None:
    portal = crm.emulator.portal
    for records in portal.records.values():
        for record in records.values():
            definitions = portal.live_definitions(record.kind)
            writable = {name: value for name, value in record.properties.items() if not definitions[name].read_only}

            assert portal.rules.accepted(record.kind, writable, None) == writable


def test_the_examples_exist_and_belong_together(crm: Api) -> None:
    examples = crm.emulator.examples()
    deal = crm.read("deals", examples["deal_id"], "pipeline", "dealstage")
    pipeline = crm("GET", f"/crm/pipelines/2026-09/deals/{deal['pipeline']}").json()

    assert crm.read("contacts", examples["contact_id"], "email")["email"] == examples["email"]
    assert pipeline["label"] == examples["pipeline"]
    assert [stage["label"] for stage in pipeline["stages"]][:2] == examples["stages"]
    assert 200 == crm("GET", f"/crm/properties/2026-09/contacts/{examples['custom_property']}").status_code
    assert set(examples) == {
        *("email", "pipeline", "stages", "contact_id", "deal_id", "company_domain", "portal_id", "custom_property"),
    }


# What people do


def test_people_create_and_change_records(crm: Api) -> None:
    made = crm.control("crm/act", action="create_contact", properties={"email": "Typed@Example.test"}, extra=1)
    moved = crm.control(
        "crm/act", action="update_deal", deal_id=crm.example("deal_id"), properties={"dealstage": "closedlost"}
    )

    assert "typed@example.test" == crm.read("contacts", made["id"], "email")["email"]
    assert "true" == moved["properties"]["hs_is_closed"]


def test_people_add_pipelines_and_leave(crm: Api) -> None:
    crm.control("crm/act", action="create_pipeline", label="Sales Pipeline", stages=["New", "Done"])
    crm.control("crm/act", action="archive_owner", owner_id="771203")
    crm.control("crm/act", action="archive", type="deal", id=crm.example("deal_id"))

    labels = [one["label"] for one in crm("GET", "/crm/pipelines/2026-09/deals").json()["results"]]
    assert 2 == labels.count("Sales Pipeline")
    assert 404 == crm("GET", "/crm/owners/2026-09/771203").status_code
    assert 404 == crm("GET", f"{OBJECTS}/deals/{crm.example('deal_id')}").status_code


@pytest.mark.parametrize(
    "action",
    [
        {"action": "dance"},
        {"action": "create_contact"},
        {"action": "create_contact", "properties": {"foo": "1"}},
        {"action": "update_deal", "deal_id": "1", "properties": {}},
        {"action": "archive", "type": "planet", "id": "1"},
    ],
)
def test_a_bad_action_says_what_is_wrong(crm: Api, action: dict[str, Any]) -> None:
    before = crm.emulator.portal.records["contacts"].copy()
    answer = crm.session.post(f"{crm.control_base}/_control/crm/act", json=action, timeout=10)

    assert 422 == answer.status_code
    assert crm.emulator.portal.records["contacts"] == before


# What is played


def test_the_table_of_routes_is_what_is_served() -> None:
    emulator = CrmEmulator(Stage(SystemClock(), **CrmEmulator.knobs))
    router = emulator.applications()["base"].router

    served = {
        (route.method, route.resource.canonical)
        for route in router.routes()
        if route.resource and route.method != "HEAD"
    }
    listed = {
        (route.method, (path + TRAILING_SLASH).replace("{version:2026-0[39]}", "{version}").replace(":/?", ""))
        for route in ROUTES
        for path in route.paths
    }
    assert listed == served
