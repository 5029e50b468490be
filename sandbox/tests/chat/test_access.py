"""Tokens and scopes of the Slack emulator."""

import pytest

from sandbox.tests.chat.slack_client import GENERAL, ChatClient
from workspace_sandbox.chat import access
from workspace_sandbox.chat.emulator import SCOPES


def test_missing_and_unknown_tokens_are_rejected(chat: ChatClient) -> None:
    missing = chat.send("auth.test", headers={"Authorization": ""}).json()
    unknown = chat.send("auth.test", headers={"Authorization": "Bearer xoxb-1"}).json()

    assert ["not_authed", "invalid_auth"] == [missing["error"], unknown["error"]]


def test_missing_scope_is_reported_with_the_granted_scopes(chat: ChatClient) -> None:
    chat.control("knobs", scopes="channels:read,users:read")

    post = chat("chat.postMessage", channel=GENERAL, text="x")
    groups = chat("conversations.list", types="public_channel,private_channel")
    private = chat("conversations.info", channel="C04PRIVATE1")
    public = chat("conversations.info", channel=GENERAL)

    assert {
        "ok": False,
        "error": "missing_scope",
        "needed": "chat:write",
        "provided": "channels:read,users:read",
    } == post
    assert ["groups:read", "groups:read"] == [groups["needed"], private["needed"]]
    assert public["ok"]


def test_scope_headers_are_sent_only_to_authenticated_callers(chat: ChatClient) -> None:
    response = chat.send("reactions.get")
    unauthorised = chat.with_token("xoxb-1").send("reactions.get")

    assert SCOPES == response.headers["x-oauth-scopes"]
    assert "reactions:read" == response.headers["x-accepted-oauth-scopes"]
    assert "x-oauth-scopes" not in unauthorised.headers


@pytest.mark.parametrize("method", ["auth.revoke", "apps.uninstall"])
def test_revoking_the_token_removes_the_app(chat: ChatClient, method: str) -> None:
    client = {"client_id": access.CLIENT_ID, "client_secret": access.CLIENT_SECRET}
    tried = chat("auth.revoke", test="1")
    done = chat(method, **client)
    after = chat("auth.test")

    assert [False, True, "account_inactive"] == [tried["revoked"], done["ok"], after["error"]]


def test_uninstalling_requires_the_client_secret(chat: ChatClient) -> None:
    response = chat("apps.uninstall", client_id=access.CLIENT_ID, client_secret="guess")

    assert "bad_client_secret" == response["error"]
