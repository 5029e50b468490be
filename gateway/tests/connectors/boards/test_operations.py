"""The boards operations, from the caller's side, against the emulator on real HTTP."""

from collections import deque
from datetime import datetime
from typing import Any

import pytest

from connector_gateway.connectors.boards import BOARDS
from connector_gateway.kit.upstream.budget import Budget
from gateway.tests.connectors.boards.card_client import STEPS, UNKNOWN, CardClient
from harness.requirement import requirement


def is_timestamp(text: str) -> bool:
    return text.endswith("Z") and datetime.fromisoformat(text).year >= 2026


# Cards


@requirement("boards-1", "boards-2", "boards-3", "boards-4")
def test_card_is_created_with_labels_and_due_date_in_utc(client: CardClient) -> None:
    list_id = client.examples["list_ids"][1]

    reply = client.create(
        "Prüfen: die Tür", list_id=list_id, desc="**now**", due="2026-12-01T10:00:00+02:00", labels=["urgent", "日本語"]
    )

    card = client.emulator.store.cards[reply.data["card_id"]]
    stored, short_link = (card.name, card.desc, card.due), card.short_link
    assert reply.data == {
        "card_id": reply.data["card_id"],
        "short_url": f"https://trello.com/c/{short_link}",
        "list_id": list_id,
        "due": "2026-12-01T08:00:00.000Z",
        "labels_applied": ["urgent", "日本語"],
    }
    assert ("Prüfen: die Tür", "**now**", "2026-12-01T08:00:00.000Z") == stored
    assert ("ok", "boards") == (reply.body["status"], reply.body["connector"])
    assert "next_cursor" not in reply.body


def test_plain_card_takes_two_requests_and_is_last(client: CardClient) -> None:
    client.gateway.clear("boards")

    reply = client.create("Plain")

    assert (None, []) == (reply.data["due"], reply.data["labels_applied"])
    assert (False, True) == client.with_card(reply.data["card_id"]).is_first_and_last()
    assert client.list_requests() == [("GET", f"/1/lists/{reply.data['list_id']}"), ("POST", "/1/cards")]


@requirement("boards-5", "boards-6")
def test_missing_labels_are_all_reported_and_no_card_is_created(client: CardClient) -> None:
    reply = client.create("Labelled", labels=["urgent", "nope", "Urgent", "press", "nope"])

    assert (409, "label_not_on_board") == (reply.status, reply.code)
    assert [
        ("label_not_on_board", "labels.1", "nope", None),
        ("label_not_on_board", "labels.2", "Urgent", "urgent"),
        ("label_not_on_board", "labels.4", "nope", None),
    ] == [
        (detail["code"], detail["parameter"], detail["value"], detail.get("did_you_mean")) for detail in reply.details
    ]
    assert "urgent" in reply.details[0]["allowed"]
    assert (
        "The board has no label “nope”, “Urgent”. Did you mean urgent instead of Urgent?"
        == reply.body["error"]["message"]
    )
    assert 0 == client.count_cards("Labelled")


def test_message_names_the_first_of_many_missing_labels(client: CardClient) -> None:
    reply = client.create("Labelled", labels=[f"{number} {'x' * 100}" for number in range(8)])

    first = ", ".join(f"“{number} {'x' * 37}…”" for number in range(5))
    assert reply.body["error"]["message"] == f"The board has no label {first} and 3 more."
    assert 8 == len(reply.details)


# Invalid lists


@requirement("boards-28")
@pytest.mark.parametrize("list_id", [UNKNOWN, "To do", "../boards", "Ab12Cd34"])
def test_unknown_list_is_not_found(client: CardClient, list_id: str) -> None:
    created, moved = client.create("Nowhere", list_id=list_id), client.move(list_id)

    assert (created.status, created.code) == (moved.status, moved.code) == (404, "list_not_found")
    assert created.facts == moved.facts == [{"parameter": "list_id", "value": list_id}]
    assert 0 == client.count_cards("Nowhere")


@requirement("boards-29")
def test_archived_list_is_not_found(client: CardClient) -> None:
    list_id = client.examples["archived_list_id"]

    created, moved = client.create("Archived", list_id=list_id), client.move(list_id)

    assert created.code == moved.code == "list_not_found"
    assert 0 == client.count_cards("Archived")


@requirement("boards-7", "boards-29")
def test_list_of_another_board_is_not_found_and_nothing_moved(client: CardClient) -> None:
    reply = client.move(client.examples["other_board_list_id"])

    assert (404, "list_not_found") == (reply.status, reply.code)
    assert reply.facts == [{"parameter": "list_id", "value": client.examples["other_board_list_id"]}]
    assert client.get_list_id() == client.examples["list_ids"][0]


