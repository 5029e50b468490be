"""The Gmail stand-in over real HTTP: messages, threads, drafts, labels, uploads, batches, refusals, limits."""

import json
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from harness.playing import playing
from workspace_sandbox.kit.stage import Stage
from workspace_sandbox.mail import MailEmulator
from workspace_sandbox.mail.access import FULL
from workspace_sandbox.mail.batch import MAX_INNER
from workspace_sandbox.mail.refusals import FORCED
from workspace_sandbox.mail.routes import METHODS, ROUTES
from workspace_sandbox.mail.wire import Refusal
from workspace_sandbox.sandbox import Sandbox

USER = "/gmail/v1/users/me"
OWN = "nora@brightfjord.test"
JONAS = "jonas@brightfjord.test"
OUTSIDE = "someone@elsewhere.test"


class Ticking:
    """A clock that moves only when told to."""

    def __init__(self) -> None:
        self.at = 1_795_200_000.0

    def now(self) -> float:
        return self.at

    async def sleep(self, seconds: float) -> None:
        self.at += seconds


class Mail:
    """A plain client of the emulated API."""

    def __init__(self, sandbox: Sandbox) -> None:
        emulator = sandbox.emulators["mail"]
        assert isinstance(emulator, MailEmulator)
        self.emulator = emulator
        self.examples = emulator.examples()
        self.address = emulator.stage.addresses["base"]
        self.token = emulator.credentials()["token"]
        self.http = httpx.Client(base_url=self.address, headers={"Authorization": f"Bearer {self.token}"})
        self.control = httpx.Client(base_url=f"{sandbox.address}/_control")

    def get(self, path: str, **params: Any) -> Any:
        return self._json(self.http.get(USER + path, params=params))

    def post(self, path: str, body: Any = None) -> Any:
        return self._json(self.http.post(USER + path, json=body))

    def put(self, path: str, body: Any) -> Any:
        return self._json(self.http.put(USER + path, json=body))

    def refusal(self, method: str, path: str, **request: Any) -> tuple[int, str, str]:
        """Status, reason and message of a refused request."""
        answer = self.http.request(method, USER + path, **request)
        error = answer.json()["error"]
        return answer.status_code, error["errors"][0]["reason"], error["message"]

    def turn(self, **knobs: Any) -> None:
        assert 200 == self.control.post("/mail/knobs", json=knobs).status_code

    def act(self, **action: Any) -> Any:
        answer = self.control.post("/mail/act", json=action)
        assert 200 == answer.status_code, answer.text
        return answer.json()

    def fault(self, **fault: Any) -> None:
        self.control.post("/mail/faults", json=fault)

    def receive(self, subject: str, **more: Any) -> Any:
        action = {"action": "receive", "from": "Ben Roe <ben@acmefreight.test>", "body_html": "<p>Hello</p>"}
        return self.act(**{**action, "subject": subject, **more})

    @staticmethod
    def _json(answer: httpx.Response) -> Any:
        assert answer.is_success, answer.text
        return answer.json() if answer.content else None


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with playing(mail=MailEmulator) as started:
        yield started


@pytest.fixture(scope="module")
def played(sandbox: Sandbox) -> Iterator[Mail]:
    mail = Mail(sandbox)
    yield mail
    mail.http.close()
    mail.control.close()


@pytest.fixture
def mail(played: Mail) -> Mail:
    """The mailbox as the tests before have left it, without limits, knobs or faults of theirs."""
    stage = played.emulator.stage
    stage.knobs.update({**stage.default_knobs, "limits": False})
    stage.faults.clear()
    stage.journal.clear()
    return played


def encoded(content: bytes) -> str:
    return urlsafe_b64encode(content).decode()


def decoded(data: str) -> bytes:
    return urlsafe_b64decode(data + "=" * (-len(data) % 4))


def letter(to: str = OUTSIDE, subject: str = "Hello", body: str = "Good day", **headers: str) -> bytes:
    lines = {"To": to, "Subject": subject, **{name.replace("_", "-"): value for name, value in headers.items()}}
    return "".join(f"{name}: {value}\r\n" for name, value in lines.items()).encode() + f"\r\n{body}\r\n".encode()


def written(to: str = OUTSIDE, subject: str = "Hello", body: str = "Good day", **headers: str) -> dict[str, str]:
    return {"raw": encoded(letter(to, subject, body, **headers))}


def header(message: Any, name: str) -> str:
    return next(str(one["value"]) for one in message["payload"]["headers"] if one["name"].lower() == name.lower())


def parts(part: Any) -> list[Any]:
    return [part, *(inner for below in part.get("parts", []) for inner in parts(below))]


def found(mail: Mail, q: str, **params: Any) -> list[str]:
    return [message["id"] for message in mail.get("/messages", q=q, **params).get("messages", [])]


def one(mail: Mail, q: str, **params: Any) -> Any:
    (message_id,) = found(mail, q)
    return mail.get(f"/messages/{message_id}", **params)


# --- what is there


def test_the_table_of_routes_is_what_the_application_serves(mail: Mail) -> None:
    application = mail.emulator.applications()["base"]

    routes = [(route.method, route.resource) for route in application.router.routes()]
    served = {f"{method} {resource.canonical}" for method, resource in routes if resource and method != "HEAD"}

    assert served == {f"{route.method} {route.path}" for route in ROUTES}
    assert {"fully", "partly"} == {route.support for route in ROUTES}


def test_the_seed_is_large_and_has_every_kind_of_place(mail: Mail) -> None:
    mail.control.post("/reset")

    profile = mail.get("/profile")
    counts = {name: mail.get(f"/labels/{name}")["messagesTotal"] for name in ("INBOX", "DRAFT", "SPAM", "TRASH")}

    assert OWN == profile["emailAddress"]
    assert profile["messagesTotal"] >= 500
    assert all(counts.values())


def test_a_reset_brings_back_the_same_state_and_the_same_future(mail: Mail) -> None:
    mail.control.post("/reset")
    before = (mail.get("/messages"), mail.get("/labels"), mail.get("/profile"), mail.get("/drafts"))
    label = mail.post("/labels", {"name": "Short lived"})
    mail.post("/messages/send", written())
    mail.control.post("/reset")

    after = (mail.get("/messages"), mail.get("/labels"), mail.get("/profile"), mail.get("/drafts"))

    assert before == after
    assert label == mail.post("/labels", {"name": "Short lived"})


def test_the_examples_can_be_used(mail: Mail) -> None:
    names = {label["name"] for label in mail.get("/labels")["labels"]}
    message = mail.get(f"/messages/{mail.examples['attachment_message_id']}")

    attached = [part for part in parts(message["payload"]) if part["partId"] == mail.examples["attachment_part_id"]]

    assert mail.examples["thread_id"] == mail.get(f"/messages/{mail.examples['message_id']}")["threadId"]
    assert set(mail.examples["labels"]) <= names
    assert ["manifest-41.pdf"] == [part["filename"] for part in attached]
    assert found(mail, mail.examples["q"])


# --- reading messages


def test_each_format_shows_what_it_should(mail: Mail) -> None:
    path = f"/messages/{mail.examples['attachment_message_id']}"
    minimal, full, metadata, raw = (mail.get(path, format=form) for form in ("minimal", "full", "metadata", "raw"))

    assert {"id", "threadId", "labelIds", "snippet", "historyId", "internalDate", "sizeEstimate"} == set(minimal)
    assert set(minimal) | {"payload"} == set(full)
    assert {"mimeType", "headers"} == set(metadata["payload"])
    assert set(minimal) | {"raw"} == set(raw)
    assert len(decoded(raw["raw"])) == raw["sizeEstimate"]


def test_metadata_shows_the_wanted_headers_whatever_their_case(mail: Mail) -> None:
    path = f"/messages/{mail.examples['message_id']}"
    message = mail.get(path, format="metadata", metadataHeaders=["subject", "MESSAGE-ID"])

    assert {"Subject", "Message-ID"} == {one["name"] for one in message["payload"]["headers"]}


def test_part_ids_are_numbered_depth_first(mail: Mail) -> None:
    message = mail.get(f"/messages/{mail.examples['attachment_message_id']}")

    assert ["", "0", "0.0", "0.1", "1", "2"] == [part["partId"] for part in parts(message["payload"])]


def test_a_message_of_one_part_has_its_body_at_the_root(mail: Mail) -> None:
    message = one(mail, "subject:readers")

    assert "parts" not in message["payload"]
    assert b"To all of you." == decoded(message["payload"]["body"]["data"])


def test_an_archived_and_read_message_has_no_label_ids(mail: Mail) -> None:
    assert "labelIds" not in one(mail, "from:t3@kaiwerk.test")


