"""Associations of the HubSpot emulator."""

import pytest

from sandbox.tests.crm.hubspot_client import LINKS, OBJECTS, Api, codes


@pytest.mark.parametrize(
    "path",
    [f"{LINKS}/deals/contacts/batch/create", f"{LINKS}/deals/contacts/batch/archive", f"{LINKS}/x/contacts/labels"],
)
def test_associations_of_the_wrong_shape_are_rejected(crm: Api, path: str) -> None:
    response = crm("GET" if path.endswith("labels") else "POST", path, {"inputs": [{"from": "1", "to": []}]})

    assert 400 == response.status_code


def test_unrelated_object_types_cannot_be_associated(crm: Api) -> None:
    note, contact = crm.create("notes", hs_timestamp=1), crm.example("contact_id")
    other = crm.create("contacts", firstname="x")
    response = crm("PUT", f"{OBJECTS}/contacts/{contact}/associations/default/contacts/{other}")
    unknown = crm("GET", f"{OBJECTS}/notes/{note}?associations=planets")

    assert (400, 400) == (response.status_code, unknown.status_code)


def test_default_association_returns_both_directions_and_is_repeatable(crm: Api) -> None:
    contact, company = crm.create("contacts", firstname="x"), crm.create("companies", name="x")
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


def test_only_the_first_company_is_primary(crm: Api) -> None:
    contact = crm.create("contacts", firstname="x")
    companies = [crm.create("companies", name=name) for name in "ab"]
    for company in companies:
        crm("PUT", f"{OBJECTS}/contact/{contact}/associations/default/company/{company}")
    rows = crm("GET", f"/crm/v4/objects/contacts/{contact}/associations/companies").json()["results"]

    assert [row["toObjectId"] for row in rows] == [int(company) for company in companies]
    assert [[279, 1], [279]] == [[kind["typeId"] for kind in row["associationTypes"]] for row in rows]
    assert {"category": "HUBSPOT_DEFINED", "typeId": 1, "label": "Primary"} == rows[0]["associationTypes"][1]


def test_typed_association_returns_labels_and_replaces_the_primary(crm: Api) -> None:
    deal = crm.create("deals", dealname="x")
    companies = [crm.create("companies", name=name) for name in "ab"]
    crm("PUT", f"{OBJECTS}/deals/{deal}/associations/default/companies/{companies[0]}")
    spec = [{"associationCategory": "HUBSPOT_DEFINED", "associationTypeId": 5}]
    response = crm("PUT", f"{OBJECTS}/deals/{deal}/associations/companies/{companies[1]}", spec)
    rows = crm("GET", f"{OBJECTS}/deals/{deal}/associations/companies").json()["results"]

    assert 201 == response.status_code
    assert response.json() == {
        "fromObjectTypeId": "0-3",
        "fromObjectId": int(deal),
        "toObjectTypeId": "0-2",
        "toObjectId": int(companies[1]),
        "labels": ["Primary"],
    }
    assert [[341], [341, 5]] == [[kind["typeId"] for kind in row["associationTypes"]] for row in rows]


def test_custom_label_can_be_set_listed_and_removed(crm: Api) -> None:
    deal, contact = crm.create("deals", dealname="x"), crm.create("contacts", firstname="x")
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


def test_association_type_of_the_other_direction_is_rejected(crm: Api) -> None:
    spec = [{"associationCategory": "HUBSPOT_DEFINED", "associationTypeId": 280}]
    path = f"{OBJECTS}/contacts/{crm.example('contact_id')}/associations/companies/9001"
    responses = [crm("PUT", path, body) for body in (spec, [], [{"associationTypeId": 1}])]

    assert [400, 400, 400] == [response.status_code for response in responses]


def test_association_can_be_removed_and_requires_both_records(crm: Api) -> None:
    contact, company = crm.create("contacts", firstname="x"), crm.create("companies", name="x")
    crm("PUT", f"{OBJECTS}/contacts/{contact}/associations/default/companies/{company}")
    removed = crm("DELETE", f"{OBJECTS}/contacts/{contact}/associations/companies/{company}")
    missing = crm("PUT", f"{OBJECTS}/contacts/{contact}/associations/default/companies/1")

    assert 204 == removed.status_code
    assert {"results": []} == crm("GET", f"{OBJECTS}/companies/{company}/associations/contacts").json()
    assert 404 == missing.status_code


