"""Explanations of finished runs for people: errors, lost responses, and the effect of idempotency keys."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

from connector_gateway.core.calls.passthrough import operations_of
from connector_gateway.core.error_serialization import DONE
from connector_gateway.core.writes.idempotency_messages import different_parameters
from connector_gateway.core.writes.write_executor import FOUND_DETAIL, SENT_AGAIN_DETAIL
from connector_gateway.kit.errors import GatewayError, all_errors
from connector_gateway.kit.errors.remedy_placeholders import resolve_remedy
from connector_gateway.kit.operation import AnyConnector, AnyOperation

Tone = Literal["good", "warn", "bad"]
RESENT_AFTER = {None, 429, 500, 502, 503, 504, 529}
"""Statuses after which a request is resent. None stands for a missing response."""

DELIVERY_CODES = {
    "delivery_failed": "The webhook did not accept an event. It is sent again until it is accepted.",
    "webhook_disabled": "The webhook did not accept an event, and was disabled. Events wait until it is enabled.",
    "event_left_out": "The webhook accepts other events but not this one, which was left out.",
}
"""Explanations of the codes of deliveries, which have no error class."""


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """The end of a run, explained."""

    tone: Tone
    sentences: Sequence[str]
    remedy: str = ""
    """The remedy, empty if the run succeeded."""


def find_error_class(code: str | None) -> type[GatewayError] | None:
    """Return the error class of *code*. None for codes of polls and deliveries, which have no class."""
    return next((error for error in all_errors() if error.code == code), None)


def explain_run(run: Mapping[str, Any], connector: AnyConnector | None) -> RunOutcome | None:
    """Explain how a run of *connector* ended. Returns None for an ordinary success."""
    vendor = connector.vendor if connector else "The vendor"
    if run["status"] == "error":
        return _explain_error(run, connector)
    if run["status"] == "interrupted":
        operation = _find_operation(run, connector)
        writes = operation is not None and operation.scope == "write" and bool(run["upstream"])
        keyed = operation is not None and operation.keyed
        return RunOutcome("bad", [_interruption_sentence(vendor, writes=writes, keyed=keyed)])
    sentences = list(_unusual_facts(run, vendor))
    tone: Tone = "warn" if run["status"] == "partial" or _has_different_parameters(run) else "good"
    return RunOutcome(tone, sentences) if sentences else None


def _find_operation(run: Mapping[str, Any], connector: AnyConnector | None) -> AnyOperation | None:
    operations = operations_of(connector) if connector else ()
    return next((one for one in operations if one.name == run["operation"]), None)


def _has_different_parameters(run: Mapping[str, Any]) -> bool:
    return bool((run["idempotency"] or {}).get("parameters_differ"))


def _explain_error(run: Mapping[str, Any], connector: AnyConnector | None) -> RunOutcome:
    """Explain a failed run, with the remedy for the surface of its call."""
    error = find_error_class(run["code"])
    if error is None:
        return RunOutcome("bad", [DELIVERY_CODES.get(run["code"], f"The call failed with {run['code']}.")])
    done = [str(one[DONE]) for one in run["details"] or () if DONE in one]
    completed = [f"Done before the error: {', '.join(done)}."] if done else []
    summary = (error.__doc__ or "").partition("\n\n")[0].removesuffix("; ``details`` lists all of them.").rstrip(".")
    return RunOutcome(
        "bad", [f"{summary}.", *completed], resolve_remedy(error, run["surface"], [connector] if connector else ())
    )


def _interruption_sentence(vendor: str, *, writes: bool, keyed: bool) -> str:
    if writes:
        retry = ", or retry with the same idempotency key, which is safe." if keyed else "."
        return f"The call was interrupted. Check in {vendor} whether it took effect{retry}"
    return "The call was interrupted. Nothing was changed."


def _unusual_facts(run: Mapping[str, Any], vendor: str) -> Iterator[str]:
    """Yield what was unusual about a successful run."""
    if run["dry_run"]:
        yield "Nothing was written: the call was a dry run."
    if run["status"] == "partial":
        yield "Part of the result is missing, or part of the work failed."
    resolved = [detail for detail in run["details"] or () if FOUND_DETAIL in detail or SENT_AGAIN_DETAIL in detail]
    for detail in resolved:
        yield _resolution_sentence(detail, run["upstream"], vendor)
    if not resolved and _was_repeated(run["upstream"]):
        yield f"{vendor} did not respond successfully the first time, and the request was repeated."
    if _has_different_parameters(run):
        yield different_parameters(run["idempotency"].get("first_run_id"))


def _resolution_sentence(detail: Mapping[str, Any], upstream: Sequence[Mapping[str, Any]], vendor: str) -> str:
    """Explain how a request with a lost response was resolved."""
    lost = _loss_sentence(upstream, vendor)
    if FOUND_DETAIL not in detail:
        return f"{lost}; no trace was found, so it was sent again: {detail[SENT_AGAIN_DETAIL]}."
    match = str(detail[FOUND_DETAIL])
    proof = f"{match} was found" if match.startswith("the ") else f"its effect was found ({match})"
    return f"{lost}; {proof}; nothing was sent twice."


def _loss_sentence(upstream: Sequence[Mapping[str, Any]], vendor: str) -> str:
    failed = [one["status"] for one in upstream if one["status"] is None or one["status"] >= 300]
    if not failed:
        return "The response to an earlier attempt was lost"
    return "The response was lost" if failed[0] is None else f"{vendor} returned {failed[0]}, which proves nothing"


def _was_repeated(upstream: Sequence[Mapping[str, Any]]) -> bool:
    return any(
        (one["method"], one["path"]) == (two["method"], two["path"]) and one["status"] in RESENT_AFTER
        for one, two in pairwise(upstream)
    )
