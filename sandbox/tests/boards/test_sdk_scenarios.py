"""The boards emulator with the public Python SDK: fields, files, people, stars and searches."""

import io
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
import requests
from trello import TrelloClient
from trello.exceptions import ResourceUnavailable
from trello.trellolist import List

from harness.sandbox_server import run_emulators
from harness.webhook_receiver import run_receiver
from sandbox.tests.boards.test_sdk import Local
from workspace_sandbox.boards import BoardsEmulator
from workspace_sandbox.kit.state.pickling import dump_state, restore

pytestmark = pytest.mark.filterwarnings(
    "ignore:datetime.datetime.utc:DeprecationWarning"  # python-dateutil, below the SDK
)


@pytest.fixture(scope="module")
def emulator() -> Iterator[BoardsEmulator]:
    with run_emulators(boards=BoardsEmulator) as sandbox:
        emulator = sandbox.emulators["boards"]
        assert isinstance(emulator, BoardsEmulator)
        emulator.context.knobs["limits"] = False
        yield emulator


@pytest.fixture(scope="module")
def session(emulator: BoardsEmulator) -> Iterator[Local]:
    with Local(emulator.context.addresses["base"]) as session:
        yield session


@pytest.fixture(scope="module")
def client(emulator: BoardsEmulator, session: Local) -> TrelloClient:
    credentials = emulator.credentials()
    return TrelloClient(api_key=credentials["key"], api_secret=credentials["token"], http_service=session)


@pytest.fixture
def todo(emulator: BoardsEmulator, client: TrelloClient) -> List:
    return client.get_list(emulator.examples()["list_ids"][0])


def test_custom_fields_are_defined_and_filled(emulator: BoardsEmulator, client: TrelloClient, todo: List) -> None:
    board = client.get_board(emulator.examples()["board_id"])
    options = [
        {"value": {"text": text}, "color": "none", "pos": 16384 * position} for position, text in enumerate("SML", 1)
    ]
    size = board.add_custom_field_definition("Size", "list", options, display_on_card=True, pos="bottom")
    note, paid = (
        board.add_custom_field_definition(name, kind) for name, kind in (("Note", "text"), ("Paid", "checkbox"))
    )
    card = todo.add_card("Fill me")
    card.set_custom_field("M", size)
    card.set_custom_field("kept", note)
    client.fetch_json(
        f"/cards/{card.id}/customFields",
        http_method="PUT",
        post_args={"customFieldItems": [{"idCustomField": paid.id, "value": {"checked": "true"}}]},
    )
    restore(emulator, dump_state(emulator))
    filled = {one.definition_id: one.value for one in client.get_card(card.id).custom_fields}
    card.set_custom_field("", note)
    board.update_custom_field_definition(size.id, name="Sizes")
    board.delete_custom_field_list_option(size.id, next(iter(size.list_options)))
    board.delete_custom_field_definition(paid.id)
    left = {
        one.name: list(one.list_options.values()) for one in client.get_board(board.id).get_custom_field_definitions()
    }

    assert {size.id: "M", note.id: "kept", paid.id: True} == filled
    assert {"Sizes": ["M", "L"], "Note": []} == left
    assert [size.id] == [one.definition_id for one in client.get_card(card.id).custom_fields]
    with pytest.raises(ResourceUnavailable, match="Invalid custom field item value"):
        client.fetch_json(
            f"/cards/{card.id}/customField/{size.id}/item", http_method="PUT", post_args={"idValue": "none"}
        )


def test_links_and_files_are_attached_and_read_back(client: TrelloClient, todo: List, session: Local) -> None:
    card = todo.add_card("Carry")
    card.attach(name="Home", url="https://example.com/")
    card.attach(name="n.txt", mimeType="text/plain", file=io.BytesIO(b"1,2"), setCover=False)
    link, file = card.get_attachments()
    header = f'OAuth oauth_consumer_key="{client.api_key}", oauth_token="{client.api_secret}"'
    read = requests.get(file.url, headers={"Authorization": header})
    open_address = requests.get(file.url, params={"key": client.api_key, "token": client.api_secret})
    card.remove_attachment(link.id)

    assert [("https://example.com/", False, None), ("n.txt", True, 3)] == [
        (link.url, link.is_upload, link.bytes),
        (file.name, file.is_upload, file.bytes),
    ]
    assert (b"1,2", "text/plain", 401) == (read.content, read.headers["Content-Type"], open_address.status_code)
    assert 1 == client.get_card(card.id).badges["attachments"]


