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
from harness.playing import playing
from workspace_sandbox.crm import CrmEmulator
from workspace_sandbox.crm.access import challenge_of
from workspace_sandbox.crm.emulator import TRAILING_SLASH
from workspace_sandbox.crm.routes import ROUTES
from workspace_sandbox.crm.search import tokens
from workspace_sandbox.kit.stage import Stage

OBJECTS = "/crm/objects/2026-09"
LINKS = "/crm/associations/2026-09"


class HandClock:
    """A clock that moves when it is told to."""

    def __init__(self, at: float = 1_780_000_000.0) -> None:
        self.at = at

    def now(self) -> float:
        return self.at

    async def sleep(self, seconds: float) -> None:
        self.at += max(0.0, seconds)


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
        assert answer.status_code == 201, answer.text
        return str(answer.json()["id"])

    def read(self, kind: str, identifier: str, *properties: str) -> dict[str, Any]:
        answer = self("GET", f"{OBJECTS}/{kind}/{identifier}", params={"properties": ",".join(properties)})
        assert answer.status_code == 200, answer.text
        return dict(answer.json()["properties"])

    def find(self, kind: str, *filters: dict[str, Any], **more: Any) -> dict[str, Any]:
        answer = self("POST", f"{OBJECTS}/{kind}/search", {"filterGroups": [{"filters": list(filters)}], **more})
        assert answer.status_code == 200, answer.text
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
    clock = HandClock()
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

    assert answer.status_code == 201
    made = answer.json()
    assert made["properties"]["email"] == "mixed.case@example.test"
    assert made["properties"]["annualrevenue"] == "1250.5"
    assert made["properties"]["hs_object_id"] == made["id"]
    assert made["archived"] is False
    assert made["createdAt"].endswith("Z")


def test_defaults_come_unless_properties_are_asked_for(crm: Api) -> None:
    contact = crm.make("contacts", email="defaults@example.test")

    defaults = crm.read("contacts", contact)
    chosen = crm.read("contacts", contact, "phone", "no_such_property")

    assert set(defaults) == {"createdate", "email", "firstname", "hs_object_id", "lastmodifieddate", "lastname"}
    assert defaults["firstname"] is None
    assert set(chosen) == {"phone", "createdate", "lastmodifieddate", "hs_object_id"}


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

    assert answer.status_code == 200
    assert answer.json()["id"] == contact


def test_a_used_address_is_refused_with_the_id_only_in_the_text(crm: Api) -> None:
    email, contact = crm.example("email"), crm.example("contact_id")
    answer = crm("POST", f"{OBJECTS}/contacts", {"properties": {"email": email.upper()}})

    assert answer.status_code == 409
    assert answer.json()["message"] == f"Contact already exists. Existing ID: {contact}"
    assert answer.json()["category"] == "CONFLICT"


def test_a_further_address_of_another_contact_is_taken_too(crm: Api) -> None:
    contact = crm.make("contacts", email="first@example.test", hs_additional_emails="Second@example.test")
    created = crm("POST", f"{OBJECTS}/contacts", {"properties": {"email": "second@example.test"}})
    hidden = crm("GET", f"{OBJECTS}/contacts/second@example.test?idProperty=email")
    crm.knobs(secondary_email_lookup=True)
    found = crm("GET", f"{OBJECTS}/contacts/second@example.test?idProperty=email")

    assert f"Existing ID: {contact}" in created.json()["message"]
    assert hidden.status_code == 404
    assert found.json()["id"] == contact


def test_a_change_answers_what_was_sent_and_an_empty_text_clears(crm: Api) -> None:
    contact = crm.make("contacts", email="change@example.test", phone="1", firstname="A")
    answer = crm("PATCH", f"{OBJECTS}/contacts/{contact}", {"properties": {"phone": "", "firstname": "B"}})

    assert answer.status_code == 200
    assert answer.json()["properties"]["phone"] is None
    assert answer.json()["properties"]["firstname"] == "B"
    assert "email" not in answer.json()["properties"]


def test_a_contact_can_be_changed_by_its_address(crm: Api) -> None:
    contact = crm.make("contacts", email="by.address@example.test")
    answer = crm(
        "PATCH", f"{OBJECTS}/contacts/by.address@example.test?idProperty=email", {"properties": {"city": "Bergen"}}
    )

    assert answer.json()["id"] == contact
    assert crm.read("contacts", contact, "city")["city"] == "Bergen"


def test_changing_to_a_used_address_is_refused_and_changes_nothing(crm: Api) -> None:
    contact = crm.make("contacts", email="mine@example.test")
    body = {"properties": {"email": crm.example("email"), "city": "Oslo"}}
    answer = crm("PATCH", f"{OBJECTS}/contacts/{contact}", body)

    assert answer.status_code == 409
    assert crm.read("contacts", contact, "email", "city")["city"] is None


def test_an_archived_record_is_gone_unless_asked_for_and_frees_its_address(crm: Api) -> None:
    contact = crm.make("contacts", email="leaver@example.test")
    path = f"{OBJECTS}/contacts/{contact}"
    statuses = [crm("DELETE", path).status_code, crm("DELETE", path).status_code, crm("GET", path).status_code]
    archived = crm("GET", f"{path}?archived=true").json()

    assert statuses == [204, 204, 404]
    assert archived["archived"] is True
    assert "archivedAt" in archived
    assert crm.make("contacts", email="leaver@example.test") != contact


