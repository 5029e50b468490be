"""The vendor's own SDK, pointed at the emulator."""

from collections.abc import Iterator
from typing import Any

import pytest
from notion_client import APIErrorCode, APIResponseError, Client
from notion_client.errors import UnknownHTTPResponseError
from notion_client.helpers import (
    collect_paginated_api,
    is_full_block,
    is_full_data_source,
    is_full_database,
    is_full_page,
    is_full_user,
)

from harness.consent_pages import Browser
from harness.sandbox_server import run_emulators
from workspace_sandbox.kit.rate_limits import TokenBucket
from workspace_sandbox.notes import CLIENT_ID, CLIENT_SECRET, NotesEmulator

VERSION = "2026-03-11"
DATA_SOURCES = {"property": "object", "value": "data_source"}


@pytest.fixture(scope="module")
def emulator() -> Iterator[NotesEmulator]:
    with run_emulators(notes=NotesEmulator) as sandbox:
        started = sandbox.emulators["notes"]
        assert isinstance(started, NotesEmulator)
        started.context.knobs["limits"] = False
        yield started


def client(emulator: NotesEmulator, **options: Any) -> Any:
    """The SDK's client. Its results are typed as possibly awaitable, so they are untyped here."""
    usual: dict[str, Any] = {"auth": emulator.credentials()["token"], "notion_version": VERSION, "retry": False}
    return Client(base_url=emulator.context.addresses["base"], **(usual | options))


@pytest.fixture(scope="module")
def notion(emulator: NotesEmulator) -> Iterator[Any]:
    with client(emulator) as sdk:
        yield sdk


@pytest.fixture(scope="module")
def examples(emulator: NotesEmulator) -> dict[str, Any]:
    return emulator.examples()


def created(notion: Any, examples: dict[str, Any], name: str, **properties: Any) -> Any:
    return notion.pages.create(
        parent={"type": "data_source_id", "data_source_id": examples["data_source_id"]},
        properties={"Name": {"title": [{"text": {"content": name}}]}} | properties,
    )


def test_search_results_are_paged(notion: Any, examples: dict[str, Any]) -> None:
    results = collect_paginated_api(notion.search, filter=DATA_SOURCES)

    assert 156 == len(results)
    assert all(is_full_data_source(raw) for raw in results)
    assert examples["data_source_id"] in {raw["id"] for raw in results}


def test_databases_and_data_sources_are_retrieved(notion: Any, examples: dict[str, Any]) -> None:
    database = notion.databases.retrieve(database_id=examples["database_id"])
    source = notion.data_sources.retrieve(data_source_id=database["data_sources"][0]["id"])

    assert is_full_database(database)
    assert examples["data_source_id"] == source["id"]
    assert examples["database_id"] == source["parent"]["database_id"]


def test_rows_are_queried_with_filter_and_selection(notion: Any, examples: dict[str, Any]) -> None:
    source = notion.data_sources.retrieve(data_source_id=examples["data_source_id"])

    rows = notion.data_sources.query(
        data_source_id=examples["data_source_id"],
        filter={"property": "Name", "title": {"contains": "acme"}},
        filter_properties=["title", source["properties"]["Stage"]["id"]],
    )

    assert examples["page_id"] in {page["id"] for page in rows["results"]}
    assert {"Name", "Stage"} == rows["results"][0]["properties"].keys()
    assert all(is_full_page(page) for page in rows["results"])


def test_rows_are_paged(notion: Any, examples: dict[str, Any]) -> None:
    rows = collect_paginated_api(notion.data_sources.query, data_source_id=examples["data_source_id"], page_size=10)

    assert len(rows) == len({page["id"] for page in rows}) >= 52


def test_a_page_is_created_read_updated_and_trashed(notion: Any, examples: dict[str, Any]) -> None:
    page = created(notion, examples, "From the SDK", Value={"number": 12.5})
    updated = notion.pages.update(page_id=page["id"], properties={"Hot": {"checkbox": True}})
    trashed = notion.pages.update(page_id=page["id"], in_trash=True)
    restored = notion.pages.update(page_id=page["id"], in_trash=False)
    read = notion.pages.retrieve(page_id=page["id"])

    assert is_full_page(page)
    assert True is updated["properties"]["Hot"]["checkbox"]
    assert (True, False) == (trashed["in_trash"], restored["in_trash"])
    assert 12.5 == read["properties"]["Value"]["number"]


def test_a_property_is_retrieved_by_itself(notion: Any, examples: dict[str, Any]) -> None:
    page = notion.pages.retrieve(page_id=examples["page_id"])

    items = notion.pages.properties.retrieve(page_id=page["id"], property_id="title")
    stage = notion.pages.properties.retrieve(page_id=page["id"], property_id=page["properties"]["Stage"]["id"])

    assert examples["title"] == items["results"][0]["title"]["plain_text"]
    assert page["properties"]["Stage"]["select"] == stage["select"]