def test_people_join_and_leave_boards_and_organizations(emulator: BoardsEmulator, client: TrelloClient) -> None:
    (organization,) = client.list_organizations()
    board = client.add_board("Guests", default_lists=False)
    colleague = client.get_member(emulator.seed.colleague.id)
    with run_receiver() as inbox:
        client.fetch_json(
            "/webhooks", http_method="POST", post_args={"idModel": board.id, "callbackURL": inbox.address}
        )
        board.add_member(colleague, "observer")
        added = inbox.next()["action"]
        card = board.add_list("Here").add_card("Shared")
        card.assign(colleague.id)
        card.add_label(board.add_label("urgent", "red"))
        card.unassign(colleague.id)
        board.remove_member(colleague)
        card.delete()
        event_types = [inbox.next()["action"]["type"] for _ in range(8)]
    new_organization = client.add_organization("Harbour works")
    new_organization.add_member(colleague)

    expected = [
        *("createList", "createCard", "addMemberToCard", "createLabel", "addLabelToCard"),
        *("removeMemberFromCard", "removeMemberFromBoard", "deleteCard"),
    ]
    assert ("addMemberToBoard", "observer", colleague.id) == (
        added["type"],
        added["data"]["memberType"],
        added["data"]["idMemberAdded"],
    )
    assert sorted(expected) == sorted(event_types)
    assert ("northwindtools", ["gatewaybot"]) == (organization.name, [one.username for one in board.all_members()])
    assert ["gatewaybot", "ines.marchetti"] == [one.username for one in new_organization.get_members()]
    assert board.id in [one.id for one in organization.all_boards()]
    with pytest.raises(ResourceUnavailable, match="at least one admin"):
        board.remove_member(client.get_member("me"))


def test_boards_are_starred(emulator: BoardsEmulator, client: TrelloClient) -> None:
    star = client.add_star(emulator.examples()["board_id"])
    starred = [one.board_id for one in client.list_stars()]
    client.delete_star(star)

    assert ([emulator.examples()["board_id"]], []) == (starred, client.list_stars())


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("zebra", ["Zebra one", "Zebra two"]),
        ("zebra label:urgent", ["Zebra one"]),
        ("zebra -label:urgent", ["Zebra two"]),
        ("zebra @me", ["Zebra two"]),
        ('zebra list:"in progress"', []),
        ("zebra due:week", ["Zebra one"]),
        ("zebra has:description created:day", ["Zebra two"]),
        ("zebra is:archived", ["Zebra three"]),
        ("comment:stripes", ["Zebra two"]),
        ("zebra nothing:here", []),
    ],
)
def test_search_operators_filter_cards(zebras: TrelloClient, query: str, names: list[str]) -> None:
    matches: list[Any] = zebras.search(query, models=["cards"], cards_limit=50)

    assert names == sorted(card.name for card in matches)


@pytest.fixture(scope="module")
def zebras(emulator: BoardsEmulator, client: TrelloClient) -> TrelloClient:
    board = client.get_board(emulator.examples()["board_id"])
    todo = client.get_list(emulator.examples()["list_ids"][0])
    urgent = next(label for label in board.get_labels(limit=1000) if label.name == "urgent")
    one = todo.add_card("Zebra one", labels=[urgent])
    tomorrow = datetime.fromtimestamp(emulator.context.clock.now() + 86_400, UTC)
    emulator.perform({"action": "update_card", "card_id": one.id, "due": tomorrow.isoformat()})
    two = todo.add_card("Zebra two", "Has *stripes*.", assign=[client.get_member("me")])
    two.comment("More stripes")
    todo.add_card("Zebra three").set_closed(True)
    return client
