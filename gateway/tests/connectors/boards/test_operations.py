"""The boards operations, from the caller's side, against the emulator on real HTTP."""

from collections import deque
from datetime import datetime
from typing import Any

import pytest

from connector_gateway.connectors.boards import BOARDS
from connector_gateway.kit.upstream.budget import Budget
from gateway.tests.connectors.boards.desk import STEPS, UNKNOWN, Desk
from harness.requirement import requirement


def is_timestamp(text: str) -> bool:
    return text.endswith("Z") and datetime.fromisoformat(text).year >= 2026


# Cards


@requirement("boards-1", "boards-2", "boards-3", "boards-4")
def test_a_card_is_created_with_labels_by_name_and_its_due_date_in_utc(desk: Desk) -> None:
    list_id = desk.examples["list_ids"][1]

    reply = desk.create(
        "Prüfen: die Tür", list_id=list_id, desc="**now**", due="2026-12-01T10:00:00+02:00", labels=["urgent", "日本語"]
    )

    card = desk.emulator.store.cards[reply.data["card_id"]]
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


def test_a_card_without_anything_else_takes_two_requests_and_stands_at_the_bottom(desk: Desk) -> None:
    desk.gateway.clear("boards")

    reply = desk.create("Plain")

    assert (None, []) == (reply.data["due"], reply.data["labels_applied"])
    assert (False, True) == desk.at(reply.data["card_id"]).place()
    assert desk.sent() == [("GET", f"/1/lists/{reply.data['list_id']}"), ("POST", "/1/cards")]


@requirement("boards-5", "boards-6")
def test_every_missing_label_is_named_and_nothing_is_created(desk: Desk) -> None:
    reply = desk.create("Labelled", labels=["urgent", "nope", "Urgent", "press", "nope"])

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
    assert 0 == desk.cards_called("Labelled")


def test_of_many_missing_labels_the_message_names_the_first_ones(desk: Desk) -> None:
    reply = desk.create("Labelled", labels=[f"{number} {'x' * 100}" for number in range(8)])

    first = ", ".join(f"“{number} {'x' * 37}…”" for number in range(5))
    assert reply.body["error"]["message"] == f"The board has no label {first} and 3 more."
    assert 8 == len(reply.details)


# Lists that are none


@requirement("boards-28")
@pytest.mark.parametrize("list_id", [UNKNOWN, "To do", "../boards", "Ab12Cd34"])
def test_an_unknown_list_is_not_found(desk: Desk, list_id: str) -> None:
    created, moved = desk.create("Nowhere", list_id=list_id), desk.move(list_id)

    assert (created.status, created.code) == (moved.status, moved.code) == (404, "list_not_found")
    assert created.facts == moved.facts == [{"parameter": "list_id", "value": list_id}]
    assert 0 == desk.cards_called("Nowhere")


@requirement("boards-29")
def test_an_archived_list_is_not_found(desk: Desk) -> None:
    list_id = desk.examples["archived_list_id"]

    created, moved = desk.create("Archived", list_id=list_id), desk.move(list_id)

    assert created.code == moved.code == "list_not_found"
    assert 0 == desk.cards_called("Archived")


@requirement("boards-7", "boards-29")
def test_a_list_of_another_board_is_not_found_and_the_card_stays(desk: Desk) -> None:
    reply = desk.move(desk.examples["other_board_list_id"])

    assert (404, "list_not_found") == (reply.status, reply.code)
    assert reply.facts == [{"parameter": "list_id", "value": desk.examples["other_board_list_id"]}]
    assert desk.list_id() == desk.examples["list_ids"][0]


@requirement("boards-27")
def test_a_list_of_a_hidden_board_is_not_authorised(desk: Desk) -> None:
    reply = desk.create("Hidden", list_id=desk.examples["hidden_list_id"])

    assert (403, "board_not_authorised") == (reply.status, reply.code)
    assert reply.facts == [{"parameter": "list_id", "value": desk.examples["hidden_list_id"]}]


def test_a_list_that_the_application_hides_as_missing_is_not_found(desk: Desk) -> None:
    desk.gateway.knob("boards", hidden_is_missing=True)

    assert "list_not_found" == desk.create("Hidden", list_id=desk.examples["hidden_list_id"]).code


# Moving


