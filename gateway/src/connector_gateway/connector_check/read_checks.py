"""Histories of reads: pages, responses of another shape, bursts, and vendors that return the credentials."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from multidict import CIMultiDict

from connector_gateway.connector_check.declarations import explain_error
from connector_gateway.connector_check.emulated_vendor import Fault, SentRequest
from connector_gateway.connector_check.history_runner import FIRST, History, Phase, Reply, Subject
from connector_gateway.connector_check.results import (
    BUDGET,
    DECLARATIONS,
    PAGES_END,
    PAGES_REPEAT,
    SHAPES,
    Finding,
)
from connector_gateway.connector_check.write_histories import INCOMPLETE, KEY, PAGE, create_response, describe
from connector_gateway.kit.json_encoding import encode_json
from connector_gateway.kit.operation import AnyOperation
from connector_gateway.kit.upstream.pool import UpstreamResponse

BODIES: Mapping[str, bytes] = {"a web page": PAGE, "incomplete JSON": INCOMPLETE, "a JSON text": b'"Not now"'}
"""Bodies that no vendor's API returns. An unknown object can be an empty list."""

MAX_PAGES = 100
PAGES = 3
"""The number of pages in which a list is read again."""

MAX_BURST_CALLS = 120
"""More calls than a minute's or ten seconds' budget of most vendors. Larger budgets are not used up."""

BURST_MARGIN = 20
"""The number of calls beyond the largest budget."""


def check_pages(subject: Subject, operation: AnyOperation, seed: int) -> Iterator[tuple[History, Sequence[Finding]]]:
    """Read the list of each example in the largest pages, and then in small ones."""
    longest, largest = 0, _largest_page(operation)
    for number in range(len(operation.examples)):
        arguments = {**subject.arguments(operation, number)}
        arguments.pop("limit", None)
        whole = _read_list(subject, operation, arguments, seed, largest)
        findings = list(_judge_list(operation, whole))
        yield whole, findings
        items = _list_items(whole)
        longest = max(longest, len(items))
        if len(items) > 1 and not findings:
            small = _read_list(subject, operation, arguments, seed, _choose_limit(largest, len(items)))
            yield small, list(_compare(operation, items, _list_items(small), seed))
    if longest <= 1:
        problem = "No example returns more than one item, so its pages cannot be checked."
        yield History(subject, "without a call", seed), [Finding(DECLARATIONS, operation.name, problem)]


def _largest_page(operation: AnyOperation) -> int | None:
    """Return the declared maximum of ``limit``, or None without one."""
    most: int | None = operation.params.model_json_schema()["properties"]["limit"].get("maximum")
    return most


def _choose_limit(largest: int | None, count: int) -> int:
    """Return the page size for several pages of *count* items."""
    return max(1, min(count // PAGES, largest or count))


def _judge_list(operation: AnyOperation, history: History) -> Iterator[Finding]:
    last: Reply = history.of(FIRST)[-1]
    if not last.is_ok:
        problem = f"It fails with {last.code} {history.situation}: {explain_error(last, history.sent)}"
        yield Finding(DECLARATIONS, operation.name, problem, history.seed)
    elif last.body["next_cursor"] is not None:
        problem = f"It has not ended after {MAX_PAGES} pages. The vendor may mark the last page in another way."
        yield Finding(PAGES_END, operation.name, problem, history.seed)


def _read_list(
    subject: Subject, operation: AnyOperation, arguments: Mapping[str, Any], seed: int, limit: int | None
) -> History:
    """Read a list until its end, in pages of *limit* items, or of the default number."""

    async def read(history: History) -> None:
        cursor: str | None = None
        for _ in range(MAX_PAGES):
            page = {**arguments, **({"limit": limit} if limit else {}), **({"cursor": cursor} if cursor else {})}
            reply = await history.call(operation, page)
            cursor = reply.body.get("next_cursor") if reply.is_ok else None
            if cursor is None:
                return

    return History(subject, f"when {operation.name} was read in pages of {limit or 'the default size'}", seed).run(
        Phase(read)
    )


def _list_items(history: History) -> list[bytes]:
    """Return the items without their nested values, which may contain URLs that expire."""
    items = [item for reply in history.of(FIRST) if reply.is_ok for item in reply.body["data"]]
    return [
        encode_json({name: value for name, value in item.items() if not isinstance(value, dict | list)})
        for item in items
    ]


def _compare(operation: AnyOperation, whole: list[bytes], pages: list[bytes], seed: int) -> Iterator[Finding]:
    repeated = len(pages) - len(set(pages))
    missing = len(set(whole) - set(pages))
    if repeated > len(whole) - len(set(whole)):
        yield Finding(PAGES_REPEAT, operation.name, f"{repeated} of {len(whole)} items are on two pages.", seed)
    if missing:
        yield Finding(PAGES_END, operation.name, f"{missing} of {len(whole)} items are on no page.", seed)


def check_shapes(
    subject: Subject, operation: AnyOperation, requests: Sequence[SentRequest], seed: int
) -> Iterator[tuple[History, Sequence[Finding]]]:
    """Replace the response to each request of a read."""
    for request in requests:
        shape, body = list(BODIES.items())[(seed + request.number) % len(BODIES)]
        situation = f"when {describe(request)} was answered with 200 and {shape}"
        history = _call_with_fault(
            subject, operation, request, create_response(200, body), situation=situation, seed=seed
        )
        problem = f"A response of another shape was taken for success {situation}."
        accepted = history.of(FIRST)[-1].is_ok
        yield history, [Finding(SHAPES, operation.name, problem, seed)] if accepted else []


def echo_credentials(subject: Subject, operation: AnyOperation, request: SentRequest, seed: int) -> History:
    """Reject a request with an error of the vendor that repeats the credentials."""
    emulator = subject.vendor.emulator
    message = f"Invalid request: {' '.join(subject.credentials.values())}"
    error = emulator.errors.not_implemented(message).response(emulator.context)
    response = UpstreamResponse(400, CIMultiDict(error.headers), bytes(error.body or b""))
    situation = f"when {describe(request)} was rejected with the credentials"
    return _call_with_fault(subject, operation, request, response, situation=situation, seed=seed)


def _call_with_fault(
    subject: Subject,
    operation: AnyOperation,
    request: SentRequest,
    response: UpstreamResponse,
    *,
    situation: str,
    seed: int,
) -> History:
    async def call(history: History) -> None:
        key = KEY if operation.scope == "write" else None
        await history.call(operation, subject.arguments(operation), key=key)

    history = History(subject, situation, seed)
    history.network.faults[FIRST, request.number] = Fault(served=False, response=response)
    return history.run(Phase(call))


def check_burst(subject: Subject, operation: AnyOperation, seed: int) -> Iterator[tuple[History, Sequence[Finding]]]:
    """Call an operation more often than the declared budgets allow at once."""
    calls = min(MAX_BURST_CALLS, int(max(budget.limit for budget in subject.connector.budgets.values())) + BURST_MARGIN)
    arguments = subject.arguments(operation)

    async def call(history: History) -> None:
        await asyncio.gather(*(history.call(operation, arguments) for _ in range(calls)))

    history = History(subject, f"in {calls} calls at the same time", seed).run(Phase(call))
    throttled = sum(one.is_throttled for one in history.sent)
    problem = f"The vendor throttled {throttled} of {len(history.sent)} requests {history.situation}."
    yield history, [Finding(BUDGET, operation.name, problem, seed)] if throttled else []