@requirement("boards-27")
def test_list_of_a_hidden_board_is_not_authorised(client: CardClient) -> None:
    reply = client.create("Hidden", list_id=client.examples["hidden_list_id"])

    assert (403, "board_not_authorised") == (reply.status, reply.code)
    assert reply.facts == [{"parameter": "list_id", "value": client.examples["hidden_list_id"]}]


def test_list_that_the_vendor_reports_as_missing_is_not_found(client: CardClient) -> None:
    client.gateway.knob("boards", hidden_is_missing=True)

    assert "list_not_found" == client.create("Hidden", list_id=client.examples["hidden_list_id"]).code


# Moves


@requirement("boards-7", "boards-8", "boards-9")
@pytest.mark.parametrize(("position", "is_first_and_last"), [("top", (True, False)), ("bottom", (False, True))])
def test_card_is_moved_to_the_requested_end_of_the_list(
    client: CardClient, position: str, is_first_and_last: tuple[bool, bool]
) -> None:
    reply = client.move(client.examples["list_ids"][1], position=position)

    assert is_timestamp(reply.data.pop("moved_at"))
    assert reply.data == {
        "card_id": client.card_id,
        "list_from": "To do",
        "list_to": "In progress",
        "comment_posted": False,
    }
    assert client.get_list_id() == client.examples["list_ids"][1]
    assert client.is_first_and_last() == is_first_and_last


@requirement("boards-9")
def test_card_is_moved_to_the_bottom_by_default(client: CardClient) -> None:
    client.move(client.examples["list_ids"][1])

    assert (False, True) == client.is_first_and_last()


@requirement("boards-10")
def test_card_is_moved_with_a_comment(client: CardClient) -> None:
    reply = client.move(client.examples["list_ids"][1], comment="On its way")

    assert reply.data["comment_posted"] is True
    assert ["On its way"] == client.comments()


def test_move_within_a_list_changes_only_the_position(client: CardClient) -> None:
    reply = client.move(client.examples["list_ids"][0], position="top")

    assert reply.data["list_from"] == reply.data["list_to"] == "To do"
    assert (True, False) == client.is_first_and_last()


@requirement("boards-12")
@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize(
    ("date", "moved_at"),
    [
        ("Fri, 20 Nov 2026 10:00:00 GMT", "2026-11-20T10:00:00Z"),
        ("Fri, 20 Nov 2026 10:00:00 -0000", "2026-11-20T10:00:00Z"),
        ("some Friday", "2026-01-05T08:00:00.125Z"),
    ],
)
def test_moved_at_is_the_response_date_or_else_the_last_activity(
    client: CardClient, number: int, date: str, moved_at: str
) -> None:
    body = {"id": client.card_id, "dateLastActivity": "2026-01-05T08:00:00.125Z"}
    path, headers = f"/1/cards/{client.card_id}", {"Date": date}
    client.gateway.fault("boards", method="PUT", path=path, fault="status", status=200, body=body, headers=headers)

    reply = client.move(client.examples["list_ids"][number])

    assert datetime.fromisoformat(moved_at) == datetime.fromisoformat(reply.data["moved_at"])


# Comments


@requirement("boards-13", "boards-14")
def test_comment_is_posted_unchanged(client: CardClient) -> None:
    reply = client.comment("Done <b>?</b>\n- *yes*")

    assert is_timestamp(reply.data.pop("posted_at"))
    assert reply.data == {"card_id": client.card_id, "comment_id": client.last_action_id()}
    assert ["Done <b>?</b>\n- *yes*"] == client.comments()


@requirement("boards-14")
def test_comment_of_16384_four_byte_characters_is_accepted(client: CardClient) -> None:
    reply = client.comment("🚪" * 16_384)

    assert 200 == reply.status
    assert client.comments() == ["🚪" * 16_384]


@requirement("boards-14")
@pytest.mark.parametrize("text", ["x" * 16_385, "", "  \n ", None, 5, ["x"]])
def test_invalid_comment_is_rejected_without_a_vendor_request(client: CardClient, text: Any) -> None:
    client.gateway.clear("boards")

    reply = client.comment(text)

    assert (422, "invalid_parameters") == (reply.status, reply.code)
    assert ["text"] == [detail["parameter"] for detail in reply.details]
    assert [] == client.list_requests()


def test_card_is_accepted_by_its_short_link(client: CardClient) -> None:
    card = client.emulator.store.cards[client.card_id]

    reply = client.gateway.post(f"/boards/cards/{card.short_link}/comments", text="By its link")

    assert reply.data["card_id"] == client.card_id
    assert ["By its link"] == client.comments()


# Unknown and hidden cards and boards