@requirement("boards-7", "boards-8", "boards-9")
@pytest.mark.parametrize(("position", "place"), [("top", (True, False)), ("bottom", (False, True))])
def test_a_card_is_moved_to_an_end_of_the_list(desk: Desk, position: str, place: tuple[bool, bool]) -> None:
    reply = desk.move(desk.examples["list_ids"][1], position=position)

    assert is_timestamp(reply.data.pop("moved_at"))
    assert reply.data == {
        "card_id": desk.card_id,
        "list_from": "To do",
        "list_to": "In progress",
        "comment_posted": False,
    }
    assert desk.list_id() == desk.examples["list_ids"][1]
    assert desk.place() == place


@requirement("boards-9")
def test_a_card_goes_to_the_bottom_when_nothing_is_said(desk: Desk) -> None:
    desk.move(desk.examples["list_ids"][1])

    assert (False, True) == desk.place()


@requirement("boards-10")
def test_a_move_can_carry_a_comment(desk: Desk) -> None:
    reply = desk.move(desk.examples["list_ids"][1], comment="On its way")

    assert reply.data["comment_posted"] is True
    assert ["On its way"] == desk.comments()


def test_a_move_within_its_list_changes_the_place_only(desk: Desk) -> None:
    reply = desk.move(desk.examples["list_ids"][0], position="top")

    assert reply.data["list_from"] == reply.data["list_to"] == "To do"
    assert (True, False) == desk.place()


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
def test_a_card_is_moved_when_the_application_says_so_and_else_when_it_was_last_active(
    desk: Desk, number: int, date: str, moved_at: str
) -> None:
    body = {"id": desk.card_id, "dateLastActivity": "2026-01-05T08:00:00.125Z"}
    path, told = f"/1/cards/{desk.card_id}", {"Date": date}
    desk.gateway.fault("boards", method="PUT", path=path, fault="status", status=200, body=body, headers=told)

    reply = desk.move(desk.examples["list_ids"][number])

    assert datetime.fromisoformat(moved_at) == datetime.fromisoformat(reply.data["moved_at"])


# Comments


@requirement("boards-13", "boards-14")
def test_a_comment_is_posted_as_it_is(desk: Desk) -> None:
    reply = desk.comment("Done <b>?</b>\n- *yes*")

    assert is_timestamp(reply.data.pop("posted_at"))
    assert reply.data == {"card_id": desk.card_id, "comment_id": desk.last_action_id()}
    assert ["Done <b>?</b>\n- *yes*"] == desk.comments()


@requirement("boards-14")
def test_a_comment_may_have_16384_characters_of_four_bytes(desk: Desk) -> None:
    reply = desk.comment("🚪" * 16_384)

    assert 200 == reply.status
    assert desk.comments() == ["🚪" * 16_384]


@requirement("boards-14")
@pytest.mark.parametrize("text", ["x" * 16_385, "", "  \n ", None, 5, ["x"]])
def test_a_comment_that_does_not_fit_is_refused_here(desk: Desk, text: Any) -> None:
    desk.gateway.clear("boards")

    reply = desk.comment(text)

    assert (422, "invalid_parameters") == (reply.status, reply.code)
    assert ["text"] == [detail["parameter"] for detail in reply.details]
    assert [] == desk.sent()


def test_a_card_can_be_named_by_its_short_link(desk: Desk) -> None:
    card = desk.emulator.store.cards[desk.card_id]

    reply = desk.gateway.post(f"/boards/cards/{card.short_link}/comments", text="By its link")

    assert reply.data["card_id"] == desk.card_id
    assert ["By its link"] == desk.comments()


# Cards and boards that are none, or out of sight


@requirement("boards-30")
@pytest.mark.parametrize("card_id", [UNKNOWN, "Zz99Zz99"])
@pytest.mark.parametrize(
    ("what", "body"),
    [("comments", {"text": "x"}), ("checklists", {"name": "x", "items": ["y"]}), ("move", {"list_id": UNKNOWN})],
)
def test_an_unknown_card_is_not_found(desk: Desk, card_id: str, what: str, body: dict[str, Any]) -> None:
    reply = desk.gateway.post(f"/boards/cards/{card_id}/{what}", **body)

    assert (404, "card_not_found") == (reply.status, reply.code)
    assert reply.facts == [{"parameter": "card_id", "value": card_id}]