@pytest.mark.parametrize("identifier", ["999999999", "not-a-number", "²", "9" * 5000])
def test_a_missing_record_is_refused_with_its_id_in_the_context(crm: Api, identifier: str) -> None:
    answer = crm("GET", f"{OBJECTS}/deals/{identifier}")

    assert answer.status_code == 404
    assert answer.json()["message"] == "Object not found.  objectId are usually numeric."
    assert answer.json()["context"] == {"id": [identifier]}
    assert answer.json()["category"] == "OBJECT_NOT_FOUND"


def test_a_list_pages_by_id(crm: Api) -> None:
    first = crm("GET", f"{OBJECTS}/companies?limit=4").json()
    second = crm("GET", f"{OBJECTS}/companies?limit=100&after={first['paging']['next']['after']}").json()

    assert len(first["results"]) == 4
    assert first["paging"]["next"]["after"] == first["results"][-1]["id"]
    assert len(second["results"]) == 61
    assert "paging" not in second


@pytest.mark.parametrize("query", ["limit=101", "limit=0", "limit=many", "after=abc"])
def test_a_list_refuses_pages_that_do_not_exist(crm: Api, query: str) -> None:
    answer = crm("GET", f"{OBJECTS}/contacts?{query}")

    assert answer.status_code == 400
    assert answer.json()["category"] == "VALIDATION_ERROR"


def test_object_types_go_by_plural_singular_and_number(crm: Api) -> None:
    deal = crm.example("deal_id")
    answers = [crm("GET", f"{OBJECTS}/{name}/{deal}").json() for name in ("deals", "deal", "0-3")]

    assert answers[0] == answers[1] == answers[2]
    assert crm("GET", f"{OBJECTS}/tables/1").json()["message"] == "Unable to infer object type from: tables"


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

    assert answer.status_code == 400
    embedded = json.loads(answer.json()["message"].removeprefix("Property values were not valid: "))
    assert [(fault["error"], fault["name"]) for fault in embedded] == [(code, name)]
    assert embedded[0]["isValid"] is False
    assert embedded[0]["portalId"] == 4_471_120
    assert codes(answer) == [code]
    assert answer.json()["errors"][0]["context"] == {"propertyName": [name]}


def test_all_faults_are_reported_together_and_nothing_is_written(crm: Api) -> None:
    contact = crm.make("contacts", email="all.faults@example.test")
    body = {"properties": {"city": "Rome", "foo": "1", "tier": "x"}}
    answer = crm("PATCH", f"{OBJECTS}/contacts/{contact}", body)

    assert codes(answer) == ["PROPERTY_DOESNT_EXIST", "INVALID_OPTION"]
    assert crm.read("contacts", contact, "city")["city"] is None


def test_a_leading_semicolon_appends_an_option(crm: Api) -> None:
    contact = crm.make("contacts", topics="home")
    crm("PATCH", f"{OBJECTS}/contacts/{contact}", {"properties": {"topics": ";stage"}})

    assert crm.read("contacts", contact, "topics")["topics"] == "home;stage"


def test_a_lifecycle_stage_only_goes_forward_unless_cleared(crm: Api) -> None:
    contact = crm.make("contacts", lifecyclestage="customer")
    path, back = f"{OBJECTS}/contacts/{contact}", {"properties": {"lifecyclestage": "lead"}}
    tolerated = crm("PATCH", path, back).status_code, crm.read("contacts", contact, "lifecyclestage")
    crm.knobs(backward_lifecycle="refuse")
    refused = crm("PATCH", path, back)
    crm("PATCH", path, {"properties": {"lifecyclestage": ""}})
    crm("PATCH", path, back)

    assert tolerated[0] == 200
    assert tolerated[1]["lifecyclestage"] == "customer"
    assert refused.status_code == 400
    assert crm.read("contacts", contact, "lifecyclestage")["lifecyclestage"] == "lead"


def test_a_unique_custom_property_names_records_and_may_not_repeat(crm: Api) -> None:
    found = crm("GET", f"{OBJECTS}/contacts/ERP-00000?idProperty=erp_id").json()
    clash = crm("POST", f"{OBJECTS}/contacts", {"properties": {"erp_id": "ERP-00000"}})
    unknown = crm("GET", f"{OBJECTS}/contacts/Ana?idProperty=firstname")

    assert found["id"] == crm.example("contact_id")
    assert clash.status_code == 409
    assert clash.json()["category"] == "CONFLICT"
    assert unknown.status_code == 400


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

    assert answer.status_code == 415


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

    assert answer.status_code == 400
    assert answer.json()["category"] == "VALIDATION_ERROR"


# Deals, companies, notes


def test_a_deal_knows_whether_its_stage_is_closed(crm: Api) -> None:
    deal = crm.make("deals", dealname="Acme renewal", pipeline="default", dealstage="qualifiedtobuy", amount="900")
    crm("PATCH", f"{OBJECTS}/deals/{deal}", {"properties": {"dealstage": "closedwon"}})
    told = crm.read("deals", deal, "hs_is_closed", "hs_is_closed_won", "hs_deal_stage_probability", "amount")

    assert (told["hs_is_closed"], told["hs_is_closed_won"], told["hs_deal_stage_probability"]) == (
        "true",
        "true",
        "1.0",
    )
    assert told["amount"] == "900"


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

    assert answer.status_code == 400
    assert codes(answer) == ["INVALID_OPTION"]