@requirement("boards-30")
@pytest.mark.parametrize("card_id", [UNKNOWN, "Zz99Zz99"])
@pytest.mark.parametrize(
    ("route", "body"),
    [("comments", {"text": "x"}), ("checklists", {"name": "x", "items": ["y"]}), ("move", {"list_id": UNKNOWN})],
)
def test_unknown_card_is_not_found(client: CardClient, card_id: str, route: str, body: dict[str, Any]) -> None:
    reply = client.gateway.post(f"/boards/cards/{card_id}/{route}", **body)

    assert (404, "card_not_found") == (reply.status, reply.code)
    assert reply.facts == [{"parameter": "card_id", "value": card_id}]


@requirement("boards-27")
@pytest.mark.parametrize(
    ("route", "body"),
    [("comments", {"text": "x"}), ("checklists", {"name": "x", "items": ["y"]}), ("move", {"list_id": UNKNOWN})],
)
def test_card_of_a_hidden_board_is_not_authorised(client: CardClient, route: str, body: dict[str, Any]) -> None:
    card_id = client.examples["hidden_card_id"]

    reply = client.gateway.post(f"/boards/cards/{card_id}/{route}", **body)

    assert (403, "board_not_authorised") == (reply.status, reply.code)
    assert "details" in reply.body["error"]


@requirement("boards-27")
@pytest.mark.parametrize("board_id", [UNKNOWN, "hidden"])
@pytest.mark.parametrize("missing", [True, False])
def test_hidden_or_unknown_board_is_not_authorised(client: CardClient, board_id: str, *, missing: bool) -> None:
    client.gateway.knob("boards", hidden_is_missing=missing)
    board_id = {"hidden": client.examples["hidden_board_id"]}.get(board_id, board_id)

    reply = client.gateway.get("/boards/lists", board_id=board_id)

    assert (403, "board_not_authorised") == (reply.status, reply.code)
    assert reply.facts == [{"parameter": "board_id", "value": board_id}]


# Boards


@requirement("boards-16", "boards-17")
def test_board_is_described_with_complete_card_counts(client: CardClient) -> None:
    board = client.emulator.store.boards[client.examples["board_id"]]
    client.gateway.clear("boards")

    reply = client.gateway.get("/boards/lists", board_id=board.id)

    open_lists = sorted((one for one in board.lists.values() if not one.closed), key=lambda one: one.pos)
    assert "Product launch 🚀" == reply.data["board_name"]
    assert reply.data["lists"] == [
        {
            "list_id": one.id,
            "name": one.name,
            "card_count": sum(not card.closed for card in one.cards.values()),
        }
        for one in open_lists
    ]
    assert max(item["card_count"] for item in reply.data["lists"]) > 200
    assert sorted(client.list_requests()) == [
        ("GET", f"/1/boards/{board.id}"),
        ("GET", f"/1/boards/{board.id}/cards"),
        ("GET", f"/1/boards/{board.id}/cards"),
    ]


@requirement("boards-18")
def test_all_labels_are_returned_once(client: CardClient) -> None:
    board = client.emulator.store.boards[client.examples["board_id"]]

    reply = client.gateway.get("/boards/lists", board_id=board.id)

    names = [label.name for label in board.labels.values() if label.name]
    assert reply.data["labels"] == list(dict.fromkeys(names))
    assert len(reply.data["labels"]) > 50


@requirement("boards-18", "common-22")
@pytest.mark.parametrize("value", ["false", "0"])
def test_labels_are_omitted_if_not_requested(client: CardClient, value: str) -> None:
    reply = client.gateway.get("/boards/lists", board_id=client.examples["board_id"], include_labels=value)

    assert {"board_name", "lists"} == set(reply.data)


def test_cards_after_the_first_thousand_are_counted(client: CardClient) -> None:
    board_id, store, author = client.examples["closed_board_id"], client.emulator.store, client.author()
    crowded = store.add_list(author, store.boards[board_id], "Crowded")
    deque((store.add_card(author, crowded, f"Card {number}") for number in range(2100)), maxlen=0)
    client.gateway.clear("boards")

    reply = client.gateway.get("/boards/lists", board_id=board_id)

    assert reply.data["lists"][-1] == {"list_id": crowded.id, "name": "Crowded", "card_count": 2100}
    assert 4 == client.list_requests().count(("GET", f"/1/boards/{board_id}/cards"))


@requirement("common-5")
def test_cards_are_counted_once_until_an_empty_page(client: CardClient) -> None:
    board = client.emulator.store.boards[client.examples["other_board_id"]]
    inbox = next(iter(board.lists))
    pages = [["6f2", "6f1"], ["6f1", "6f0"], ["6e0"], []]
    bodies = [[{"id": name, "idList": inbox} for name in page] for page in pages]
    client.inject_responses(f"/1/boards/{board.id}/cards", bodies)

    reply = client.gateway.get("/boards/lists", board_id=board.id)

    assert 4 == reply.data["lists"][0]["card_count"]


