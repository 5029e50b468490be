"""OAuth of the HubSpot emulator."""

import pytest

from harness.clocks import ManualClock
from sandbox.tests.crm.hubspot_client import OBJECTS, Api, consent, exchange, token


@pytest.mark.parametrize(
    "wrong", [{"scope": ""}, {"client_id": "x"}, {"redirect_uri": "ftp:x"}, {"code_challenge": "x"}]
)
def test_invalid_consent_request_returns_an_error_page(crm: Api, wrong: dict[str, str]) -> None:
    params = {"client_id": crm.emulator.knobs["client_id"], "redirect_uri": "http://localhost/c", "scope": "oauth"}

    assert 400 == crm.session.get(f"{crm.base}/oauth/authorize", params=params | wrong, timeout=60).status_code


def test_code_is_exchanged_for_a_token_with_the_granted_scopes(crm: Api) -> None:
    sent_back = consent(crm)
    response = exchange(crm).json()
    contacts, deals = (
        crm("GET", f"{OBJECTS}/{kind}", headers={"Authorization": f"Bearer {response['access_token']}"})
        for kind in ("contacts", "deals")
    )

    assert ["s1"] == sent_back["state"]
    assert ["1"] == sent_back["x"]
    assert len(response["access_token"]) > 300
    assert "bearer" == response["token_type"]
    assert 1800 == response["expires_in"]
    assert str(response["hub_id"]) == crm.example("portal_id")
    assert ["oauth", "crm.objects.contacts.read"] == response["scopes"]
    assert (200, 403) == (contacts.status_code, deals.status_code)


def test_code_is_limited_to_one_use_its_lifetime_and_its_redirect(limited: Api, clock: ManualClock) -> None:
    redirect = "http://localhost/callback?x=1"
    used = {"grant_type": "authorization_code", "code": consent(limited)["code"][0], "redirect_uri": redirect}
    old = {**used, "code": consent(limited)["code"][0]}
    elsewhere = {**used, "code": consent(limited)["code"][0], "redirect_uri": "http://localhost/other"}
    first, again, other = token(limited, **used), token(limited, **used), token(limited, **elsewhere)
    clock.at += 301
    late = token(limited, **old)

    assert [200, 400, 400, 400] == [response.status_code for response in (first, again, other, late)]
    assert "BAD_AUTH_CODE" == again.json()["status"]
    assert "MISMATCH_REDIRECT_URI_AUTH_CODE" == other.json()["status"]
    assert "EXPIRED_AUTH_CODE" == late.json()["status"]
    assert "invalid_grant" == late.json()["error"]


def test_token_expires_after_half_an_hour_and_is_refreshed(limited: Api, clock: ManualClock) -> None:
    first = exchange(limited).json()
    bearer = {"Authorization": f"Bearer {first['access_token']}"}
    clock.at += 1799
    fresh = limited("GET", "/account-info/2026-09/details", headers=bearer)
    clock.at += 4
    stale = limited("GET", "/account-info/2026-09/details", headers=bearer)
    refreshed = token(limited, grant_type="refresh_token", refresh_token=first["refresh_token"]).json()

    assert 200 == fresh.status_code
    assert 401 == stale.status_code
    assert "EXPIRED_AUTHENTICATION" == stale.json()["category"]
    assert "The OAuth token used to make this call expired 3 second(s) ago." == stale.json()["message"]
    assert "expire time" in stale.json()["context"]
    assert refreshed["refresh_token"] == first["refresh_token"]
    assert refreshed["access_token"] != first["access_token"]


def test_uninstalled_app_cannot_refresh_tokens(crm: Api) -> None:
    granted = exchange(crm).json()
    crm.control("crm/revoke")
    response = token(crm, grant_type="refresh_token", refresh_token=granted["refresh_token"])
    called = crm("GET", f"{OBJECTS}/contacts", headers={"Authorization": f"Bearer {granted['access_token']}"})

    assert 400 == response.status_code
    assert {
        "error": "invalid_grant",
        "error_description": "refresh token is invalid, expired or revoked",
        "status": "BAD_REFRESH_TOKEN",
        "message": "refresh token is invalid, expired or revoked",
    } == response.json()
    assert 401 == called.status_code


def test_revoking_a_refresh_token_revokes_its_access_tokens(crm: Api) -> None:
    granted = exchange(crm).json()
    revoked = token(crm, "/oauth/2026-09/token/revoke", token=granted["refresh_token"])
    called = crm("GET", f"{OBJECTS}/contacts", headers={"Authorization": f"Bearer {granted['access_token']}"})

    assert (200, 401) == (revoked.status_code, called.status_code)
    assert 400 == token(crm, grant_type="refresh_token", refresh_token=granted["refresh_token"]).status_code


def test_tokens_can_be_introspected_in_both_forms(crm: Api) -> None:
    granted = exchange(crm).json()
    path = "/oauth/2026-09/token/introspect"
    access = token(crm, path, token_type_hint="access_token", token=granted["access_token"]).json()
    refresh = token(crm, path, refresh_token=granted["refresh_token"]).json()
    unknown = token(crm, path, token="x").json()
    old = crm.session.get(f"{crm.base}/oauth/v1/access-tokens/{granted['access_token']}", timeout=60).json()
    older = crm.session.get(f"{crm.base}/oauth/v1/refresh-tokens/{granted['refresh_token']}", timeout=60).json()
    gone = [
        crm.session.get(f"{crm.base}/oauth/v1/{one}-tokens/x", timeout=60).status_code for one in ("access", "refresh")
    ]

    assert (True, True, {"active": False}) == (access["active"], refresh["active"], unknown)
    assert {4_471_120} == {one["hub_id"] for one in (access, refresh, old, older)}
    assert [404, 404] == gone
    assert {"user", "user_id", "hub_domain", "app_id"} <= set(access)


@pytest.mark.parametrize(
    ("form", "status"),
    [
        ({"client_secret": "wrong"}, "BAD_CLIENT_SECRET"),
        ({"client_id": "wrong"}, "BAD_CLIENT_ID"),
        ({"grant_type": "password"}, "BAD_GRANT_TYPE"),
        ({"grant_type": "refresh_token"}, "BAD_REFRESH_TOKEN"),
    ],
)
def test_invalid_token_requests_are_rejected(crm: Api, form: dict[str, str], status: str) -> None:
    response = token(crm, **form)

    assert 400 == response.status_code
    assert response.json()["status"] == status


def test_only_the_oldest_token_route_reads_the_query(crm: Api) -> None:
    refresh = exchange(crm).json()["refresh_token"]
    form = {"grant_type": "refresh_token"}
    dated = token(crm, f"/oauth/2026-09/token?refresh_token={refresh}", **form)
    oldest = token(crm, f"/oauth/v1/token?refresh_token={refresh}", **form)

    assert (400, 200) == (dated.status_code, oldest.status_code)