def test_the_body_keeps_its_character_set(mail: Mail) -> None:
    latin = one(mail, "subject:Grüße")
    japanese = one(mail, "subject:入港予定のお知らせ")

    assert "Schöne Grüße" in decoded(latin["payload"]["body"]["data"]).decode("latin-1")
    assert "十一月二十二日" in decoded(japanese["payload"]["body"]["data"]).decode("iso-2022-jp")


def test_headers_are_decoded_unless_the_knob_says_no(mail: Mail) -> None:
    path = f"/messages/{one(mail, 'subject:Grüße')['id']}"
    shown = header(mail.get(path), "Subject")
    mail.turn(decode_headers=False)

    assert "Grüße aus Hamburg" == shown
    assert header(mail.get(path), "Subject").lower().startswith("=?iso-8859-1?b?")


def test_the_snippet_is_escaped(mail: Mail) -> None:
    snippet = one(mail, "subject:bell")["snippet"]

    assert "Here&#39;s the &quot;brass&quot; offer: bells &amp; &lt;fittings&gt;" in snippet


def test_file_names_are_decoded_however_they_are_written(mail: Mail) -> None:
    names = [part["filename"] for part in parts(one(mail, "subject:Übersicht")["payload"]) if part["filename"]]

    assert ["Übersicht Herbst 2026 \u2013 Endfassung.pdf", "Entwürfe.pdf", "plan.html"] == names


def test_an_attached_message_is_shown_with_its_inner_parts(mail: Mail) -> None:
    payload = one(mail, 'subject:"Berth 14"')["payload"]
    by_id = {part["partId"]: part for part in parts(payload)}

    assert "message/rfc822" == by_id["1"]["mimeType"]
    assert "Berth 14" == next(one["value"] for one in by_id["1.0"]["headers"] if one["name"] == "Subject")
    assert "berth.pdf" == by_id["1.0.1"]["filename"]


def test_a_long_identifier_is_shown_in_one_piece(mail: Mail) -> None:
    message_id = header(one(mail, "from:ole@outlook-shop.test"), "Message-ID")

    assert len(message_id) > 80
    assert " " not in message_id


def test_a_large_text_comes_as_an_attachment_id(mail: Mail) -> None:
    mail.turn(inline_text_bytes=5)
    body = mail.get(f"/messages/{mail.examples['attachment_message_id']}")["payload"]["parts"][0]["parts"][0]["body"]
    data = mail.get(f"/messages/{mail.examples['attachment_message_id']}/attachments/{body['attachmentId']}")["data"]

    assert "data" not in body
    assert b"Manifest and arrivals" in decoded(data)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/messages/nonsense", (400, "invalidArgument", "Invalid id value")),
        ("/messages/19a3f0c2b7d4e851", (404, "notFound", "Requested entity was not found.")),
        ("/threads/nonsense", (400, "invalidArgument", "Invalid id value")),
        ("/threads/19a3f0c2b7d4e851", (404, "notFound", "Requested entity was not found.")),
        ("/drafts/r1", (404, "notFound", "Requested entity was not found.")),
        ("/labels/Label_999", (404, "notFound", "Requested entity was not found.")),
    ],
)
def test_what_is_not_there_is_refused(mail: Mail, path: str, expected: tuple[int, str, str]) -> None:
    assert expected == mail.refusal("GET", path)


# --- attachments


def test_an_attachment_is_fetched_by_an_id_that_changes_on_every_read(mail: Mail) -> None:
    path = f"/messages/{mail.examples['attachment_message_id']}"
    first, second = (mail.get(path)["payload"]["parts"][2]["body"] for _ in range(2))
    fetched = [mail.get(f"{path}/attachments/{body['attachmentId']}") for body in (first, second)]

    assert first["attachmentId"] != second["attachmentId"]
    assert 200 < len(first["attachmentId"])
    assert fetched[0] == fetched[1]
    assert {"size", "data"} == set(fetched[0])
    assert first["size"] == fetched[0]["size"] == len(decoded(fetched[0]["data"]))
    assert decoded(fetched[0]["data"]).startswith(b"container,port,arrives")


def test_the_larger_seeded_attachment_has_about_300_kilobytes(mail: Mail) -> None:
    message = one(mail, "filename:quay-survey.zip")
    body = message["payload"]["parts"][1]["body"]

    data = mail.get(f"/messages/{message['id']}/attachments/{body['attachmentId']}")["data"]

    assert 307_200 == body["size"] == len(decoded(data))


def test_an_attachment_id_dies(mail: Mail) -> None:
    path = f"/messages/{mail.examples['attachment_message_id']}"
    attachment_id = mail.get(path)["payload"]["parts"][1]["body"]["attachmentId"]
    mail.turn(attachment_id_seconds=-1)

    refused = mail.refusal("GET", f"{path}/attachments/{attachment_id}")

    assert (400, "invalidArgument", "Invalid attachment token") == refused


@pytest.mark.parametrize("attachment_id", ["ANGjdJ8", "x", "ANGjdJ8AAAAAAAAAAAAAAAAAAAAAAAAA", "Ä"])
def test_a_made_up_attachment_id_is_refused(mail: Mail, attachment_id: str) -> None:
    path = f"/messages/{mail.examples['attachment_message_id']}/attachments/{attachment_id}"

    assert (400, "invalidArgument", "Invalid attachment token") == mail.refusal("GET", path)


def test_an_attachment_id_of_another_message_is_refused(mail: Mail) -> None:
    body = mail.get(f"/messages/{mail.examples['attachment_message_id']}")["payload"]["parts"][1]["body"]
    path = f"/messages/{mail.examples['message_id']}/attachments/{body['attachmentId']}"

    assert (400, "invalidArgument", "Invalid attachment token") == mail.refusal("GET", path)


def test_somebody_can_send_25_megabytes(mail: Mail) -> None:
    size = 25 * 1024 * 1024
    attached = {"filename": "drone.mp4", "mime_type": "video/mp4", "size_bytes": size}
    told = mail.receive("Drone flight", attachments=[attached])

    message = mail.get(f"/messages/{told['message_id']}")
    part = message["payload"]["parts"][1]
    fetched = mail.get(f"/messages/{told['message_id']}/attachments/{part['body']['attachmentId']}")
    mail.act(action="delete", message_id=told["message_id"])

    assert "drone.mp4" == part["filename"]
    assert size == part["body"]["size"] == len(decoded(fetched["data"]))


# --- lists


def test_lists_go_from_newest_to_oldest_in_pages(mail: Mail) -> None:
    mail.control.post("/reset")
    first = mail.get("/messages", maxResults=300)
    second = mail.get("/messages", maxResults=300, pageToken=first["nextPageToken"])
    ids = [message["id"] for page in (first, second) for message in page["messages"]]
    newest = [mail.get(f"/messages/{message_id}", format="minimal")["internalDate"] for message_id in ids[:9]]

    assert "nextPageToken" not in second
    assert len(ids) == len(set(ids)) == mail.get("/profile")["messagesTotal"] - 26
    assert sorted(newest, key=int, reverse=True) == newest
    assert {"id", "threadId"} == set(first["messages"][0])
    assert 201 == first["resultSizeEstimate"]


def test_a_page_does_not_shift_when_mail_arrives(mail: Mail) -> None:
    plain = mail.get("/messages", maxResults=10)["messages"]
    first = mail.get("/messages", maxResults=5)
    arrived = mail.receive("In between")
    second = mail.get("/messages", maxResults=5, pageToken=first["nextPageToken"])
    mail.act(action="delete", message_id=arrived["message_id"])

    assert plain == first["messages"] + second["messages"]


def test_an_empty_list_has_no_messages(mail: Mail) -> None:
    assert {"resultSizeEstimate": 0} == mail.get("/messages", q="nothing-has-this-word")


def test_the_default_page_has_100_and_the_largest_500(mail: Mail) -> None:
    assert 100 == len(mail.get("/messages")["messages"])
    assert 500 == len(mail.get("/messages", maxResults=5000)["messages"])


def test_drafts_are_in_the_list_and_spam_and_trash_are_not(mail: Mail) -> None:
    listed = set(found(mail, "", maxResults=500))
    everything = set(found(mail, "in:anywhere", maxResults=500))

    assert set(found(mail, "in:drafts")) <= listed
    assert listed.isdisjoint(found(mail, "in:spam"))
    assert listed.isdisjoint(found(mail, "in:trash"))
    assert found(mail, "in:spam") == found(mail, "", labelIds="SPAM")
    assert not everything.isdisjoint(found(mail, "in:spam"))
    assert found(mail, "in:trash", maxResults=500) == found(mail, "label:trash", includeSpamTrash="true")


