"""The expected cost of a call, from those before it."""

from connector_gateway.core.pacing import call_costs
from connector_gateway.core.pacing.call_costs import CallCost, CallCosts
from connector_gateway.kit.upstream.budget import Budget, Charge
from harness.clocks import NOON

BUDGETS = {"all": Budget(3, 1), "minute": Budget(60, 60)}
ALL, MINUTE = Charge("all"), Charge("minute", units=5)


def send_requests(costs: CallCosts, *requests: Charge, connection_id: str = "one") -> CallCost:
    cost = costs.start(NOON, connection_id, "list_pages")
    for charge in requests:
        cost.add([charge], BUDGETS)
    costs.record(cost)
    return cost


def test_a_call_is_expected_to_need_what_the_last_ones_needed() -> None:
    costs = CallCosts()
    unknown = costs.start(NOON, "one", "list_pages").remaining("all")
    send_requests(costs, ALL, ALL, ALL, ALL, MINUTE)
    first = costs.start(NOON, "one", "list_pages").remaining("all")
    send_requests(costs, ALL, ALL, MINUTE)
    second = costs.start(NOON, "one", "list_pages").remaining("all")
    send_requests(costs, ALL, ALL, ALL, ALL)
    third = costs.start(NOON, "one", "list_pages")
    third.add([ALL], BUDGETS)

    # The first call fills caches.
    assert (0, 4, 2) == (unknown, first, second)
    assert (2, 2.5) == (third.remaining("all"), third.remaining("minute"))
    assert 0 == costs.start(NOON, "other", "list_pages").remaining("all")


def test_calls_without_requests_are_no_example() -> None:
    costs = CallCosts()
    send_requests(costs, ALL, ALL)
    send_requests(costs)

    assert 2 == costs.start(NOON, "one", "list_pages").remaining("all")


def test_own_requests_take_the_time_in_which_their_units_become_available() -> None:
    assert 0 == send_requests(CallCosts(), ALL).own_seconds
    assert 1 == send_requests(CallCosts(), ALL, ALL).own_seconds
    assert 10 == send_requests(CallCosts(), MINUTE, MINUTE, MINUTE).own_seconds


def test_the_costs_of_recent_operations_are_remembered() -> None:
    costs = CallCosts()
    for number in range(call_costs.MAX_TRACKED + 1):
        send_requests(costs, ALL, connection_id=str(number))

    assert (0, 1) == tuple(costs.start(NOON, name, "list_pages").remaining("all") for name in ("0", "1"))
