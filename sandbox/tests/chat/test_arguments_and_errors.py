"""The wire of the Slack emulator: arguments, envelopes and errors."""

from typing import Any

import pytest
import requests

from sandbox.tests.chat.slack_client import GENERAL, ChatClient


@pytest.mark.parametrize(
    "options",
    [
        {"data": {"channel": GENERAL}},
        {"json": {"channel": GENERAL}},
        {"files": {"channel": (None, GENERAL)}},
        {"params": {"channel": GENERAL}, "verb": "GET"},
    ],
    ids=["form", "json", "multipart", "query"],
)
def test_arguments_are_accepted_in_every_encoding(chat: ChatClient, options: dict[str, Any]) -> None:
    response = chat.send("conversations.info", **options)

    assert (200, "general") == (response.status_code, response.json()["channel"]["name"])


def test_token_is_accepted_in_a_form_but_not_in_json_or_query(chat: ChatClient) -> None:
    bare = {"headers": {"Authorization": ""}}

    form = chat.send("auth.test", data={"token": chat.token}, **bare).json()
    in_json = chat.send("auth.test", json={"token": chat.token}, **bare).json()
    query = chat.send("auth.test", params={"token": chat.token}, verb="GET", **bare).json()

    assert [True, "not_authed", "not_authed"] == [form["ok"], in_json["error"], query["error"]]


def test_empty_json_body_means_no_arguments(chat: ChatClient) -> None:
    response = chat.send("auth.test", headers={"Content-Type": "application/json;charset=utf-8"}).json()

    assert {
        "ok": True,
        "url": "https://northwind-labs.slack.com/",
        "team": "Northwind Labs",
        "team_id": "T04NW2K7QLM",
        "user": "relay",
        "user_id": "U05RELAYBOT",
        "bot_id": "B05RELAY9KD",
        "is_enterprise_install": False,
    } == response


@pytest.mark.parametrize(
    ("kind", "body", "error"),
    [
        ("application/json; charset=utf-8", b"{", "invalid_json"),
        ("application/json; charset=utf-8", b"\xff", "invalid_json"),
        ("application/json; charset=utf-8", b"[" * 100_000, "invalid_json"),
        ("application/json; charset=utf-8", b"[]", "json_not_object"),
        ("application/json; charset=utf-16", b"{}", "invalid_charset"),
        ("application/xml", b"<a/>", "invalid_post_type"),
        ("application/x-www-form-urlencoded", b"a=\xff", "invalid_form_data"),
        ("multipart/form-data", b"no boundary", "invalid_form_data"),
    ],
)
def test_malformed_body_is_rejected(chat: ChatClient, kind: str, body: bytes, error: str) -> None:
    response = chat.send("auth.test", data=body, headers={"Content-Type": kind})

    assert (200, False, error) == (response.status_code, response.json()["ok"], response.json()["error"])


def test_body_without_a_content_type_is_rejected(chat: ChatClient) -> None:
    response = chat.send("auth.test", data=b"channel=C1").json()

    assert {"ok": False, "error": "missing_post_type"} == response


def test_json_without_a_charset_gets_a_warning(chat: ChatClient) -> None:
    response = chat.send("conversations.info", json={"channel": GENERAL}).json()

    assert ["missing_charset", ["missing_charset"]] == [response["warning"], response["response_metadata"]["warnings"]]


def test_missing_or_non_string_argument_is_named(chat: ChatClient) -> None:
    missing = chat("conversations.info")
    number = chat.send("conversations.info", json={"channel": 5}).json()

    assert ["invalid_arguments", "invalid_arguments"] == [missing["error"], number["error"]]
    assert ["[ERROR] missing required field: channel"] == missing["response_metadata"]["messages"]
    assert ["[ERROR] must be a string [json-pointer:/channel]"] == number["response_metadata"]["messages"]


def test_unknown_methods_and_paths_get_the_vendors_errors(chat: ChatClient) -> None:
    unknown = chat.send("chat.shout")
    wrong_verb = chat.send("auth.test", verb="PUT").json()
    page = requests.get(f"{chat.address}/nowhere", timeout=60)

    assert (200, {"ok": False, "error": "unknown_method", "req_method": "chat.shout"}) == (
        unknown.status_code,
        unknown.json(),
    )
    assert "unknown_method" == wrong_verb["error"]
    assert (404, "text/html; charset=utf-8") == (page.status_code, page.headers["Content-Type"])


def test_internal_error_has_the_vendors_shape(chat: ChatClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat.sandbox.emulators["chat"], "limits", None)

    response = chat.send("auth.test")

    assert (500, {"ok": False, "error": "internal_error"}) == (response.status_code, response.json())