def test_blocks_are_appended_listed_and_deleted(notion: Any, examples: dict[str, Any]) -> None:
    page = created(notion, examples, "With a body")
    block = {"paragraph": {"rich_text": [{"text": {"content": "Hello"}}]}}

    appended = notion.blocks.children.append(block_id=page["id"], children=[block] * 3, position={"type": "end"})
    listed = collect_paginated_api(notion.blocks.children.list, block_id=page["id"], page_size=2)
    deleted = notion.blocks.delete(block_id=listed[0]["id"])

    assert [raw["id"] for raw in appended["results"]] == [raw["id"] for raw in listed]
    assert is_full_block(listed[0])
    assert True is deleted["in_trash"] is notion.blocks.retrieve(block_id=listed[0]["id"])["in_trash"]


def test_users_are_listed(notion: Any) -> None:
    me = notion.users.me()
    people = collect_paginated_api(notion.users.list, page_size=20)

    assert me["id"] in {user["id"] for user in people}
    assert all(is_full_user(user) for user in people)
    assert me["name"] == notion.users.retrieve(user_id=me["id"])["name"]


def test_the_default_api_version_of_the_sdk_works(emulator: NotesEmulator, examples: dict[str, Any]) -> None:
    with client(emulator, notion_version="2025-09-03") as older:
        page = older.pages.retrieve(page_id=examples["page_id"])
        trashed = older.pages.update(page_id=created(older, examples, "Old")["id"], archived=True)

    assert False is page["archived"]
    assert trashed["in_trash"] is trashed["archived"] is True


def test_a_token_is_exchanged_refreshed_and_revoked(emulator: NotesEmulator, notion: Any) -> None:
    query = f"client_id={CLIENT_ID}&response_type=code&owner=user&redirect_uri=https://client.example/callback"
    with Browser() as browser:
        code = browser.allow(f"{emulator.context.addresses['base']}/v1/oauth/authorize?{query}")["code"]
    app = {"client_id": CLIENT_ID, "client_secret": CLIENT_SECRET}

    first = notion.oauth.token(
        **app, grant_type="authorization_code", code=code, redirect_uri="https://client.example/callback"
    )
    second = notion.oauth.token(**app, grant_type="refresh_token", refresh_token=first["refresh_token"])
    active = notion.oauth.introspect(**app, token=second["access_token"])["active"]
    notion.oauth.revoke(**app, token=second["access_token"])
    inactive = notion.oauth.introspect(**app, token=second["access_token"])["active"]

    assert first["access_token"] != second["access_token"]
    assert (True, False) == (active, inactive)
    with pytest.raises(UnknownHTTPResponseError) as reused:
        notion.oauth.token(**app, grant_type="refresh_token", refresh_token=first["refresh_token"])
    assert 400 == reused.value.status


def test_errors_raise_the_sdk_error_codes(emulator: NotesEmulator, notion: Any, examples: dict[str, Any]) -> None:
    with pytest.raises(APIResponseError) as unshared:
        notion.databases.retrieve(database_id=examples["unshared_database_id"])
    with pytest.raises(APIResponseError) as invalid:
        notion.pages.update(page_id=examples["page_id"], properties={"Nope": {"number": 1}})
    with pytest.raises(APIResponseError) as archived:
        notion.pages.update(page_id=examples["page_id"], archived=True)
    with pytest.raises(APIResponseError) as unknown:
        notion.request(path="nothing", method="GET")
    with client(emulator, auth="ntn_wrong") as unauthorised_client, pytest.raises(APIResponseError) as unauthorised:
        unauthorised_client.users.me()

    assert [
        APIErrorCode.ObjectNotFound,
        APIErrorCode.ValidationError,
        APIErrorCode.ValidationError,
        APIErrorCode.InvalidRequestURL,
        APIErrorCode.Unauthorized,
    ] == [caught.value.code for caught in (unshared, invalid, archived, unknown, unauthorised)]
    assert unshared.value.additional_data
    assert unshared.value.request_id


def test_throttling_raises_the_sdk_error_code(emulator: NotesEmulator) -> None:
    bucket = emulator.limits.buckets.setdefault(emulator.credentials()["token"], TokenBucket(1e-6, 1))
    bucket.spend(emulator.context.clock.now())
    emulator.context.knobs["limits"] = True
    with client(emulator) as impatient, pytest.raises(APIResponseError) as limited:
        impatient.users.me()
    emulator.context.knobs["limits"] = False

    assert (429, APIErrorCode.RateLimited) == (limited.value.status, limited.value.code)
    assert limited.value.headers["retry-after"].isdigit()


def test_a_503_response_names_the_saved_page(emulator: NotesEmulator, notion: Any, examples: dict[str, Any]) -> None:
    emulator.context.knobs["next_create"] = "503_committed"

    with pytest.raises(APIResponseError) as caught:
        created(notion, examples, "Saved all the same")
    additional: Any = caught.value.additional_data
    page = notion.pages.retrieve(page_id=additional["committed_resource_id"])

    assert APIErrorCode.ServiceUnavailable == caught.value.code
    assert "Saved all the same" == page["properties"]["Name"]["title"][0]["plain_text"]