def test_moving_to_another_pipeline_needs_one_of_its_stages(crm: Api) -> None:
    deal = f"{OBJECTS}/deals/{crm.make('deals', dealname='x', dealstage='contractsent')}"
    alone = crm("PATCH", deal, {"properties": {"pipeline": "98112230"}})
    together = crm("PATCH", deal, {"properties": {"pipeline": "98112230", "dealstage": "98112233"}})

    assert alone.status_code == 400
    assert together.status_code == 200


def test_deals_may_have_the_same_name(crm: Api) -> None:
    assert crm.make("deals", dealname="twice") != crm.make("deals", dealname="twice")


def test_companies_may_have_the_same_domain_but_need_a_name_or_one(crm: Api) -> None:
    first, second = crm.make("companies", domain="twice.test"), crm.make("companies", domain="twice.test")
    empty = crm("POST", f"{OBJECTS}/companies", {"properties": {"city": "Oslo"}})

    assert first != second
    assert empty.status_code == 400


def test_a_note_needs_a_timestamp_and_joins_its_deal(crm: Api) -> None:
    deal = crm.example("deal_id")
    link = [{"to": {"id": deal}, "types": [{"associationCategory": "HUBSPOT_DEFINED", "associationTypeId": 214}]}]
    bare = crm("POST", f"{OBJECTS}/notes", {"properties": {"hs_note_body": "x"}, "associations": link})
    note = crm.make("notes", link, hs_note_body="Moved <b>on</b>", hs_timestamp="2026-11-20T09:12:00.000Z")
    listed = crm("GET", f"{OBJECTS}/deals/{deal}/associations/notes").json()

    assert bare.status_code == 400
    assert bare.json()["context"] == {"properties": ["hs_timestamp"]}
    assert int(note) in [row["toObjectId"] for row in listed["results"]]
    assert crm.read("notes", note, "hs_body_preview")["hs_body_preview"] == "Moved on"


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

    assert answer.status_code == 400
    assert len(crm.emulator.portal.records["notes"]) == before


def test_portal_rules_make_a_create_fail_that_would_have_worked(crm: Api) -> None:
    crm.knobs(required_properties={"deals": ["amount", "closedate"]})
    answer = crm("POST", f"{OBJECTS}/deals", {"properties": {"dealname": "x", "amount": "1"}})

    assert answer.status_code == 400
    assert answer.json()["errors"][0]["context"]["properties"] == ["closedate"]


def test_a_portal_may_add_the_company_of_an_address_by_itself(crm: Api) -> None:
    crm.knobs(auto_company=True)
    known = crm.make("contacts", email="somebody.new@aurora-archi.example")
    made = crm.make("contacts", email="a@brand-new.example")
    free = crm.make("contacts", email="a@gmail.com")
    linked = [crm("GET", f"{OBJECTS}/contacts/{one}/associations/companies").json() for one in (known, made, free)]

    assert [len(answer["results"]) for answer in linked] == [1, 1, 0]
    assert linked[0]["results"][0]["toObjectId"] == 9001


# Batches


def test_an_upsert_tells_whether_the_record_is_new(crm: Api) -> None:
    inputs = [{"idProperty": "email", "id": "New@example.test", "properties": {"firstname": "Ana"}}]
    first = crm("POST", f"{OBJECTS}/contacts/batch/upsert", {"inputs": inputs})
    again = crm("POST", f"{OBJECTS}/contacts/batch/upsert", {"inputs": inputs})

    assert (first.status_code, again.status_code) == (200, 200)
    assert first.json()["status"] == "COMPLETE"
    assert [one["new"] for one in first.json()["results"] + again.json()["results"]] == [True, False]
    assert first.json()["results"][0]["properties"]["email"] == "new@example.test"
    assert first.json()["results"][0]["id"] == again.json()["results"][0]["id"]


def test_an_upsert_with_one_bad_input_writes_nothing(crm: Api) -> None:
    inputs = [
        {"idProperty": "email", "id": "good@example.test", "properties": {}},
        {"idProperty": "email", "id": "bad", "properties": {}},
    ]
    answer = crm("POST", f"{OBJECTS}/contacts/batch/upsert", {"inputs": inputs})

    assert answer.status_code == 400
    assert crm("GET", f"{OBJECTS}/contacts/good@example.test?idProperty=email").status_code == 404


def test_an_upsert_by_a_further_address_conflicts(crm: Api) -> None:
    contact = crm.make("contacts", email="main@example.test", hs_additional_emails="side@example.test")
    inputs = [{"idProperty": "email", "id": "side@example.test", "properties": {}}]
    answer = crm("POST", f"{OBJECTS}/contacts/batch/upsert", {"inputs": inputs})

    assert answer.status_code == 409
    assert answer.json()["message"].endswith(f"Existing ID: {contact}")


def test_a_batch_read_names_what_is_missing_in_a_207(crm: Api) -> None:
    wanted = {"inputs": [{"id": crm.example("deal_id")}, {"id": "1"}], "properties": ["amount"]}
    mixed = crm("POST", f"{OBJECTS}/deals/batch/read", wanted)
    by_email = {"inputs": [{"id": crm.example("email")}], "idProperty": "email", "properties": []}
    whole = crm("POST", f"{OBJECTS}/contacts/batch/read", by_email)

    assert mixed.status_code == 207
    assert mixed.json()["numErrors"] == 1
    assert mixed.json()["errors"][0]["context"] == {"ids": ["1"]}
    assert ids(mixed.json()) == [crm.example("deal_id")]
    assert whole.status_code == 200
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

    assert created.status_code == 201
    assert [one["objectWriteTraceId"] for one in created.json()["results"]] == ["t1", "t2"]
    assert updated.status_code == 207
    assert ids(updated.json()) == made[:1]
    assert archived.status_code == 204
    assert crm("GET", f"{OBJECTS}/contacts/{made[1]}").status_code == 404