def test_label_ids_have_to_be_there_all(mail: Mail) -> None:
    unread = set(found(mail, "is:unread in:inbox", maxResults=500))

    assert unread == set(found(mail, "", labelIds=["UNREAD", "INBOX"], maxResults=500))
    assert (400, "invalidArgument", "Invalid label: Nope") == mail.refusal(
        "GET", "/messages", params={"labelIds": "Nope"}
    )


@pytest.mark.parametrize("damage", ["1", "x" * 32, "0" * 32])
def test_a_damaged_page_token_is_refused(mail: Mail, damage: str) -> None:
    refused = mail.refusal("GET", "/messages", params={"pageToken": damage})

    assert (400, "invalidArgument", "Invalid pageToken") == refused


def test_a_page_token_of_another_query_is_refused(mail: Mail) -> None:
    token = mail.get("/messages", q="is:unread", maxResults=2)["nextPageToken"]

    refused = mail.refusal("GET", "/messages", params={"q": "is:read", "pageToken": token})

    assert (400, "invalidArgument", "Invalid pageToken") == refused


def test_new_mail_can_be_slow_to_be_found(mail: Mail) -> None:
    told = mail.receive("Slowly indexed")
    mail.turn(index_lag_seconds=3600)
    hidden = found(mail, "subject:slowly")
    mail.turn(index_lag_seconds=0)

    assert [] == hidden
    assert [told["message_id"]] == found(mail, "subject:slowly")


def test_threads_are_listed_once_in_pages(mail: Mail) -> None:
    first = mail.get("/threads", maxResults=200)
    second = mail.get("/threads", maxResults=200, pageToken=first["nextPageToken"])
    ids = [thread["id"] for page in (first, second) for thread in page["threads"]]

    assert len(ids) == len(set(ids))
    assert {"id", "snippet", "historyId"} == set(first["threads"][0])


def test_a_thread_has_its_messages_from_oldest_to_newest(mail: Mail) -> None:
    thread = mail.get(f"/threads/{mail.examples['thread_id']}", format="metadata", metadataHeaders="Subject")
    dates = [int(message["internalDate"]) for message in thread["messages"]]

    assert {"id", "historyId", "messages"} == set(thread)
    assert len(dates) > 2
    assert sorted(dates) == dates
    assert mail.examples["thread_id"] == thread["messages"][0]["id"]
    assert 400 == mail.refusal("GET", f"/threads/{thread['id']}", params={"format": "raw"})[0]


# --- fields and parameters


def test_fields_select_at_every_level(mail: Mail) -> None:
    path = f"/messages/{mail.examples['attachment_message_id']}"
    nested = mail.get(path, fields="id,payload(partId,mimeType,body(size),parts/filename)")
    listed = mail.get("/messages", maxResults=1, fields="messages/id")

    assert {"id", "payload"} == set(nested)
    assert {"partId": "", "mimeType": "multipart/mixed", "body": {"size": 0}}.items() <= nested["payload"].items()
    assert [{"filename"}] * 3 == [set(part) for part in nested["payload"]["parts"]]
    assert ["id"] == list(listed["messages"][0])


@pytest.mark.parametrize("fields", ["nope", "id,payload(nope)", "id(", "payload)", "id/x", ",", "payload("])
def test_fields_that_are_none_are_refused(mail: Mail, fields: str) -> None:
    path = f"/messages/{mail.examples['message_id']}"

    assert (400, "badRequest") == mail.refusal("GET", path, params={"fields": fields})[:2]


@pytest.mark.parametrize("name", ["alt", "prettyPrint", "quotaUser", "key", "$.xgafv", "upload_protocol", "callback"])
def test_standard_parameters_are_taken(mail: Mail, name: str) -> None:
    assert OWN == mail.get("/profile", **{name: "json" if name == "alt" else "true"})["emailAddress"]


def test_an_unknown_parameter_is_refused(mail: Mail) -> None:
    status, _, message = mail.refusal("GET", "/messages", params={"limit": "5"})

    assert 400 == status
    assert message.startswith('Invalid JSON payload received. Unknown name "limit": Cannot bind query parameter.')


@pytest.mark.parametrize(
    "params", [{"maxResults": "many"}, {"maxResults": "-1"}, {"includeSpamTrash": "perhaps"}, {"alt": "media"}]
)
def test_a_parameter_of_the_wrong_type_is_refused(mail: Mail, params: dict[str, str]) -> None:
    status, _, message = mail.refusal("GET", "/messages", params=params)

    assert 400 == status
    assert message.startswith("Invalid value at '")


def test_an_unknown_format_is_refused(mail: Mail) -> None:
    path = f"/messages/{mail.examples['message_id']}"

    assert 400 == mail.refusal("GET", path, params={"format": "everything"})[0]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"{", "Invalid JSON payload received. Unexpected token."),
        (b"[]", 'Invalid JSON payload received. Unknown name "": Root element must be a message.'),
        (b"[" * 100_000, "Invalid JSON payload received. Unexpected token."),
        (b'{"body": 1}', 'Invalid JSON payload received. Unknown name "body": Cannot find field.'),
        (b'{"raw": 1}', "Invalid value at 'raw' (TYPE_BYTES), 1"),
        (b'{"raw": "a+b/"}', "Invalid value at 'raw' (TYPE_BYTES), Base64 decoding failed for \"a+b/\""),
        (b'{"threadId": NaN}', "Invalid JSON payload received. Unexpected token."),
        (b'{"labelIds": {"a": 1}}', "Invalid value at 'label_ids[0]' (TYPE_STRING), {\"a\": 1}"),
        (b'{"payload": "x"}', "Invalid value at 'payload' (type.googleapis.com/gmail.v1.Message), \"x\""),
    ],
)
def test_a_body_that_is_not_a_message_is_refused(mail: Mail, content: bytes, expected: str) -> None:
    status, _, message = mail.refusal("POST", "/messages/send", content=content)

    assert (400, expected) == (status, message)


def test_a_lone_surrogate_is_refused(mail: Mail) -> None:
    assert 400 == mail.refusal("POST", "/labels", content=b'{"name": "a\\ud800"}')[0]


def test_a_path_that_is_no_method_is_told_in_html(mail: Mail) -> None:
    unknown = mail.http.get("/gmail/v2/users/me/messages")
    wrong = mail.http.delete(f"{USER}/profile")

    assert [404, 404] == [unknown.status_code, wrong.status_code]
    assert unknown.headers["Content-Type"].startswith("text/html")
    assert "Error 404" in wrong.text


def test_another_users_mailbox_is_refused(mail: Mail) -> None:
    own = mail.http.get(f"/gmail/v1/users/{OWN}/profile")
    other = mail.http.get(f"/gmail/v1/users/{JONAS}/profile")

    assert 200 == own.status_code
    assert (403, f"Delegation denied for {JONAS}") == (other.status_code, other.json()["error"]["message"])


def test_a_long_read_may_come_as_a_post(mail: Mail) -> None:
    answer = mail.http.post(f"{USER}/messages", data={"q": "in:drafts"}, headers={"X-HTTP-Method-Override": "GET"})

    assert found(mail, "in:drafts") == [message["id"] for message in answer.json()["messages"]]


def test_pretty_print_is_done_when_asked_for(mail: Mail) -> None:
    assert mail.http.get(f"{USER}/profile", params={"prettyPrint": "true"}).text.startswith('{\n  "emailAddress"')


# --- sending


def test_a_sent_message_is_answered_briefly_and_kept(mail: Mail) -> None:
    sent = mail.post("/messages/send", written(subject="Kept"))
    message = mail.get(f"/messages/{sent['id']}")

    assert {"id": sent["id"], "threadId": sent["id"], "labelIds": ["SENT"]} == sent
    assert "Nora Lind <nora@brightfjord.test>" == header(message, "From")
    assert header(message, "Date")


def test_the_message_id_is_rewritten_unless_the_knob_says_no(mail: Mail) -> None:
    rewritten = mail.post("/messages/send", written(Message_ID="<own@gateway.test>"))
    mail.turn(rewrite_message_id=False)
    kept = mail.post("/messages/send", written(Message_ID="<own@gateway.test>"))

    new = header(mail.get(f"/messages/{rewritten['id']}"), "Message-ID")
    assert new.startswith("<CA")
    assert new.endswith("@mail.gmail.com>")
    assert "<own@gateway.test>" == header(mail.get(f"/messages/{kept['id']}"), "Message-ID")
    assert [kept["id"]] == found(mail, "rfc822msgid:own@gateway.test")


def test_an_own_header_survives(mail: Mail) -> None:
    sent = mail.post("/messages/send", written(X_Gateway_Run="run_1"))

    assert "run_1" == header(mail.get(f"/messages/{sent['id']}"), "X-Gateway-Run")


