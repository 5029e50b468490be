"""The boards emulator with the public Python SDK."""

from collections.abc import Iterator
from typing import Any

import pytest
import requests
from trello import TrelloClient
from trello.card import Card
from trello.exceptions import ResourceUnavailable, Unauthorized
from trello.trellolist import List

from harness.sandbox_server import run_emulators
from workspace_sandbox.boards import BoardsEmulator

pytestmark = pytest.mark.filterwarnings(
    "ignore:datetime.datetime.utc:DeprecationWarning"  # python-dateutil, below the SDK
)


class Local(requests.Session):
    """Sends requests for the vendor's hosts to the emulator."""

    def __init__(self, address: str) -> None:
        super().__init__()
        self.address = address

    def request(self, method: Any, url: Any, *arguments: Any, **named: Any) -> requests.Response:
        for host in ("https://api.trello.com", "https://trello.com"):
            url = url.replace(host, self.address)
        return super().request(method, url, *arguments, **named)


@pytest.fixture(scope="module")
def shared_emulator() -> Iterator[BoardsEmulator]:
    with run_emulators(boards=BoardsEmulator) as sandbox:
        emulator = sandbox.emulators["boards"]
        assert isinstance(emulator, BoardsEmulator)
        yield emulator


@pytest.fixture
def emulator(shared_emulator: BoardsEmulator) -> BoardsEmulator:
    shared_emulator.context.reset()
    shared_emulator.reset()
    return shared_emulator


@pytest.fixture
def session(emulator: BoardsEmulator) -> Iterator[Local]:
    with Local(emulator.context.addresses["base"]) as session:
        yield session


@pytest.fixture
def client(emulator: BoardsEmulator, session: Local) -> TrelloClient:
    credentials = emulator.credentials()
    return TrelloClient(api_key=credentials["key"], api_secret=credentials["token"], http_service=session)


@pytest.fixture
def todo(emulator: BoardsEmulator, client: TrelloClient) -> List:
    return client.get_list(emulator.examples()["list_ids"][0])


def test_boards_are_listed_without_the_hidden_one(emulator: BoardsEmulator, client: TrelloClient) -> None:
    names = [board.name for board in client.list_boards()]

    assert ["Product launch 🚀", "Operations", "Launch of last year"] == names


def test_a_board_is_found_by_its_id(emulator: BoardsEmulator, client: TrelloClient) -> None:
    board = client.get_board(emulator.examples()["board_id"])

    assert ("Product launch 🚀", False) == (board.name, board.closed)


def test_lists_and_cards_of_a_board_are_filtered(emulator: BoardsEmulator, client: TrelloClient) -> None:
    board = client.get_board(emulator.examples()["board_id"])

    assert (7, 2, 9) == (len(board.open_lists()), len(board.closed_lists()), len(board.all_lists()))
    assert len(board.visible_cards()) < len(board.open_cards()) < len(board.all_cards())


def test_fifty_labels_are_returned_unless_more_are_requested(emulator: BoardsEmulator, client: TrelloClient) -> None:
    board = client.get_board(emulator.examples()["board_id"])

    assert (50, 65) == (len(board.get_labels()), len(board.get_labels(limit=1000)))


def test_a_card_is_created_with_labels_and_a_due_date(todo: List) -> None:
    labels = todo.board.get_labels()[:2]

    card = todo.add_card("Fix door", "**now**", labels=labels, due="2026-12-01T10:00:00+01:00", position="top")

    assert ("Fix door", "**now**", "2026-12-01T09:00:00.000Z") == (card.name, card.desc, card.due)
    assert [label.id for label in labels] == card.idLabels
    assert card.id == todo.list_cards()[0].id


def test_cards_of_a_list_are_paged(todo: List) -> None:
    everything = {card.id for card in todo.list_cards()}

    assert everything == {card.id for card in todo.list_cards_iter(batch=50)}


def test_a_card_move_is_listed_as_an_action(emulator: BoardsEmulator, client: TrelloClient, todo: List) -> None:
    card = todo.add_card("Wander")
    target = emulator.examples()["list_ids"][1]

    card.change_list(target)
    card.change_pos("top")

    moved = client.get_card(card.id)
    assert target == moved.idList
    assert [("To do", "In progress")] == [
        (move["source"]["name"], move["destination"]["name"]) for move in moved.list_movements()
    ]
    assert card.id == client.get_list(target).list_cards()[0].id