def test_a_batch_with_the_same_address_twice_writes_nothing(crm: Api) -> None:
    inputs = [{"properties": {"email": "same@example.test"}}, {"properties": {"email": "SAME@example.test"}}]
    answer = crm("POST", f"{OBJECTS}/contacts/batch/create", {"inputs": inputs})
    repeated: list[Any] = [{"idProperty": "email", "id": mail, "properties": {}} for mail in ("s@e.test", "S@e.test")]
    upsert = crm("POST", f"{OBJECTS}/contacts/batch/upsert", {"inputs": repeated})

    assert answer.status_code == 409
    assert upsert.status_code == 400
    assert crm("GET", f"{OBJECTS}/contacts/same@example.test?idProperty=email").status_code == 404


@pytest.mark.parametrize("count", [0, 101])
def test_a_batch_takes_up_to_a_hundred_inputs(crm: Api, count: int) -> None:
    answer = crm("POST", f"{OBJECTS}/contacts/batch/read", {"inputs": [{"id": str(n)} for n in range(count)]})

    assert answer.status_code == 400


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

    assert (at_once, later, stale, current) == (0, 1, None, "Riga")
    assert limited.find("contacts", wanted)["total"] == 0


def test_the_seed_is_searchable_at_once(limited: Api) -> None:
    found = limited.find("companies", equal("domain", limited.example("company_domain")), limit=2)

    assert found["total"] == 2
    assert found["results"][0]["id"] == "9001"


def test_a_search_pages_by_offset(crm: Api) -> None:
    sorts = [{"propertyName": "hs_object_id", "direction": "ASCENDING"}]
    everything = [{"propertyName": "hs_object_id", "operator": "HAS_PROPERTY"}]
    first = crm.find("contacts", *everything, sorts=sorts, limit=25)
    second = crm.find("contacts", *everything, sorts=sorts, limit=25, after=first["paging"]["next"]["after"])

    assert first["paging"] == {"next": {"after": "25"}}
    assert len({*ids(first), *ids(second)}) == 50
    assert first["total"] == second["total"] == 1043


def test_a_search_gives_ten_with_defaults_when_nothing_is_said(crm: Api) -> None:
    answer = crm("POST", f"{OBJECTS}/contacts/search", {}).json()

    assert len(answer["results"]) == 10
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

    assert answer.status_code == 400
    assert answer.json()["category"] == "VALIDATION_ERROR"


def test_a_search_over_an_unknown_property_names_it(crm: Api) -> None:
    body = {"filterGroups": [{"filters": [equal("no_such_property", "x")]}]}
    answer = crm("POST", f"{OBJECTS}/contacts/search", body)

    assert codes(answer) == ["PROPERTY_DOESNT_EXIST"]
    assert answer.json()["errors"][0]["context"] == {"propertyName": ["no_such_property"]}


def test_the_cap_is_a_refusal_and_not_an_empty_page(crm: Api) -> None:
    crm.knobs(search_cap=100)
    last = crm("POST", f"{OBJECTS}/contacts/search", {"limit": 50, "after": "50"})
    beyond = crm("POST", f"{OBJECTS}/contacts/search", {"limit": 50, "after": last.json()["paging"]["next"]["after"]})

    assert (last.status_code, beyond.status_code) == (200, 400)
    assert last.json()["total"] == 100


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
    assert crm("POST", f"{OBJECTS}/contacts/search", unknown).status_code == 400


def test_free_text_finds_the_beginnings_of_words(crm: Api) -> None:
    contact = crm.make("contacts", firstname="Žofie", lastname="Unterholzner", email="z@holz.test")
    answer = crm("POST", f"{OBJECTS}/contacts/search", {"query": "unterh žof"}).json()

    assert ids(answer) == [contact]


def test_tokens_are_words_and_pieces() -> None:
    assert tokens("Home;Big stage") == {"home", "big", "stage", "home;big stage"}


# Associations


@pytest.mark.parametrize(
    "path",
    [f"{LINKS}/deals/contacts/batch/create", f"{LINKS}/deals/contacts/batch/archive", f"{LINKS}/x/contacts/labels"],
)
def test_associations_of_the_wrong_shape_are_refused(crm: Api, path: str) -> None:
    answer = crm("GET" if path.endswith("labels") else "POST", path, {"inputs": [{"from": "1", "to": []}]})

    assert answer.status_code == 400


def test_records_without_a_relation_cannot_be_associated(crm: Api) -> None:
    note, contact = crm.make("notes", hs_timestamp=1), crm.example("contact_id")
    other = crm.make("contacts", firstname="x")
    answer = crm("PUT", f"{OBJECTS}/contacts/{contact}/associations/default/contacts/{other}")
    unknown = crm("GET", f"{OBJECTS}/notes/{note}?associations=planets")

    assert (answer.status_code, unknown.status_code) == (400, 400)


def test_a_default_association_is_told_in_both_directions_and_repeats(crm: Api) -> None:
    contact, company = crm.make("contacts", firstname="x"), crm.make("companies", name="x")
    path = f"{OBJECTS}/contacts/{contact}/associations/default/companies/{company}"
    first, again = crm("PUT", path), crm("PUT", path)

    assert (first.status_code, again.status_code) == (200, 200)
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
    assert [[kind["typeId"] for kind in row["associationTypes"]] for row in rows] == [[279, 1], [279]]
    assert rows[0]["associationTypes"][1] == {"category": "HUBSPOT_DEFINED", "typeId": 1, "label": "Primary"}


