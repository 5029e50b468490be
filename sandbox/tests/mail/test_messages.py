"""Messages and attachments as the mail stand-in shows them."""

import pytest

from sandbox.tests.mail.mail_client import Mail, decoded, header, one, parts

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
    mail.turn(attachment_id_seconds=0)

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
