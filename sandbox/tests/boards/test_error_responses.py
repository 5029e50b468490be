"""The boards emulator, byte for byte where the vendor's bytes are known: errors."""

import json
from typing import Any

import pytest

from sandbox.tests.boards.boards_client import JSON, TEXT, UNKNOWN, Trello, status_type_and_text


@pytest.mark.parametrize(
    ("example", "path", "text"),
    [
        ("hidden_board_id", "/1/boards/{}", "unauthorized permission requested"),
        ("hidden_list_id", "/1/lists/{}", "unauthorized permission requested"),
        ("hidden_card_id", "/1/cards/{}", "unauthorized card permission requested"),
    ],
)
def test_invisible_objects_are_unauthorized(trello: Trello, example: str, path: str, text: str) -> None:
    response = trello.request("GET", path.format(trello.examples[example]))

    assert (401, TEXT, text) == status_type_and_text(response)


def test_hidden_objects_are_not_found_with_the_knob(trello: Trello) -> None:
    trello.control("/boards/knobs", hidden_is_missing=True)

    response = trello.request("GET", f"/1/boards/{trello.examples['hidden_board_id']}")

    assert (404, TEXT, "The requested resource was not found.") == status_type_and_text(response)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("boards", "The requested resource was not found."),
        ("cards", "The requested resource was not found."),
        ("checklists", "The requested resource was not found."),
        ("lists", "model not found"),
    ],
)
def test_unknown_objects_are_not_found(trello: Trello, kind: str, text: str) -> None:
    assert (404, TEXT, text) == status_type_and_text(trello.request("GET", f"/1/{kind}/{UNKNOWN}"))


@pytest.mark.parametrize("id_list", [None, "", "invalid_value", UNKNOWN + "f", "Ab12Cd34", 7])
def test_a_card_requires_a_well_formed_list_id(trello: Trello, id_list: Any) -> None:
    response = trello.request("POST", "/1/cards", json={"idList": id_list, "name": "x"})

    assert (400, TEXT, "invalid value for idList") == status_type_and_text(response)


def test_a_card_for_an_unknown_list_finds_no_board(trello: Trello) -> None:
    response = trello.request("POST", "/1/cards", json={"idList": trello.examples["card_id"], "name": "x"})

    assert (404, TEXT, "could not find the board that the card belongs to") == status_type_and_text(response)


def test_a_card_for_a_hidden_list_is_unauthorized(trello: Trello) -> None:
    response = trello.request("POST", "/1/cards", json={"idList": trello.examples["hidden_list_id"], "name": "x"})

    assert (401, TEXT, "unauthorized card permission requested") == status_type_and_text(response)


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"name": 5}, "invalid value for name"),
        ({"name": "n" * 16_385}, "invalid value for name"),
        ({"desc": ["x"]}, "invalid value for desc"),
        ({"due": "next Tuesday"}, "invalid value for due"),
        ({"due": "9999-12-31T23:59:59.9999Z"}, "invalid value for due"),
        ({"pos": -1}, "invalid value for pos"),
        ({"pos": "middle"}, "invalid value for pos"),
        ({"idLabels": [UNKNOWN]}, "invalid value for idLabels"),
        ({"idMembers": UNKNOWN}, "invalid value for idMembers"),
        ({"dueComplete": "maybe"}, "invalid value for dueComplete"),
    ],
)
def test_a_malformed_value_is_named_and_no_card_is_created(trello: Trello, values: dict[str, Any], text: str) -> None:
    target = trello.examples["list_ids"][0]
    before = len(trello.get(f"/lists/{target}/cards"))

    response = trello.request("POST", "/1/cards", json={"idList": target, "name": "x", **values})

    assert (400, TEXT, text) == status_type_and_text(response)
    assert before == len(trello.get(f"/lists/{target}/cards"))


def test_a_duplicate_label_is_rejected(trello: Trello) -> None:
    label = trello.get(f"/boards/{trello.examples['board_id']}/labels", limit=1)[0]["id"]

    response = trello.request(
        "POST", "/1/cards", json={"idList": trello.examples["list_ids"][0], "idLabels": [label, label]}
    )

    assert (400, TEXT, "invalid value for idLabels") == status_type_and_text(response)


def test_an_invalid_label_id_is_rejected_in_json(trello: Trello) -> None:
    response = trello.request("POST", "/1/cards", json={"idList": trello.examples["list_ids"][0], "idLabels": "bug"})

    assert (400, {"message": "Invalid objectId", "error": "ERROR"}) == (response.status_code, response.json())


def test_invalid_board_and_list_names_are_rejected_in_json(trello: Trello) -> None:
    board = trello.request("POST", "/1/boards/", json={})
    card_list = trello.request("POST", "/1/lists", json={"idBoard": trello.examples["board_id"], "name": ""})

    assert (400, JSON, '{"message":"invalid value for name","error":"ERROR"}') == status_type_and_text(board)
    assert (400, JSON, '{"message":"invalid value for name","error":"BAD_REQUEST_ERROR"}') == status_type_and_text(
        card_list
    )