@requirement("boards-27")
@pytest.mark.parametrize(
    ("what", "body"),
    [("comments", {"text": "x"}), ("checklists", {"name": "x", "items": ["y"]}), ("move", {"list_id": UNKNOWN})],
)
def test_a_card_of_a_hidden_board_is_not_authorised(desk: Desk, what: str, body: dict[str, Any]) -> None:
    card_id = desk.examples["hidden_card_id"]

    reply = desk.gateway.post(f"/boards/cards/{card_id}/{what}", **body)

    assert (403, "board_not_authorised") == (reply.status, reply.code)
    assert "details" in reply.body["error"]


@requirement("boards-27")
@pytest.mark.parametrize("board_id", [UNKNOWN, "hidden"])
@pytest.mark.parametrize("missing", [True, False])
def test_a_board_unseen_or_unknown_is_not_authorised(desk: Desk, board_id: str, *, missing: bool) -> None:
    desk.gateway.knob("boards", hidden_is_missing=missing)
    board_id = {"hidden": desk.examples["hidden_board_id"]}.get(board_id, board_id)

    reply = desk.gateway.get("/boards/lists", board_id=board_id)

    assert (403, "board_not_authorised") == (reply.status, reply.code)
    assert reply.facts == [{"parameter": "board_id", "value": board_id}]


# Boards


@requirement("boards-16", "boards-17")
def test_a_board_is_described_with_true_card_counts(desk: Desk) -> None:
    board = desk.emulator.store.boards[desk.examples["board_id"]]
    desk.gateway.clear("boards")

    reply = desk.gateway.get("/boards/lists", board_id=board.id)

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
    assert sorted(desk.sent()) == [
        ("GET", f"/1/boards/{board.id}"),
        ("GET", f"/1/boards/{board.id}/cards"),
        ("GET", f"/1/boards/{board.id}/cards"),
        ("GET", f"/1/boards/{board.id}/lists"),
    ]


@requirement("boards-18")
def test_labels_come_all_of_them_each_name_once(desk: Desk) -> None:
    board = desk.emulator.store.boards[desk.examples["board_id"]]

    reply = desk.gateway.get("/boards/lists", board_id=board.id)

    names = [label.name for label in board.labels.values() if label.name]
    assert reply.data["labels"] == list(dict.fromkeys(names))
    assert len(reply.data["labels"]) > 50


@requirement("boards-18", "common-22")
@pytest.mark.parametrize("value", ["false", "0"])
def test_labels_are_left_out_when_not_wanted(desk: Desk, value: str) -> None:
    reply = desk.gateway.get("/boards/lists", board_id=desk.examples["board_id"], include_labels=value)

    assert {"board_name", "lists"} == set(reply.data)


def test_a_board_of_more_than_a_thousand_cards_is_counted_to_the_last(desk: Desk) -> None:
    board_id, store, author = desk.examples["closed_board_id"], desk.emulator.store, desk.author()
    crowded = store.add_list(author, store.boards[board_id], "Crowded")
    deque((store.add_card(author, crowded, f"Card {number}") for number in range(2100)), maxlen=0)
    desk.gateway.clear("boards")

    reply = desk.gateway.get("/boards/lists", board_id=board_id)

    assert reply.data["lists"][-1] == {"list_id": crowded.id, "name": "Crowded", "card_count": 2100}
    assert 4 == desk.sent().count(("GET", f"/1/boards/{board_id}/cards"))


@requirement("common-5")
def test_cards_are_counted_until_an_empty_page_and_each_once(desk: Desk) -> None:
    board = desk.emulator.store.boards[desk.examples["other_board_id"]]
    inbox = next(iter(board.lists))
    pages = [["6f2", "6f1"], ["6f1", "6f0"], ["6e0"], []]
    bodies = [[{"id": name, "idList": inbox} for name in page] for page in pages]
    desk.answers(f"/1/boards/{board.id}/cards", bodies)

    reply = desk.gateway.get("/boards/lists", board_id=board.id)

    assert 4 == reply.data["lists"][0]["card_count"]


@requirement("common-6")
def test_cards_that_come_again_and_again_are_no_list(desk: Desk) -> None:
    board_id = desk.examples["other_board_id"]
    desk.answers(f"/1/boards/{board_id}/cards", [[{"id": "6f1", "idList": "6f0"}]] * 2)

    reply = desk.gateway.get("/boards/lists", board_id=board_id)

    assert (502, "upstream_error") == (reply.status, reply.code)


