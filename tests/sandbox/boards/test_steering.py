"""The boards stand-in, byte for byte where the vendor's bytes are known: faults, knobs and acts."""

import re
from typing import Any

import pytest
import requests

from sandbox.boards.trello import TEXT, UNKNOWN, Trello, refused


def test_a_status_fault_writes_nothing(trello: Trello) -> None:
    trello.steer("/boards/faults", fault="status", status=401, body="invalid app token", method="POST", path="/1/cards")
    before = len(trello.emulator.store.cards)

    answer = trello.ask("POST", "/1/cards", json={"idList": trello.examples["list_ids"][0], "name": "x"})

    assert (401, TEXT, "invalid app token") == refused(answer)
    assert before == len(trello.emulator.store.cards)


@pytest.mark.parametrize(("fault", "written"), [("drop_before", 0), ("drop_after", 1)])
def test_a_cut_connection_has_or_has_not_written(trello: Trello, fault: str, written: int) -> None:
    trello.steer("/boards/faults", fault=fault, method="POST", path="/1/cards")
    before = len(trello.emulator.store.cards)

    with pytest.raises(requests.ConnectionError):
        trello.card()

    assert written == len(trello.emulator.store.cards) - before


def test_garbage_is_not_json(trello: Trello) -> None:
    trello.steer("/boards/faults", fault="garbage", path="/1/members/me")

    with pytest.raises(requests.JSONDecodeError):
        trello.get("/members/me")


@pytest.mark.parametrize("fault", ["delay", "slow_body"])
def test_a_slow_answer_arrives_whole(trello: Trello, fault: str) -> None:
    trello.steer("/boards/faults", fault=fault, seconds=0.05, path="/1/members/me")

    assert "gatewaybot" == trello.get("/members/me")["username"]


def test_writes_are_accepted_with_202_when_the_knob_says_so(trello: Trello) -> None:
    trello.steer("/boards/knobs", write_status=202)

    write = trello.ask("POST", "/1/cards", json={"idList": trello.examples["list_ids"][0], "name": "x"})
    read = trello.ask("GET", f"/1/cards/{write.json()['id']}")

    assert (202, 200) == (write.status_code, read.status_code)


def test_the_text_for_a_dead_token_is_a_knob(trello: Trello) -> None:
    trello.steer("/boards/knobs", invalid_token="invalid app token")
    trello.steer("/boards/revoke")

    assert (401, TEXT, "invalid app token") == refused(trello.ask("GET", "/1/members/me"))


def test_a_reset_repeats_the_same_state_but_for_new_identifiers(trello: Trello) -> None:
    def shape() -> tuple[Any, ...]:
        made = trello.card("After the reset")
        board = trello.get(f"/boards/{trello.examples['board_id']}", lists="all", cards="all", labels="all")
        cards = [card for card in board.pop("cards") if card["id"] != made["id"]]
        return {made["shortLink"], made["id"][8:]}, (made["idShort"], board, cards)

    trello.steer("/reset")
    made, first = shape()
    trello.steer("/boards/revoke")
    trello.steer("/reset")
    made_again, second = shape()

    assert first == second
    assert not made & made_again


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
        {},
        {"action": "dance"},
        {"action": "create_card", "list_id": UNKNOWN, "name": "x"},
        {"action": "comment", "card_id": "card_id", "text": "x"},
    ],
)
def test_a_bad_action_is_an_error(trello: Trello, action: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="no "):
        trello.emulator.act(action)


def test_a_text_is_needed_to_comment_by_hand(trello: Trello) -> None:
    with pytest.raises(ValueError, match="text must be a text"):
        trello.emulator.act({"action": "comment", "card_id": trello.examples["card_id"], "text": ""})


def test_credentials_and_examples_have_the_agreed_names(trello: Trello) -> None:
    agreed = {
        "board_id", "list_ids", "labels", "card_id", "other_board_list_id", "archived_list_id", "hidden_board_id",
    }  # fmt: skip

    assert {"key", "token"} == trello.emulator.credentials().keys()
    assert re.fullmatch(r"[0-9a-f]{32}", trello.key)
    assert re.fullmatch(r"ATTA[0-9A-Za-z]{72}", trello.token)
    assert agreed <= trello.examples.keys()


def test_a_fault_of_our_own_is_logged_and_shown_plainly(
    trello: Trello, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(trello.emulator.store, "cards", None)

    answer = trello.ask("GET", f"/1/cards/{trello.examples['card_id']}")

    assert (500, TEXT, "Internal Server Error") == refused(answer)
    assert "AttributeError" in caplog.text
