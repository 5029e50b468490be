"""Verdicts on the histories of a write. Each violation is reported by the check of its cause."""

from collections import Counter
from collections.abc import Iterator, Sequence

from connector_gateway.connector_check.emulated_vendor import SentRequest
from connector_gateway.connector_check.history import FIRST, History
from connector_gateway.connector_check.results import CHANGES, EVIDENCE, KEYS, ONCE, RECOVERY, SHAPES, Finding
from connector_gateway.connector_check.write_histories import OTHER, WriteHistory, WriteSubject


def judge(write: WriteSubject, planned: WriteHistory, history: History) -> Iterator[Finding]:
    """Yield the violations of a history."""
    for check, problem in _find_problems(write, planned, history):
        yield Finding(check, write.operation.name, f"{problem} {planned.situation}.", history.seed)


def _find_problems(write: WriteSubject, planned: WriteHistory, history: History) -> Iterator[tuple[str, str]]:
    """Yield the check and the beginning of a sentence for each violation."""
    sent = [one for one in history.sent if one.caller == FIRST and one.step]
    resent = list(_find_resent(write, history))
    if resent:
        yield resent[0]
        return
    doubled = list(_find_doubled(write, planned, history, sent))
    if doubled:
        yield doubled[0]
        return
    yield from _find_unearned(write, history, sent)
    if planned.keyed:
        yield from _find_unfinished(history, sent)


def _find_doubled(
    write: WriteSubject, planned: WriteHistory, history: History, sent: Sequence[SentRequest]
) -> Iterator[tuple[str, str]]:
    """Yield steps that were carried out twice, or sent again without a key."""
    done: Counter[tuple[str, bytes]] = Counter()
    earlier: dict[tuple[str, bytes], SentRequest] = {}
    for one in sent:
        if one.step is None:
            continue
        name = one.step.identity
        done[name] += one.is_done
        before = earlier.get(name)
        if one.is_done and done[name] > write.count(name) and before:
            if _is_released(history, before):
                problem = "A response that proves nothing released the key"
                yield KEYS, f"{problem}, and the {_quote(one)} was carried out twice"
            else:
                yield ONCE, f"The {_quote(one)} was carried out twice"
        elif not planned.keyed and before and before.may_have_arrived and write.count(name) == 1:
            yield ONCE, f"The {_quote(one)} was sent twice"
        earlier[name] = one


def _is_released(history: History, request: SentRequest) -> bool:
    """Return True if the connector takes the response to a request for proof that nothing was done."""
    response = request.fault.response if request.fault else None
    return response is not None and history.subject.connector.error_table.in_doubt_reason(response) is None


def _find_unearned(write: WriteSubject, history: History, sent: Sequence[SentRequest]) -> Iterator[tuple[str, str]]:
    """Yield steps that were never carried out although the call succeeded."""
    if not history.of(FIRST)[-1].is_ok:
        return
    done = Counter(one.step.identity[0] for one in sent if one.step and one.is_done)
    for one in sent:
        if one.step and write.creates(one) and not done[one.step.identity[0]]:
            response = one.fault.response if one.fault else None
            is_odd = response is not None and response.is_success
            cause = (
                "A response of another shape was taken for success" if is_odd else "Another client's object was taken"
            )
            yield SHAPES if is_odd else EVIDENCE, f"{cause}, although the {_quote(one)} was not carried out"
            return


def _find_unfinished(history: History, sent: Sequence[SentRequest]) -> Iterator[tuple[str, str]]:
    """Yield calls that do not end, or whose results differ."""
    replies = history.of(FIRST)
    last = replies[-1]
    if not last.is_final:
        yield RECOVERY, f"Repeats with the key still ended with {last.code} after 15 minutes"
    elif not last.is_ok and not last.is_permanently_unknown and any(one.is_done for one in sent):
        yield RECOVERY, f"The call ended with {last.code} although the {_quote(sent[-1])} was carried out"
    results = [reply.body["data"] for reply in replies if reply.is_ok]
    if any(result != results[0] for result in results):
        yield RECOVERY, "A repeat with the key returned another result"


def _find_resent(write: WriteSubject, history: History) -> Iterator[tuple[str, str]]:
    """Yield changes that were sent again after another call changed the object."""
    others = [number for number, one in enumerate(history.sent) if one.caller == OTHER and one.step and one.is_done]
    if not others:
        return
    before = {one.step.identity for one in history.sent[: others[0]] if one.caller == FIRST and one.step}
    for one in history.sent[others[-1] :]:
        if one.caller == FIRST and one.step and one.step.identity in before and not write.creates(one):
            yield CHANGES, f"The {_quote(one)} was sent again over a later change"


def _quote(request: SentRequest) -> str:
    return f"step {request.step.step.name!r}" if request.step else "the request"