def test_an_alias_that_is_not_verified_is_replaced(mail: Mail) -> None:
    sent = mail.post("/messages/send", written(From="Boss <boss@elsewhere.test>"))
    own = mail.post("/messages/send", written(From="The Lind <nora@brightfjord.test>"))

    assert "Nora Lind <nora@brightfjord.test>" == header(mail.get(f"/messages/{sent['id']}"), "From")
    assert "The Lind <nora@brightfjord.test>" == header(mail.get(f"/messages/{own['id']}"), "From")


def test_mail_to_oneself_is_in_the_inbox_too(mail: Mail) -> None:
    sent = mail.post("/messages/send", written(to=OWN))

    assert {"SENT", "INBOX", "UNREAD"} == set(sent["labelIds"])


def test_mail_to_another_sandbox_mailbox_is_delivered(mail: Mail) -> None:
    sent = mail.post("/messages/send", written(to=f"Jonas <{JONAS}>", subject="Over to you", Bcc=OUTSIDE))
    (arrived,) = [m for m in mail.emulator.desk.office.mailboxes[JONAS].messages.values() if m.subject == "over to you"]

    assert ["UNREAD", "INBOX"] == arrived.label_ids
    assert sent["id"] not in {arrived.id, arrived.thread_id}
    assert JONAS == arrived.header("Delivered-To")
    assert "" == arrived.header("Bcc")
    assert len(arrived.headers) > 20


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"Subject: x\r\n\r\nx", "Recipient address required"),
        (b"To: \r\nSubject: x\r\n\r\nx", "Recipient address required"),
        (b"To: nobody\r\n\r\nx", "Invalid To header"),
        (b"To: a@b.test, <>, c d@e.test\r\n\r\nx", "Invalid To header"),
        ("To: bjørn@fjord.test\r\n\r\nx".encode(), "Invalid To header"),
        (b"To: a@b.test\r\nCc: nobody\r\n\r\nx", "Invalid Cc header"),
        (b"To: " + b",".join(b"a%d@b.test" % n for n in range(501)) + b"\r\n\r\nx", "Too many recipients"),
    ],
)
def test_bad_recipients_are_refused(mail: Mail, raw: bytes, message: str) -> None:
    before = mail.get("/profile")["messagesTotal"]

    refused = mail.refusal("POST", "/messages/send", json={"raw": encoded(raw)})

    assert (400, "invalidArgument", message) == refused
    assert before == mail.get("/profile")["messagesTotal"]


@pytest.mark.parametrize("body", [{}, {"raw": ""}, {"threadId": "19a3f0c2b7d4e851"}])
def test_a_send_without_a_message_is_refused(mail: Mail, body: dict[str, str]) -> None:
    assert "'raw' RFC822 payload" in mail.refusal("POST", "/messages/send", json=body)[2]


def test_base64_may_lack_its_padding(mail: Mail) -> None:
    raw = encoded(letter(subject="Unpadded"))

    sent = mail.post("/messages/send", {"raw": raw.rstrip("=")})

    assert raw.endswith("=")
    assert "Unpadded" == header(mail.get(f"/messages/{sent['id']}"), "Subject")


def test_bare_newlines_are_made_whole(mail: Mail) -> None:
    sent = mail.post("/messages/send", {"raw": encoded(b"To: a@b.test\nSubject: x\n\n<b>Hi</b>\n")})

    assert "PGI-SGk8L2I-DQo=" == mail.get(f"/messages/{sent['id']}")["payload"]["body"]["data"]


def test_unencoded_characters_in_headers_arrive_damaged(mail: Mail) -> None:
    sent = mail.post("/messages/send", {"raw": encoded("To: a@b.test\r\nSubject: Grün\r\n\r\nx".encode())})

    assert "GrÃ¼n" == header(mail.get(f"/messages/{sent['id']}"), "Subject")


# --- threads


def reply_to(mail: Mail, message_id: str, subject: str, **headers: str) -> dict[str, str]:
    parent = mail.get(f"/messages/{message_id}", format="metadata")
    following = {"In_Reply_To": header(parent, "Message-ID"), "References": header(parent, "Message-ID")}
    return {**written(subject=subject, **{**following, **headers}), "threadId": parent["threadId"]}


def test_a_reply_joins_its_thread(mail: Mail) -> None:
    first = mail.post("/messages/send", written(to=JONAS, subject="Quay plan"))
    reply = mail.post("/messages/send", reply_to(mail, first["id"], "Re:  RE: quay plan"))

    assert first["threadId"] == reply["threadId"]
    assert [first["id"], reply["id"]] == [m["id"] for m in mail.get(f"/threads/{first['threadId']}")["messages"]]


def test_a_reply_that_breaks_a_rule_begins_a_thread(mail: Mail) -> None:
    first = mail.post("/messages/send", written(subject="Crane plan"))
    other_subject = mail.post("/messages/send", reply_to(mail, first["id"], "Something else"))
    no_reference = mail.post("/messages/send", {**written(subject="Re: Crane plan"), "threadId": first["threadId"]})
    no_thread = reply_to(mail, first["id"], "Re: Crane plan")
    del no_thread["threadId"]
    alone = mail.post("/messages/send", no_thread)

    assert [one["id"] for one in (other_subject, no_reference, alone)] == [
        one["threadId"] for one in (other_subject, no_reference, alone)
    ]


def test_a_reply_joins_the_recipients_thread_too(mail: Mail) -> None:
    first = mail.post("/messages/send", written(to=JONAS, subject="Night shift"))
    mail.post("/messages/send", {**reply_to(mail, first["id"], "Re: Night shift", To=JONAS)})
    jonas = mail.emulator.desk.office.mailboxes[JONAS]
    arrived = [message for message in jonas.messages.values() if message.subject == "night shift"]

    assert 2 == len(arrived)
    assert 1 == len({message.thread_id for message in arrived})


@pytest.mark.parametrize(
    ("thread_id", "expected"),
    [("nonsense", (400, "Invalid thread_id value")), ("19a3f0c2b7d4e851", (404, "Requested entity was not found."))],
)
def test_a_send_into_no_thread_is_refused(mail: Mail, thread_id: str, expected: tuple[int, str]) -> None:
    status, _, message = mail.refusal("POST", "/messages/send", json={**written(), "threadId": thread_id})

    assert expected == (status, message)


def test_a_whole_thread_is_relabelled_and_trashed(mail: Mail) -> None:
    first = mail.receive("Thread of two")
    second = mail.receive("Re: Thread of two", thread_id=first["thread_id"])
    mail.post(f"/threads/{first['thread_id']}/modify", {"addLabelIds": ["Label_7"], "removeLabelIds": ["UNREAD"]})
    labels = [m["labelIds"] for m in mail.get(f"/threads/{first['thread_id']}", format="minimal")["messages"]]
    trashed = mail.post(f"/threads/{first['thread_id']}/trash")
    untrashed = mail.post(f"/threads/{first['thread_id']}/untrash")

    assert first["thread_id"] == second["thread_id"]
    assert [["INBOX", "Label_7"]] * 2 == labels
    assert [["Label_7", "TRASH"]] * 2 == [message["labelIds"] for message in trashed["messages"]]
    assert [["Label_7"]] * 2 == [message["labelIds"] for message in untrashed["messages"]]


# --- drafts


def test_a_draft_lives_from_creation_to_sending(mail: Mail) -> None:
    draft = mail.post("/drafts", {"message": written(to=JONAS, subject="Two phases")})
    changed = mail.put(f"/drafts/{draft['id']}", {"message": written(to=JONAS, subject="Two phases, again")})
    read = mail.get(f"/drafts/{draft['id']}", format="metadata")
    sent = mail.post("/drafts/send", {"id": draft["id"]})

    assert {"id", "message"} == set(draft)
    assert ["DRAFT"] == draft["message"]["labelIds"]
    assert draft["id"] == changed["id"]
    assert draft["message"]["id"] != changed["message"]["id"]
    assert "Two phases, again" == header(read["message"], "Subject")
    assert len(read["message"]["payload"]["headers"]) < 8
    assert ["SENT"] == sent["labelIds"]
    assert changed["message"]["id"] != sent["id"]
    assert draft["message"]["threadId"] == sent["threadId"]
    assert 404 == mail.refusal("GET", f"/drafts/{draft['id']}")[0]
    assert 404 == mail.refusal("GET", f"/messages/{changed['message']['id']}")[0]
    assert 404 == mail.refusal("POST", "/drafts/send", json={"id": draft["id"]})[0]


