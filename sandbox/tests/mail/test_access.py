"""Tokens and scopes of the mail emulator."""

import pytest

from sandbox.tests.mail.mail_client import USER, Mail, raw_message

# --- credentials, scopes, faults


def test_a_missing_and_a_wrong_token_have_different_errors(mail: Mail) -> None:
    missing = mail.http.get(f"{USER}/profile", headers={"Authorization": ""})
    wrong = mail.http.get(f"{USER}/profile", headers={"Authorization": "Bearer wrong"})

    assert [401, 401] == [missing.status_code, wrong.status_code]
    assert ["required", "authError"] == [
        response.json()["error"]["errors"][0]["reason"] for response in (missing, wrong)
    ]
    assert "CREDENTIALS_MISSING" == missing.json()["error"]["details"][0]["reason"]
    assert "UNAUTHENTICATED" == wrong.json()["error"]["status"]
    assert "invalid_token" in wrong.headers["WWW-Authenticate"]


@pytest.mark.parametrize("name", ["access_token", "oauth_token"])
def test_the_token_may_come_in_the_query(mail: Mail, name: str) -> None:
    response = mail.http.get(f"{USER}/profile", params={name: mail.token}, headers={"Authorization": ""})

    assert 200 == response.status_code


def test_a_missing_scope_is_reported(mail: Mail) -> None:
    mail.set_knobs(token_scopes=["https://www.googleapis.com/auth/gmail.readonly"])
    response = mail.http.post(f"{USER}/messages/send", json=raw_message())
    error = response.json()["error"]

    assert (403, "PERMISSION_DENIED") == (response.status_code, error["status"])
    assert "insufficientPermissions" == error["errors"][0]["reason"]
    assert "ACCESS_TOKEN_SCOPE_INSUFFICIENT" == error["details"][0]["reason"]
    assert "caribou.api.proto.MailboxService.SendMessage" == error["details"][0]["metadata"]["method"]


def test_the_metadata_scope_allows_neither_search_nor_bodies(mail: Mail) -> None:
    mail.set_knobs(token_scopes=["https://www.googleapis.com/auth/gmail.metadata"])
    path = f"/messages/{mail.examples['message_id']}"

    assert mail.get("/messages", maxResults=1)["messages"]
    assert mail.get(path, format="metadata")["payload"]
    assert 403 == mail.error("GET", "/messages", params={"q": "x"})[0]
    assert 403 == mail.error("GET", path)[0]
