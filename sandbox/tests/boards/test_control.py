"""The boards emulator, byte for byte where the vendor's bytes are known: faults, knobs and user actions."""

import re

import pytest

from sandbox.tests.boards.boards_client import TEXT, UNKNOWN, Trello, status_type_and_text


def test_writes_respond_202_with_the_knob(trello: Trello) -> None:
    trello.control("/boards/knobs", write_status=202)

    write = trello.request("POST", "/1/cards", json={"idList": trello.examples["list_ids"][0], "name": "x"})
    read = trello.request("GET", f"/1/cards/{write.json()['id']}")

    assert (202, 200) == (write.status_code, read.status_code)


def test_the_text_for_a_revoked_token_is_a_knob(trello: Trello) -> None:
    trello.control("/boards/knobs", invalid_token="invalid app token")
    trello.control("/boards/revoke")

    assert (401, TEXT, "invalid app token") == status_type_and_text(trello.request("GET", "/1/members/me"))


def test_user_actions_change_cards_and_lists(trello: Trello) -> None:
    source, target = trello.examples["list_ids"]
    created = trello.control("/boards/act", action="create_card", list_id=source, name="By hand", mood="good")
    trello.control("/boards/act", action="move_card", card_id=created["card_id"], list_id=target)
    trello.control("/boards/act", action="comment", card_id=created["card_id"], text="Mine")
    trello.control("/boards/act", action="archive_list", list_id=target)

    log = trello.get(f"/cards/{created['card_id']}/actions", filter="all")

    assert ["commentCard", "updateCard", "createCard"] == [action["type"] for action in log]
    assert {None} == {action["appCreator"] for action in log}
    assert {"ines.marchetti"} == {action["memberCreator"]["username"] for action in log}
    assert trello.get(f"/lists/{target}")["closed"]


@pytest.mark.parametrize(
    "action",
    [
        {"action": "create_card", "list_id": UNKNOWN, "name": "x"},
        {"action": "comment", "card_id": "card_id", "text": "x"},
    ],
)
def test_an_invalid_user_action_is_rejected(trello: Trello, action: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=r"does not exist|unknown action"):
        trello.emulator.perform(action)


def test_credentials_and_examples_have_the_expected_names(trello: Trello) -> None:
    agreed = {
        "board_id", "list_ids", "labels", "card_id", "other_board_list_id", "archived_list_id", "hidden_board_id",
    }  # fmt: skip

    assert {"key", "token"} == trello.emulator.credentials().keys()
    assert re.fullmatch(r"[0-9a-f]{32}", trello.key)
    assert re.fullmatch(r"ATTA[0-9A-Za-z]{72}", trello.token)
    assert agreed <= trello.examples.keys()