def test_drafts_are_listed_in_pages_and_by_query(mail: Mail) -> None:
    draft = mail.post("/drafts", {"message": written(subject="Unmistakable")})
    first = mail.get("/drafts", maxResults=3)
    second = mail.get("/drafts", maxResults=3, pageToken=first["nextPageToken"])
    by_query = mail.get("/drafts", q="subject:unmistakable")["drafts"]

    assert [3, 3] == [len(page["drafts"]) for page in (first, second)]
    assert [draft["id"]] == [one["id"] for one in by_query]
    assert {"id", "threadId"} == set(by_query[0]["message"])
    assert {"resultSizeEstimate": 0} == mail.get("/drafts", q="nothing-has-this-word")


def test_a_draft_is_deleted_without_an_answer(mail: Mail) -> None:
    draft = mail.post("/drafts", {"message": written()})

    answer = mail.http.delete(f"{USER}/drafts/{draft['id']}")

    assert (204, b"") == (answer.status_code, answer.content)
    assert 404 == mail.refusal("GET", f"/drafts/{draft['id']}")[0]


def test_a_draft_reply_joins_its_thread_and_stays_there(mail: Mail) -> None:
    first = mail.receive("Needs a reply")
    draft = mail.post("/drafts", {"message": reply_to(mail, first["message_id"], "Re: Needs a reply")})

    sent = mail.post("/drafts/send", {"id": draft["id"]})

    assert first["thread_id"] == draft["message"]["threadId"] == sent["threadId"]


def test_labels_of_drafts_cannot_be_changed(mail: Mail) -> None:
    draft = mail.post("/drafts", {"message": written()})
    path = f"/messages/{draft['message']['id']}/modify"

    assert (400, "failedPrecondition") == mail.refusal("POST", path, json={"addLabelIds": ["STARRED"]})[:2]


@pytest.mark.parametrize("body", [{}, {"message": {}}, {"message": {"raw": ""}}])
def test_a_draft_without_a_message_is_refused(mail: Mail, body: dict[str, Any]) -> None:
    assert "'raw' RFC822 payload" in mail.refusal("POST", "/drafts", json=body)[2]


# --- labels


def test_labels_are_listed_as_the_vendor_tells_them(mail: Mail) -> None:
    labels = {label["id"]: label for label in mail.get("/labels")["labels"]}

    assert {"id": "INBOX", "name": "INBOX", "type": "system"} == labels["INBOX"]
    assert "CHAT" in labels
    assert "messageListVisibility" not in labels["Label_9"]
    assert {"textColor": "#ffffff", "backgroundColor": "#cc3a21"} == labels["Label_8"]["color"]
    assert not {"messagesTotal", "threadsTotal"} & set(labels["Label_2"])
    assert "Clients/Acme Freight" == labels["Label_2"]["name"]


def test_a_label_is_counted_when_it_is_read(mail: Mail) -> None:
    label = mail.get("/labels/Label_2")

    assert len(found(mail, "label:clients-acme-freight in:anywhere")) == label["messagesTotal"]
    assert label["messagesUnread"] <= label["messagesTotal"]
    assert label["threadsTotal"] <= label["messagesTotal"]


def test_a_label_lives_from_creation_to_deletion(mail: Mail) -> None:
    told = mail.receive("To be labelled")
    label = mail.post("/labels", {"name": " Depot/North ", "labelListVisibility": "labelHide"})
    mail.post(f"/messages/{told['message_id']}/modify", {"addLabelIds": [label["id"]]})
    renamed = mail._json(mail.http.patch(f"{USER}/labels/{label['id']}", json={"name": "Depot/South"}))
    by_name = found(mail, "label:depot-south")
    deleted = mail.http.delete(f"{USER}/labels/{label['id']}")

    assert ("Depot/North", "labelHide", "show") == (
        label["name"],
        label["labelListVisibility"],
        label["messageListVisibility"],
    )
    assert ("Depot/South", "labelHide") == (renamed["name"], renamed["labelListVisibility"])
    assert [told["message_id"]] == by_name
    assert 204 == deleted.status_code
    assert label["id"] not in mail.get(f"/messages/{told['message_id']}")["labelIds"]


@pytest.mark.parametrize("name", ["clients", "CLIENTS/acme freight", "follow up"])
def test_a_name_that_differs_only_in_case_is_a_conflict(mail: Mail, name: str) -> None:
    status, _, message = mail.refusal("POST", "/labels", json={"name": name})

    assert (409, "Label name exists or conflicts") == (status, message)


@pytest.mark.parametrize("body", [{}, {"name": " "}, {"name": "inbox"}, {"name": "x" * 226}, {"name": "/a"}])
def test_a_name_that_cannot_be_is_refused(mail: Mail, body: dict[str, str]) -> None:
    assert (400, "invalidArgument", "Invalid label name") == mail.refusal("POST", "/labels", json=body)


@pytest.mark.parametrize(
    "body", [{"name": "n1", "color": {"textColor": "#123456"}}, {"name": "n2", "labelListVisibility": "sometimes"}]
)
def test_other_faults_of_labels_are_refused(mail: Mail, body: dict[str, Any]) -> None:
    assert 400 == mail.refusal("POST", "/labels", json=body)[0]


def test_system_labels_cannot_be_changed_or_deleted(mail: Mail) -> None:
    assert (400, "Invalid update request") == mail.refusal("PATCH", "/labels/INBOX", json={"name": "In"})[::2]
    assert (400, "Invalid delete request") == mail.refusal("DELETE", "/labels/INBOX")[::2]


def test_labels_of_a_message_are_changed(mail: Mail) -> None:
    told = mail.receive("Modified")
    path = f"/messages/{told['message_id']}/modify"
    changed = mail.post(path, {"addLabelIds": ["STARRED", "Label_7"], "removeLabelIds": ["UNREAD", "IMPORTANT"]})
    again = mail.post(path, {"addLabelIds": ["STARRED", "Label_7"], "removeLabelIds": ["UNREAD"]})
    bare = mail.post(path, {"removeLabelIds": ["STARRED", "Label_7", "INBOX"]})

    assert {"INBOX", "STARRED", "Label_7"} == set(changed["labelIds"])
    assert {"id", "threadId", "labelIds"} == set(changed)
    assert changed == again
    assert {"id", "threadId"} == set(bare)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"addLabelIds": ["Label_404"]}, "Invalid label: Label_404"),
        ({"removeLabelIds": ["Label_404"]}, "Invalid label: Label_404"),
        ({"addLabelIds": ["SENT"]}, "Invalid label: SENT"),
        ({"removeLabelIds": ["DRAFT"]}, "Invalid label: DRAFT"),
        ({"addLabelIds": ["STARRED"], "removeLabelIds": ["STARRED"]}, "Cannot both add and remove the same label"),
        ({}, "No label add or removes specified"),
        ({"addLabelIds": [f"Label_{n}" for n in range(101)]}, "Too many labels specified"),
    ],
)
def test_changes_that_cannot_be_are_refused(mail: Mail, body: dict[str, list[str]], message: str) -> None:
    path = f"/messages/{mail.examples['message_id']}/modify"

    assert (400, "invalidArgument", message) == mail.refusal("POST", path, json=body)


def test_what_goes_to_trash_or_spam_leaves_the_inbox(mail: Mail) -> None:
    trashed, spammed = mail.receive("For the trash"), mail.receive("For spam")
    after_trash = mail.post(f"/messages/{trashed['message_id']}/trash")
    after_spam = mail.post(f"/messages/{spammed['message_id']}/modify", {"addLabelIds": ["SPAM"]})
    untrashed = mail.post(f"/messages/{trashed['message_id']}/untrash")

    assert {"UNREAD", "TRASH"} == set(after_trash["labelIds"])
    assert {"UNREAD", "SPAM"} == set(after_spam["labelIds"])
    assert ["UNREAD"] == untrashed["labelIds"]


def test_many_messages_are_changed_at_once(mail: Mail) -> None:
    told = [mail.receive(f"Many {n}")["message_id"] for n in range(3)]
    answer = mail.http.post(
        f"{USER}/messages/batchModify", json={"ids": [*told, "19a3f0c2b7d4e851"], "addLabelIds": ["STARRED"]}
    )

    assert (204, b"") == (answer.status_code, answer.content)
    assert set(told) == set(found(mail, "is:starred subject:many"))
    assert 400 == mail.refusal("POST", "/messages/batchModify", json={"ids": [], "addLabelIds": ["STARRED"]})[0]
    too_many = {"ids": ["1"] * 1001, "addLabelIds": ["STARRED"]}
    assert 400 == mail.refusal("POST", "/messages/batchModify", json=too_many)[0]


def test_deleting_for_good_wants_the_full_scope(mail: Mail) -> None:
    told = mail.receive("Gone for good")["message_id"]
    refused = mail.refusal("DELETE", f"/messages/{told}")
    mail.turn(token_scopes=[FULL])
    deleted = mail.http.delete(f"{USER}/messages/{told}")

    assert (403, "insufficientPermissions") == refused[:2]
    assert 204 == deleted.status_code
    assert 404 == mail.refusal("GET", f"/messages/{told}")[0]


