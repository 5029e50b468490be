"""Search in the HubSpot emulator."""

from typing import Any

import pytest

from harness.clocks import ManualClock
from sandbox.tests.crm.hubspot_client import OBJECTS, Api, codes, equal, ids
from workspace_sandbox.crm.data.search import tokens


def test_search_lags_behind_reads(limited: Api, clock: ManualClock) -> None:
    contact = limited.create("contacts", email="lag@example.test")
    condition = equal("email", "lag@example.test")
    at_once = limited.find("contacts", condition)["total"]
    clock.at += 2.0
    later = limited.find("contacts", condition)["total"]
    limited("PATCH", f"{OBJECTS}/contacts/{contact}", {"properties": {"city": "Riga"}})
    stale = limited.find("contacts", condition, properties=["city"])["results"][0]["properties"]["city"]
    current = limited.read("contacts", contact, "city")["city"]
    limited("DELETE", f"{OBJECTS}/contacts/{contact}")
    clock.at += 2.0

    assert (0, 1, None, "Riga") == (at_once, later, stale, current)
    assert 0 == limited.find("contacts", condition)["total"]


def test_default_data_is_searchable_immediately(limited: Api) -> None:
    matches = limited.find("companies", equal("domain", limited.example("company_domain")), limit=2)

    assert 2 == matches["total"]
    assert "9001" == matches["results"][0]["id"]


def test_search_pages_by_offset(crm: Api) -> None:
    sorts = [{"propertyName": "hs_object_id", "direction": "ASCENDING"}]
    everything = [{"propertyName": "hs_object_id", "operator": "HAS_PROPERTY"}]
    first = crm.find("contacts", *everything, sorts=sorts, limit=25)
    second = crm.find("contacts", *everything, sorts=sorts, limit=25, after=first["paging"]["next"]["after"])

    assert {"next": {"after": "25"}} == first["paging"]
    assert 50 == len({*ids(first), *ids(second)})
    assert first["total"] == second["total"] == 1043


def test_empty_search_returns_ten_records_with_default_properties(crm: Api) -> None:
    response = crm("POST", f"{OBJECTS}/contacts/search", {}).json()

    assert 10 == len(response["results"])
    assert set(response["results"][0]["properties"]) >= {"email", "firstname", "lastname"}


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
def test_invalid_searches_are_rejected(crm: Api, body: dict[str, Any]) -> None:
    response = crm("POST", f"{OBJECTS}/contacts/search", body)

    assert 400 == response.status_code
    assert "VALIDATION_ERROR" == response.json()["category"]


def test_search_error_names_the_unknown_property(crm: Api) -> None:
    body = {"filterGroups": [{"filters": [equal("no_such_property", "x")]}]}
    response = crm("POST", f"{OBJECTS}/contacts/search", body)

    assert ["PROPERTY_DOESNT_EXIST"] == codes(response)
    assert {"propertyName": ["no_such_property"]} == response.json()["errors"][0]["context"]


def test_search_beyond_the_cap_is_rejected(crm: Api) -> None:
    crm.knobs(search_cap=100)
    last = crm("POST", f"{OBJECTS}/contacts/search", {"limit": 50, "after": "50"})
    next_page = crm(
        "POST", f"{OBJECTS}/contacts/search", {"limit": 50, "after": last.json()["paging"]["next"]["after"]}
    )

    assert (200, 400) == (last.status_code, next_page.status_code)
    assert 100 == last.json()["total"]


@pytest.mark.parametrize(
    ("filters", "expected"),
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
def test_filters_return_the_matching_records(crm: Api, filters: list[dict[str, Any]], expected: str) -> None:
    contacts = {
        crm.create("contacts", email="x@search-a.test", tier="gold", nps_score="2", topics="home;stage"): "a",
        crm.create("contacts", email="somebody@b.test", tier="silver", nps_score="9", topics="stage"): "b",
        crm.create("contacts", nps_score="10"): "c",
    }
    for identifier, date in zip(contacts, ("2026-11-20", "2026-11-19", ""), strict=True):
        crm("PATCH", f"{OBJECTS}/contacts/{identifier}", {"properties": {"city": "Oslo", "renewal_date": date}})
    in_city = {"propertyName": "city", "operator": "EQ", "value": "oslo"}
    response = crm.find("contacts", in_city, *filters)

    assert "".join(sorted(contacts[one] for one in ids(response))) == expected


def test_filter_groups_are_alternatives_and_missing_values_sort_last(crm: Api) -> None:
    first, second = crm.create("deals", dealname="s1", amount="9"), crm.create("deals", dealname="s2", amount="1000")
    third = crm.create("deals", dealname="s3")
    body = {
        "filterGroups": [{"filters": [equal("dealname", name)]} for name in ("s1", "s2", "S3")],
        "sorts": [{"propertyName": "amount", "direction": "DESCENDING"}],
    }
    response = crm("POST", f"{OBJECTS}/deals/search", body).json()
    ascending = crm("POST", f"{OBJECTS}/deals/search", body | {"sorts": ["amount"]}).json()

    assert ids(response) == [second, first, third]
    assert ids(ascending) == [first, second, third]


def test_search_filters_by_associated_record(crm: Api) -> None:
    deal = crm.example("deal_id")
    matches = crm.find("contacts", equal("associations.deal", deal))
    unknown = {"filterGroups": [{"filters": [equal("associations.planet", "1")]}]}

    assert crm.example("contact_id") in ids(matches)
    assert 400 == crm("POST", f"{OBJECTS}/contacts/search", unknown).status_code


def test_free_text_matches_word_prefixes(crm: Api) -> None:
    contact = crm.create("contacts", firstname="Žofie", lastname="Unterholzner", email="z@holz.test")
    response = crm("POST", f"{OBJECTS}/contacts/search", {"query": "unterh žof"}).json()

    assert ids(response) == [contact]


def test_tokens_contain_words_and_parts() -> None:
    assert {"home", "big", "stage", "home;big stage"} == tokens("Home;Big stage")
