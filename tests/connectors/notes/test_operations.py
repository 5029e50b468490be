"""The notes operations, from the caller's side, against the emulator on real HTTP."""

from collections.abc import Iterator

import pytest

from connector_gateway.connectors.notes import NOTES
from connector_gateway.connectors.notes.emulator import NotesEmulator
from harness.playing import playing
from harness.serving import Gateway, serving


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    with (
        playing(notes=NotesEmulator) as sandbox,
        serving(sandbox, tmp_path_factory.mktemp("notes"), connectors={"notes": NOTES}) as gateway,
    ):
        yield gateway


@pytest.fixture
def gateway(room: Gateway) -> Gateway:
    room.clear("notes")
    return room


def test_every_shared_database_is_listed_once_newest_first(gateway: Gateway) -> None:
    pages, cursor = [], None
    while True:
        reply = gateway.get("/notes/databases", limit=100, **({"cursor": cursor} if cursor else {}))
        pages += reply.data
        cursor = reply.body["next_cursor"]
        if cursor is None:
            break

    assert len(pages) >= 150
    assert len({page["database_id"] for page in pages}) == len(pages)
    assert sorted(pages, key=lambda page: page["last_edited_at"], reverse=True) == pages


def test_a_page_is_created_with_its_values_cast(gateway: Gateway) -> None:
    database_id = gateway.examples("notes")["database_id"]

    created = gateway.post(
        "/notes/pages",
        database_id=database_id,
        properties={"Name": "Acme", "Stage": "Open", "Value": "12.5", "Hot": "true", "Score": 3},
        children=["Hello", {"type": "callout", "text": "note"}],
    )

    assert created.data["properties_written"] == 4
    assert created.data["properties_skipped"] == ["Score"]


def test_a_connection_cut_after_the_write_still_answers_with_the_one_page(gateway: Gateway) -> None:
    database_id = gateway.examples("notes")["database_id"]
    gateway.fault("notes", method="POST", path="/v1/pages", fault="drop_after")

    created = gateway.post(
        "/notes/pages", database_id=database_id, properties={"Name": "cut once"}, idempotency_key="cut-1"
    )
    again = gateway.post(
        "/notes/pages", database_id=database_id, properties={"Name": "cut once"}, idempotency_key="cut-1"
    )
    found = gateway.post("/notes/pages/search", database_id=database_id, property="Name", value="cut once")

    assert created.data == again.data
    assert again.headers["idempotent-replayed"] == "true"
    assert found.data["match_count"] == 1