def test_lists_and_checklists_for_unknown_parents_are_unauthorized(trello: Trello) -> None:
    card_list = trello.request("POST", "/1/lists", json={"idBoard": UNKNOWN, "name": "x"})
    checklist = trello.request("POST", "/1/checklists", json={"idCard": UNKNOWN, "name": "x"})

    assert (401, TEXT, f"unauthorized board list requested {UNKNOWN}") == status_type_and_text(card_list)
    assert (401, TEXT, "unauthorized board requested") == status_type_and_text(checklist)


@pytest.mark.parametrize("path", ["/1/nothing?a=b", "/1/boards/", "/2/cards", "/1/lists/?key=k&token=t"])
def test_an_unknown_route_echoes_the_full_url(trello: Trello, path: str) -> None:
    response = trello.request("GET", path)

    assert (404, TEXT, f"Cannot GET {path}") == status_type_and_text(response)


def test_an_unknown_method_or_field_is_an_unknown_route(trello: Trello) -> None:
    path = f"/1/cards/{trello.examples['card_id']}"

    patched = trello.request("PATCH", path)
    put = trello.request("PUT", f"{path}/shape", json={"value": "round"})

    assert (404, TEXT, f"Cannot PATCH {path}") == status_type_and_text(patched)
    assert (404, TEXT, f"Cannot PUT {path}/shape") == status_type_and_text(put)


def test_a_request_line_beyond_8_kilobytes_is_too_long(trello: Trello) -> None:
    path = f"/1/cards/{trello.examples['card_id']}/actions/comments"

    in_query = trello.request("POST", path, params={"text": "x" * 10_000})
    in_body = trello.request("POST", path, json={"text": "x" * 16_384})

    assert (414, 200) == (in_query.status_code, in_body.status_code)


def test_json_without_its_content_type_is_ignored(trello: Trello) -> None:
    body = json.dumps({"idList": trello.examples["list_ids"][0], "name": "x"})

    response = trello.request("POST", "/1/cards", data=body, headers={"Content-Type": "text/plain"})

    assert (400, TEXT, "invalid value for idList") == status_type_and_text(response)


@pytest.mark.parametrize("body", ["{", '{"text": NaN}', "[" * 100_000])
def test_malformed_json_is_rejected(trello: Trello, body: str) -> None:
    path = f"/1/cards/{trello.examples['card_id']}/actions/comments"

    response = trello.request("POST", path, data=body, headers={"Content-Type": "application/json"})

    assert 400 == response.status_code


@pytest.mark.parametrize(
    ("method", "path", "body", "expected"),
    [
        ("POST", "/cards/{card}/attachments", {"name": "neither"}, (400, "must provide either url or file")),
        ("POST", "/cards/{card}/attachments", {"url": "ftp://a.test"}, (400, "invalid value for url")),
        ("GET", f"/cards/{{card}}/attachments/{UNKNOWN}", {}, (404, "The requested resource was not found.")),
        (
            "POST",
            "/cards/{card}/stickers",
            {"image": "taco-cool", "top": 1, "left": 2},
            (400, "invalid value for zIndex"),
        ),
        ("POST", "/cards/{card}/membersVoted", {"value": "me"}, (400, "invalid value for value")),
        (
            "POST",
            "/customFields",
            {"idModel": "{board}", "name": "N", "type": "colour"},
            (400, "invalid value for type"),
        ),
        (
            "POST",
            "/customFields",
            {"idModel": "{board}", "name": "N", "type": "text", "options": [{}]},
            (400, "invalid value for options"),
        ),
        ("GET", f"/customFields/{UNKNOWN}", {}, (404, "The requested resource was not found.")),
        ("PUT", "/boards/{board}/members", {"email": "nobody"}, (400, "invalid value for email")),
        ("PUT", f"/boards/{{board}}/members/{UNKNOWN}", {}, (404, "The requested resource was not found.")),
        ("PUT", f"/boards/{{board}}/memberships/{UNKNOWN}", {}, (404, "The requested resource was not found.")),
        ("POST", "/organizations", {"displayName": "O", "name": "a b"}, (400, "invalid value for name")),
        ("POST", "/organizations", {"displayName": "O", "name": "northwindtools"}, (400, "short name is taken")),
        ("GET", "/organizations/nobodys", {}, (404, "The requested resource was not found.")),
        ("POST", "/members/ines.marchetti/boardStars", {}, (401, "unauthorized permission requested")),
        ("GET", "/search?query=x&modelTypes=trees", {}, (400, "invalid value for modelTypes")),
    ],
)
def test_an_invalid_argument_is_rejected_by_name(
    trello: Trello, method: str, path: str, body: dict[str, Any], expected: tuple[int, str]
) -> None:
    known = {"card": trello.examples["card_id"], "board": trello.examples["board_id"]}
    sent = json.loads(json.dumps(body).replace("{board}", known["board"]))
    response = trello.request(method, f"/1{path}".format(**known), json=sent)

    assert expected[0] == response.status_code
    assert expected[1] in response.text
