"""The boards emulator, byte for byte where the vendor's bytes are known: cards."""

import re
from typing import Any

import pytest

from sandbox.tests.boards.boards_client import TEXT, Trello, status_type_and_text


@pytest.mark.parametrize("form", ["json", "data", "params"])
def test_a_card_is_created_from_json_form_or_query(trello: Trello, form: str) -> None:
    target = trello.examples["list_ids"][0]
    values = {"idList": target, "name": "Fix door", "desc": "**now**", "due": "2026-12-01T09:00:00.000Z"}
    sent: dict[str, Any] = {form: values}

    card = trello.request("POST", "/1/cards", **sent).json()

    assert values == {name: card[name] for name in values}
    assert re.fullmatch(r"https://trello.com/c/\w{8}", card["shortUrl"])
    assert f"{card['shortUrl']}/{card['idShort']}-fix-door" == card["url"]


def test_a_card_has_every_key_that_clients_need(trello: Trello) -> None:
    needed = {
        "id", "name", "desc", "closed", "dueComplete", "due", "start", "url", "shortUrl", "shortLink", "pos", "idBoard",
        "idList", "idShort", "idMembers", "idLabels", "idChecklists", "labels", "badges", "dateLastActivity", "cover",
        "isTemplate",
    }  # fmt: skip

    assert needed <= trello.get(f"/cards/{trello.examples['card_id']}").keys()


def test_the_id_of_a_card_begins_with_its_time(trello: Trello) -> None:
    before = int(trello.emulator.context.clock.now())

    first, second = trello.card()["id"], trello.card()["id"]

    assert before <= int(first[:8], 16) <= before + 5
    assert first < second


def test_labels_retain_the_requested_order(trello: Trello) -> None:
    label_ids = [label["id"] for label in trello.get(f"/boards/{trello.examples['board_id']}/labels", limit=3)][::-1]

    by_array, by_text = trello.card(idLabels=label_ids), trello.card(idLabels=",".join(label_ids))

    assert label_ids == by_array["idLabels"] == by_text["idLabels"]
    assert label_ids == [label["id"] for label in by_array["labels"]]


def test_positions_are_computed_in_steps(trello: Trello) -> None:
    board = trello.post("/boards", name="Places", defaultLists=False)
    card_list = trello.post(f"/boards/{board['id']}/lists", name="Only")["id"]

    positions = [trello.card(idList=card_list, pos=pos)["pos"] for pos in ("bottom", "bottom", "top", 20_000.5)]

    assert [16_384, 32_768, 8_192, 20_000.5] == positions
    assert sorted(positions) == [card["pos"] for card in trello.get(f"/lists/{card_list}/cards", fields="pos")]


@pytest.mark.parametrize("by", ["id", "shortLink"])
def test_a_card_is_found_by_id_and_short_link(trello: Trello, by: str) -> None:
    card = trello.card("Twice")

    assert card["id"] == trello.get(f"/cards/{card[by]}", fields="")["id"]


def test_a_card_moves_within_its_board(trello: Trello) -> None:
    source, target = trello.examples["list_ids"]
    card = trello.card()

    moved = trello.put(f"/cards/{card['id']}", idList=target, pos="bottom")
    (action,) = trello.get(f"/cards/{card['id']}/actions", filter="updateCard:idList")

    assert (target, action["date"]) == (moved["idList"], moved["dateLastActivity"])
    assert {"idList": source} == action["data"]["old"]
    assert (source, target) == (action["data"]["listBefore"]["id"], action["data"]["listAfter"]["id"])


def test_a_move_to_the_same_list_creates_no_action(trello: Trello) -> None:
    card = trello.card()

    trello.put(f"/cards/{card['id']}", idList=card["idList"], pos="top")

    assert [] == trello.get(f"/cards/{card['id']}/actions", filter="updateCard:idList")


def test_a_card_moves_to_another_board_if_the_board_is_named(trello: Trello) -> None:
    card, other = trello.card(), trello.examples["other_board_list_id"]

    moved = trello.put(f"/cards/{card['id']}", idList=other, idBoard=trello.examples["other_board_id"])

    assert (other, trello.examples["other_board_id"]) == (moved["idList"], moved["idBoard"])


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("name", "Other", "Other"),
        ("closed", "true", True),
        ("pos", 5, 5),
        ("due", "2027-01-01", "2027-01-01T00:00:00.000Z"),
        ("due", None, None),
    ],
)
def test_a_single_field_of_a_card_can_be_set(trello: Trello, field: str, value: Any, expected: Any) -> None:
    card = trello.card(due="2026-12-01T09:00:00Z")

    trello.put(f"/cards/{card['id']}/{field}", value=value)

    assert {"_value": expected} == trello.get(f"/cards/{card['id']}/{field}")


def test_an_invalid_single_field_is_reported_as_value(trello: Trello) -> None:
    response = trello.request("PUT", f"/1/lists/{trello.examples['list_ids'][0]}/closed", json={"value": "maybe"})

    assert (400, TEXT, "invalid value for value") == status_type_and_text(response)


def test_an_archived_list_still_accepts_cards(trello: Trello) -> None:
    archived = trello.examples["archived_list_id"]

    assert trello.card(idList=archived)["idList"] == archived


def test_a_card_is_deleted_with_its_actions(trello: Trello) -> None:
    card = trello.card()
    action = trello.post(f"/cards/{card['id']}/actions/comments", text="hi")

    trello.request("DELETE", f"/1/cards/{card['id']}")

    assert [404, 404] == [
        trello.request("GET", path).status_code for path in (f"/1/cards/{card['id']}", f"/1/actions/{action['id']}")
    ]


def test_half_a_surrogate_is_replaced(trello: Trello) -> None:
    assert "a\ufffdb" == trello.card("a\ud800b")["name"]


def test_labels_and_members_are_added_to_and_removed_from_a_card(trello: Trello) -> None:
    path = f"/cards/{trello.card()['id']}"
    me = trello.get("/members/me")["id"]
    label = trello.post(f"{path}/labels", name="just here", color="lime")["id"]
    trello.post(f"{path}/idMembers", value=me)
    dressed = trello.get(path, fields="idLabels,idMembers")

    twice = trello.request("POST", f"/1{path}/idLabels", json={"value": label})
    trello.request("DELETE", f"/1{path}/idLabels/{label}")
    trello.request("DELETE", f"/1{path}/idMembers/{me}")

    assert (dressed["idLabels"], dressed["idMembers"], twice.status_code) == ([label], [me], 400)
    assert {"idLabels": [], "idMembers": []}.items() <= trello.get(path).items()
