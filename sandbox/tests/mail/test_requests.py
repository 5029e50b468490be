"""Validation of parameters and bodies in the mail emulator."""

import pytest

from sandbox.tests.mail.mail_client import JONAS, OWN, USER, Mail, matching_ids

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
def test_invalid_fields_are_rejected(mail: Mail, fields: str) -> None:
    path = f"/messages/{mail.examples['message_id']}"

    assert (400, "badRequest") == mail.error("GET", path, params={"fields": fields})[:2]


@pytest.mark.parametrize("name", ["alt", "prettyPrint", "quotaUser", "key", "$.xgafv", "upload_protocol", "callback"])
def test_standard_parameters_are_accepted(mail: Mail, name: str) -> None:
    assert OWN == mail.get("/profile", **{name: "json" if name == "alt" else "true"})["emailAddress"]


def test_an_unknown_parameter_is_rejected(mail: Mail) -> None:
    status, _, message = mail.error("GET", "/messages", params={"limit": "5"})

    assert 400 == status
    assert message.startswith('Invalid JSON payload received. Unknown name "limit": Cannot bind query parameter.')


@pytest.mark.parametrize(
    "params", [{"maxResults": "many"}, {"maxResults": "-1"}, {"includeSpamTrash": "perhaps"}, {"alt": "media"}]
)
def test_a_parameter_of_the_wrong_type_is_rejected(mail: Mail, params: dict[str, str]) -> None:
    status, _, message = mail.error("GET", "/messages", params=params)

    assert 400 == status
    assert message.startswith("Invalid value at '")


def test_an_unknown_format_is_rejected(mail: Mail) -> None:
    path = f"/messages/{mail.examples['message_id']}"

    assert 400 == mail.error("GET", path, params={"format": "everything"})[0]


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
def test_a_body_that_is_not_a_message_is_rejected(mail: Mail, content: bytes, expected: str) -> None:
    status, _, message = mail.error("POST", "/messages/send", content=content)

    assert (400, expected) == (status, message)


def test_a_lone_surrogate_is_rejected(mail: Mail) -> None:
    assert 400 == mail.error("POST", "/labels", content=b'{"name": "a\\ud800"}')[0]


def test_an_unknown_path_responds_in_html(mail: Mail) -> None:
    unknown = mail.http.get("/gmail/v2/users/me/messages")
    wrong = mail.http.delete(f"{USER}/profile")

    assert [404, 404] == [unknown.status_code, wrong.status_code]
    assert unknown.headers["Content-Type"].startswith("text/html")
    assert "Error 404" in wrong.text


def test_the_mailbox_of_another_user_is_rejected(mail: Mail) -> None:
    own = mail.http.get(f"/gmail/v1/users/{OWN}/profile")
    other = mail.http.get(f"/gmail/v1/users/{JONAS}/profile")

    assert 200 == own.status_code
    assert (403, f"Delegation denied for {JONAS}") == (other.status_code, other.json()["error"]["message"])


def test_a_long_read_can_be_sent_as_a_post(mail: Mail) -> None:
    response = mail.http.post(f"{USER}/messages", data={"q": "in:drafts"}, headers={"X-HTTP-Method-Override": "GET"})

    assert matching_ids(mail, "in:drafts") == [message["id"] for message in response.json()["messages"]]


def test_pretty_print_is_applied_on_request(mail: Mail) -> None:
    assert mail.http.get(f"{USER}/profile", params={"prettyPrint": "true"}).text.startswith('{\n  "emailAddress"')
