"""The boards stand-in, byte for byte where the vendor's bytes are known: budgets."""

from typing import Any

from harness.clocks import ManualClock
from sandbox.tests.boards.boards_client import JSON, UNKNOWN, Trello, refused
from workspace_sandbox.boards.throttle import BudgetKey, Throttle
from workspace_sandbox.boards.wire import Refusal
from workspace_sandbox.kit.context import EmulatorContext

TOKEN_SPENT = {"error": "API_TOKEN_LIMIT_EXCEEDED", "message": "Rate limit exceeded"}
KEY_SPENT = {"error": "API_KEY_LIMIT_EXCEEDED", "message": "Rate limit exceeded"}
MEMBER_SPENT = {"error": "RATE_LIMIT_EXCEEDED", "message": "Exceeded rate limit to /1/member"}


def test_every_answer_tells_what_is_left(trello: Trello) -> None:
    headers = trello.ask("GET", f"/1/lists/{trello.examples['list_ids'][0]}").headers

    assert ["10000", "100", "99", "10000", "300", "299"] == [
        headers[f"x-rate-limit-api-{scope}-{name}"]
        for scope in ("token", "key")
        for name in ("interval-ms", "max", "remaining")
    ]
    assert "x-rate-limit-member-max" not in headers


def test_the_101st_request_of_a_token_is_refused(trello: Trello) -> None:
    path = f"/1/lists/{trello.examples['list_ids'][0]}"
    statuses = {trello.ask("GET", path, params={"fields": "name"}).status_code for _ in range(100)}

    answer = trello.ask("GET", path)

    assert {200} == statuses
    assert (429, JSON, '{"error":"API_TOKEN_LIMIT_EXCEEDED","message":"Rate limit exceeded"}') == refused(answer)
    assert "Retry-After" not in answer.headers
    assert "0" == answer.headers["x-rate-limit-api-token-remaining"]


def test_without_limits_nothing_is_refused(trello: Trello) -> None:
    trello.steer("/boards/knobs", limits=False)
    path = f"/1/lists/{trello.examples['list_ids'][0]}"

    assert {200} == {trello.ask("GET", path, params={"fields": "name"}).status_code for _ in range(110)}


def test_a_batch_is_counted_by_its_parts(trello: Trello) -> None:
    answer = trello.ask("GET", "/1/batch", params={"urls": ",".join([f"/lists/{UNKNOWN}"] * 10)})

    assert "90" == answer.headers["x-rate-limit-api-token-remaining"]


class Counted(Throttle):
    """A throttle by a clock that is set."""

    def __init__(self) -> None:
        self.clock = ManualClock(0.0)
        super().__init__(EmulatorContext(self.clock))


def spent(throttle: Counted, now: float, spender: BudgetKey) -> Any:
    """The body of a refusal, or none."""
    throttle.clock.at = now
    try:
        throttle.charge(spender)
    except Refusal as refusal:
        return refusal.body
    return None


def test_a_window_slides() -> None:
    throttle, spender = Counted(), BudgetKey("k", "t")

    early = [spent(throttle, 0.0, spender) for _ in range(50)] + [spent(throttle, 5.0, spender) for _ in range(50)]

    assert early == [None] * 100
    assert TOKEN_SPENT == spent(throttle, 9.9, spender)
    assert [spent(throttle, 10.0, spender) for _ in range(51)] == [None] * 50 + [TOKEN_SPENT]


def test_a_key_is_shared_by_its_tokens() -> None:
    throttle = Counted()

    spends = [spent(throttle, 0.0, BudgetKey("k", f"t{number % 4}")) for number in range(301)]

    assert spends == [None] * 300 + [KEY_SPENT]


def test_member_routes_have_a_budget_of_a_quarter_of_an_hour() -> None:
    throttle = Counted()

    spends = [spent(throttle, float(second), BudgetKey("k", "t", 1, 1)) for second in range(101)]

    assert spends == [None] * 100 + [MEMBER_SPENT]
    assert spent(throttle, 101.0, BudgetKey("k", "t")) is None
    assert spent(throttle, 900.0, BudgetKey("k", "t", 1, 1)) is None


def test_more_than_200_refusals_lock_the_whole_key_out() -> None:
    throttle = Counted()
    for _ in range(301):
        spent(throttle, 0.0, BudgetKey("k", "t"))

    assert KEY_SPENT == spent(throttle, 1.0, BudgetKey("k", "other"))
    assert spent(throttle, 1.0, BudgetKey("k2", "other")) is None
    assert spent(throttle, 10.0, BudgetKey("k", "other")) is None


def test_member_routes_show_their_budget(trello: Trello) -> None:
    headers = trello.ask("GET", "/1/members/me").headers

    assert [
        "900000",
        "100",
        "99",
    ] == [headers[f"x-rate-limit-member-{one}"] for one in ("interval-ms", "max", "remaining")]
