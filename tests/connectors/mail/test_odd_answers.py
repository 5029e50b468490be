"""What happens when the application answers in another shape than it promises."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from connectors.mail.looking import Looking, file, one, received
from harness.rooms import only
from harness.serving import Gateway, Reply, serving
from workspace_sandbox.sandbox import Sandbox

ME = "/gmail/v1/users/me"
DRAFTS, SEND, LABELS, MESSAGES, THREADS = (
    f"{ME}/{noun}" for noun in ("drafts", "drafts/send", "labels", "messages", "threads")
)

ID = "19a3f0c2b7d4e851"
MESSAGE: dict[str, Any] = {"id": ID, "threadId": ID, "internalDate": "1795125600000", "payload": {}}

numbers = count(1)


@pytest.fixture
def unacquainted(mail_sandbox: Sandbox, tmp_path: Path) -> Iterator[Gateway]:
    """A gateway of its own, which remembers nothing of the mailbox."""
    with serving(mail_sandbox, tmp_path, connectors=only("mail")) as gateway:
        gateway.clear("mail")
        yield gateway


@pytest.fixture
def mark() -> str:
    """A subject that no other message has."""
    return f"Odd {next(numbers)}"


def odd(gateway: Gateway, path: str, body: Any, status: int = 200, **more: Any) -> None:
    """Let the application answer the next such request like that, and do nothing."""
    gateway.fault("mail", fault="status", path=path, status=status, body=body, **more)


def search(gateway: Gateway, **more: Any) -> Reply:
    return gateway.get("/mail/messages", **({"q": "in:inbox", "limit": "1"} | more))


def send(gateway: Gateway, mark: str, **more: Any) -> Reply:
    letter = {"to": ["ben@acmefreight.test"], "subject": mark, "body_html": "<p>Hello</p>"}
    return gateway.post("/mail/messages", **(letter | more))


@pytest.mark.parametrize(
    ("path", "body", "place"),
    [
        (MESSAGES, [], None),
        (MESSAGES, {"messages": {"id": ID}}, "messages"),
        (MESSAGES, {"messages": [ID]}, "messages[0]"),
        (MESSAGES, {"messages": [{"threadId": ID}]}, "messages[0]"),
        (MESSAGES, {"messages": [], "nextPageToken": 7}, "nextPageToken"),
        (f"{MESSAGES}/", {"id": ID}, None),
        (f"{MESSAGES}/", MESSAGE | {"internalDate": 1795125600000}, "internalDate"),
        (f"{MESSAGES}/", MESSAGE | {"internalDate": "soon"}, "internalDate"),
        (f"{MESSAGES}/", MESSAGE | {"labelIds": "INBOX"}, "labelIds"),
        (f"{MESSAGES}/", MESSAGE | {"payload": None}, "payload"),
        (f"{MESSAGES}/", MESSAGE | {"payload": {"headers": {"From": "a"}}}, "payload.headers"),
        (f"{MESSAGES}/", MESSAGE | {"payload": {"parts": [{"body": {"size": "12"}}]}}, "payload.parts[0].body.size"),
    ],
)
def test_a_search_names_the_place_where_an_answer_is_odd(
    gateway: Gateway, path: str, body: Any, place: str | None
) -> None:
    odd(gateway, path, body)

    reply = search(gateway)

    assert (502, "upstream_unexpected") == (reply.status, reply.code)
    assert ([] if place is None else [{"place": place}]) == reply.details
    assert 200 == search(gateway).status


@pytest.mark.parametrize(
    "body", [{"labels": [{"id": "INBOX"}]}, {"labels": "INBOX"}, {"labels": [{"id": 1, "name": 2}]}, 7]
)
def test_labels_that_cannot_be_read_are_not_remembered(unacquainted: Gateway, body: Any) -> None:
    odd(unacquainted, LABELS, body)

    refused = search(unacquainted)
    again = search(unacquainted)

    assert (502, "upstream_unexpected") == (refused.status, refused.code)
    assert 200 == again.status


@pytest.mark.parametrize(
    "body", [{}, {"sendAs": []}, {"sendAs": [{"isPrimary": True}]}, {"sendAs": [{"sendAsEmail": ""}]}, {"sendAs": 1}]
)
def test_a_sender_that_cannot_be_read_is_not_remembered(
    unacquainted: Gateway, mailbox: Looking, mark: str, body: Any
) -> None:
    odd(unacquainted, f"{ME}/settings/sendAs", body)

    refused = send(unacquainted, mark)
    again = send(unacquainted, mark)

    assert (502, "upstream_unexpected") == (refused.status, refused.code)
    assert 200 == again.status
    assert 1 == len(mailbox.sent(mark))


@pytest.mark.parametrize("body", [{"messages": {}}, {"messages": [{"id": ID}]}, {"messages": [None]}, "text"])
def test_a_thread_that_cannot_be_read_is_not_replied_to(
    gateway: Gateway, mailbox: Looking, mark: str, body: Any
) -> None:
    message_id = received(gateway, mark)
    odd(gateway, THREADS, body)

    reply = send(gateway, mark, thread_id=message_id)

    assert 502 == reply.status
    assert reply.code in {"upstream_unexpected", "upstream_error"}
    assert 0 == len(mailbox.sent(f"Re: {mark}"))


@pytest.mark.parametrize("path", [DRAFTS, SEND])
@pytest.mark.parametrize("body", [{"id": 7}, {"id": ID, "message": ID}, {"id": {"is": ID}, "threadId": ID}, [None]])
def test_a_letter_whose_answer_is_odd_is_in_doubt(
    gateway: Gateway, mailbox: Looking, mark: str, path: str, body: Any
) -> None:
    odd(gateway, path, body, method="POST")

    reply = send(gateway, mark)

    assert (502, "outcome_unknown") == (reply.status, reply.code)
    assert 0 == len(mailbox.sent(mark))


@pytest.mark.parametrize("path", [LABELS, f"{MESSAGES}/"])
@pytest.mark.parametrize("body", [{}, {"id": 7}, {"id": ID, "name": None, "labelIds": "INBOX"}, []])
def test_a_change_of_labels_whose_answer_is_odd_is_in_doubt(gateway: Gateway, mark: str, path: str, body: Any) -> None:
    message_id = received(gateway, mark)
    odd(gateway, path, body, method="POST")

    reply = gateway.post(f"/mail/messages/{message_id}/labels", add=[mark], create_missing=True)

    assert (502, "outcome_unknown") == (reply.status, reply.code)


@pytest.mark.parametrize("body", [{"data": 7}, {"data": "A"}, {"size": "12"}, []])
def test_a_file_that_cannot_be_read_is_told_as_such(gateway: Gateway, mark: str, body: Any) -> None:
    message_id = received(gateway, mark, file("plan.pdf", b"x" * 1000))
    attachment_id = one(gateway, f'subject:"{mark}"', include_body=True)["attachments"][0]["attachment_id"]
    odd(gateway, f"{MESSAGES}/{message_id}/attachments/", body)

    reply = gateway.get(f"/mail/attachments/{attachment_id}", message_id=message_id, **{"as": "base64"})

    assert (502, "upstream_error") == (reply.status, reply.code)


@pytest.mark.parametrize(
    ("status", "answered"),
    [
        (400, (422, "upstream_refused")),
        (403, (403, "upstream_forbidden")),
        (404, (502, "upstream_unexpected")),
        (409, (409, "upstream_conflict")),
        (418, (502, "upstream_unexpected")),
    ],
)
@pytest.mark.parametrize(
    "body", [{"error": "no"}, {"error": {"errors": {"reason": "x"}}}, {"error": [1]}, ["no"], "no"]
)
def test_a_refusal_of_odd_shape_is_known_by_its_status(
    gateway: Gateway, status: int, answered: tuple[int, str], body: Any
) -> None:
    odd(gateway, MESSAGES, body, status)

    reply = search(gateway)

    assert answered == (reply.status, reply.code)
