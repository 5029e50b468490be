"""Quotas of the mail emulator per minute and day."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from harness.clocks import ManualClock
from sandbox.tests.mail.mail_client import USER, Mail, raw_message
from workspace_sandbox.kit.emulator_context import EmulatorContext
from workspace_sandbox.mail import MailEmulator
from workspace_sandbox.mail.error_responses import ApiError
from workspace_sandbox.mail.routes import METHODS

# --- limits


def test_every_method_has_the_vendors_quota_cost(mail: Mail) -> None:
    prices = {method.id: method.units for method in METHODS}

    assert [1, 5, 20, 40, 20, 5, 100, 10, 1, 50] == [
        prices[name]
        for name in (
            "getProfile",
            "messages.list",
            "messages.get",
            "threads.get",
            "messages.attachments.get",
            "messages.modify",
            "messages.send",
            "drafts.create",
            "labels.list",
            "messages.batchModify",
        )
    ]


@pytest.mark.parametrize(
    ("dialect", "status", "reason", "text"),
    [
        ("quota", 403, "rateLimitExceeded", "Quota exceeded for quota metric 'Queries'"),
        ("retry_after_403", 403, "userRateLimitExceeded", "User-rate limit exceeded.  Retry after 20"),
        ("retry_after_429", 429, "rateLimitExceeded", "User-rate limit exceeded.  Retry after 20"),
        ("exhausted", 429, "rateLimitExceeded", "Resource has been exhausted (e.g. check quota)."),
    ],
)
def test_units_above_the_minute_quota_are_rejected(
    mail: Mail, dialect: str, status: int, reason: str, text: str
) -> None:
    mail.control.post("/reset")
    mail.set_knobs(throttle=dialect, units_per_minute=45, latency_seconds=0)
    path = f"/messages/{mail.examples['message_id']}"
    served = [mail.get(path)["id"], mail.get(path)["id"]]
    error = mail.error("GET", path)
    response = mail.http.get(USER + path)

    assert 2 == len(served)
    assert (status, reason) == error[:2]
    assert error[2].startswith(text)
    assert "Retry-After" not in response.headers


def test_the_minute_slides_and_further_requests_extend_the_retry_time() -> None:
    clock = ManualClock(1_795_200_000.0)
    emulator = MailEmulator(EmulatorContext(clock, **{**MailEmulator.knobs, "throttle": "retry_after_429"}))
    ledger = emulator.services.quotas
    ledger.charge("u", 5_000)
    clock.at += 30
    ledger.charge("u", 1_000)

    with pytest.raises(ApiError) as first:
        ledger.charge("u", 20)
    with pytest.raises(ApiError) as second:
        ledger.charge("u", 20)
    clock.at += 31.5
    ledger.charge("u", 5_000)

    assert "Retry after 2026-11-20T18:41:00.000Z" in first.value.message
    assert "Retry after 2026-11-20T18:41:01.000Z" in second.value.message


def test_users_have_their_own_budgets() -> None:
    emulator = MailEmulator(EmulatorContext(ManualClock(1_795_200_000.0), **MailEmulator.knobs))
    emulator.services.quotas.charge("one", 6_000)

    emulator.services.quotas.charge("other", 6_000)

    with pytest.raises(ApiError):
        emulator.services.quotas.charge("one", 1)


def test_more_than_ten_concurrent_requests_are_rejected(mail: Mail) -> None:
    mail.control.post("/reset")
    mail.set_knobs(latency_seconds=0.2)
    with ThreadPoolExecutor(14) as pool:
        statuses = sorted(pool.map(lambda _: mail.http.get(f"{USER}/profile").status_code, range(14)))

    assert 429 == statuses[-1]
    assert statuses.count(200) >= 10


def test_messages_above_the_daily_quota_are_rejected_and_not_sent(mail: Mail) -> None:
    mail.control.post("/reset")
    mail.set_knobs(sends_per_day=1)
    mail.post("/messages/send", raw_message())
    before = mail.get("/profile")["messagesTotal"]

    error = mail.error("POST", "/messages/send", json=raw_message())

    assert (429, "rateLimitExceeded") == error[:2]
    assert error[2].startswith("User-rate limit exceeded.  Retry after ")
    assert before == mail.get("/profile")["messagesTotal"]
