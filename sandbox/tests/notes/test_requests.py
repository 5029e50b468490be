"""Requests to the notes emulator: authentication, versions, bodies and users."""

import httpx
import pytest

from sandbox.tests.notes.notes_client import Notes


@pytest.mark.parametrize("headers", [{"Authorization": ""}, {"Authorization": "Bearer ntn_other"}])
def test_a_request_without_a_valid_token_is_unauthorised(notes: Notes, headers: dict[str, str]) -> None:
    error = notes.error("GET", "/v1/users/me", headers=headers)

    assert (401, "unauthorized", "API token is invalid.") == error


def test_a_request_without_a_version_is_rejected(notes: Notes) -> None:
    response = httpx.get(f"{notes.address}/v1/users/me", headers={"Authorization": notes.http.headers["Authorization"]})

    assert 400 == response.status_code
    assert "missing_version" == response.json()["code"]


def test_an_unknown_version_is_rejected(notes: Notes) -> None:
    status, code, message = notes.error("GET", "/v1/users/me", headers={"Notion-Version": "2027-01-01"})

    assert (400, "validation_error") == (status, code)
    assert '"2026-03-11"' in message


def test_every_response_has_its_own_request_id(notes: Notes) -> None:
    first = notes.http.get("/v1/users/me")
    error = notes.http.get("/v1/nothing")

    assert first.json()["request_id"] == first.headers["x-notion-request-id"]
    assert error.json()["request_id"] == error.headers["x-notion-request-id"]
    assert first.json()["request_id"] != error.json()["request_id"]
    assert "application/json; charset=utf-8" == first.headers["content-type"]


@pytest.mark.parametrize(("method", "path"), [("GET", "/v1/invalid"), ("GET", "/"), ("PUT", "/v1/pages")])
def test_an_unknown_url_is_rejected(notes: Notes, method: str, path: str) -> None:
    error = notes.error(method, path)

    assert (400, "invalid_request_url", "Invalid request URL.") == error


def test_an_identifier_may_be_written_without_dashes(notes: Notes) -> None:
    page_id = notes.examples["page_id"]

    page = notes.request("GET", f"/v1/pages/{page_id.replace('-', '').upper()}")

    assert page_id == page["id"]


def test_a_malformed_identifier_is_rejected(notes: Notes) -> None:
    status, code, message = notes.error("GET", "/v1/pages/abc")

    assert (400, "validation_error") == (status, code)
    assert 'path failed validation: path.page_id should be a valid uuid, instead was `"abc"`.' == message


@pytest.mark.parametrize("sent", [b"{", b'{"page_size": NaN}', b"\xff", b"[" * 100_000])
def test_a_body_that_is_not_json_is_rejected(notes: Notes, sent: bytes) -> None:
    response = notes.http.post("/v1/search", content=sent)

    assert (400, "invalid_json") == (response.status_code, response.json()["code"])


def test_a_body_above_half_a_megabyte_is_rejected(notes: Notes) -> None:
    status, code, _ = notes.error("POST", "/v1/search", {"query": "x" * 500_000})

    assert (400, "validation_error") == (status, code)


def test_the_token_belongs_to_a_bot_of_a_workspace(notes: Notes) -> None:
    me = notes.request("GET", "/v1/users/me")

    assert "bot" == me["type"]
    assert {"type": "workspace", "workspace": True} == me["bot"]["owner"]
    assert {"workspace_id", "workspace_name"} < me["bot"].keys()


def test_users_are_listed_in_pages_and_read_one_by_one(notes: Notes) -> None:
    first = notes.request("GET", "/v1/users?page_size=30")
    second = notes.request("GET", f"/v1/users?page_size=30&start_cursor={first['next_cursor']}")
    one = notes.request("GET", f"/v1/users/{second['results'][0]['id']}")

    assert 35 == len(first["results"] + second["results"])
    assert (True, False, None) == (first["has_more"], second["has_more"], second["next_cursor"])
    assert "user" == first["type"]
    assert second["results"][0] == {key: one[key] for key in second["results"][0]}


def test_an_unknown_user_is_not_found(notes: Notes) -> None:
    status, code, _ = notes.error("GET", "/v1/users/00000000-0000-4000-8000-000000000000")

    assert (404, "object_not_found") == (status, code)
