"""Authorisation of an app in the Slack emulator."""

from typing import Any

import pytest
import requests

from harness.clocks import ManualClock
from sandbox.tests.chat.slack_client import GENERAL, ChatClient, authorization_code, consent
from workspace_sandbox.chat import access
from workspace_sandbox.chat.emulator import SCOPES


def exchange(chat: ChatClient, *, basic: bool = True, **fields: str) -> dict[str, Any]:
    client = {"client_id": access.CLIENT_ID, "client_secret": access.CLIENT_SECRET}
    form = ({} if basic else client) | {"redirect_uri": "https://app.example/back?a=1"} | fields
    auth = (access.CLIENT_ID, access.CLIENT_SECRET) if basic else None
    address = f"{chat.address}/api/oauth.v2.access"
    return dict(requests.post(address, data=form, auth=auth, timeout=60).json())


@pytest.mark.parametrize(
    ("query", "error"),
    [
        ({"client_id": "1.2"}, "invalid_client_id"),
        ({"scope": ""}, "no_scopes"),
        ({"redirect_uri": "javascript:alert(1)"}, "bad_redirect_uri"),
        ({"redirect_uri": "http://[::"}, "bad_redirect_uri"),
    ],
)
def test_consent_page_rejects_invalid_requests(chat: ChatClient, query: dict[str, str], error: str) -> None:
    response = consent(chat, auto_approve="1", **query)

    assert (200, True) == (response.status_code, error in response.text)


@pytest.mark.parametrize("basic", [True, False], ids=["basic", "form"])
def test_code_can_be_exchanged_only_once(chat: ChatClient, *, basic: bool) -> None:
    code = authorization_code(consent(chat, auto_approve="1"))

    granted = exchange(chat, basic=basic, code=code)
    again = exchange(chat, basic=basic, code=code)

    token = granted.pop("access_token")
    assert {
        "ok": True,
        "app_id": "A05RELAY7X2",
        "authed_user": {"id": "U04NW000001"},
        "scope": SCOPES,
        "token_type": "bot",
        "bot_user_id": "U05RELAYBOT",
        "team": {"id": "T04NW2K7QLM", "name": "Northwind Labs"},
        "enterprise": None,
        "is_enterprise_install": False,
    } == granted
    assert {"ok": False, "error": "invalid_code"} == again
    assert chat.with_token(token)("auth.test")["ok"]


def test_removed_app_is_reinstalled_with_the_newly_granted_scopes(chat: ChatClient) -> None:
    chat.control("revoke")

    granted = exchange(chat, code=authorization_code(consent(chat, auto_approve="1")))

    assert "chat:write,channels:read" == granted["scope"]
    assert "account_inactive" == chat("auth.test")["error"]
    assert chat.with_token(granted["access_token"])("conversations.info", channel=GENERAL)["ok"]


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"code": "x"}, "invalid_code"),
        ({"redirect_uri": "https://other.example/"}, "bad_redirect_uri"),
        ({"grant_type": "password"}, "invalid_grant_type"),
        ({"grant_type": "refresh_token", "refresh_token": "x"}, "invalid_refresh_token"),
        ({"client_secret": "x"}, "bad_client_secret"),
        ({"client_id": "x"}, "invalid_client_id"),
    ],
)
def test_invalid_code_exchanges_are_rejected(chat: ChatClient, fields: dict[str, str], error: str) -> None:
    code = authorization_code(consent(chat, auto_approve="1"))

    assert exchange(chat, basic=False, **({"code": code} | fields)) == {"ok": False, "error": error}


def test_code_is_bound_to_its_redirect_path(chat: ChatClient) -> None:
    chat.control("knobs", redirect_uris=["https://gateway.test/back"])
    below = {"redirect_uri": "https://gateway.test/back/1"}
    code = authorization_code(consent(chat, auto_approve="1", **below))
    sibling = consent(chat, auto_approve="1", redirect_uri="https://gateway.test/backwards")

    assert "bad_redirect_uri" in sibling.text
    assert "bad_redirect_uri" == exchange(chat, code=code, redirect_uri="https://gateway.test/back/2")["error"]


def refresh(chat: ChatClient, token: str) -> dict[str, Any]:
    return exchange(chat, grant_type="refresh_token", refresh_token=token)


def test_rotating_tokens_expire_and_are_refreshed(chat: ChatClient, clock: ManualClock) -> None:
    chat.control("knobs", rotation=True)
    first = exchange(chat, code=authorization_code(consent(chat, auto_approve="1")))
    clock.at += 43_200
    expired = chat.with_token(first["access_token"])("auth.test")
    second = refresh(chat, first["refresh_token"])
    remaining = chat.with_token(second["access_token"])("auth.test")["expires_in"]

    assert ("xoxe.xoxb-1-", "xoxe-1-") == (first["access_token"][:12], first["refresh_token"][:7])
    assert [43_200, "bot", 43_200] == [second["expires_in"], second["token_type"], remaining]
    assert {"ok": False, "error": "token_expired"} == expired


def test_used_refresh_token_is_accepted_only_briefly(chat: ChatClient, clock: ManualClock) -> None:
    chat.control("knobs", rotation=True)
    token = exchange(chat, code=authorization_code(consent(chat, auto_approve="1")))["refresh_token"]
    refresh(chat, token)
    clock.at += 30
    soon = refresh(chat, token)
    clock.at += 31
    late = refresh(chat, token)

    assert [True, "invalid_refresh_token"] == [soon["ok"], late["error"]]


def test_third_rotating_token_revokes_the_oldest(chat: ChatClient) -> None:
    chat.control("knobs", rotation=True)
    first = exchange(chat, code=authorization_code(consent(chat, auto_approve="1")))
    second = refresh(chat, first["refresh_token"])
    third = refresh(chat, second["refresh_token"])
    responses = [chat.with_token(pair["access_token"])("auth.test") for pair in (first, second, third)]

    assert ["token_revoked", None, None] == [response.get("error") for response in responses]


def test_revoking_a_rotating_token_leaves_others_valid(chat: ChatClient) -> None:
    chat.control("knobs", rotation=True)
    pair = exchange(chat, code=authorization_code(consent(chat, auto_approve="1")))
    rotating = chat.with_token(pair["access_token"])
    rotating("auth.revoke")

    assert ["token_revoked", True] == [rotating("auth.test")["error"], chat("auth.test")["ok"]]


def test_legacy_token_is_exchanged_only_once(chat: ChatClient) -> None:
    client = {"client_id": access.CLIENT_ID, "client_secret": access.CLIENT_SECRET}
    swapped = chat("oauth.v2.exchange", token=chat.token, **client)
    again = chat("oauth.v2.exchange", token=chat.token, **client)

    assert [43_200, "token_revoked"] == [swapped["expires_in"], again["error"]]
