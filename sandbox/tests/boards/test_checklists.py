"""The boards emulator, byte for byte where the vendor's bytes are known: checklists."""

from sandbox.tests.boards.boards_client import TEXT, Trello, status_type_and_text


def test_a_checklist_is_built_item_by_item(trello: Trello) -> None:
    card = trello.card()
    checklist = trello.post(f"/cards/{card['id']}/checklists", name="QA", pos="bottom")
    for name, pos in (("second", 32_768), ("first", 16_384), ("third", "bottom")):
        trello.post(f"/checklists/{checklist['id']}/checkItems", name=name, pos=pos)

    (read,) = trello.get(f"/cards/{card['id']}/checklists")

    assert [] == checklist["checkItems"]
    assert [
        ("first", 16_384),
        ("second", 32_768),
        ("third", 49_152),
    ] == [(item["name"], item["pos"]) for item in read["checkItems"]]
    assert {"incomplete"} == {item["state"] for item in read["checkItems"]}


def test_a_checklist_is_returned_without_items_on_request(trello: Trello) -> None:
    (raw,) = trello.get(f"/cards/{trello.examples['card_id']}/checklists", fields="name", checkItems="none")

    assert {"id", "name"} == raw.keys()


def test_a_checklist_without_a_name_has_the_default_one(trello: Trello) -> None:
    assert "Checklist" == trello.post("/checklists", idCard=trello.card()["id"])["name"]


def test_a_checklist_is_copied_from_another(trello: Trello) -> None:
    (source,) = trello.get(f"/cards/{trello.examples['card_id']}/checklists")

    copy = trello.post(f"/cards/{trello.card()['id']}/checklists", idChecklistSource=source["id"])

    assert [item["name"] for item in source["checkItems"]] == [item["name"] for item in copy["checkItems"]]


def test_a_full_checklist_rejects_further_items(trello: Trello) -> None:
    trello.control("/boards/knobs", items_per_checklist=1)
    checklist = trello.post(f"/cards/{trello.card()['id']}/checklists", name="Short")["id"]
    trello.post(f"/checklists/{checklist}/checkItems", name="one")

    response = trello.request("POST", f"/1/checklists/{checklist}/checkItems", json={"name": "two"})

    assert 403 == response.status_code


def test_an_item_without_a_name_is_rejected(trello: Trello) -> None:
    checklist = trello.post(f"/cards/{trello.card()['id']}/checklists", name="QA")["id"]

    response = trello.request("POST", f"/1/checklists/{checklist}/checkItems", json={"name": ""})

    assert (400, TEXT, "invalid value for name") == status_type_and_text(response)
