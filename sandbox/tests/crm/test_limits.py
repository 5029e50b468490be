"""Rate limits of the HubSpot emulator."""

from harness.clocks import ManualClock
from sandbox.tests.crm.hubspot_client import OBJECTS, Api, exchange


def test_burst_limit_returns_policy_and_headers_until_it_expires(limited: Api, clock: ManualClock) -> None:
    served = [limited("GET", "/account-info/2026-09/details") for _ in range(110)]
    throttled = limited("GET", "/account-info/2026-09/details")
    clock.at += 10.001
    again = limited("GET", "/account-info/2026-09/details")

    assert {200} == {response.status_code for response in served}
    assert "110" == served[0].headers["X-HubSpot-RateLimit-Max"]
    assert "109" == served[0].headers["X-HubSpot-RateLimit-Remaining"]
    assert "10000" == served[0].headers["X-HubSpot-RateLimit-Interval-Milliseconds"]
    assert "649999" == served[0].headers["X-HubSpot-RateLimit-Daily-Remaining"]
    assert 429 == throttled.status_code
    assert "0" == throttled.headers["X-HubSpot-RateLimit-Remaining"]
    assert "You have reached your ten_secondly_rolling limit." == throttled.json()["message"]
    assert "RATE_LIMIT" == throttled.json()["errorType"]
    assert "RATE_LIMITS" == throttled.json()["category"]
    assert "TEN_SECONDLY_ROLLING" == throttled.json()["policyName"]
    assert 200 == again.status_code


def test_searches_have_a_separate_limit_without_headers(limited: Api, clock: ManualClock) -> None:
    responses = [limited("POST", f"{OBJECTS}/{kind}/search", {}) for kind in ["contacts", "deals", "notes"] * 2]
    clock.at += 1.001
    later = limited("POST", f"{OBJECTS}/contacts/search", {})
    burst = limited("GET", "/account-info/2026-09/details")

    assert [response.status_code for response in responses] == [200] * 5 + [429]
    assert "SECONDLY" == responses[5].json()["policyName"]
    assert "You have reached your secondly limit." == responses[5].json()["message"]
    assert not [name for response in responses for name in response.headers if "RateLimit" in name]
    assert 200 == later.status_code
    assert "109" == burst.headers["X-HubSpot-RateLimit-Remaining"]


def test_daily_limit_resets_at_midnight_in_the_account_time_zone(limited: Api, clock: ManualClock) -> None:
    clock.at = 1_780_009_200.0 - 1  # one second before 2026-05-29 00:00 at +01:00
    limited.knobs(daily_limit=1)
    responses = [limited("GET", "/account-info/2026-09/details") for _ in range(2)]
    clock.at += 1
    tomorrow = limited("GET", "/account-info/2026-09/details")

    assert [200, 429] == [response.status_code for response in responses]
    assert "DAILY" == responses[1].json()["policyName"]
    assert 200 == tomorrow.status_code


def test_oauth_app_has_its_own_burst_limit_and_no_daily_limit(limited: Api, clock: ManualClock) -> None:
    limited.knobs(burst_limit=1)
    bearer = {"Authorization": f"Bearer {exchange(limited).json()['access_token']}"}
    static = limited("GET", "/account-info/2026-09/details")
    app = limited("GET", "/account-info/2026-09/details", headers=bearer)

    assert (200, 200) == (static.status_code, app.status_code)
    assert "X-HubSpot-RateLimit-Daily" not in app.headers


def test_requests_are_not_counted_without_limits(crm: Api) -> None:
    responses = [crm("POST", f"{OBJECTS}/contacts/search", {"limit": 1}) for _ in range(7)]

    assert {200} == {response.status_code for response in responses}