def test_a_typed_association_answers_201_with_labels_and_displaces_the_primary(crm: Api) -> None:
    deal = crm.make("deals", dealname="x")
    companies = [crm.make("companies", name=name) for name in "ab"]
    crm("PUT", f"{OBJECTS}/deals/{deal}/associations/default/companies/{companies[0]}")
    spec = [{"associationCategory": "HUBSPOT_DEFINED", "associationTypeId": 5}]
    answer = crm("PUT", f"{OBJECTS}/deals/{deal}/associations/companies/{companies[1]}", spec)
    rows = crm("GET", f"{OBJECTS}/deals/{deal}/associations/companies").json()["results"]

    assert answer.status_code == 201
    assert answer.json() == {
        "fromObjectTypeId": "0-3",
        "fromObjectId": int(deal),
        "toObjectTypeId": "0-2",
        "toObjectId": int(companies[1]),
        "labels": ["Primary"],
    }
    assert [[kind["typeId"] for kind in row["associationTypes"]] for row in rows] == [[341], [341, 5]]


def test_a_label_of_the_portal_can_be_set_listed_and_taken_away(crm: Api) -> None:
    deal, contact = crm.make("deals", dealname="x"), crm.make("contacts", firstname="x")
    spec = [{"associationCategory": "USER_DEFINED", "associationTypeId": 36}]
    crm("PUT", f"{OBJECTS}/deals/{deal}/associations/contacts/{contact}", spec)
    labelled = crm("GET", f"{OBJECTS}/contacts/{contact}/associations/deals").json()["results"]
    one = {"from": {"id": deal}, "to": {"id": contact}, "types": spec}
    crm("POST", f"{LINKS}/deals/contacts/batch/labels/archive", {"inputs": [one]})
    plain = crm("GET", f"{OBJECTS}/contacts/{contact}/associations/deals").json()["results"]
    labels = crm("GET", "/crm/v4/associations/deals/contacts/labels").json()["results"]

    assert [kind["label"] for kind in labelled[0]["associationTypes"]] == [None, "Decision maker"]
    assert [kind["typeId"] for kind in plain[0]["associationTypes"]] == [4]
    assert [kind["typeId"] for kind in labels] == [3, 36]


def test_the_number_of_the_other_direction_is_refused(crm: Api) -> None:
    spec = [{"associationCategory": "HUBSPOT_DEFINED", "associationTypeId": 280}]
    path = f"{OBJECTS}/contacts/{crm.example('contact_id')}/associations/companies/9001"
    answers = [crm("PUT", path, body) for body in (spec, [], [{"associationTypeId": 1}])]

    assert [answer.status_code for answer in answers] == [400, 400, 400]


def test_an_association_can_be_removed_and_needs_both_records(crm: Api) -> None:
    contact, company = crm.make("contacts", firstname="x"), crm.make("companies", name="x")
    crm("PUT", f"{OBJECTS}/contacts/{contact}/associations/default/companies/{company}")
    removed = crm("DELETE", f"{OBJECTS}/contacts/{contact}/associations/companies/{company}")
    missing = crm("PUT", f"{OBJECTS}/contacts/{contact}/associations/default/companies/1")

    assert removed.status_code == 204
    assert crm("GET", f"{OBJECTS}/companies/{company}/associations/contacts").json() == {"results": []}
    assert missing.status_code == 404


def test_taking_the_unlabelled_type_away_leaves_nothing(crm: Api) -> None:
    contact, company = crm.make("contacts", city="x"), crm.make("companies", name="x")
    path = f"{OBJECTS}/contacts/{contact}/associations/companies/{company}"
    crm("PUT", f"{OBJECTS}/contacts/{contact}/associations/default/companies/{company}")
    crm("DELETE", f"{path}/1")
    after_primary = crm("GET", f"{OBJECTS}/contacts/{contact}/associations/companies").json()["results"]
    crm("DELETE", f"{path}/279")

    assert [kind["typeId"] for kind in after_primary[0]["associationTypes"]] == [279]
    assert crm("GET", f"{OBJECTS}/contacts/{contact}/associations/companies").json() == {"results": []}


def test_the_older_path_with_the_type_at_its_end_still_works(crm: Api) -> None:
    note = crm.make("notes", hs_timestamp=1)
    deal = crm.example("deal_id")
    path = f"{OBJECTS}/notes/{note}/associations/deals/{deal}"
    added = crm("PUT", f"{path}/note_to_deal")
    removed = crm("DELETE", f"{path}/214")

    assert (added.status_code, added.json()["id"], removed.status_code) == (200, note, 204)
    assert crm("PUT", f"{path}/5").status_code == 400


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

    assert (made.status_code, default.status_code, read.status_code, archived.status_code) == (201, 200, 200, 204)
    assert read.json()["results"][0]["to"][0]["toObjectId"] == int(deal)
    assert empty.status_code == 207
    assert empty.json()["errors"][0]["subCategory"] == "crm.associations.NO_ASSOCIATIONS_FOUND"
    assert codes(wrong) == ["INVALID_OBJECT_IDS"]


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

    assert [pipeline["id"] for pipeline in pipelines] == ["default", "98112230"]
    assert pipelines[0] == crm("GET", "/crm/pipelines/2026-09/deals/default").json()
    assert pipelines[0]["stages"] == stages
    assert stage["metadata"] == {"isClosed": "true", "probability": "1.0"}
    assert crm("GET", "/crm/pipelines/2026-09/contacts").json() == {"results": []}
    assert crm("GET", "/crm/pipelines/2026-09/deals/none").status_code == 404
    assert crm("GET", "/crm/pipelines/2026-09/deals/default/stages/none").status_code == 404