def test_threads_and_many_messages_are_deleted_for_good(mail: Mail) -> None:
    thread, single = mail.receive("Whole thread"), mail.receive("One of many")
    mail.turn(token_scopes=[FULL])
    statuses = [
        mail.http.delete(f"{USER}/threads/{thread['thread_id']}").status_code,
        mail.http.post(f"{USER}/messages/batchDelete", json={"ids": [single["message_id"]]}).status_code,
    ]

    assert [204, 204] == statuses
    assert 404 == mail.refusal("GET", f"/threads/{thread['thread_id']}")[0]
    assert 404 == mail.refusal("GET", f"/messages/{single['message_id']}")[0]


def test_a_message_is_inserted_without_being_sent(mail: Mail) -> None:
    raw = letter(Date="Mon, 02 Nov 2026 10:00:00 +0000", From="x@y.test")
    inserted = mail._json(
        mail.http.post(
            f"{USER}/messages",
            params={"internalDateSource": "dateHeader"},
            json={"raw": encoded(raw), "labelIds": ["INBOX"]},
        )
    )

    message = mail.get(f"/messages/{inserted['id']}", format="raw")

    assert ["INBOX"] == inserted["labelIds"]
    assert "1793613600000" == message["internalDate"]
    assert raw == decoded(message["raw"])


def test_the_history_tells_what_changed(mail: Mail) -> None:
    start = mail.get("/profile")["historyId"]
    told = mail.receive("Historical")
    mail.post(f"/messages/{told['message_id']}/modify", {"addLabelIds": ["STARRED"], "removeLabelIds": ["UNREAD"]})
    history = mail.get("/history", startHistoryId=start)
    added = mail.get("/history", startHistoryId=start, historyTypes="labelAdded", labelId="STARRED")["history"]
    first = mail.get("/history", startHistoryId=start, maxResults=1)
    rest = mail.get("/history", startHistoryId=start, maxResults=5, pageToken=first["nextPageToken"])

    kinds = [min(set(record) - {"id", "messages"}) for record in history["history"]]
    assert ["messagesAdded", "labelsAdded", "labelsRemoved"] == kinds
    assert [["STARRED"]] == [record["labelsAdded"][0]["labelIds"] for record in added]
    assert history["history"] == first["history"] + rest["history"]
    assert "history" not in mail.get("/history", startHistoryId=history["historyId"])
    assert 404 == mail.refusal("GET", "/history", params={"startHistoryId": "1"})[0]
    assert 400 == mail.refusal("GET", "/history")[0]


def test_the_only_address_to_send_from_is_the_own_one(mail: Mail) -> None:
    (own,) = mail.get("/settings/sendAs")["sendAs"]

    assert (OWN, True) == (own["sendAsEmail"], own["isPrimary"])


# --- uploads


def upload(mail: Mail, path: str = "/messages/send", prefix: str = "/upload", **request: Any) -> httpx.Response:
    return mail.http.request(request.pop("method", "POST"), f"{prefix}{USER}{path}", **request)


RFC822 = {"Content-Type": "message/rfc822"}


def related(metadata: Any, message: bytes, newline: str = "\r\n") -> tuple[bytes, dict[str, str]]:
    head = [
        "--b",
        "Content-Type: application/json",
        "",
        json.dumps(metadata),
        "--b",
        "Content-Type: message/rfc822",
        "",
        "",
    ]
    return newline.join(head).encode() + message + f"{newline}--b--".encode(), {
        "Content-Type": "multipart/related; boundary=b"
    }


@pytest.mark.parametrize("prefix", ["/upload", "/resumable/upload"])
def test_a_message_is_uploaded_alone(mail: Mail, prefix: str) -> None:
    sent = upload(mail, prefix=prefix, params={"uploadType": "media"}, content=letter(subject="Up"), headers=RFC822)

    assert "Up" == header(mail.get(f"/messages/{sent.json()['id']}"), "Subject")


@pytest.mark.parametrize("newline", ["\r\n", "\n"])
def test_a_message_is_uploaded_with_its_thread(mail: Mail, newline: str) -> None:
    first = mail.receive("Uploaded thread")
    reply = reply_to(mail, first["message_id"], "Re: Uploaded thread")
    content, headers = related({"threadId": reply["threadId"]}, decoded(reply["raw"]), newline)

    sent = upload(mail, params={"uploadType": "multipart"}, content=content, headers=headers)

    assert first["thread_id"] == sent.json()["threadId"]


def test_an_upload_may_be_chunked(mail: Mail) -> None:
    content, headers = related({}, letter(subject="In chunks"))

    sent = upload(mail, params={"uploadType": "multipart"}, content=iter([content[:50], content[50:]]), headers=headers)

    assert "In chunks" == header(mail.get(f"/messages/{sent.json()['id']}"), "Subject")


def begin(mail: Mail, size: int, path: str = "/messages/send", body: Any = None) -> str:
    headers = {"X-Upload-Content-Type": "message/rfc822", "X-Upload-Content-Length": str(size)}
    answer = upload(mail, path, params={"uploadType": "resumable"}, json=body or {}, headers=headers)
    assert 200 == answer.status_code
    return answer.headers["Location"]


def test_an_upload_is_resumed_piece_by_piece(mail: Mail) -> None:
    message, piece = letter(subject="In pieces") + b"x" * 600_000, 262_144
    location = begin(mail, len(message))
    total = len(message)
    first = mail.http.put(location, content=message[:piece], headers={"Content-Range": f"bytes 0-{piece - 1}/{total}"})
    probe = mail.http.put(location, headers={"Content-Range": f"bytes */{total}"})
    last = mail.http.put(
        location, content=message[piece:], headers={"Content-Range": f"bytes {piece}-{total - 1}/{total}"}
    )

    assert [308, 308, 200] == [answer.status_code for answer in (first, probe, last)]
    assert f"bytes=0-{piece - 1}" == first.headers["Range"] == probe.headers["Range"]
    assert "In pieces" == header(mail.get(f"/messages/{last.json()['id']}"), "Subject")
    assert 404 == mail.http.put(location, content=b"x").status_code


def test_an_upload_is_resumed_in_one_piece(mail: Mail) -> None:
    message = letter(subject="In one piece")
    created = mail.http.put(begin(mail, len(message), "/drafts"), content=message)

    assert ["DRAFT"] == created.json()["message"]["labelIds"]


@pytest.mark.parametrize(
    ("content", "placed"),
    [(b"x" * 1000, "bytes 0-999/9000"), (b"x" * 1000, "bytes 0-5/9000"), (b"x", "bytes 7-7/9000"), (b"x", "nonsense")],
)
def test_a_piece_that_does_not_fit_is_refused(mail: Mail, content: bytes, placed: str) -> None:
    answer = mail.http.put(begin(mail, 9000), content=content, headers={"Content-Range": placed})

    assert 400 == answer.status_code


def test_drafts_are_uploaded_changed_and_sent(mail: Mail) -> None:
    created = upload(
        mail, "/drafts", params={"uploadType": "media"}, content=letter(subject="One"), headers=RFC822
    ).json()
    changed = upload(
        mail,
        f"/drafts/{created['id']}",
        method="PUT",
        params={"uploadType": "media"},
        content=letter(subject="Two"),
        headers=RFC822,
    ).json()
    content, headers = related({"id": created["id"]}, letter(subject="Three"))
    sent = upload(mail, "/drafts/send", params={"uploadType": "multipart"}, content=content, headers=headers).json()

    assert created["id"] == changed["id"]
    assert "Three" == header(mail.get(f"/messages/{sent['id']}"), "Subject")


def test_uploads_that_cannot_be_are_refused(mail: Mail) -> None:
    plain = upload(mail, params={"uploadType": "media"}, content=b"x", headers={"Content-Type": "text/plain"})
    unknown = upload(mail, params={"uploadType": "pigeon"}, content=b"x", headers=RFC822)
    broken = upload(
        mail,
        params={"uploadType": "multipart"},
        content=b"x",
        headers={"Content-Type": "multipart/related; boundary=b"},
    )
    no_upload = mail.http.post(f"/upload{USER}/labels", json={})

    assert [400, 400, 400, 404] == [answer.status_code for answer in (plain, unknown, broken, no_upload)]
    assert "Valid media types: [message/*]" in plain.json()["error"]["message"]


