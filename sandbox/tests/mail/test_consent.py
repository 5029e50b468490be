"""The emulator's consent page and token endpoints over real HTTP."""

import json
from base64 import urlsafe_b64decode
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httpx
import pytest

from harness.sandbox_server import run_emulators
from workspace_sandbox.mail import MailEmulator

OWN = "nora@brightfjord.test"
CLIENT = {"client_id": MailEmulator.knobs["client_id"], "client_secret": MailEmulator.knobs["client_secret"]}
MODIFY = "https://www.googleapis.com/auth/gmail.modify"
EMAIL = "https://www.googleapis.com/auth/userinfo.email"
BACK = "http://127.0.0.1:9/callback?from=mail"
AUTHORIZATION_PARAMS = {
    "response_type": "code",
    "client_id": CLIENT["client_id"],
    "redirect_uri": BACK,
    "scope": f"openid email {MODIFY}",
    "state": "s 1",
    "access_type": "offline",
}


class OAuthClient:
    """An OAuth app with its browser and server."""

    def __init__(self, emulator: MailEmulator) -> None:
        self.emulator = emulator
        self.http = httpx.Client(base_url=emulator.context.addresses["base"])

    def consent(self, **changes: str) -> dict[str, str]:
        """Grant consent and return the parameters of the redirect."""
        response = self.http.get(
            "/o/oauth2/v2/auth", params={**AUTHORIZATION_PARAMS, "auto_approve": "true", **changes}
        )
        assert 302 == response.status_code, response.text
        return dict(parse_qsl(urlsplit(response.headers["Location"]).query))

    def token(self, **params: str) -> tuple[int, Any]:
        response = self.http.post("/token", data={**CLIENT, **params})
        return response.status_code, response.json()

    def exchange(self, code: str, **changes: str) -> tuple[int, Any]:
        return self.token(**{"grant_type": "authorization_code", "code": code, "redirect_uri": BACK, **changes})

    def refresh(self, token: str, **changes: str) -> tuple[int, Any]:
        return self.token(**{"grant_type": "refresh_token", "refresh_token": token, **changes})

    def tokens(self, **changes: str) -> Any:
        return self.exchange(self.consent(**{"prompt": "consent", **changes})["code"])[1]

    def profile(self, token: str) -> httpx.Response:
        return self.http.get("/gmail/v1/users/me/profile", headers={"Authorization": f"Bearer {token}"})


@pytest.fixture(scope="module")
def opened() -> Iterator[OAuthClient]:
    with run_emulators(mail=MailEmulator) as sandbox:
        emulator = sandbox.emulators["mail"]
        assert isinstance(emulator, MailEmulator)
        door = OAuthClient(emulator)
        yield door
        door.http.close()


@pytest.fixture
def door(opened: OAuthClient) -> OAuthClient:
    opened.emulator.context.reset()
    opened.emulator.reset()
    return opened


def test_a_consent_leads_to_valid_tokens(door: OAuthClient) -> None:
    back = door.consent()
    status, tokens = door.exchange(back["code"])

    assert {"from": "mail", "state": "s 1", "scope": f"openid {EMAIL} {MODIFY}", "code": back["code"]} == back
    assert back["code"].startswith("4/")
    assert 200 == status
    assert {"access_token", "expires_in", "refresh_token", "scope", "token_type", "id_token"} == set(tokens)
    assert ("Bearer", 3599, back["scope"]) == (tokens["token_type"], tokens["expires_in"], tokens["scope"])
    assert tokens["access_token"].startswith("ya29.")
    assert tokens["refresh_token"].startswith("1//")
    assert OWN == door.profile(tokens["access_token"]).json()["emailAddress"]


def test_the_id_token_identifies_the_user(door: OAuthClient) -> None:
    claims = json.loads(urlsafe_b64decode(door.tokens()["id_token"].split(".")[1] + "=="))

    assert OWN == claims["email"]
    assert CLIENT["client_id"] == claims["aud"]
    assert claims["sub"].isdecimal()


def test_the_knobs_decide_for_the_user(door: OAuthClient) -> None:
    door.emulator.context.knobs.update(auto_approve=True, granted_scopes=["email"])

    response = door.http.get("/o/oauth2/v2/auth", params=AUTHORIZATION_PARAMS)

    assert f"openid {EMAIL}" == dict(parse_qsl(urlsplit(response.headers["Location"]).query))["scope"]


