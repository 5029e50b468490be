"""Verdicts on the histories of a write. Each violation is reported by the check of its cause."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain

from connector_gateway.connector_check.emulated_vendor import SentRequest
from connector_gateway.connector_check.history_runner import FIRST, History
from connector_gateway.connector_check.results import CHANGES, EVIDENCE, KEYS, ONCE, RECOVERY, SHAPES, Finding
from connector_gateway.connector_check.write_histories import OTHER, WriteHistory, WriteSubject

Problems = Iterator[tuple[str, str]]
"""The check of each violation, and the beginning of a sentence."""


def judge(write: WriteSubject, planned: WriteHistory, history: History) -> Iterator[Finding]:
    """Yield the first violation of a history, which may be the cause of others."""
    sent = [one for one in history.sent if one.caller == FIRST and one.step]
    problems = chain(
        _find_overwritten(write, history),
        _find_doubled(write, history, sent) if planned.keyed else _find_resent(sent),
        _find_unearned(write, history, sent),
        _find_unfinished(history, sent) if planned.keyed else (),
    )
    for check, problem in list(problems)[:1]:
        yield Finding(check, write.operation.name, f"{problem} {planned.situation}.", history.seed)


def _find_overwritten(write: WriteSubject, history: History) -> Problems:
    """Yield changes that were sent again after another call changed the object."""
    others = [number for number, one in enumerate(history.sent) if one.caller == OTHER and one.step and one.is_done]
    if not others:
        return
    before = {one.step_name for one in history.sent[: others[0]] if one.caller == FIRST and one.step}
    for one in history.sent[others[-1] :]:
        if one.caller == FIRST and one.step_name in before and not write.creates(one):
            yield CHANGES, f"The step {one.step_name!r} was sent again over a later change"


def _find_doubled(write: WriteSubject, history: History, sent: Sequence[SentRequest]) -> Problems:
    """Yield steps that were carried out more often than in a history without faults."""
    done: dict[str, list[SentRequest]] = defaultdict(list)
    for one in sent:
        earlier = done[one.step_name]
        if one.is_done and len(earlier) >= write.count(one.step_name):
            problem = f"The step {one.step_name!r} was carried out twice"
            if any(_is_released(history, before) for before in earlier):
                yield KEYS, f"{problem}, because a response that proves nothing released the key"
            else:
                yield ONCE, problem
        if one.is_done:
            earlier.append(one)


def _is_released(history: History, request: SentRequest) -> bool:
    """Return True if the connector takes the response to a request for proof that nothing was done."""
    response = request.fault.response if request.fault else None
    return response is not None and history.subject.connector.error_table.in_doubt_reason(response) is None


def _find_resent(sent: Sequence[SentRequest]) -> Problems:
    """Yield requests without a key that were sent again although they may have arrived."""
    arrived = set()
    for one in sent:
        content = one.method, one.path, one.body
        if content in arrived:
            yield ONCE, f"The step {one.step_name!r} was sent twice"
        if one.may_have_arrived:
            arrived.add(content)


def _find_unearned(write: WriteSubject, history: History, sent: Sequence[SentRequest]) -> Problems:
    """Yield steps that were never carried out although the call succeeded."""
    if not history.of(FIRST)[-1].is_ok:
        return
    done = Counter(one.step_name for one in sent if one.is_done)
    for one in sent:
        if write.creates(one) and not done[one.step_name]:
            response = one.fault.response if one.fault else None
            if response is not None and response.is_success:
                check, cause = SHAPES, "A response of another shape was taken for success"
            else:
                check, cause = EVIDENCE, "The object of another client was returned"
            yield check, f"{cause}, although the step {one.step_name!r} was not carried out,"


def _find_unfinished(history: History, sent: Sequence[SentRequest]) -> Problems:
    """Yield calls that do not end, or whose results differ."""
    replies = history.of(FIRST)
    last = replies[-1]
    if not last.is_final:
        yield RECOVERY, f"Repeats with the key still ended with {last.code} after 15 minutes"
    elif not last.is_ok and not last.is_permanently_unknown and any(one.is_done for one in sent):
        yield RECOVERY, f"The call ended with {last.code} although the step {sent[-1].step_name!r} was carried out"
    results = [reply.body["data"] for reply in replies if reply.is_ok]
    if any(result != results[0] for result in results):
        yield RECOVERY, "A repeat with the key returned another result"
