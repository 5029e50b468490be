"""Messages and attachments in the responses of the mail emulator."""

import pytest

from sandbox.tests.mail.mail_client import Mail, decoded, get_match, header, parts

# --- reading messages


def test_each_format_contains_its_fields(mail: Mail) -> None:
    path = f"/messages/{mail.examples['attachment_message_id']}"
    minimal, full, metadata, raw = (mail.get(path, format=form) for form in ("minimal", "full", "metadata", "raw"))

    assert {"id", "threadId", "labelIds", "snippet", "historyId", "internalDate", "sizeEstimate"} == set(minimal)
    assert set(minimal) | {"payload"} == set(full)
    assert {"mimeType", "headers"} == set(metadata["payload"])
    assert set(minimal) | {"raw"} == set(raw)
    assert len(decoded(raw["raw"])) == raw["sizeEstimate"]


def test_metadata_contains_the_requested_headers_in_any_case(mail: Mail) -> None:
    path = f"/messages/{mail.examples['message_id']}"
    message = mail.get(path, format="metadata", metadataHeaders=["subject", "MESSAGE-ID"])

    assert {"Subject", "Message-ID"} == {one["name"] for one in message["payload"]["headers"]}


def test_part_ids_are_numbered_depth_first(mail: Mail) -> None:
    message = mail.get(f"/messages/{mail.examples['attachment_message_id']}")

    assert ["", "0", "0.0", "0.1", "1", "2"] == [part["partId"] for part in parts(message["payload"])]


def test_a_message_of_one_part_has_its_body_at_the_root(mail: Mail) -> None:
    message = get_match(mail, "subject:readers")

    assert "parts" not in message["payload"]
    assert b"To all of you." == decoded(message["payload"]["body"]["data"])


def test_an_archived_and_read_message_has_no_label_ids(mail: Mail) -> None:
    assert "labelIds" not in get_match(mail, "from:t3@kaiwerk.test")


def test_the_body_retains_its_character_set(mail: Mail) -> None:
    latin = get_match(mail, "subject:Grüße")
    japanese = get_match(mail, "subject:入港予定のお知らせ")

    assert "Schöne Grüße" in decoded(latin["payload"]["body"]["data"]).decode("latin-1")
    assert "十一月二十二日" in decoded(japanese["payload"]["body"]["data"]).decode("iso-2022-jp")


def test_headers_are_decoded_unless_the_knob_disables_it(mail: Mail) -> None:
    path = f"/messages/{get_match(mail, 'subject:Grüße')['id']}"
    subject = header(mail.get(path), "Subject")
    mail.set_knobs(decode_headers=False)

    assert "Grüße aus Hamburg" == subject
    assert header(mail.get(path), "Subject").lower().startswith("=?iso-8859-1?b?")


def test_the_snippet_is_escaped(mail: Mail) -> None:
    snippet = get_match(mail, "subject:bell")["snippet"]

    assert "Here&#39;s the &quot;brass&quot; offer: bells &amp; &lt;fittings&gt;" in snippet


def test_file_names_are_decoded_from_every_encoding(mail: Mail) -> None:
    names = [part["filename"] for part in parts(get_match(mail, "subject:Übersicht")["payload"]) if part["filename"]]

    assert ["Übersicht Herbst 2026 \u2013 Endfassung.pdf", "Entwürfe.pdf", "plan.html"] == names


def test_an_attached_message_includes_its_inner_parts(mail: Mail) -> None:
    payload = get_match(mail, 'subject:"Berth 14"')["payload"]
    by_id = {part["partId"]: part for part in parts(payload)}

    assert "message/rfc822" == by_id["1"]["mimeType"]
    assert "Berth 14" == next(one["value"] for one in by_id["1.0"]["headers"] if one["name"] == "Subject")
    assert "berth.pdf" == by_id["1.0.1"]["filename"]


def test_a_long_identifier_is_unfolded(mail: Mail) -> None:
    message_id = header(get_match(mail, "from:ole@outlook-shop.test"), "Message-ID")

    assert len(message_id) > 80
    assert " " not in message_id


def test_a_large_text_is_returned_as_an_attachment_id(mail: Mail) -> None:
    mail.set_knobs(inline_text_bytes=5)
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
def test_unknown_messages_and_attachments_are_rejected(mail: Mail, path: str, expected: tuple[int, str, str]) -> None:
    assert expected == mail.error("GET", path)


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
    message = get_match(mail, "filename:quay-survey.zip")
    body = message["payload"]["parts"][1]["body"]

    data = mail.get(f"/messages/{message['id']}/attachments/{body['attachmentId']}")["data"]

    assert 307_200 == body["size"] == len(decoded(data))


def test_an_attachment_id_expires(mail: Mail) -> None:
    path = f"/messages/{mail.examples['attachment_message_id']}"
    attachment_id = mail.get(path)["payload"]["parts"][1]["body"]["attachmentId"]
    mail.set_knobs(attachment_id_seconds=0)

    error = mail.error("GET", f"{path}/attachments/{attachment_id}")

    assert (400, "invalidArgument", "Invalid attachment token") == error


@pytest.mark.parametrize("attachment_id", ["ANGjdJ8", "x", "ANGjdJ8AAAAAAAAAAAAAAAAAAAAAAAAA", "Ä"])
def test_an_invented_attachment_id_is_rejected(mail: Mail, attachment_id: str) -> None:
    path = f"/messages/{mail.examples['attachment_message_id']}/attachments/{attachment_id}"

    assert (400, "invalidArgument", "Invalid attachment token") == mail.error("GET", path)


def test_an_attachment_id_of_another_message_is_rejected(mail: Mail) -> None:
    body = mail.get(f"/messages/{mail.examples['attachment_message_id']}")["payload"]["parts"][1]["body"]
    path = f"/messages/{mail.examples['message_id']}/attachments/{body['attachmentId']}"

    assert (400, "invalidArgument", "Invalid attachment token") == mail.error("GET", path)


def test_25_megabytes_can_be_received(mail: Mail) -> None:
    size = 25 * 1024 * 1024
    attached = {"filename": "drone.mp4", "mime_type": "video/mp4", "size_bytes": size}
    received = mail.receive("Drone flight", attachments=[attached])

    message = mail.get(f"/messages/{received['message_id']}")
    part = message["payload"]["parts"][1]
    fetched = mail.get(f"/messages/{received['message_id']}/attachments/{part['body']['attachmentId']}")
    mail.perform(action="delete", message_id=received["message_id"])

    assert "drone.mp4" == part["filename"]
    assert size == part["body"]["size"] == len(decoded(fetched["data"]))