def test_a_message_that_is_too_large_is_refused(mail: Mail) -> None:
    mail.turn(json_bytes=1000)
    over_json = mail.refusal("POST", "/messages/send", json={"raw": "a" * 2000})
    over_upload = upload(
        mail,
        params={"uploadType": "resumable"},
        json={},
        headers={"X-Upload-Content-Type": "message/rfc822", "X-Upload-Content-Length": "36700161"},
    )

    assert (400, "Request payload size exceeds the limit: 1000 bytes.") == over_json[::2]
    assert (413, "Request Entity Too Large") == (over_upload.status_code, over_upload.json()["error"]["message"])


# --- batches


def batch(mail: Mail, *calls: str, path: str = "/batch", headers: dict[str, str] | None = None) -> httpx.Response:
    written_parts = [
        f"--b1\r\nContent-Type: application/http\r\nContent-ID: <x+{n}>\r\n\r\n{call}\r\n\r\n"
        for n, call in enumerate(calls)
    ]
    content = "".join(written_parts) + "--b1--\r\n"
    return mail.http.post(
        path, content=content.encode(), headers={"Content-Type": "multipart/mixed; boundary=b1", **(headers or {})}
    )


def inner(answer: httpx.Response) -> dict[str, tuple[int, Any]]:
    boundary = answer.headers["Content-Type"].partition("boundary=")[2]
    found_parts = answer.content.split(f"--{boundary}".encode())[1:-1]
    replies = {}
    for part in found_parts:
        outer, head, body = part.split(b"\r\n\r\n", 2)
        content_id = next(line for line in outer.decode().splitlines() if line.startswith("Content-ID: "))
        status = int(head.split(b" ", 2)[1])
        read = json.loads(body) if b"application/json" in head else body.decode()
        replies[content_id.removeprefix("Content-ID: ")] = (status, read)
    return replies


@pytest.mark.parametrize("path", ["/batch", "/batch/gmail/v1"])
def test_a_batch_answers_every_call_under_its_own_id(mail: Mail, path: str) -> None:
    message, label = json.dumps(written(subject="From a batch")), mail.post("/labels", {"name": f"In {path}?"})
    answer = batch(
        mail,
        f"GET {USER}/messages/{mail.examples['message_id']}?format=minimal HTTP/1.1",
        f"POST {USER}/messages/send HTTP/1.1\r\nContent-Type: application/json\r\n\r\n{message}",
        f"GET {mail.address}{USER}/messages/nonsense HTTP/1.1",
        "GET /nowhere",
        f"DELETE {USER}/labels/{label['id']}",
        path=path,
    )
    replies = inner(answer)

    assert [f"<response-x+{n}>" for n in range(5)] == list(replies)
    assert [200, 200, 400, 404, 204] == [status for status, _ in replies.values()]
    assert mail.examples["message_id"] == replies["<response-x+0>"][1]["id"]
    assert ["SENT"] == replies["<response-x+1>"][1]["labelIds"]
    assert "Error 404" in replies["<response-x+3>"][1]


def test_a_call_in_a_batch_may_have_a_credential_of_its_own(mail: Mail) -> None:
    replies = inner(
        batch(
            mail,
            f"GET {USER}/profile",
            f"GET {USER}/profile HTTP/1.1\r\nAuthorization: Bearer other\r\n",
        )
    )

    assert [200, 401] == [status for status, _ in replies.values()]


def test_ids_with_blanks_are_echoed_in_a_batch(mail: Mail) -> None:
    content = f"--b\nContent-Type: application/http\nContent-ID: <u-1 + 2>\n\nGET {USER}/profile HTTP/1.1\n\n\n--b--"
    answer = mail.http.post("/batch", content=content, headers={"Content-Type": 'multipart/mixed; boundary="b"'})

    assert ["<response-u-1 + 2>"] == list(inner(answer))


def test_inner_calls_are_in_the_journal(mail: Mail) -> None:
    batch(mail, f"GET {USER}/profile", f"GET {USER}/messages/nonsense")
    journal = mail.control.get("/mail/requests").json()

    assert [200, 400, 200] == [exchange["status"] for exchange in journal]
    assert "/batch" == journal[-1]["path"]


def test_a_batch_has_at_most_100_calls(mail: Mail) -> None:
    answer = batch(mail, *[f"GET {USER}/profile"] * (MAX_INNER + 1))

    expected = "Inner request count exceeds the limit. Received: 101, Limit: 100"
    assert (400, expected) == (answer.status_code, answer.json()["error"]["message"])


@pytest.mark.parametrize(
    ("content", "content_type"),
    [
        (b"{}", "application/json"),
        (b"x", "multipart/mixed; boundary=b1"),
        (b"--b1\r\n\r\nGET /\r\n--b1--", "multipart/mixed; boundary=b1"),
    ],
)
def test_a_batch_that_is_none_is_refused(mail: Mail, content: bytes, content_type: str) -> None:
    answer = mail.http.post("/batch", content=content, headers={"Content-Type": content_type})

    assert 400 == answer.status_code


def test_uploads_and_batches_are_refused_inside_a_batch(mail: Mail) -> None:
    replies = inner(batch(mail, f"POST /upload{USER}/messages/send?uploadType=media", "POST /batch"))

    assert [400, 400] == [status for status, _ in replies.values()]


def test_a_fault_can_hit_one_call_of_a_batch(mail: Mail) -> None:
    mail.fault(fault="status", status=503, path=f"{USER}/profile", body={"error": {"code": 503}})

    replies = inner(batch(mail, f"GET {USER}/labels", f"GET {USER}/profile", f"GET {USER}/profile"))

    assert [200, 503, 200] == [status for status, _ in replies.values()]


def test_a_cold_batch_of_a_hundred_is_throttled_inside(mail: Mail) -> None:
    mail.control.post("/reset")
    mail.turn(latency_seconds=0)
    small = inner(batch(mail, *[f"GET {USER}/profile"] * 25))
    large = inner(batch(mail, *[f"GET {USER}/profile"] * 100))

    assert {200} == {status for status, _ in small.values()}
    assert [200] * 50 + [429] * 50 == [status for status, _ in large.values()]
    assert "Too many concurrent requests for user." == list(large.values())[-1][1]["error"]["message"]


# --- limits


def test_every_method_has_the_price_of_the_vendor(mail: Mail) -> None:
    prices = {method.id: method.units for method in METHODS}

    assert [1, 5, 20, 40, 20, 5, 100, 10, 1, 50] == [
        prices[name]
        for name in (
            "getProfile",
            "messages.list",
            "messages.get",
            "threads.get",
            "messages.attachments.get",
            "messages.modify",
            "messages.send",
            "drafts.create",
            "labels.list",
            "messages.batchModify",
        )
    ]


@pytest.mark.parametrize(
    ("dialect", "status", "reason", "text"),
    [
        ("quota", 403, "rateLimitExceeded", "Quota exceeded for quota metric 'Queries'"),
        ("retry_after_403", 403, "userRateLimitExceeded", "User-rate limit exceeded.  Retry after 20"),
        ("retry_after_429", 429, "rateLimitExceeded", "User-rate limit exceeded.  Retry after 20"),
        ("exhausted", 429, "rateLimitExceeded", "Resource has been exhausted (e.g. check quota)."),
    ],
)
def test_units_beyond_the_minute_are_refused(mail: Mail, dialect: str, status: int, reason: str, text: str) -> None:
    mail.control.post("/reset")
    mail.turn(throttle=dialect, units_per_minute=45, latency_seconds=0)
    path = f"/messages/{mail.examples['message_id']}"
    served = [mail.get(path)["id"], mail.get(path)["id"]]
    refused = mail.refusal("GET", path)
    answer = mail.http.get(USER + path)

    assert 2 == len(served)
    assert (status, reason) == refused[:2]
    assert refused[2].startswith(text)
    assert "Retry-After" not in answer.headers


def test_the_minute_slides_and_hammering_moves_the_named_time() -> None:
    clock = Ticking()
    emulator = MailEmulator(Stage(clock, **{**MailEmulator.knobs, "throttle": "retry_after_429"}))
    ledger = emulator.desk.ledger
    ledger.charge("u", 5_000)
    clock.at += 30
    ledger.charge("u", 1_000)

    with pytest.raises(Refusal) as first:
        ledger.charge("u", 20)
    with pytest.raises(Refusal) as second:
        ledger.charge("u", 20)
    clock.at += 31.5
    ledger.charge("u", 5_000)

    assert "Retry after 2026-11-20T18:41:00.000Z" in first.value.message
    assert "Retry after 2026-11-20T18:41:01.000Z" in second.value.message


def test_users_have_budgets_of_their_own() -> None:
    emulator = MailEmulator(Stage(Ticking(), **MailEmulator.knobs))
    emulator.desk.ledger.charge("one", 6_000)

    emulator.desk.ledger.charge("other", 6_000)

    with pytest.raises(Refusal):
        emulator.desk.ledger.charge("one", 1)


