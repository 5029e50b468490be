"""Writes whose response has another status or body than the vendor's, before or after the write was performed.

``python -m hostile outcomes`` tries every status with every body for every step of every write, which takes hours;
the suite and ``make hostile`` try some of them.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count, product
from pathlib import Path
from typing import Any

from connector_gateway.connectors import CONNECTORS
from connector_gateway.core.writes.write_executor import CHECK_UPSTREAM_FIRST
from connector_gateway.kit.errors import OutcomeUnknown
from connector_gateway.kit.errors.remedy_placeholders import resolve_remedy
from harness.all_connectors import AllConnectors, run_all_connectors
from harness.gateway_server import Gateway, Reply
from harness.operation_calls import defects
from harness.sandbox_server import run_emulators
from simulation.vendors import OWN, REJECTIONS, SHAPES, Unexpected
from simulation.writes import KINDS
from workspace_sandbox import EMULATORS

STATUSES = range(200, 600)
"""Statuses below 200 only announce a response, and are tested where responses are read."""

STEPS: Sequence[tuple[str, str, str]] = (
    ("notes.create_page", "POST", "/v1/pages"),
    ("notes.create_long_page", "PATCH", "/v1/blocks"),
    ("notes.update_page", "PATCH", "/v1/pages"),
    ("boards.create_card", "POST", "/1/cards"),
    ("boards.move_card", "PUT", "/1/cards"),
    ("boards.comment_on_card", "POST", "/1/cards"),
    ("boards.attach_checklist", "POST", "/1/cards"),
    ("boards.attach_checklist", "POST", "/1/checklists"),
    ("mail.send_message", "POST", "/gmail/v1/users/me/drafts"),
    ("mail.send_message", "POST", "/gmail/v1/users/me/drafts/send"),
    ("mail.create_draft", "POST", "/gmail/v1/users/me/drafts"),
    ("mail.change_message_labels", "POST", "/gmail/v1/users/me/labels"),
    ("mail.change_message_labels", "POST", "/gmail/v1/users/me/messages"),
    ("chat.post_message", "POST", "/api/chat.postMessage"),
    ("chat.edit_message", "POST", "/api/chat.update"),
    ("chat.add_reaction", "POST", "/api/reactions.add"),
    ("crm.create_or_update_contact", "POST", "/crm/objects/2026-09/contacts/batch/upsert"),
    ("crm.create_or_update_contact", "PUT", "/crm/objects/2026-09/contacts"),
    ("crm.create_deal", "POST", "/crm/objects/2026-09/deals"),
    ("crm.update_deal", "PATCH", "/crm/objects/2026-09/deals"),
    ("crm.update_deal", "POST", "/crm/objects/2026-09/notes"),
    ("tables.create_records", "POST", "/v0"),
    ("tables.update_record", "PATCH", "/v0"),
    ("tables.attach_file", "POST", "/v0"),
)
"""Write, method and path of each step."""

numbers = count(1)


@dataclass(frozen=True)
class Case:
    """One response that replaces the vendor's for one step."""

    name: str
    method: str
    path: str
    status: int
    shape: str
    served: bool
    """Whether the step is performed."""

    keyed: bool

    @property
    def connector(self) -> str:
        """The connector."""
        return KINDS[self.name].connector

    @property
    def body(self) -> Any:
        """The body of the response."""
        return REJECTIONS[self.connector][1] if self.shape == OWN else SHAPES[self.shape]

    @property
    def rejects(self) -> bool:
        """Whether the connector's table lists the response as evidence that nothing was done."""
        return Unexpected(self.status, self.shape).in_doubt_reason(self.connector) is None

    def __str__(self) -> str:
        done = "done" if self.served else "not done"
        return f"{self.name}, {self.method} {self.path}, {done}: {self.status} with {self.shape}, keyed: {self.keyed}"