def test_owners_are_active_ones_unless_archived_are_asked_for(crm: Api) -> None:
    active = crm("GET", "/crm/owners/2026-09?limit=4").json()
    rest = crm("GET", f"/crm/owners/2026-09?after={active['paging']['next']['after']}").json()["results"]
    archived = crm("GET", "/crm/owners/2026-09/?archived=true").json()["results"]

    assert [owner["type"] for owner in rest] == ["PERSON", "QUEUE"]
    assert "email" not in rest[1]
    assert [owner["userId"] for owner in archived] == [None, None]
    assert archived[0]["userIdIncludingInactive"] == 88166


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
    assert statuses == [404, 200, 404, 404, 400]


def test_properties_are_a_long_list_where_custom_ones_lack_a_mark(crm: Api) -> None:
    properties = crm("GET", "/crm/properties/2026-09/contacts").json()["results"]
    by_name = {one["name"]: one for one in properties}

    assert len(properties) >= 300
    assert by_name["email"]["hubspotDefined"] is True
    assert "hubspotDefined" not in by_name["tier"]
    assert [option["value"] for option in by_name["tier"]["options"]] == ["gold", "silver", "bronze", "legacy"]
    assert by_name["tier"]["options"][3]["hidden"] is True
    assert by_name["hs_object_id"]["modificationMetadata"]["readOnlyValue"] is True
    assert by_name["hubspot_owner_id"]["externalOptions"] is True
    assert by_name["hubspot_owner_id"]["referencedObjectType"] == "OWNER"
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

    assert [one["name"] for one in archived] == ["old_segment"]
    assert refused.status_code == 403
    assert [one["name"] for one in sensitive] == ["passport_number"]
    assert nonsense.status_code == 400


def test_stages_and_pipelines_are_the_options_of_their_properties(crm: Api) -> None:
    stage = crm("GET", "/crm/properties/2026-09/deals/dealstage").json()
    pipeline = crm("GET", "/crm/properties/2026-09/0-3/pipeline").json()

    assert len(stage["options"]) == 12
    assert [option["value"] for option in pipeline["options"]] == ["default", "98112230"]


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

    assert (made.status_code, again.status_code, archived.status_code) == (201, 409, 204)
    assert changed.json()["label"] == "Size"
    assert "shoe_size" not in crm.read("contacts", contact, "shoe_size")
    assert crm("GET", f"{path}/shoe_size").status_code == 404
    assert crm("GET", f"{path}/shoe_size?archived=true").status_code == 200
    assert crm("PATCH", f"{path}/email", {"label": "x"}).status_code == 400
    assert crm("DELETE", f"{path}/email").status_code == 400


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

    assert answer.status_code == 400


def test_the_account_tells_its_portal_id_as_a_number(crm: Api) -> None:
    account = crm("GET", "/account-info/2026-09/details").json()

    assert str(account["portalId"]) == crm.example("portal_id")
    assert account == crm("GET", "/account-info/v3/details").json()


# Who may call


@pytest.mark.parametrize("header", [{}, {"Authorization": "Bearer nonsense"}, {"Authorization": "Basic cGF0"}])
def test_a_call_without_a_known_token_is_refused(crm: Api, header: dict[str, str]) -> None:
    answer = crm.session.get(f"{crm.base}{OBJECTS}/contacts", headers=header, timeout=10)

    assert answer.status_code == 401
    assert answer.json()["category"] == "INVALID_AUTHENTICATION"
    assert answer.json()["message"].startswith("Authentication credentials not found.")
    assert "x-hubspot-auth-failure" in answer.headers


def test_a_withdrawn_authorisation_is_refused_until_it_is_given_again(crm: Api) -> None:
    token = crm.emulator.credentials()
    crm.control("crm/revoke")
    refused = crm("GET", "/account-info/2026-09/details")
    crm.control("crm/authorise")
    served = crm("GET", "/account-info/2026-09/details")

    assert (refused.status_code, served.status_code) == (401, 200)
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

    assert answer.status_code == 403
    assert answer.json()["category"] == "MISSING_SCOPES"
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
    assert answer.status_code == 302, answer.text
    return parse_qs(urlsplit(answer.headers["Location"]).query)


def token(crm: Api, path: str = "/oauth/2026-09/token", **form: str) -> requests.Response:
    secrets = {name: crm.emulator.knobs[name] for name in ("client_id", "client_secret")}
    return crm.session.post(crm.base + path, data={**secrets, **form}, timeout=10)


def exchange(crm: Api, **more: str) -> requests.Response:
    code = consent(crm)["code"][0]
    redirect = "http://localhost/callback?x=1"
    return token(crm, grant_type="authorization_code", code=code, redirect_uri=redirect, **more)


