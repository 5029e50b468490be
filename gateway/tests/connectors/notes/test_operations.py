"""The notes operations, from the caller's side, against the emulator on real HTTP."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from connector_gateway.connectors.notes import NOTES
from gateway.tests.connectors.notes.page_calls import get_workspace
from harness.gateway_server import Gateway, run_gateway
from harness.requirement import requirement
from harness.sandbox_server import run_emulators
from workspace_sandbox.notes import NotesEmulator


def search(gateway: Gateway, database_id: str, name: str, value: str) -> Any:
    return gateway.post("/notes/pages/search", database_id=database_id, property=name, value=value).data


# Databases


@requirement("common-5", "notes-1", "notes-3", "notes-6")
def test_all_shared_databases_are_listed_once_newest_first(gateway: Gateway) -> None:
    listed = gateway.items("/notes/databases", limit=100)

    assert len(listed) >= 150
    assert len({item["database_id"] for item in listed}) == len(listed)
    assert sorted(listed, key=lambda item: item["last_edited_at"], reverse=True) == listed


def test_database_edited_during_paging_is_listed_once(gateway: Gateway, leads: str) -> None:
    first = gateway.get("/notes/databases", limit=100)
    gateway.act("notes", action="rename_property", database_id=leads, property="Due", name="Deadline")
    gateway.act("notes", action="rename_property", database_id=leads, property="Deadline", name="Due")
    rest = gateway.get("/notes/databases", limit=100, cursor=first.body["next_cursor"]).data
    ids = [item["database_id"] for item in first.data + rest]

    assert len(set(ids)) == len(ids)
    assert leads in ids


@requirement("common-3", "common-16", "notes-2")
def test_database_is_listed_with_its_properties(gateway: Gateway, leads: str) -> None:
    (listed,) = [item for item in gateway.items("/notes/databases", query="leads") if item["database_id"] == leads]

    assert {"database_id", "title", "properties", "last_edited_at"} == listed.keys()
    assert {"Name", "Stage", "Status", "Value", "Due", "Tags", "Email", "Hot", "Owner", "Score"} == set(
        listed["properties"]
    )
    assert UTC == datetime.fromisoformat(listed["last_edited_at"]).tzinfo


@requirement("notes-98")
@pytest.mark.parametrize(
    ("value", "warning"),
    [("Opne", "'Opne' is not an option of 'Stage'; did you mean 'Open'?"), ("Open", None)],
)
def test_search_for_an_unknown_option_returns_a_warning(
    gateway: Gateway, leads: str, value: str, warning: str | None
) -> None:
    reply = gateway.post("/notes/pages/search", database_id=leads, property="Stage", value=value)

    assert (200, warning) == (reply.status, warning and reply.headers["warning"].removeprefix("199 - ").strip('"'))


# Creating


@requirement("notes-9", "notes-13")
def test_page_is_created_with_cast_values(gateway: Gateway, leads: str) -> None:
    created = gateway.post(
        "/notes/pages",
        database_id=leads,
        properties={"Name": "Acme", "Stage": "Open", "Value": "12.5", "Hot": "true", "Score": 3},
        children=["Hello", {"type": "callout", "text": "note"}],
    )

    assert 4 == created.data["properties_written"]
    assert ["Score"] == created.data["properties_skipped"]


@requirement("notes-99")
def test_update_warns_about_skipped_computed_properties(gateway: Gateway, leads: str) -> None:
    created = gateway.post("/notes/pages", database_id=leads, properties={"Name": "computed", "Score": 1})
    updated = gateway.patch(f"/notes/pages/{created.data['page_id']}", properties={"Value": 2, "Score": 3})

    assert ["Value"] == updated.data["updated"]
    assert ['199 - "Not written, because the vendor computes them: Score."'] * 2 == [
        reply.headers["warning"] for reply in (created, updated)
    ]


@requirement("common-4", "notes-7", "notes-8", "notes-41")
def test_created_page_is_returned_with_url_and_time(gateway: Gateway, leads: str) -> None:
    created = gateway.post("/notes/pages", database_id=leads, properties={"Name": "created"}).data
    age, workspace = datetime.now(UTC) - datetime.fromisoformat(created["created_at"]), get_workspace(gateway)
    (source_id,) = workspace.databases[leads].source_ids

    assert {"page_id", "url", "created_at", "properties_written", "properties_skipped"} == created.keys()
    assert created["page_id"] in workspace.sources[source_id].rows
    assert created["url"].startswith("https://")
    assert timedelta(minutes=-1) < age < timedelta(minutes=3)


@requirement("notes-9")
def test_written_values_are_found_by_searches(gateway: Gateway, leads: str) -> None:
    properties = {
        "Name": "arrived",
        "Value": "1234.5",
        "Stage": "Won",
        "Status": "Waiting",
        "Tags": ["Öko", "eu"],
        "Due": "2026-11-02",
        "Email": "ann@acme.test",
        "Hot": True,
    }
    gateway.post("/notes/pages", database_id=leads, properties=properties)
    texts = {**properties, "Tags": "Öko", "Hot": "true"}
    titles_found = [
        {page["title"] for page in search(gateway, leads, name, str(value))["pages"]} for name, value in texts.items()
    ]

    assert all("arrived" in titles for titles in titles_found)


def test_page_is_created_without_values(gateway: Gateway, leads: str) -> None:
    created = gateway.post("/notes/pages", database_id=leads, properties={}).data

    assert (0, []) == (created["properties_written"], created["properties_skipped"])


def test_creation_with_cached_schema_takes_one_request(gateway: Gateway, leads: str) -> None:
    gateway.post("/notes/pages", database_id=leads, properties={"Name": "warm up"})
    gateway.clear("notes")
    gateway.post("/notes/pages", database_id=leads, properties={"Name": "warm"})

    assert [("POST", "/v1/pages", 200)] == gateway.journal("notes")


# Updating


@requirement("notes-25", "notes-26")
def test_update_changes_only_the_properties_sent(gateway: Gateway, leads: str) -> None:
    properties = {"Name": "changing", "Value": 1, "Stage": "Open"}
    page_id = gateway.post("/notes/pages", database_id=leads, properties=properties).data["page_id"]
    updated = gateway.patch(f"/notes/pages/{page_id}", properties={"Value": 4242, "Score": 1}).data

    assert {"page_id", "updated", "archived", "last_edited_at"} == updated.keys()
    assert (["Value"], False) == (updated["updated"], updated["archived"])
    assert [page_id] == [page["page_id"] for page in search(gateway, leads, "Value", "4242")["pages"]]
    assert page_id in {page["page_id"] for page in search(gateway, leads, "Stage", "Open")["pages"]}


# Pace


@requirement("common-76", "notes-55")
def test_pacing_prevents_throttling_by_the_vendor(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("paced")
    with (
        run_emulators(notes=NotesEmulator) as sandbox,
        run_gateway(sandbox, folder, connectors={"notes": NOTES}, GATEWAY_NOTES_BUDGET="3/1") as gateway,
    ):
        database_id = gateway.examples("notes")["database_id"]
        calls = [lambda: gateway.post("/notes/pages", database_id=database_id, properties={"Name": "paced"})] * 10
        replies = gateway.together(*calls)
        statuses = {status for _, _, status in gateway.journal("notes")}

    assert {200} == {reply.status for reply in replies}
    assert {200} == statuses