def every_case() -> Iterator[Case]:
    """Return every status with every body for every step, before and after it was performed, with and without a key."""
    for (name, method, path), status, shape, served, keyed in product(
        STEPS, STATUSES, SHAPES, (True, False), (True, False)
    ):
        yield Case(name, method, path, status, shape, served, keyed)


def some_cases() -> Iterator[Case]:
    """Return every status once, and every step with every body, with the other properties in turn."""
    for number, status in enumerate(STATUSES):
        name, method, path = STEPS[number % len(STEPS)]
        # Neither is a divisor of the number of steps, so that each step meets every body in every way.
        shape = list(SHAPES)[number // 5 % len(SHAPES)]
        yield Case(name, method, path, status, shape, served=number % 7 < 5, keyed=number % 3 > 0)


@dataclass
class Walk:
    """A gateway with every connector, in front of vendors with replaced responses."""

    started: AllConnectors

    def wrong(self, case: Case) -> Iterator[str]:
        """Return the violations in the outcome of *case*."""
        # The table does not cover a vendor that reports that it did nothing although it did.
        if case.rejects and (case.served or case.status == 401):
            return
        content = f"status {next(numbers)}"
        gateway = self.started.gateway
        gateway.clear(case.connector)
        self.started.prepare(case.name, content)
        headers = {"Retry-After": "0", "Location": "/"}
        gateway.fault(
            case.connector,
            fault="status",
            method=case.method,
            path=case.path,
            status=case.status,
            headers=headers,
            body=case.body,
            served=case.served,
        )
        first = self._write(case, content)
        yield from self._wrong_first(case, first, gateway)
        (error,) = gateway.sandbox.emulators[case.connector].context.faults
        yield from ["the step was never sent"] * (error.done == 0)
        gateway.sandbox.emulators[case.connector].context.clear_faults()
        if case.keyed:
            # An unknown outcome ends within the settle time, which is shorter than the wait of a repeat.
            again = self._write(case, content)
            yield from defects(self.started.world, case.name, content, again)
        else:
            created = [len(list(KINDS[case.name].created(self.started.world, content)))]
            yield from (f"{number} were made" for number in created if number > KINDS[case.name].parts)

    def _write(self, case: Case, content: str) -> Reply:
        kind, gateway = KINDS[case.name], self.started.gateway
        method, path, body = kind.request(self.started.world, content)
        sent = {"connection_id": gateway.connections[case.connector], **body}
        headers = {"Idempotency-Key": content} if case.keyed else {}
        return gateway.request(method, f"/v1/connectors/{case.connector}{path}", json=sent, headers=headers)

    def _wrong_first(self, case: Case, reply: Reply, gateway: Gateway) -> Iterator[str]:
        sent = [
            method for method, path, _ in gateway.journal(case.connector) if method == case.method and path == case.path
        ]
        if not case.rejects and reply.status != 200 and reply.code not in {"outcome_unknown", "upstream_error"}:
            yield f"answered {reply.status} {reply.code}"
        if not case.rejects and not case.served and reply.status == 200 and not case.keyed:
            yield "answered 200 for what was not done"
        if not case.rejects and reply.status != 200 and not case.keyed:
            remedy = reply.body["error"]["remedy"]
            expected = resolve_remedy(
                OutcomeUnknown("", remedy=CHECK_UPSTREAM_FIRST), "http", [CONNECTORS[case.connector]]
            )
            yield from [f"the remedy is {remedy!r}"] * (remedy != expected)
        if not case.rejects and not case.keyed and len(sent) > 1:
            yield f"sent {len(sent)} times without a key"


@contextmanager
def run_cases(folder: Path) -> Iterator[Walk]:
    """Run a gateway with all connectors, whose writes settle immediately."""
    with run_emulators(**EMULATORS) as sandbox, run_all_connectors(sandbox, folder) as started:
        yield Walk(started)


def failures(walk: Walk, cases: Iterable[Case]) -> Iterator[str]:
    """Return the violations in the outcomes of *cases*."""
    for case in cases:
        yield from (f"{case}: {wrong}" for wrong in walk.wrong(case))
