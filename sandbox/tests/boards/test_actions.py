"""The boards emulator, byte for byte where the vendor's bytes are known: comments and the log."""

import re
from typing import Any

import pytest

from sandbox.tests.boards.boards_client import TEXT, Trello, status_type_and_text
from workspace_sandbox.boards.access import APP


def test_a_comment_is_an_action_with_author_and_application(trello: Trello) -> None:
    card = trello.card("Talk")

    action = trello.post(f"/cards/{card['shortLink']}/actions/comments", text="Done <b>?</b>")

    assert ("commentCard", "Done <b>?</b>", {"id": APP.id}) == (
        action["type"],
        action["data"]["text"],
        action["appCreator"],
    )
    assert card["id"] == action["data"]["card"]["id"]
    assert action["idMemberCreator"] == action["memberCreator"]["id"]
    assert {"id", "name"} == action["data"]["list"].keys()


@pytest.mark.parametrize("text", ["", None, "x" * 16_385, 5])
def test_a_comment_requires_a_text_within_the_length_limits(trello: Trello, text: Any) -> None:
    response = trello.request("POST", f"/1/cards/{trello.examples['card_id']}/actions/comments", json={"text": text})

    assert (400, TEXT, "invalid value for text") == status_type_and_text(response)


def test_comments_are_paged_newest_first(trello: Trello) -> None:
    card = trello.card()
    texts = ["one", "two", "three", "four", "five"]
    comment_ids = [trello.post(f"/cards/{card['id']}/actions/comments", text=text)["id"] for text in texts]
    path = f"/cards/{card['id']}/actions"

    def read(**params: Any) -> list[str]:
        return [action["data"]["text"] for action in trello.get(path, filter="commentCard", **params)]

    assert ["five", "four"] == read(limit=2)
    assert ["three", "two"] == read(limit=2, page=1)
    assert ["two", "one"] == read(before=comment_ids[2])
    assert ["five", "four"] == read(since=comment_ids[2])
    assert [] == read(since="2999-01-01T00:00:00Z")
    assert 5 == len(read(since="2020-01-01T00:00:00Z", before="2999-01-01"))


@pytest.mark.parametrize(("name", "value"), [("limit", "1001"), ("page", "20"), ("since", "yesterday")])
def test_an_out_of_range_page_of_actions_is_rejected(trello: Trello, name: str, value: str) -> None:
    response = trello.request("GET", f"/1/cards/{trello.examples['card_id']}/actions", params={name: value})

    assert (400, TEXT, f"invalid value for {name}") == status_type_and_text(response)


def test_dates_of_actions_never_decrease(trello: Trello) -> None:
    trello.card()

    dates = [action["date"] for action in trello.get(f"/boards/{trello.examples['board_id']}/actions", limit=1000)]

    assert sorted(dates, reverse=True) == dates
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", dates[0])


def test_the_log_of_a_card_contains_its_changes(trello: Trello) -> None:
    card = trello.card()
    trello.post(f"/cards/{card['id']}/actions/comments", text="hi")
    trello.post(f"/cards/{card['id']}/checklists", name="QA")
    trello.put(f"/cards/{card['id']}", name="Renamed")

    log = trello.get(f"/cards/{card['id']}/actions", filter="all")

    assert ["updateCard", "addChecklistToCard", "commentCard", "createCard"] == [action["type"] for action in log]
    assert {"name": "A card"} == log[0]["data"]["old"]


def test_the_comment_of_another_member_cannot_be_edited(trello: Trello) -> None:
    created = trello.control("/boards/act", action="comment", card_id=trello.examples["card_id"], text="Mine")

    response = trello.request("PUT", f"/1/actions/{created['comment_id']}", json={"text": "Yours"})

    assert (401, TEXT, "unauthorized card permission requested") == status_type_and_text(response)