def test_more_than_ten_at_once_are_refused(mail: Mail) -> None:
    mail.control.post("/reset")
    mail.turn(latency_seconds=0.2)
    with ThreadPoolExecutor(14) as pool:
        statuses = sorted(pool.map(lambda _: mail.http.get(f"{USER}/profile").status_code, range(14)))

    assert 429 == statuses[-1]
    assert statuses.count(200) >= 10


def test_messages_beyond_the_day_are_refused_and_not_sent(mail: Mail) -> None:
    mail.control.post("/reset")
    mail.turn(sends_per_day=1)
    mail.post("/messages/send", written())
    before = mail.get("/profile")["messagesTotal"]

    refused = mail.refusal("POST", "/messages/send", json=written())

    assert (429, "rateLimitExceeded") == refused[:2]
    assert refused[2].startswith("User-rate limit exceeded.  Retry after ")
    assert before == mail.get("/profile")["messagesTotal"]


# --- credentials, scopes, faults


def test_a_missing_and_a_wrong_token_are_told_apart(mail: Mail) -> None:
    missing = mail.http.get(f"{USER}/profile", headers={"Authorization": ""})
    wrong = mail.http.get(f"{USER}/profile", headers={"Authorization": "Bearer wrong"})

    assert [401, 401] == [missing.status_code, wrong.status_code]
    assert ["required", "authError"] == [answer.json()["error"]["errors"][0]["reason"] for answer in (missing, wrong)]
    assert "CREDENTIALS_MISSING" == missing.json()["error"]["details"][0]["reason"]
    assert "UNAUTHENTICATED" == wrong.json()["error"]["status"]
    assert "invalid_token" in wrong.headers["WWW-Authenticate"]


@pytest.mark.parametrize("name", ["access_token", "oauth_token"])
def test_the_token_may_come_in_the_query(mail: Mail, name: str) -> None:
    answer = mail.http.get(f"{USER}/profile", params={name: mail.token}, headers={"Authorization": ""})

    assert 200 == answer.status_code


def test_withdrawing_and_granting_again_gives_the_same_access(mail: Mail) -> None:
    mail.control.post("/mail/revoke")
    revoked = mail.refusal("GET", "/profile")
    mail.control.post("/mail/authorise")

    assert (401, "authError") == revoked[:2]
    assert mail.token == mail.emulator.credentials()["token"]
    assert OWN == mail.get("/profile")["emailAddress"]


def test_a_scope_that_is_missing_is_told(mail: Mail) -> None:
    mail.turn(token_scopes=["https://www.googleapis.com/auth/gmail.readonly"])
    answer = mail.http.post(f"{USER}/messages/send", json=written())
    error = answer.json()["error"]

    assert (403, "PERMISSION_DENIED") == (answer.status_code, error["status"])
    assert "insufficientPermissions" == error["errors"][0]["reason"]
    assert "ACCESS_TOKEN_SCOPE_INSUFFICIENT" == error["details"][0]["reason"]
    assert "caribou.api.proto.MailboxService.SendMessage" == error["details"][0]["metadata"]["method"]


def test_the_metadata_scope_neither_searches_nor_reads_bodies(mail: Mail) -> None:
    mail.turn(token_scopes=["https://www.googleapis.com/auth/gmail.metadata"])
    path = f"/messages/{mail.examples['message_id']}"

    assert mail.get("/messages", maxResults=1)["messages"]
    assert mail.get(path, format="metadata")["payload"]
    assert 403 == mail.refusal("GET", "/messages", params={"q": "x"})[0]
    assert 403 == mail.refusal("GET", path)[0]


@pytest.mark.parametrize(
    ("name", "status", "reason"),
    [
        ("unauthenticated", 401, "authError"),
        ("scope", 403, "insufficientPermissions"),
        ("quota", 403, "rateLimitExceeded"),
        ("retry_after_403", 403, "userRateLimitExceeded"),
        ("retry_after_429", 429, "rateLimitExceeded"),
        ("exhausted", 429, "rateLimitExceeded"),
        ("concurrency", 429, "rateLimitExceeded"),
        ("daily_limit", 403, "dailyLimitExceeded"),
        ("domain_policy", 403, "domainPolicy"),
        ("api_disabled", 403, "accessNotConfigured"),
        ("mail_disabled", 400, "failedPrecondition"),
        ("backend_error", 500, "backendError"),
        ("unavailable", 503, "backendError"),
    ],
)
def test_a_refusal_can_be_forced(mail: Mail, name: str, status: int, reason: str) -> None:
    mail.turn(force=name)

    assert (status, reason) == mail.refusal("GET", "/messages")[:2]


def test_a_failure_in_html_can_be_forced(mail: Mail) -> None:
    mail.turn(force="unavailable_html")
    answer = mail.http.get(f"{USER}/messages")

    assert "unavailable_html" in FORCED
    assert 503 == answer.status_code
    assert answer.text.startswith("<!DOCTYPE html>")


def test_a_status_fault_answers_and_writes_nothing(mail: Mail) -> None:
    before = mail.get("/profile")["messagesTotal"]
    mail.fault(fault="status", status=500, method="POST", path=f"{USER}/messages/send", body={"error": {"code": 500}})
    answer = mail.http.post(f"{USER}/messages/send", json=written())

    assert 500 == answer.status_code
    assert before == mail.get("/profile")["messagesTotal"]


@pytest.mark.parametrize(("fault", "written_anyway"), [("drop_before", 0), ("drop_after", 1)])
def test_a_connection_can_be_cut_around_a_send(mail: Mail, fault: str, written_anyway: int) -> None:
    before = mail.get("/profile")["messagesTotal"]
    mail.fault(fault=fault, method="POST", path=f"{USER}/messages/send")

    with pytest.raises(httpx.TransportError):
        mail.http.post(f"{USER}/messages/send", json=written())

    assert before + written_anyway == mail.get("/profile")["messagesTotal"]


def test_delay_garbage_and_slow_bodies_happen(mail: Mail) -> None:
    mail.fault(fault="delay", seconds=0.05, path=f"{USER}/profile")
    begun = time.monotonic()
    delayed = mail.get("/profile")
    took = time.monotonic() - begun
    mail.fault(fault="garbage", path=f"{USER}/profile")
    garbage = mail.http.get(f"{USER}/profile")
    mail.fault(fault="slow_body", seconds=0.05, path=f"{USER}/profile")
    slow = mail.get("/profile")

    assert took >= 0.05
    assert b"<html>" in garbage.content
    assert delayed == slow


def test_a_bug_of_ours_is_told_in_the_vendors_words(mail: Mail, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mail.emulator.desk.resources, "message", None)

    assert (500, "backendError") == mail.refusal("GET", f"/messages/{mail.examples['message_id']}")[:2]


# --- what people do


def test_somebody_writes_with_attachments(mail: Mail) -> None:
    attached = {"filename": "Liste ö.csv", "mime_type": "text/csv", "content_base64": "YSxiDQo="}
    told = mail.receive("Lünch?", body_html="<p>At noon &amp; sharp</p>", attachments=[attached])
    message = mail.get(f"/messages/{told['message_id']}")
    body = message["payload"]["parts"][1]["body"]
    data = mail.get(f"/messages/{told['message_id']}/attachments/{body['attachmentId']}")["data"]

    assert {"INBOX", "UNREAD"} == set(message["labelIds"])
    assert "Lünch?" == header(message, "Subject")
    assert "At noon &amp; sharp" == message["snippet"]
    assert "Liste ö.csv" == message["payload"]["parts"][1]["filename"]
    assert b"a,b\r\n" == decoded(data)


def test_people_archive_read_trash_and_delete(mail: Mail) -> None:
    told = mail.receive("Tidied", labels=["Follow Up"])["message_id"]
    steps = [mail.act(action=name, message_id=told)["labelIds"] for name in ("mark_read", "archive", "trash")]
    mail.act(action="delete", message_id=told)

    assert [["INBOX", "Label_7"], ["Label_7"], ["Label_7", "TRASH"]] == [sorted(step) for step in steps]
    assert 404 == mail.refusal("GET", f"/messages/{told}")[0]


@pytest.mark.parametrize(
    "action",
    [
        {},
        {"action": "dance"},
        {"action": "receive"},
        {"action": "receive", "from": "nobody", "subject": "x", "body_html": "x"},
        {"action": "receive", "from": "a@b.test", "subject": "x", "body_html": "x", "thread_id": "1"},
        {"action": "receive", "from": "a@b.test", "subject": "x", "body_html": "x", "labels": ["Nope"]},
        {"action": "trash", "message_id": "1"},
    ],
)
def test_a_bad_action_is_refused(mail: Mail, action: dict[str, Any]) -> None:
    assert 422 == mail.control.post("/mail/act", json=action).status_code
