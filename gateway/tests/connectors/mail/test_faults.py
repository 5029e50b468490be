"""What happens when the application, the way to it, or the caller's key fails."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from connector_gateway.connectors.mail import client
from connector_gateway.core.writes.journal import JournalEntry
from gateway.tests.connectors.mail.looking import OWN, Looking, received
from harness.all_connectors import only
from harness.gateway_server import Gateway, Reply, run_gateway
from harness.interrupted_writes import done_step, interrupted_write, planned_step, sent_step
from harness.requirement import requirement
from workspace_sandbox.sandbox import Sandbox

ME = "/gmail/v1/users/me"
HTML = "<html><body>Bad Gateway</body></html>"

DRAFTS, SEND, MODIFY, LABELS = f"{ME}/drafts", f"{ME}/drafts/send", f"{ME}/messages/", f"{ME}/labels"

REFUSAL: dict[str, Any] = {
    "fault": "status",
    "status": 400,
    "body": {"error": {"errors": [{"reason": "invalidArgument"}]}},
}
GONE = {"error": {"code": 404, "status": "NOT_FOUND", "errors": [{"reason": "notFound"}]}}
FORBIDDEN = {"error": {"code": 403, "status": "PERMISSION_DENIED", "errors": [{"reason": "forbidden"}]}}

numbers = count(1)


@dataclass(frozen=True)
class Writer:
    """A caller whose every write leaves one trace that is its own."""

    gateway: Gateway
    mailbox: Looking
    mark: str
    message_id: str

    def send(self, **more: Any) -> Reply:
        return self.gateway.post("/mail/messages", **(self._letter() | more))

    def reply(self, **more: Any) -> Reply:
        return self.send(thread_id=self.message_id, **more)

    def draft(self, **more: Any) -> Reply:
        return self.gateway.post("/mail/drafts", **(self._letter() | more))

    def label(self, **more: Any) -> Reply:
        body: dict[str, Any] = {"add": [self.mark], "create_missing": True}
        return self.gateway.post(f"/mail/messages/{self.message_id}/labels", **(body | more))

    def harm(self, path: str, **fault: Any) -> None:
        """Let the next such write in the application go wrong."""
        self.gateway.fault("mail", method="POST", path=path, **fault)

    def keyed(self, name: str, key: str = "", **more: Any) -> Reply:
        """The write of that name, under the key that is always the same for this caller unless another is given."""
        reply: Reply = getattr(self, name)(headers={"Idempotency-Key": key or self.mark}, **more)
        return reply

    def at(self, gateway: Gateway) -> "Writer":
        """The same caller at another gateway."""
        return replace(self, gateway=gateway)

    def asked(self, path: str) -> int:
        """How often the application was asked to write there."""
        return [(method, to) for method, to, _ in self.gateway.journal("mail")].count(("POST", path))

    def sent(self) -> int:
        """How many messages were sent."""
        return len(self.mailbox.sent(self.mark)) + len(self.mailbox.sent(f"Re: {self.mark}"))

    def drafts(self) -> int:
        """How many drafts there are."""
        return len(self.mailbox.drafts(self.mark)) + len(self.mailbox.drafts(f"Re: {self.mark}"))

    def labels(self) -> int:
        """How many labels there are."""
        return [label.name for label in self.mailbox.own.labels.values()].count(self.mark)

    def traces(self) -> tuple[int, int, int]:
        """What was sent, kept as a draft, and created as a label."""
        return self.sent(), self.drafts(), self.labels()

    def _letter(self) -> dict[str, Any]:
        return {"to": ["ben@acmefreight.test"], "subject": self.mark, "body_html": "<p>Hello</p>"}


@pytest.fixture
def writer(gateway: Gateway, mailbox: Looking) -> Writer:
    mark = f"Mark {next(numbers)}"
    return Writer(gateway, mailbox, mark, received(gateway, mark))


@pytest.fixture
def fresh(sandbox: Sandbox, mailbox: Looking, tmp_path: Path) -> Iterator[Writer]:
    """An impatient caller of a gateway of its own, whose budgets may be closed."""
    impatient: dict[str, Any] = {"GATEWAY_QUEUE_SECONDS": "0.5", "GATEWAY_RUN_SECONDS": "0.5"}
    with run_gateway(sandbox, tmp_path, connectors=only("mail"), **impatient) as gateway:
        gateway.clear("mail")
        mark = f"Mark {next(numbers)}"
        yield Writer(gateway, mailbox, mark, received(gateway, mark))


def call(gateway: Gateway, name: str, **more: Any) -> Reply:
    """One call of each operation that does nothing remarkable."""
    examples = gateway.examples("mail")
    letter: dict[str, Any] = {"to": ["ben@acmefreight.test"], "subject": "Plain call", "body_html": "<p>Hello</p>"}
    calls = {
        "search": lambda: gateway.get("/mail/messages", **({"q": "in:inbox", "limit": "2"} | more)),
        "send": lambda: gateway.post("/mail/messages", **(letter | more)),
        "label": lambda: gateway.post(
            f"/mail/messages/{examples['message_id']}/labels", **({"add": ["STARRED"], "remove": ["UNREAD"]} | more)
        ),
        "fetch": lambda: gateway.get(
            "/mail/attachments/att_MWExZjdmODMwMDBkNWQwODox",
            **({"message_id": examples["attachment_message_id"]} | more),
        ),
        "draft": lambda: gateway.post("/mail/drafts", **(letter | more)),
    }
    return calls[name]()


OPERATIONS = ["search", "send", "label", "fetch", "draft"]
WRITES = ["send", "label", "draft"]


# The way to the application, and its moods


def test_an_account_that_may_send_no_more_today_can_still_be_read(fresh: Writer) -> None:
    fresh.gateway.knob("mail", limits=True, sends_per_day=0)

    refused = fresh.send()

    assert (429, "upstream_rate_limited") == (refused.status, refused.code)
    assert refused.body["retry_after"] > 80_000
    assert 200 == call(fresh.gateway, "search").status
    assert "upstream_rate_limited" == call(fresh.gateway, "send").code
    assert (0, 0, 0) == fresh.traces()


# What the application does not allow


@pytest.mark.parametrize(
    ("force", "reason", "remedy"),
    [
        ("domain_policy", ("domainPolicy", "The domain administrators have disabled Gmail apps."), "administrator"),
        ("mail_disabled", ("failedPrecondition", "Mail service not enabled"), "mail service"),
    ],
)
@pytest.mark.parametrize("name", OPERATIONS)
def test_why_the_application_does_not_allow_it_is_told(
    gateway: Gateway, name: str, force: str, reason: tuple[str, str], remedy: str
) -> None:
    gateway.knob("mail", force=force)

    reply = call(gateway, name)

    told = [detail for detail in reply.facts if "vendor_code" in detail]
    assert [{"vendor_code": reason[0], "vendor_message": reason[1]}] == told
    assert remedy in reply.body["error"]["remedy"]


# Writes in doubt


@requirement("common-79", "mail-18")
@pytest.mark.parametrize("name", ["send", "reply"])
@pytest.mark.parametrize("path", [DRAFTS, SEND])
@pytest.mark.parametrize("fault", [{"fault": "drop_after"}, {"fault": "garbage"}])
def test_a_message_whose_answer_is_lost_is_sent_once(
    writer: Writer, name: str, path: str, fault: dict[str, Any]
) -> None:
    writer.harm(path, **fault)

    reply = getattr(writer, name)()

    assert 200 == reply.status
    assert (1, 0, 0) == writer.traces()
    assert reply.data["message_id"] in writer.mailbox.own.messages


UNDONE: list[dict[str, Any]] = [
    {"fault": "drop_before"},
    {"fault": "status", "status": 500},
    {"fault": "status", "status": 503, "body": HTML},
    {"fault": "status", "status": 200, "body": {}},
    {"fault": "status", "status": 200, "body": []},
]
"""What leaves a write undone, and its caller in doubt."""


@requirement("common-95", "mail-18")
@pytest.mark.parametrize("fault", UNDONE)
def test_a_draft_that_was_not_sent_is_told_and_sent_by_the_repeat(writer: Writer, fault: dict[str, Any]) -> None:
    writer.harm(SEND, **fault)

    first = writer.keyed("send")
    half = writer.traces()
    again = writer.keyed("send")

    (detail,) = first.details
    assert (502, (0, 1, 0)) == (first.status, half)
    assert {"done", "draft_id", "message_id"} == detail.keys()
    assert 200 == again.status
    assert (1, 0, 0) == writer.traces()


@requirement("common-97")
def test_an_equal_draft_of_somebody_elses_is_not_taken_for_ones_own(writer: Writer) -> None:
    theirs = writer.draft().data["draft_id"]
    writer.harm(DRAFTS, fault="drop_before")

    writer.keyed("draft")
    again = writer.keyed("draft")

    assert again.data["draft_id"] != theirs
    assert (0, 2, 0) == writer.traces()


@requirement("common-81")
def test_while_not_all_drafts_can_be_listed_none_is_made_again(writer: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    writer.draft(subject="Above")
    monkeypatch.setattr(client, "MAX_PAGES", 1)
    monkeypatch.setattr(client, "PAGE_SIZE", 1)
    writer.harm(DRAFTS, fault="drop_before")

    writer.keyed("draft")
    again = writer.keyed("draft")

    assert (502, "upstream_error") == (again.status, again.code)
    assert (2, (0, 0, 0)) == (writer.asked(DRAFTS), writer.traces())


def test_a_draft_is_found_beneath_newer_ones(writer: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "PAGE_SIZE", 2)
    writer.harm(DRAFTS, fault="drop_after")
    writer.gateway.fault("mail", method="GET", path=DRAFTS, fault="status", status=503, times=6)
    writer.keyed("draft")
    made = [writer.draft(subject="Above").status for _ in range(5)]

    again = writer.keyed("draft")

    assert made == [200] * 5
    assert writer.mailbox.own.drafts[again.data["draft_id"]] == writer.mailbox.drafts(writer.mark)[0]
    assert (0, 1, 0) == writer.traces()


@requirement("mail-26")
def test_a_label_that_was_created_before_the_change_is_refused_is_told(writer: Writer) -> None:
    writer.harm(MODIFY, **REFUSAL)

    reply = writer.label()

    assert (422, "upstream_refused") == (reply.status, reply.code)
    assert [
        {"vendor_code": "invalidArgument"},
        {"done": "create the label", "label": writer.mark, "created": True},
    ] == reply.facts


def test_a_label_of_another_spelling_that_is_there_after_a_doubt_was_not_created(writer: Writer) -> None:
    writer.harm(LABELS, fault="drop_before")
    first = writer.keyed("label")
    writer.mailbox.add_label("Label_931", writer.mark.upper())

    again = writer.keyed("label")

    assert "outcome_unknown" == first.code
    assert (again.data["labels"], again.data["created"]) == (["UNREAD", "INBOX", writer.mark.upper()], [])


def test_a_message_that_was_sent_is_found_by_a_repeat_when_nobody_could_look_before(writer: Writer) -> None:
    writer.harm(SEND, fault="drop_after")
    writer.gateway.fault("mail", method="GET", path=f"{DRAFTS}/", fault="status", status=503, times=6)
    first = writer.keyed("send")
    again = writer.keyed("send")

    (sent,) = writer.mailbox.sent(writer.mark)
    assert (502, "outcome_unknown") == (first.status, first.code)
    assert (again.data["message_id"], again.data["to"]) == (sent.id, ["ben@acmefreight.test"])
    assert (1, 0, 0) == writer.traces()


def test_a_message_that_was_sent_is_found_even_where_its_thread_is_not(writer: Writer) -> None:
    writer.harm(SEND, fault="drop_after")
    writer.gateway.fault("mail", method="GET", path=f"{ME}/threads/", fault="status", status=404)

    reply = writer.send()

    assert [reply.data["message_id"]] == [sent.id for sent in writer.mailbox.sent(writer.mark)]


@requirement("common-81", "mail-18")
def test_what_cannot_be_found_any_more_is_never_sent_again(writer: Writer) -> None:
    writer.harm(SEND, fault="drop_after")
    writer.gateway.fault("mail", method="GET", path=f"{DRAFTS}/", fault="status", status=503, times=6)
    writer.keyed("send")
    writer.gateway.act("mail", action="delete", message_id=writer.mailbox.sent(writer.mark)[0].id)

    again = writer.keyed("send")

    assert (502, "outcome_unknown") == (again.status, again.code)
    assert (0, 0, 0) == writer.traces()


def test_a_draft_that_seems_gone_and_is_not_is_sent_by_the_repeat(writer: Writer) -> None:
    writer.harm(SEND, fault="status", status=404, body=GONE)

    first = writer.keyed("send")
    again = writer.keyed("send")

    assert (409, "upstream_conflict") == (first.status, first.code)
    assert 200 == again.status
    assert (1, 0, 0) == writer.traces()


def test_a_draft_that_somebody_takes_away_is_told(writer: Writer) -> None:
    writer.harm(SEND, fault="status", status=404, body=GONE)
    writer.gateway.fault("mail", method="GET", path=f"{DRAFTS}/", fault="status", status=404, body=GONE)

    reply = writer.send()

    assert (409, "upstream_conflict") == (reply.status, reply.code)
    assert 0 == writer.sent()


def test_a_message_that_is_refused_leaves_no_draft_behind(writer: Writer) -> None:
    writer.harm(SEND, **REFUSAL)

    first = writer.keyed("send")
    after_first = writer.traces()
    again = writer.keyed("send")

    assert (422, "upstream_refused", (0, 0, 0)) == (first.status, first.code, after_first)
    assert (200, (1, 0, 0)) == (again.status, writer.traces())


@requirement("mail-19", "mail-26")
def test_the_draft_of_a_refused_message_that_may_not_have_been_deleted_is_told_and_deleted_by_the_repeat(
    writer: Writer,
) -> None:
    writer.harm(SEND, **REFUSAL)
    writer.gateway.fault("mail", method="DELETE", path=DRAFTS, fault="drop_before")

    first = writer.keyed("send")
    left = writer.traces()
    again = writer.keyed("send")
    freed = writer.keyed("send")

    assert ("upstream_refused", "make the draft", (0, 1, 0)) == (first.code, first.details[1]["done"], left)
    assert ("upstream_refused", [{"vendor_code": "invalidArgument"}]) == (again.code, again.facts)
    assert 200 == freed.status
    assert (1, 0, 0) == writer.traces()


@requirement("mail-19", "mail-26")
def test_the_draft_of_a_refused_message_that_cannot_be_deleted_is_told_and_sent_by_the_repeat(writer: Writer) -> None:
    writer.harm(SEND, **REFUSAL)
    writer.gateway.fault("mail", method="DELETE", path=DRAFTS, fault="status", status=403, body=FORBIDDEN)

    first = writer.keyed("send")
    left = writer.traces()
    again = writer.keyed("send")

    assert ("upstream_refused", "make the draft", (0, 1, 0)) == (first.code, first.details[1]["done"], left)
    assert 200 == again.status
    assert (1, 0, 0) == writer.traces()


# Processes that died in the middle


def letter(writer: Writer) -> dict[str, Any]:
    """What a call had planned that was to send the writer's letter."""
    return {
        "sender": {"name": "Nora Lind", "address": OWN},
        "to": [{"name": "", "address": "ben@acmefreight.test"}],
        "subject": writer.mark,
        "in_reply_to": "",
        "references": [],
        "thread_id": None,
        "written_at": writer.mailbox.emulator.services.transport.now_ms() / 1000,
    }