def test_the_consent_page_asks_and_offers_both_answers(crm: Api) -> None:
    asked = {"client_id": crm.emulator.knobs["client_id"], "redirect_uri": "http://localhost/c", "scope": "oauth"}
    page = crm.session.get(f"{crm.base}/oauth/authorize", params=asked, timeout=10)
    wrong = [{"scope": ""}, {"client_id": "x"}, {"redirect_uri": "ftp:x"}, {"code_challenge": "x"}]
    refused = [crm.session.get(f"{crm.base}/oauth/authorize", params=asked | one, timeout=10) for one in wrong]

    assert page.headers["Content-Type"].startswith("text/html")
    assert "auto_approve=true" in page.text
    assert "error=access_denied" in page.text
    assert [answer.status_code for answer in refused] == [400, 400, 400, 400]


def test_a_code_gives_a_long_token_for_the_granted_scopes(crm: Api) -> None:
    sent_back = consent(crm)
    answer = exchange(crm).json()
    contacts, deals = (
        crm("GET", f"{OBJECTS}/{kind}", headers={"Authorization": f"Bearer {answer['access_token']}"})
        for kind in ("contacts", "deals")
    )

    assert sent_back["state"] == ["s1"]
    assert sent_back["x"] == ["1"]
    assert len(answer["access_token"]) > 300
    assert answer["token_type"] == "bearer"
    assert answer["expires_in"] == 1800
    assert str(answer["hub_id"]) == crm.example("portal_id")
    assert answer["scopes"] == ["oauth", "crm.objects.contacts.read"]
    assert (contacts.status_code, deals.status_code) == (200, 403)


def test_a_code_is_good_once_for_a_while_and_for_its_redirect(limited: Api, clock: HandClock) -> None:
    redirect = "http://localhost/callback?x=1"
    used = {"grant_type": "authorization_code", "code": consent(limited)["code"][0], "redirect_uri": redirect}
    old = {**used, "code": consent(limited)["code"][0]}
    elsewhere = {**used, "code": consent(limited)["code"][0], "redirect_uri": "http://localhost/other"}
    first, again, other = token(limited, **used), token(limited, **used), token(limited, **elsewhere)
    clock.at += 301
    late = token(limited, **old)

    assert [answer.status_code for answer in (first, again, other, late)] == [200, 400, 400, 400]
    assert again.json()["status"] == "BAD_AUTH_CODE"
    assert other.json()["status"] == "MISMATCH_REDIRECT_URI_AUTH_CODE"
    assert late.json()["status"] == "EXPIRED_AUTH_CODE"
    assert late.json()["error"] == "invalid_grant"


def test_a_challenge_wants_its_verifier(crm: Api) -> None:
    challenge = {"code_challenge": challenge_of("v" * 43), "code_challenge_method": "S256"}
    form = {"grant_type": "authorization_code", "redirect_uri": "http://localhost/callback?x=1"}
    wrong = token(crm, **form, code=consent(crm, **challenge)["code"][0], code_verifier="w" * 43)
    right = token(crm, **form, code=consent(crm, **challenge)["code"][0], code_verifier="v" * 43)

    assert (wrong.status_code, right.status_code) == (400, 200)


def test_a_token_lasts_half_an_hour_and_is_refreshed(limited: Api, clock: HandClock) -> None:
    first = exchange(limited).json()
    bearer = {"Authorization": f"Bearer {first['access_token']}"}
    clock.at += 1799
    fresh = limited("GET", "/account-info/2026-09/details", headers=bearer)
    clock.at += 4
    stale = limited("GET", "/account-info/2026-09/details", headers=bearer)
    refreshed = token(limited, grant_type="refresh_token", refresh_token=first["refresh_token"]).json()

    assert fresh.status_code == 200
    assert stale.status_code == 401
    assert stale.json()["category"] == "EXPIRED_AUTHENTICATION"
    assert stale.json()["message"] == "The OAuth token used to make this call expired 3 second(s) ago."
    assert "expire time" in stale.json()["context"]
    assert refreshed["refresh_token"] == first["refresh_token"]
    assert refreshed["access_token"] != first["access_token"]


def test_an_uninstalled_application_cannot_refresh(crm: Api) -> None:
    granted = exchange(crm).json()
    crm.control("crm/revoke")
    answer = token(crm, grant_type="refresh_token", refresh_token=granted["refresh_token"])
    called = crm("GET", f"{OBJECTS}/contacts", headers={"Authorization": f"Bearer {granted['access_token']}"})

    assert answer.status_code == 400
    assert answer.json() == {
        "error": "invalid_grant",
        "error_description": "refresh token is invalid, expired or revoked",
        "status": "BAD_REFRESH_TOKEN",
        "message": "refresh token is invalid, expired or revoked",
    }
    assert called.status_code == 401


def test_a_revoked_refresh_token_takes_its_access_tokens_along(crm: Api) -> None:
    granted = exchange(crm).json()
    revoked = token(crm, "/oauth/2026-09/token/revoke", token=granted["refresh_token"])
    called = crm("GET", f"{OBJECTS}/contacts", headers={"Authorization": f"Bearer {granted['access_token']}"})

    assert (revoked.status_code, called.status_code) == (200, 401)
    assert token(crm, grant_type="refresh_token", refresh_token=granted["refresh_token"]).status_code == 400


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

    assert (access["active"], refresh["active"], unknown) == (True, True, {"active": False})
    assert {one["hub_id"] for one in (access, refresh, old, older)} == {4_471_120}
    assert gone == [404, 404]
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

    assert answer.status_code == 400
    assert answer.json()["status"] == status


def test_only_the_oldest_token_page_reads_the_query(crm: Api) -> None:
    refresh = exchange(crm).json()["refresh_token"]
    form = {"grant_type": "refresh_token"}
    dated = token(crm, f"/oauth/2026-09/token?refresh_token={refresh}", **form)
    oldest = token(crm, f"/oauth/v1/token?refresh_token={refresh}", **form)

    assert (dated.status_code, oldest.status_code) == (400, 200)


