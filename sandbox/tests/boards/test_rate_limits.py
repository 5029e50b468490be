"""The boards emulator, byte for byte where the vendor's bytes are known: budgets."""

from typing import Any

from harness.clocks import ManualClock
from sandbox.tests.boards.boards_client import JSON, UNKNOWN, Trello, status_type_and_text
from workspace_sandbox.boards.error_responses import ApiError
from workspace_sandbox.boards.rate_limits import BudgetKey, RateLimiter
from workspace_sandbox.kit.emulator_context import EmulatorContext

TOKEN_SPENT = {"error": "API_TOKEN_LIMIT_EXCEEDED", "message": "Rate limit exceeded"}
KEY_SPENT = {"error": "API_KEY_LIMIT_EXCEEDED", "message": "Rate limit exceeded"}
MEMBER_SPENT = {"error": "RATE_LIMIT_EXCEEDED", "message": "Exceeded rate limit to /1/member"}


def test_every_response_states_the_remaining_budget(trello: Trello) -> None:
    headers = trello.request("GET", f"/1/lists/{trello.examples['list_ids'][0]}").headers

    assert ["10000", "100", "99", "10000", "300", "299"] == [
        headers[f"x-rate-limit-api-{scope}-{name}"]
        for scope in ("token", "key")
        for name in ("interval-ms", "max", "remaining")
    ]
    assert "x-rate-limit-member-max" not in headers


def test_the_101st_request_of_a_token_is_rejected(trello: Trello) -> None:
    path = f"/1/lists/{trello.examples['list_ids'][0]}"
    statuses = {trello.request("GET", path, params={"fields": "name"}).status_code for _ in range(100)}

    response = trello.request("GET", path)

    assert {200} == statuses
    assert (429, JSON, '{"error":"API_TOKEN_LIMIT_EXCEEDED","message":"Rate limit exceeded"}') == status_type_and_text(
        response
    )
    assert "Retry-After" not in response.headers
    assert "0" == response.headers["x-rate-limit-api-token-remaining"]


def test_without_limits_no_request_is_rejected(trello: Trello) -> None:
    trello.control("/boards/knobs", limits=False)
    path = f"/1/lists/{trello.examples['list_ids'][0]}"

    assert {200} == {trello.request("GET", path, params={"fields": "name"}).status_code for _ in range(110)}


def test_a_batch_is_charged_by_its_parts(trello: Trello) -> None:
    response = trello.request("GET", "/1/batch", params={"urls": ",".join([f"/lists/{UNKNOWN}"] * 10)})

    assert "90" == response.headers["x-rate-limit-api-token-remaining"]


class ManualClockThrottle(RateLimiter):
    """A throttle by a clock that is set."""

    def __init__(self) -> None:
        self.clock = ManualClock(0.0)
        super().__init__(EmulatorContext(self.clock))


def charge_error(throttle: ManualClockThrottle, now: float, spender: BudgetKey) -> Any:
    """The body of a refusal, or none."""
    throttle.clock.at = now
    try:
        throttle.charge(spender)
    except ApiError as refusal:
        return refusal.body
    return None


def test_a_window_slides() -> None:
    throttle, spender = ManualClockThrottle(), BudgetKey("k", "t")

    early = [charge_error(throttle, 0.0, spender) for _ in range(50)] + [
        charge_error(throttle, 5.0, spender) for _ in range(50)
    ]

    assert early == [None] * 100
    assert TOKEN_SPENT == charge_error(throttle, 9.9, spender)
    assert [charge_error(throttle, 10.0, spender) for _ in range(51)] == [None] * 50 + [TOKEN_SPENT]


def test_a_key_is_shared_by_its_tokens() -> None:
    throttle = ManualClockThrottle()

    spends = [charge_error(throttle, 0.0, BudgetKey("k", f"t{number % 4}")) for number in range(301)]

    assert spends == [None] * 300 + [KEY_SPENT]


def test_member_routes_have_a_budget_for_15_minutes() -> None:
    throttle = ManualClockThrottle()

    spends = [charge_error(throttle, float(second), BudgetKey("k", "t", 1, 1)) for second in range(101)]

    assert spends == [None] * 100 + [MEMBER_SPENT]
    assert charge_error(throttle, 101.0, BudgetKey("k", "t")) is None
    assert charge_error(throttle, 900.0, BudgetKey("k", "t", 1, 1)) is None


def test_more_than_200_rejected_requests_block_the_key() -> None:
    throttle = ManualClockThrottle()
    for _ in range(301):
        charge_error(throttle, 0.0, BudgetKey("k", "t"))

    assert KEY_SPENT == charge_error(throttle, 1.0, BudgetKey("k", "other"))
    assert charge_error(throttle, 1.0, BudgetKey("k2", "other")) is None
    assert charge_error(throttle, 10.0, BudgetKey("k", "other")) is None


def test_member_routes_state_their_budget(trello: Trello) -> None:
    headers = trello.request("GET", "/1/members/me").headers

    assert [
        "900000",
        "100",
        "99",
    ] == [headers[f"x-rate-limit-member-{one}"] for one in ("interval-ms", "max", "remaining")]
