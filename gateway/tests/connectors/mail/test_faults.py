"""Mail operations with vendor failures, network failures and crashed processes."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from connector_gateway.connectors.mail import client
from gateway.tests.connectors.mail.vendor_view import VendorInspector, receive_message
from harness.all_connectors import only
from harness.gateway_server import Gateway, Reply, run_gateway
from harness.requirement import requirement
from workspace_sandbox.sandbox import Sandbox

ME = "/gmail/v1/users/me"
HTML = "<html><body>Bad Gateway</body></html>"

DRAFTS, SEND, MODIFY, LABELS = f"{ME}/drafts", f"{ME}/drafts/send", f"{ME}/messages/", f"{ME}/labels"

REJECTION: dict[str, Any] = {
    "fault": "status",
    "status": 400,
    "body": {"error": {"errors": [{"reason": "invalidArgument"}]}},
}
NOT_FOUND = {"error": {"code": 404, "status": "NOT_FOUND", "errors": [{"reason": "notFound"}]}}
FORBIDDEN = {"error": {"code": 403, "status": "PERMISSION_DENIED", "errors": [{"reason": "forbidden"}]}}

numbers = count(1)


@dataclass(frozen=True)
class Writer:
    """A caller whose writes can be counted by their unique subject."""

    gateway: Gateway
    mailbox: VendorInspector
    subject: str
    message_id: str

    def send(self, **more: Any) -> Reply:
        return self.gateway.post("/mail/messages", **(self._message() | more))

    def reply(self, **more: Any) -> Reply:
        return self.send(thread_id=self.message_id, **more)

    def draft(self, **more: Any) -> Reply:
        return self.gateway.post("/mail/drafts", **(self._message() | more))

    def label(self, **more: Any) -> Reply:
        body: dict[str, Any] = {"add": [self.subject], "create_missing": True}
        return self.gateway.post(f"/mail/messages/{self.message_id}/labels", **(body | more))

    def inject_fault(self, path: str, **fault: Any) -> None:
        """Make the next such write at the vendor fail."""
        self.gateway.fault("mail", method="POST", path=path, **fault)

    def call_with_key(self, name: str, key: str = "", **more: Any) -> Reply:
        """Call the write of that name with *key*, by default one that is fixed for this caller."""
        reply: Reply = getattr(self, name)(headers={"Idempotency-Key": key or self.subject}, **more)
        return reply

    def at(self, gateway: Gateway) -> "Writer":
        """Return this caller at another gateway."""
        return replace(self, gateway=gateway)

    def count_requests(self, path: str) -> int:
        """Return the number of POST requests that the vendor received at *path*."""
        return [(method, to) for method, to, _ in self.gateway.journal("mail")].count(("POST", path))

    def count_sent(self) -> int:
        """Return the number of sent messages."""
        return len(self.mailbox.sent(self.subject)) + len(self.mailbox.sent(f"Re: {self.subject}"))

    def count_drafts(self) -> int:
        """Return the number of drafts."""
        return len(self.mailbox.drafts(self.subject)) + len(self.mailbox.drafts(f"Re: {self.subject}"))

    def count_labels(self) -> int:
        """Return the number of labels."""
        return [label.name for label in self.mailbox.own.labels.values()].count(self.subject)

    def count_results(self) -> tuple[int, int, int]:
        """Return the numbers of sent messages, drafts and labels."""
        return self.count_sent(), self.count_drafts(), self.count_labels()

    def _message(self) -> dict[str, Any]:
        return {"to": ["ben@acmefreight.test"], "subject": self.subject, "body_html": "<p>Hello</p>"}


@pytest.fixture
def writer(gateway: Gateway, mailbox: VendorInspector) -> Writer:
    subject = f"Subject {next(numbers)}"
    return Writer(gateway, mailbox, subject, receive_message(gateway, subject))


@pytest.fixture
def separate_writer(sandbox: Sandbox, mailbox: VendorInspector, tmp_path: Path) -> Iterator[Writer]:
    """A caller of a separate gateway with a short queue, whose budgets may be blocked."""
    short_queue: dict[str, Any] = {"GATEWAY_QUEUE_SECONDS": "0.5", "GATEWAY_RUN_SECONDS": "0.5"}
    with run_gateway(sandbox, tmp_path, connectors=only("mail"), **short_queue) as gateway:
        gateway.clear("mail")
        subject = f"Subject {next(numbers)}"
        yield Writer(gateway, mailbox, subject, receive_message(gateway, subject))


def call(gateway: Gateway, name: str, **more: Any) -> Reply:
    """Perform a plain call of an operation."""
    examples = gateway.examples("mail")
    message: dict[str, Any] = {"to": ["ben@acmefreight.test"], "subject": "Plain call", "body_html": "<p>Hello</p>"}
    calls = {
        "search": lambda: gateway.get("/mail/messages", **({"q": "in:inbox", "limit": "2"} | more)),
        "send": lambda: gateway.post("/mail/messages", **(message | more)),
        "label": lambda: gateway.post(
            f"/mail/messages/{examples['message_id']}/labels", **({"add": ["STARRED"], "remove": ["UNREAD"]} | more)
        ),
        "fetch": lambda: gateway.get(
            "/mail/attachments/att_MWExZjdmODMwMDBkNWQwODox",
            **({"message_id": examples["attachment_message_id"]} | more),
        ),
        "draft": lambda: gateway.post("/mail/drafts", **(message | more)),
    }
    return calls[name]()


OPERATIONS = ["search", "send", "label", "fetch", "draft"]


# Quotas


def test_exhausted_sending_quota_does_not_block_reads(separate_writer: Writer) -> None:
    separate_writer.gateway.knob("mail", limits=True, sends_per_day=0)

    rejected = separate_writer.send()

    assert (429, "upstream_rate_limited") == (rejected.status, rejected.code)
    assert rejected.body["retry_after"] > 80_000
    assert 200 == call(separate_writer.gateway, "search").status
    assert "upstream_rate_limited" == call(separate_writer.gateway, "send").code
    assert (0, 0, 0) == separate_writer.count_results()


# Forbidden operations


@pytest.mark.parametrize(
    ("force", "reason", "remedy"),
    [
        ("domain_policy", ("domainPolicy", "The domain administrators have disabled Gmail apps."), "administrator"),
        ("mail_disabled", ("failedPrecondition", "Mail service not enabled"), "mail service"),
    ],
)
@pytest.mark.parametrize("name", OPERATIONS)
def test_vendor_reason_and_remedy_of_a_403_are_returned(
    gateway: Gateway, name: str, force: str, reason: tuple[str, str], remedy: str
) -> None:
    gateway.knob("mail", force=force)

    reply = call(gateway, name)

    vendor_reasons = [detail for detail in reply.facts if "vendor_code" in detail]
    assert [{"vendor_code": reason[0], "vendor_message": reason[1]}] == vendor_reasons
    assert remedy in reply.body["error"]["remedy"]


# Writes in doubt


NOT_PERFORMED: list[dict[str, Any]] = [
    {"fault": "drop_before"},
    {"fault": "status", "status": 500},
    {"fault": "status", "status": 503, "body": HTML},
    {"fault": "status", "status": 200, "body": {}},
    {"fault": "status", "status": 200, "body": []},
]
"""Faults after which a write was not performed, but its outcome is unknown."""


@requirement("common-95", "mail-18")
@pytest.mark.parametrize("fault", NOT_PERFORMED)
def test_unsent_draft_is_reported_and_sent_by_the_retry(writer: Writer, fault: dict[str, Any]) -> None:
    writer.inject_fault(SEND, **fault)

    first = writer.call_with_key("send")
    first_counts = writer.count_results()
    again = writer.call_with_key("send")

    (detail,) = first.details
    assert (502, (0, 1, 0)) == (first.status, first_counts)
    assert {"done", "draft_id", "message_id"} == detail.keys()
    assert 200 == again.status
    assert (1, 0, 0) == writer.count_results()


@requirement("common-97")
def test_equal_draft_of_another_call_is_not_taken_for_ours(writer: Writer) -> None:
    other_draft_id = writer.draft().data["draft_id"]
    writer.inject_fault(DRAFTS, fault="drop_before")

    writer.call_with_key("draft")
    again = writer.call_with_key("draft")

    assert again.data["draft_id"] != other_draft_id
    assert (0, 2, 0) == writer.count_results()


@requirement("common-81")
def test_draft_is_not_recreated_while_drafts_cannot_be_listed(writer: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    writer.draft(subject="Above")
    monkeypatch.setattr(client, "MAX_PAGES", 1)
    monkeypatch.setattr(client, "PAGE_SIZE", 1)
    writer.inject_fault(DRAFTS, fault="drop_before")

    writer.call_with_key("draft")
    again = writer.call_with_key("draft")

    assert (502, "upstream_error") == (again.status, again.code)
    assert (2, (0, 0, 0)) == (writer.count_requests(DRAFTS), writer.count_results())


def test_draft_is_found_below_newer_ones(writer: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "PAGE_SIZE", 2)
    writer.inject_fault(DRAFTS, fault="drop_after")
    writer.gateway.fault("mail", method="GET", path=DRAFTS, fault="status", status=503, times=6)
    writer.call_with_key("draft")
    statuses = [writer.draft(subject="Above").status for _ in range(5)]

    again = writer.call_with_key("draft")

    assert statuses == [200] * 5
    assert writer.mailbox.own.drafts[again.data["draft_id"]] == writer.mailbox.drafts(writer.subject)[0]
    assert (0, 1, 0) == writer.count_results()


@requirement("mail-26")
def test_label_created_before_a_rejected_change_is_reported(writer: Writer) -> None:
    writer.inject_fault(MODIFY, **REJECTION)

    reply = writer.label()

    assert (422, "upstream_refused") == (reply.status, reply.code)
    assert [
        {"vendor_code": "invalidArgument"},
        {"done": "create the label", "label": writer.subject, "created": True},
    ] == reply.facts


def test_label_of_another_spelling_is_not_reported_as_created(writer: Writer) -> None:
    writer.inject_fault(LABELS, fault="drop_before")
    first = writer.call_with_key("label")
    writer.mailbox.add_label("Label_931", writer.subject.upper())

    again = writer.call_with_key("label")

    assert "outcome_unknown" == first.code
    assert (again.data["labels"], again.data["created"]) == (["UNREAD", "INBOX", writer.subject.upper()], [])


def test_sent_message_is_found_by_the_retry_after_a_failed_search(writer: Writer) -> None:
    writer.inject_fault(SEND, fault="drop_after")
    writer.gateway.fault("mail", method="GET", path=f"{DRAFTS}/", fault="status", status=503, times=6)
    first = writer.call_with_key("send")
    again = writer.call_with_key("send")

    (sent,) = writer.mailbox.sent(writer.subject)
    assert (502, "outcome_unknown") == (first.status, first.code)
    assert (again.data["message_id"], again.data["to"]) == (sent.id, ["ben@acmefreight.test"])
    assert (1, 0, 0) == writer.count_results()


def test_sent_message_is_found_without_its_thread(writer: Writer) -> None:
    writer.inject_fault(SEND, fault="drop_after")
    writer.gateway.fault("mail", method="GET", path=f"{ME}/threads/", fault="status", status=404)

    reply = writer.send()

    assert [reply.data["message_id"]] == [sent.id for sent in writer.mailbox.sent(writer.subject)]


@requirement("common-81", "mail-18")
def test_deleted_message_is_never_resent(writer: Writer) -> None:
    writer.inject_fault(SEND, fault="drop_after")
    writer.gateway.fault("mail", method="GET", path=f"{DRAFTS}/", fault="status", status=503, times=6)
    writer.call_with_key("send")
    writer.gateway.act("mail", action="delete", message_id=writer.mailbox.sent(writer.subject)[0].id)

    again = writer.call_with_key("send")

    assert (502, "outcome_unknown") == (again.status, again.code)
    assert (0, 0, 0) == writer.count_results()


def test_draft_wrongly_reported_as_missing_is_sent_by_the_retry(writer: Writer) -> None:
    writer.inject_fault(SEND, fault="status", status=404, body=NOT_FOUND)

    first = writer.call_with_key("send")
    again = writer.call_with_key("send")

    assert (409, "upstream_conflict") == (first.status, first.code)
    assert 200 == again.status
    assert (1, 0, 0) == writer.count_results()


def test_deleted_draft_is_reported_as_conflict(writer: Writer) -> None:
    writer.inject_fault(SEND, fault="status", status=404, body=NOT_FOUND)
    writer.gateway.fault("mail", method="GET", path=f"{DRAFTS}/", fault="status", status=404, body=NOT_FOUND)

    reply = writer.send()

    assert (409, "upstream_conflict") == (reply.status, reply.code)
    assert 0 == writer.count_sent()


def test_rejected_message_leaves_no_draft(writer: Writer) -> None:
    writer.inject_fault(SEND, **REJECTION)

    first = writer.call_with_key("send")
    first_counts = writer.count_results()
    again = writer.call_with_key("send")

    assert (422, "upstream_refused", (0, 0, 0)) == (first.status, first.code, first_counts)
    assert (200, (1, 0, 0)) == (again.status, writer.count_results())


@requirement("mail-19", "mail-26")
def test_leftover_draft_of_a_rejected_message_is_deleted_by_the_retry(
    writer: Writer,
) -> None:
    writer.inject_fault(SEND, **REJECTION)
    writer.gateway.fault("mail", method="DELETE", path=DRAFTS, fault="drop_before")

    first = writer.call_with_key("send")
    first_counts = writer.count_results()
    again = writer.call_with_key("send")
    third = writer.call_with_key("send")

    assert ("upstream_refused", "make the draft", (0, 1, 0)) == (first.code, first.details[1]["done"], first_counts)
    assert ("upstream_refused", [{"vendor_code": "invalidArgument"}]) == (again.code, again.facts)
    assert 200 == third.status
    assert (1, 0, 0) == writer.count_results()


@requirement("mail-19", "mail-26")
def test_undeletable_draft_of_a_rejected_message_is_sent_by_the_retry(writer: Writer) -> None:
    writer.inject_fault(SEND, **REJECTION)
    writer.gateway.fault("mail", method="DELETE", path=DRAFTS, fault="status", status=403, body=FORBIDDEN)

    first = writer.call_with_key("send")
    first_counts = writer.count_results()
    again = writer.call_with_key("send")

    assert ("upstream_refused", "make the draft", (0, 1, 0)) == (first.code, first.details[1]["done"], first_counts)
    assert 200 == again.status
    assert (1, 0, 0) == writer.count_results()
