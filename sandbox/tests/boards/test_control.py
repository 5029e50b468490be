"""The boards stand-in, byte for byte where the vendor's bytes are known: faults, knobs and acts."""

import re

import pytest

from sandbox.tests.boards.boards_client import TEXT, UNKNOWN, Trello, refused


def test_writes_are_accepted_with_202_when_the_knob_says_so(trello: Trello) -> None:
    trello.steer("/boards/knobs", write_status=202)

    write = trello.ask("POST", "/1/cards", json={"idList": trello.examples["list_ids"][0], "name": "x"})
    read = trello.ask("GET", f"/1/cards/{write.json()['id']}")

    assert (202, 200) == (write.status_code, read.status_code)


def test_the_text_for_a_dead_token_is_a_knob(trello: Trello) -> None:
    trello.steer("/boards/knobs", invalid_token="invalid app token")
    trello.steer("/boards/revoke")

    assert (401, TEXT, "invalid app token") == refused(trello.ask("GET", "/1/members/me"))


def test_a_colleague_acts_by_hand(trello: Trello) -> None:
    source, target = trello.examples["list_ids"]
    made = trello.steer("/boards/act", action="create_card", list_id=source, name="By hand", mood="good")
    trello.steer("/boards/act", action="move_card", card_id=made["card_id"], list_id=target)
    trello.steer("/boards/act", action="comment", card_id=made["card_id"], text="Mine")
    trello.steer("/boards/act", action="archive_list", list_id=target)

    log = trello.get(f"/cards/{made['card_id']}/actions", filter="all")

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
def test_a_bad_action_is_an_error(trello: Trello, action: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="no "):
        trello.emulator.perform(action)


def test_credentials_and_examples_have_the_agreed_names(trello: Trello) -> None:
    agreed = {
        "board_id", "list_ids", "labels", "card_id", "other_board_list_id", "archived_list_id", "hidden_board_id",
    }  # fmt: skip

    assert {"key", "token"} == trello.emulator.credentials().keys()
    assert re.fullmatch(r"[0-9a-f]{32}", trello.key)
    assert re.fullmatch(r"ATTA[0-9A-Za-z]{72}", trello.token)
    assert agreed <= trello.examples.keys()
