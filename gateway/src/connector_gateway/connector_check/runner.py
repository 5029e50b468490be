"""Runs the checks of a connector."""

import gc
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

from connector_gateway.connector_check.declarations import check_call, check_connector, check_examples
from connector_gateway.connector_check.history_runner import FIRST, History, Phase, Subject, open_subject
from connector_gateway.connector_check.read_checks import check_burst, check_pages, check_shapes, echo_credentials
from connector_gateway.connector_check.results import (
    BUDGET,
    CHANGES,
    CHECKS,
    DECLARATIONS,
    EVIDENCE,
    KEYS,
    ONCE,
    PAGES_END,
    PAGES_REPEAT,
    RECOVERY,
    SECRETS,
    SHAPES,
    CheckResult,
    Finding,
)
from connector_gateway.connector_check.write_histories import WriteSubject, plan
from connector_gateway.connector_check.write_verdicts import judge
from connector_gateway.kit.operation import AnyConnector, AnyOperation

WRITES = frozenset({ONCE, EVIDENCE, KEYS, SHAPES, RECOVERY, CHANGES})
"""The checks by which histories of writes are judged."""

Judged = Iterator[tuple[History, Sequence[Finding]]]
Progress = Callable[[str], None]


def run_checks(
    connector: AnyConnector,
    emulator: type[Any],
    *,
    seeds: int = 1,
    only: Collection[str] = CHECKS,
    progress: Progress = lambda _: None,
) -> Sequence[CheckResult]:
    """Check *connector* against *emulator*, and report the start of each part to *progress*."""
    run = _Run(only, progress)
    run.findings += check_connector(connector)
    if any(not one.examples for one in connector.operations):
        return run.results()
    with open_subject(connector, emulator) as subject:
        for operation in subject.connector.operations:
            for seed in range(1, seeds + 1):
                progress(f"{operation.name}, seed {seed}")
                with _without_garbage_collection():
                    run.check_operation(subject, operation, seed)
    return run.results()


@contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """Collect no garbage inside the context, which would take a third of the time, but collect it afterwards."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.collect()


class _Run:
    """One run of the checks: its findings so far."""

    def __init__(self, only: Collection[str], progress: Progress) -> None:
        self.only = only
        self.progress = progress
        self.findings: list[Finding] = []
        self.histories = Counter[str]()

    def results(self) -> Sequence[CheckResult]:
        """Return the result of each check."""
        return [
            CheckResult(check, [one for one in self.findings if one.check == check], self.histories[check])
            for check in CHECKS
            if check in self.only or any(one.check == check for one in self.findings)
        ]

    def check_operation(self, subject: Subject, operation: AnyOperation, seed: int) -> None:
        """Run all histories of an operation."""
        if invalid := list(check_examples(subject, operation)):
            self.findings += invalid
            return
        write = WriteSubject(subject, operation, ())
        is_write = operation.scope == "write"
        first = History(subject, "in a call of its example", seed).run(
            Phase(write.call if is_write else write.call_without_key)
        )
        problems = list(check_call(operation, first.of(FIRST)[-1], first.sent))
        # Even if only another check is run, which needs valid examples.
        self._judge(operation, {DECLARATIONS}, iter([(first, problems)]))
        if problems:
            return
        requests = tuple(first.sent)
        if is_write:
            self._judge(operation, WRITES, _play_all(WriteSubject(subject, operation, requests), seed))
        elif not _reads_feed(subject.connector, operation):
            self._judge(operation, {SHAPES}, check_shapes(subject, operation, requests, seed))
            if operation.is_paged:
                self._judge(operation, {PAGES_END, PAGES_REPEAT}, check_pages(subject, operation, seed))
        self._judge(operation, {BUDGET}, check_burst(subject, operation, seed))
        if requests:
            echoes: Judged = ((echo_credentials(subject, operation, one, seed), []) for one in requests[-1:])
            self._judge(operation, {SECRETS}, echoes)

    def _judge(self, operation: AnyOperation, checks: Collection[str], histories: Judged) -> None:
        """Add the findings of *histories*, which are run only if one of their *checks* is, or if others need them."""
        if not {*checks, SECRETS} & {*self.only, DECLARATIONS}:
            return
        for history, findings in histories:
            self.findings += findings
            self.histories.update({*checks, SECRETS})
            self.findings += _find_secrets(operation, history)


def _play_all(write: WriteSubject, seed: int) -> Judged:
    for planned in plan(write, seed):
        history = History(write.subject, planned.situation, seed)
        history.network.faults.update(planned.faults)
        history.crash_at = planned.crash_at
        history.run(*planned.phases)
        yield history, list(judge(write, planned, history))


def _reads_feed(connector: AnyConnector, operation: AnyOperation) -> bool:
    """Return True if *operation* reads the gateway's own feed of events, which is empty here.

    The vendor's response shows only whether the connection is still authorised.
    """
    return connector.event_source is not None and operation.path == "/events"


def _find_secrets(operation: AnyOperation, history: History) -> Iterator[Finding]:
    """Yield the places of a history that contain credentials."""
    places: Mapping[str, bytes] = {
        "A response of the gateway": "".join(reply.text for _, reply in history.replies).encode(),
        "The log": str(history.logs).encode(),
        "The unencrypted part of the database": b"".join(history.read_databases()),
    }
    for name, secret in history.subject.credentials.items():
        for place, content in places.items():
            if any(form.encode() in content for form in {secret, quote(secret, safe="")}):
                problem = f"{place} contains the credential {name!r} {history.situation}."
                yield Finding(SECRETS, operation.name, problem, history.seed)