@requirement("common-6")
def test_repeated_page_of_cards_is_an_upstream_error(client: CardClient) -> None:
    board_id = client.examples["other_board_id"]
    client.inject_responses(f"/1/boards/{board_id}/cards", [[{"id": "6f1", "idList": "6f0"}]] * 2)

    reply = client.gateway.get("/boards/lists", board_id=board_id)

    assert (502, "upstream_error") == (reply.status, reply.code)


# Checklists


@requirement("boards-19", "boards-20")
def test_checklist_is_attached_with_items_in_order(client: CardClient) -> None:
    reply = client.attach("QA", STEPS)

    assert reply.data == {
        "card_id": client.card_id,
        "checklist_id": reply.data["checklist_id"],
        "name": "QA",
        "items_added": 5,
        "skipped": False,
    }
    assert [("QA", STEPS)] == client.checklists()


@requirement("boards-21")
def test_checklist_of_a_hundred_items_is_accepted(client: CardClient) -> None:
    items = [f"Step {number}" for number in range(100)]

    reply = client.attach("Long", items)

    assert 100 == reply.data["items_added"]
    assert client.checklists() == [("Long", items)]


@requirement("boards-21")
@pytest.mark.parametrize("items", [["x"] * 101, ["x", ""], ["x", "   "], ["x", None], "x", None, ["x" * 16_385]])
def test_invalid_items_are_rejected_without_a_vendor_request(client: CardClient, items: Any) -> None:
    client.gateway.clear("boards")

    reply = client.attach("QA", items)

    assert (422, "invalid_parameters") == (reply.status, reply.code)
    assert reply.details[0]["parameter"].startswith("items")
    assert [] == client.list_requests()


@requirement("boards-22")
def test_checklist_without_items_is_accepted(client: CardClient) -> None:
    first = client.attach("QA", [])
    again = client.attach("QA", [])

    assert (0, False) == (first.data["items_added"], first.data["skipped"])
    assert again.data == first.data | {"skipped": True}
    assert [("QA", [])] == client.checklists()


@requirement("boards-25")
def test_intentionally_empty_checklist_is_not_filled_by_another_call(client: CardClient) -> None:
    client.attach("QA", [])

    again = client.attach("QA", STEPS)

    assert again.data["skipped"] is True
    assert [("QA", [])] == client.checklists()


@requirement("boards-23")
def test_existing_checklist_is_skipped_by_default(client: CardClient) -> None:
    first = client.attach("QA", STEPS)

    again = client.attach("QA", ["Something else"])

    assert again.data == first.data | {"items_added": 0, "skipped": True}
    assert [("QA", STEPS)] == client.checklists()


@requirement("boards-25")
def test_shorter_existing_checklist_is_not_extended(client: CardClient) -> None:
    client.attach("QA", STEPS)

    again = client.attach("QA", [*STEPS, "One more"])

    assert again.data["skipped"] is True
    assert [("QA", STEPS)] == client.checklists()


@requirement("boards-23")
def test_second_checklist_of_a_name_is_created_on_request(client: CardClient) -> None:
    first = client.attach("QA", STEPS)

    again = client.attach("QA", STEPS, skip_if_present=False)

    assert again.data["checklist_id"] != first.data["checklist_id"]
    assert [("QA", STEPS), ("QA", STEPS)] == client.checklists()


@requirement("boards-25")
@pytest.mark.parametrize("items", [[], STEPS[:1], STEPS])
def test_unfinished_checklist_of_another_member_is_not_changed(client: CardClient, items: list[str]) -> None:
    checklist_id = client.add_stored_checklist("QA", items, client.author(person=True))

    reply = client.attach("QA", STEPS)

    assert (reply.data["checklist_id"], reply.data["skipped"]) == (checklist_id, True)
    assert client.checklists() == [("QA", items)]


def test_concurrent_calls_attach_one_checklist(client: CardClient) -> None:
    replies = client.gateway.together(*[lambda: client.attach("QA", STEPS)] * 5)

    assert [0, 0, 0, 0, 5] == sorted(reply.data["items_added"] for reply in replies)
    assert [("QA", STEPS)] == client.checklists()


# Budgets


@requirement("boards-32")
def test_budgets_match_the_vendor_documentation() -> None:
    assert BOARDS.budgets == {
        "token": Budget(100, per_seconds=10),
        "key": Budget(300, per_seconds=10),
        "members": Budget(100, per_seconds=900),
    }
    assert "token" == next(iter(BOARDS.budgets))
