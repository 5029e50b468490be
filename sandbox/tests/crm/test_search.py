"""Search in the crm stand-in."""

from typing import Any

import pytest

from harness.clocks import ManualClock
from sandbox.tests.crm.portal import OBJECTS, Api, codes, equal, ids
from workspace_sandbox.crm.data.search import tokens


def test_a_search_lags_behind_what_reads_already_show(limited: Api, clock: ManualClock) -> None:
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