# Limits


def test_the_burst_is_refused_with_its_policy_and_headers_until_it_has_passed(limited: Api, clock: HandClock) -> None:
    served = [limited("GET", "/account-info/2026-09/details") for _ in range(110)]
    refused = limited("GET", "/account-info/2026-09/details")
    clock.at += 10.001
    again = limited("GET", "/account-info/2026-09/details")

    assert {answer.status_code for answer in served} == {200}
    assert served[0].headers["X-HubSpot-RateLimit-Max"] == "110"
    assert served[0].headers["X-HubSpot-RateLimit-Remaining"] == "109"
    assert served[0].headers["X-HubSpot-RateLimit-Interval-Milliseconds"] == "10000"
    assert served[0].headers["X-HubSpot-RateLimit-Daily-Remaining"] == "649999"
    assert refused.status_code == 429
    assert refused.headers["X-HubSpot-RateLimit-Remaining"] == "0"
    assert refused.json()["message"] == "You have reached your ten_secondly_rolling limit."
    assert refused.json()["errorType"] == "RATE_LIMIT"
    assert refused.json()["category"] == "RATE_LIMITS"
    assert refused.json()["policyName"] == "TEN_SECONDLY_ROLLING"
    assert again.status_code == 200


def test_searches_have_a_budget_of_their_own_without_headers(limited: Api, clock: HandClock) -> None:
    answers = [limited("POST", f"{OBJECTS}/{kind}/search", {}) for kind in ["contacts", "deals", "notes"] * 2]
    clock.at += 1.001
    later = limited("POST", f"{OBJECTS}/contacts/search", {})
    burst = limited("GET", "/account-info/2026-09/details")

    assert [answer.status_code for answer in answers] == [200] * 5 + [429]
    assert answers[5].json()["policyName"] == "SECONDLY"
    assert answers[5].json()["message"] == "You have reached your secondly limit."
    assert not [name for answer in answers for name in answer.headers if "RateLimit" in name]
    assert later.status_code == 200
    assert burst.headers["X-HubSpot-RateLimit-Remaining"] == "109"


def test_the_day_ends_at_midnight_in_the_zone_of_the_account(limited: Api, clock: HandClock) -> None:
    clock.at = 1_780_009_200.0 - 1  # one second before 2026-05-29 00:00 at +01:00
    limited.knobs(daily_limit=1)
    answers = [limited("GET", "/account-info/2026-09/details") for _ in range(2)]
    clock.at += 1
    tomorrow = limited("GET", "/account-info/2026-09/details")

    assert [answer.status_code for answer in answers] == [200, 429]
    assert answers[1].json()["policyName"] == "DAILY"
    assert tomorrow.status_code == 200


def test_an_application_has_no_daily_budget_and_a_burst_of_its_own(limited: Api, clock: HandClock) -> None:
    limited.knobs(burst_limit=1)
    bearer = {"Authorization": f"Bearer {exchange(limited).json()['access_token']}"}
    static = limited("GET", "/account-info/2026-09/details")
    app = limited("GET", "/account-info/2026-09/details", headers=bearer)

    assert (static.status_code, app.status_code) == (200, 200)
    assert "X-HubSpot-RateLimit-Daily" not in app.headers


def test_without_limits_nothing_is_counted(crm: Api) -> None:
    answers = [crm("POST", f"{OBJECTS}/contacts/search", {"limit": 1}) for _ in range(7)]

    assert {answer.status_code for answer in answers} == {200}


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

    assert crm("GET", f"{OBJECTS}/contacts?limit=1").status_code == 200
    assert crm("POST", f"{OBJECTS}/contacts/search", {}).status_code == 200


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

    assert answer.status_code == 500
    assert answer.json()["message"] == "internal error"


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
    assert len({deal.properties["pipeline"] for deal in records["deals"].values()}) == 2
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
    assert crm("GET", f"/crm/properties/2026-09/contacts/{examples['custom_property']}").status_code == 200
    assert set(examples) == {
        *("email", "pipeline", "stages", "contact_id", "deal_id", "company_domain", "portal_id", "custom_property"),
    }


# What people do


def test_people_create_and_change_records(crm: Api) -> None:
    made = crm.control("crm/act", action="create_contact", properties={"email": "Typed@Example.test"}, extra=1)
    moved = crm.control(
        "crm/act", action="update_deal", deal_id=crm.example("deal_id"), properties={"dealstage": "closedlost"}
    )

    assert crm.read("contacts", made["id"], "email")["email"] == "typed@example.test"
    assert moved["properties"]["hs_is_closed"] == "true"


def test_people_add_pipelines_and_leave(crm: Api) -> None:
    crm.control("crm/act", action="create_pipeline", label="Sales Pipeline", stages=["New", "Done"])
    crm.control("crm/act", action="archive_owner", owner_id="771203")
    crm.control("crm/act", action="archive", type="deal", id=crm.example("deal_id"))

    labels = [one["label"] for one in crm("GET", "/crm/pipelines/2026-09/deals").json()["results"]]
    assert labels.count("Sales Pipeline") == 2
    assert crm("GET", "/crm/owners/2026-09/771203").status_code == 404
    assert crm("GET", f"{OBJECTS}/deals/{crm.example('deal_id')}").status_code == 404


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

    assert answer.status_code == 422
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