@pytest.mark.parametrize("changes", [{"decision": "deny"}, {"decision": "allow", "login_hint": "nobody@x.test"}])
def test_a_user_can_deny_consent(door: OAuthClient, changes: dict[str, str]) -> None:
    response = door.http.post("/o/oauth2/v2/auth", data={**AUTHORIZATION_PARAMS, "granted": MODIFY, **changes})

    back = dict(parse_qsl(urlsplit(response.headers["Location"]).query))
    assert {"from": "mail", "state": "s 1", "error": "access_denied"} == back


@pytest.mark.parametrize(
    ("changes", "status", "error"),
    [
        ({"client_id": "other"}, 401, "invalid_client"),
        ({"redirect_uri": "nowhere"}, 400, "redirect_uri_mismatch"),
        ({"response_type": "token"}, 400, "invalid_request"),
        ({"scope": ""}, 400, "invalid_request"),
        ({"scope": "gmail"}, 400, "invalid_scope"),
    ],
)
def test_an_invalid_authorization_request_does_not_redirect(
    door: OAuthClient, changes: dict[str, str], status: int, error: str
) -> None:
    response = door.http.get("/o/oauth2/v2/auth", params={**AUTHORIZATION_PARAMS, **changes})

    assert status == response.status_code
    assert error in response.text
    assert "Location" not in response.headers


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"redirect_uri": "http://127.0.0.1:9/callback"}, (400, "redirect_uri_mismatch")),
        ({"client_id": "other"}, (401, "invalid_client")),
        ({"client_secret": "other"}, (401, "invalid_client")),
        ({"grant_type": "password"}, (400, "unsupported_grant_type")),
        ({"code": "4/other"}, (400, "invalid_grant")),
    ],
)
def test_an_invalid_exchange_is_rejected(door: OAuthClient, changes: dict[str, str], expected: tuple[int, str]) -> None:
    status, body = door.exchange(**{"code": door.consent()["code"], **changes})

    assert expected == (status, body["error"])


def test_a_second_consent_has_a_refresh_token_only_on_request(door: OAuthClient) -> None:
    first, again = (door.exchange(door.consent()["code"])[1] for _ in range(2))

    assert "refresh_token" in first
    assert "refresh_token" not in again
    assert "refresh_token" in door.exchange(door.consent(prompt="consent")["code"])[1]
    assert "refresh_token" not in door.exchange(door.consent(access_type="online", prompt="consent")["code"])[1]


def test_earlier_scopes_can_be_included(door: OAuthClient) -> None:
    door.tokens()

    tokens = door.tokens(scope="email", include_granted_scopes="true")

    assert {EMAIL, MODIFY, "openid"} == set(tokens["scope"].split())


def test_the_oldest_of_more_than_a_hundred_refresh_tokens_is_dropped(door: OAuthClient) -> None:
    refresh_tokens = [door.tokens()["refresh_token"] for _ in range(101)]

    assert [400, 200] == [door.refresh(token)[0] for token in refresh_tokens[:2]]


def test_revoked_access_responds_with_the_vendors_error(door: OAuthClient) -> None:
    tokens = door.tokens()
    door.emulator.revoke()

    expected = {"error": "invalid_grant", "error_description": "Token has been expired or revoked."}
    assert (400, expected) == door.refresh(tokens["refresh_token"])


@pytest.mark.parametrize("kind", ["access_token", "refresh_token"])
def test_a_client_can_revoke_its_tokens(door: OAuthClient, kind: str) -> None:
    tokens = door.tokens()
    response = door.http.post("/revoke", data={"token": tokens[kind]})
    again = door.http.post("/revoke", data={"token": tokens[kind]})

    assert (200, {}) == (response.status_code, response.json())
    assert (400, "invalid_token") == (again.status_code, again.json()["error"])
    assert 401 == door.profile(tokens["access_token"]).status_code
    assert "invalid_grant" == door.refresh(tokens["refresh_token"])[1]["error"]


def test_a_refresh_token_of_another_client_is_rejected(door: OAuthClient) -> None:
    refresh_token = door.tokens()["refresh_token"]
    door.emulator.context.knobs["client_id"] = "other"
    status, body = door.refresh(refresh_token, client_id="other")

    assert (401, "unauthorized_client") == (status, body["error"])


def test_a_token_can_be_inspected(door: OAuthClient) -> None:
    seeded = door.http.get("/tokeninfo", params={"access_token": door.emulator.credentials()["token"]})
    issued = door.http.post("/tokeninfo", data={"access_token": door.tokens()["access_token"]})
    wrong = door.http.get("/tokeninfo", params={"access_token": "wrong"})

    assert [OWN, OWN] == [seeded.json()["email"], issued.json()["email"]]
    assert MODIFY in seeded.json()["scope"]
    assert (400, "invalid_token") == (wrong.status_code, wrong.json()["error"])