def test_removing_the_unlabelled_type_removes_the_association(crm: Api) -> None:
    contact, company = crm.create("contacts", city="x"), crm.create("companies", name="x")
    path = f"{OBJECTS}/contacts/{contact}/associations/companies/{company}"
    crm("PUT", f"{OBJECTS}/contacts/{contact}/associations/default/companies/{company}")
    crm("DELETE", f"{path}/1")
    after_primary = crm("GET", f"{OBJECTS}/contacts/{contact}/associations/companies").json()["results"]
    crm("DELETE", f"{path}/279")

    assert [279] == [kind["typeId"] for kind in after_primary[0]["associationTypes"]]
    assert {"results": []} == crm("GET", f"{OBJECTS}/contacts/{contact}/associations/companies").json()


def test_older_path_with_a_trailing_type_works(crm: Api) -> None:
    note = crm.create("notes", hs_timestamp=1)
    deal = crm.example("deal_id")
    path = f"{OBJECTS}/notes/{note}/associations/deals/{deal}"
    added = crm("PUT", f"{path}/note_to_deal")
    removed = crm("DELETE", f"{path}/214")

    assert (added.status_code, added.json()["id"], removed.status_code) == (200, note, 204)
    assert 400 == crm("PUT", f"{path}/5").status_code


def test_batches_of_associations_create_read_and_archive(crm: Api) -> None:
    deal, contact, other = (
        crm.create("deals", dealname="x"),
        crm.create("contacts", city="x"),
        crm.create("contacts", city="y"),
    )
    spec = [{"associationCategory": "HUBSPOT_DEFINED", "associationTypeId": 3}]
    pair = {"from": {"id": deal}, "to": {"id": contact}}
    created = crm("POST", f"{LINKS}/deals/contacts/batch/create", {"inputs": [pair | {"types": spec}]})
    default = crm("POST", f"{LINKS}/deals/contacts/batch/associate/default", {"inputs": [pair | {"to": {"id": other}}]})
    read = crm("POST", f"{LINKS}/contacts/deals/batch/read", {"inputs": [{"id": contact}]})
    archive = {"inputs": [{"from": {"id": deal}, "to": [{"id": contact}, {"id": other}]}]}
    archived = crm("POST", f"{LINKS}/deals/contacts/batch/archive", archive)
    empty = crm("POST", f"{LINKS}/contacts/deals/batch/read", {"inputs": [{"id": contact}]})
    wrong = crm("POST", f"{LINKS}/deals/contacts/batch/create", {"inputs": [pair | {"to": {"id": 1}, "types": spec}]})

    assert (201, 200, 200, 204) == (created.status_code, default.status_code, read.status_code, archived.status_code)
    assert read.json()["results"][0]["to"][0]["toObjectId"] == int(deal)
    assert 207 == empty.status_code
    assert "crm.associations.NO_ASSOCIATIONS_FOUND" == empty.json()["errors"][0]["subCategory"]
    assert ["INVALID_OBJECT_IDS"] == codes(wrong)


def test_associations_are_paged_and_exclude_archived_records(crm: Api) -> None:
    company = crm.create("companies", name="big")
    contacts = [crm.create("contacts", city="x") for _ in range(3)]
    for contact in contacts:
        crm("PUT", f"{OBJECTS}/contacts/{contact}/associations/default/companies/{company}")
    crm("DELETE", f"{OBJECTS}/contacts/{contacts[0]}")
    path = f"{OBJECTS}/companies/{company}/associations/contacts?limit=1"
    first = crm("GET", path).json()
    second = crm("GET", f"{path}&after={first['paging']['next']['after']}").json()

    assert [row["toObjectId"] for row in first["results"] + second["results"]] == [int(one) for one in contacts[1:]]
    assert "paging" not in second