# Checklists


@requirement("boards-19", "boards-20")
def test_a_checklist_is_attached_with_its_items_in_order(desk: Desk) -> None:
    reply = desk.attach("QA", STEPS)

    assert reply.data == {
        "card_id": desk.card_id,
        "checklist_id": reply.data["checklist_id"],
        "name": "QA",
        "items_added": 5,
        "skipped": False,
    }
    assert [("QA", STEPS)] == desk.checklists()


@requirement("boards-21")
def test_a_checklist_may_have_a_hundred_items(desk: Desk) -> None:
    items = [f"Step {number}" for number in range(100)]

    reply = desk.attach("Long", items)

    assert 100 == reply.data["items_added"]
    assert desk.checklists() == [("Long", items)]


@requirement("boards-21")
@pytest.mark.parametrize("items", [["x"] * 101, ["x", ""], ["x", "   "], ["x", None], "x", None, ["x" * 16_385]])
def test_items_that_do_not_fit_are_refused_here(desk: Desk, items: Any) -> None:
    desk.gateway.clear("boards")

    reply = desk.attach("QA", items)

    assert (422, "invalid_parameters") == (reply.status, reply.code)
    assert reply.details[0]["parameter"].startswith("items")
    assert [] == desk.sent()


@requirement("boards-22")
def test_a_checklist_may_have_no_items(desk: Desk) -> None:
    first = desk.attach("QA", [])
    again = desk.attach("QA", [])

    assert (0, False) == (first.data["items_added"], first.data["skipped"])
    assert again.data == first.data | {"skipped": True}
    assert [("QA", [])] == desk.checklists()


@requirement("boards-25")
def test_a_checklist_that_was_to_be_empty_is_complete_and_not_filled_by_another_call(desk: Desk) -> None:
    desk.attach("QA", [])

    again = desk.attach("QA", STEPS)

    assert again.data["skipped"] is True
    assert [("QA", [])] == desk.checklists()


@requirement("boards-23")
def test_a_checklist_of_that_name_is_skipped_by_default(desk: Desk) -> None:
    first = desk.attach("QA", STEPS)

    again = desk.attach("QA", ["Something else"])

    assert again.data == first.data | {"items_added": 0, "skipped": True}
    assert [("QA", STEPS)] == desk.checklists()


@requirement("boards-25")
def test_a_longer_repeat_is_no_unfinished_checklist(desk: Desk) -> None:
    desk.attach("QA", STEPS)

    again = desk.attach("QA", [*STEPS, "One more"])

    assert again.data["skipped"] is True
    assert [("QA", STEPS)] == desk.checklists()


@requirement("boards-23")
def test_a_checklist_of_that_name_is_doubled_when_asked_for(desk: Desk) -> None:
    first = desk.attach("QA", STEPS)

    again = desk.attach("QA", STEPS, skip_if_present=False)

    assert again.data["checklist_id"] != first.data["checklist_id"]
    assert [("QA", STEPS), ("QA", STEPS)] == desk.checklists()


@requirement("boards-25")
@pytest.mark.parametrize("items", [[], STEPS[:1], STEPS])
def test_somebody_elses_checklist_is_left_alone_even_if_it_looks_unfinished(desk: Desk, items: list[str]) -> None:
    checklist_id = desk.holds_checklist("QA", items, desk.author(person=True))

    reply = desk.attach("QA", STEPS)

    assert (reply.data["checklist_id"], reply.data["skipped"]) == (checklist_id, True)
    assert desk.checklists() == [("QA", items)]


def test_two_at_once_attach_one_checklist(desk: Desk) -> None:
    replies = desk.gateway.together(*[lambda: desk.attach("QA", STEPS)] * 5)

    assert [0, 0, 0, 0, 5] == sorted(reply.data["items_added"] for reply in replies)
    assert [("QA", STEPS)] == desk.checklists()


# What every write promises


@requirement("boards-32")
def test_the_budgets_are_the_documented_ones() -> None:
    assert BOARDS.budgets == {
        "token": Budget(100, per_seconds=10),
        "key": Budget(300, per_seconds=10),
        "members": Budget(100, per_seconds=900),
    }
    assert "token" == next(iter(BOARDS.budgets))