def test_values_of_a_card_are_set_one_by_one(client: TrelloClient, todo: List) -> None:
    card = todo.add_card("Old")

    card.set_name("New")
    card.set_description("text")
    card.set_due_complete()
    card.set_closed(True)

    changed = client.get_card(card.id)
    assert ("New", "text", True, True) == (changed.name, changed.desc, changed.is_due_complete, changed.closed)


def test_a_comment_is_posted_read_edited_and_deleted(todo: List) -> None:
    card = todo.add_card("Talk")

    posted = card.comment("Done <b>?</b>")
    card.update_comment(posted["id"], "Done.")
    read = card.fetch_comments(force=True, limit=10)
    card.delete_comment(posted)

    assert [("Done.", posted["id"])] == [(one["data"]["text"], one["id"]) for one in read]
    assert [] == card.fetch_comments(force=True)


def test_a_checklist_is_added_ticked_renamed_and_removed(client: TrelloClient, todo: List) -> None:
    card = todo.add_card("Check")

    checklist = card.add_checklist("QA", ["one", "two"], [True, False])
    checklist.set_checklist_item("two", True)
    checklist.rename("Quality")
    (read,) = client.get_card(card.id).checklists
    read.delete_checklist_item("one")

    assert ("Quality", ["two"]) == (read.name, [item["name"] for item in read.items])
    assert 1 == client.get_card(card.id).badges["checkItemsChecked"]
    read.delete()
    assert [] == client.get_card(card.id).checklists


def test_lists_and_labels_are_created_and_removed(emulator: BoardsEmulator, client: TrelloClient) -> None:
    board = client.get_board(emulator.examples()["other_board_id"])

    created = board.add_list("Later", pos="bottom")
    label = board.add_label("paused", "sky_dark")
    created.close()

    assert "Later" in [one.name for one in board.closed_lists()]
    assert "paused" in [one.name for one in board.get_labels()]
    assert "paused" == client.get_label(label.id, board.id).name


def test_a_board_is_created_and_closed(client: TrelloClient) -> None:
    board = client.add_board("Fresh")

    board.close()

    assert ["To Do", "Doing", "Done"] == [one.name for one in board.all_lists()]
    assert client.get_board(board.id).closed


def test_the_member_of_the_token_is_returned_as_me(emulator: BoardsEmulator, client: TrelloClient) -> None:
    me = client.get_member("me")

    assert "gatewaybot" == me.username
    assert 3 == len(me.get_boards("all"))


def test_a_signed_request_is_accepted(emulator: BoardsEmulator, session: Local) -> None:
    credentials = emulator.credentials()
    client = TrelloClient(
        credentials["key"], "secret", token=credentials["token"], token_secret="other", http_service=session
    )

    assert 3 == len(client.list_boards())


def test_a_dead_token_is_unauthorized(emulator: BoardsEmulator, client: TrelloClient) -> None:
    emulator.revoke()

    with pytest.raises(Unauthorized, match="invalid token"):
        client.list_boards()


def test_a_hidden_board_is_unauthorized(emulator: BoardsEmulator, client: TrelloClient) -> None:
    with pytest.raises(Unauthorized, match="unauthorized permission requested"):
        client.get_board(emulator.examples()["hidden_board_id"])


def test_an_unknown_card_is_unavailable(client: TrelloClient) -> None:
    with pytest.raises(ResourceUnavailable, match="The requested resource was not found"):
        client.get_card("5f0000000000000000000000")


def test_a_move_to_another_board_must_name_the_board(emulator: BoardsEmulator, todo: List) -> None:
    card: Card = todo.add_card("Stay")

    with pytest.raises(ResourceUnavailable, match="does not exist on board"):
        card.change_list(emulator.examples()["other_board_list_id"])


def test_search_finds_boards_and_cards_by_words(client: TrelloClient, todo: List) -> None:
    todo.add_card("Zeppelin repair")

    assert ["Zeppelin repair"] == [match.name for match in client.search("zeppelin")]
