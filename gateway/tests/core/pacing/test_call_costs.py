"""The expected cost of a call, from those before it."""

from connector_gateway.core.pacing import call_costs
from connector_gateway.core.pacing.call_costs import CallCost, CallCosts
from connector_gateway.kit.upstream.budget import Budget, Charge, TypicalRequests
from harness.clocks import NOON

BUDGETS = {"all": Budget(3, 1), "minute": Budget(60, 60)}
ALL, MINUTE = Charge("all"), Charge("minute", units=5)


REQUESTS = TypicalRequests(cold=4 * ((ALL,),), warm=2 * ((ALL,),))


def start(costs: CallCosts, connection_id: str = "one", requests: TypicalRequests = REQUESTS) -> CallCost:
    return costs.start(NOON, connection_id, "list_pages", requests)


def send_requests(cost: CallCost, *requests: Charge) -> CallCost:
    for charge in requests:
        cost.add([charge], BUDGETS)
    return cost


def record(costs: CallCosts, *requests: Charge) -> None:
    costs.record(send_requests(start(costs), *requests))


def expected(costs: CallCosts, connection_id: str = "one") -> float:
    return start(costs, connection_id).remaining("all")


def test_the_first_call_of_a_connection_fills_caches_and_later_ones_use_them() -> None:
    costs = CallCosts()

    assert (4, 2, 2) == (expected(costs), expected(costs), expected(costs))
    assert 4 == expected(costs, "other")


def test_a_call_is_expected_to_need_what_the_last_ones_needed() -> None:
    costs = CallCosts()
    record(costs, ALL, ALL, ALL, ALL)
    after_filling_caches = expected(costs)
    record(costs, ALL, ALL, ALL, ALL, MINUTE)
    third = send_requests(start(costs), ALL)

    assert 2 == after_filling_caches
    assert (2, 2.5) == (third.remaining("all"), third.remaining("minute"))


def test_an_operation_without_a_declaration_is_known_from_its_first_call() -> None:
    costs, undeclared = CallCosts(), TypicalRequests()
    first = start(costs, requests=undeclared)
    unknown = first.remaining("all")
    costs.record(send_requests(first, ALL, ALL, ALL))

    assert (0, 3) == (unknown, start(costs, requests=undeclared).remaining("all"))


def test_calls_without_requests_are_no_example() -> None:
    costs = CallCosts()
    record(costs)
    record(costs)

    assert 2 == expected(costs)


def test_own_requests_take_the_time_in_which_their_units_become_available() -> None:
    assert 0 == send_requests(CallCost(), ALL).own_seconds
    assert 1 == send_requests(CallCost(), ALL, ALL).own_seconds
    assert 10 == send_requests(CallCost(), MINUTE, MINUTE, MINUTE).own_seconds


def test_the_costs_of_recent_operations_are_remembered() -> None:
    costs = CallCosts()
    for number in range(call_costs.MAX_TRACKED + 1):
        start(costs, str(number))

    assert (2, 4) == (expected(costs, "1"), expected(costs, "0"))