def marked(writer: Writer) -> tuple[str, str]:
    """The identifier of a draft of the writer's letter, and the mark that it bears."""
    draft_id = str(writer.draft().data["draft_id"])
    return draft_id, writer.mailbox.own.drafts[draft_id].header(client.MARKER)


def died(writer: Writer, key: str, *steps: JournalEntry) -> None:
    """Leave a claim behind, as a process does that died while it was sending the writer's letter."""
    body = {"to": ["ben@acmefreight.test"], "subject": writer.mark, "body_html": "<p>Hello</p>"}
    interrupted_write(writer.gateway, "mail", "send_message", key, body, [planned_step(letter(writer)), *steps])


@requirement("common-94")
def test_the_draft_of_a_process_that_died_is_found_and_sent(writer: Writer) -> None:
    now = writer.gateway.app.clock.now()
    _, mark = marked(writer)
    died(writer, writer.mark, sent_step("make the draft", letter(writer), at=now - 1, mark=mark))

    reply = writer.keyed("send", subject="Another letter")

    assert 200 == reply.status
    assert (1, 0, 0) == writer.traces()


def dies_sending(writer: Writer) -> str:
    """Leave a draft behind that a process was sending when it died; the draft's identifier."""
    now = writer.gateway.app.clock.now()
    draft_id, mark = marked(writer)
    message = writer.mailbox.own.drafts[draft_id]
    made = {"id": draft_id, "message_id": message.id, "thread_id": message.thread_id, "mark": mark, "made_at": now}
    sending = {"draft_id": draft_id, "thread_id": message.thread_id, "mark": mark}
    steps = done_step("make the draft", letter(writer), made), sent_step("send the draft", sending, at=now - 1)
    died(writer, writer.mark, *steps)
    return draft_id


@requirement("common-94")
def test_the_draft_that_a_process_had_not_sent_when_it_died_is_sent(writer: Writer) -> None:
    dies_sending(writer)

    reply = writer.keyed("send", subject="Another letter")

    assert [reply.data["message_id"]] == [found.id for found in writer.mailbox.sent(writer.mark)]
    assert (1, 0, 0) == writer.traces()


@requirement("common-94")
def test_the_message_that_a_process_sent_before_it_died_is_found(writer: Writer) -> None:
    draft_id = dies_sending(writer)
    application = writer.gateway.sandbox.emulators["mail"]
    token = {"Authorization": f"Bearer {application.credentials()['token']}"}
    writer.gateway.http.post(application.context.addresses["base"] + SEND, json={"id": draft_id}, headers=token)

    reply = writer.keyed("send", subject="Another letter")

    assert [reply.data["message_id"]] == [found.id for found in writer.mailbox.sent(writer.mark)]
    assert 1 == writer.asked(SEND)
