"""The Airtable emulator: attachments and the content host."""

from typing import Any

import pytest
import requests

from sandbox.tests.tables.airtable_client import PNG, AirtableClient


def test_attachment_url_is_fetched_after_a_delay(airtable: AirtableClient) -> None:
    attachments = airtable.create(Files=[{"url": "https://example.com/a/b%20c.pdf?x=1"}])["fields"]["Files"]
    record = airtable.get(airtable.leads, filterByFormula="{Name}=''")["records"][0]["id"]
    airtable.clock.at += 2
    fetched = airtable.get(f"{airtable.leads}/{record}")["fields"]["Files"][0]
    content = requests.get(fetched["url"], timeout=60)

    assert [{"id", "url", "filename"}] == [set(attachment) for attachment in attachments]
    assert "b c.pdf" == fetched["filename"]
    assert (fetched["size"], fetched["type"]) == (len(content.content), content.headers["Content-Type"])


def test_attachment_of_an_unreachable_host_never_has_a_size(airtable: AirtableClient) -> None:
    airtable.knobs(unreachable_hosts=["localhost"])
    record = airtable.create(Files=[{"url": "http://localhost/a.png", "filename": "mine.png"}])
    airtable.clock.at += 3600

    assert "size" not in airtable.get(f"{airtable.leads}/{record['id']}")["fields"]["Files"][0]


def test_attachment_update_removes_attachments_not_named(airtable: AirtableClient) -> None:
    record = airtable.create(Files=[{"url": "https://example.com/a"}, {"url": "https://example.com/b"}])
    attachment_id = record["fields"]["Files"][1]["id"]
    body = {"fields": {"Files": [{"id": attachment_id}, {"url": "https://example.com/", "filename": "c.txt"}]}}

    changed = airtable.send("PATCH", f"{airtable.leads}/{record['id']}", body)["fields"]["Files"]

    assert ["b", "c.txt"] == [attachment["filename"] for attachment in changed]
    assert attachment_id == changed[0]["id"]


def test_upload_is_appended_and_returned_with_field_ids(airtable: AirtableClient) -> None:
    field, record = airtable.field("Files")["id"], airtable.examples["record_id"]
    before = airtable.get(f"{airtable.leads}/{record}")["fields"]["Files"]
    response = airtable.upload(record, "Files", PNG).json()
    new = response["fields"][field][-1]

    assert {"id", "createdTime", "fields"} == set(response)
    assert len(before) + 1 == len(response["fields"][field])
    assert ("a.png", len(PNG), "image/png", 640, 480) == tuple(
        new[name] for name in ("filename", "size", "type", "width", "height")
    )


def test_upload_is_served_at_an_expiring_url(airtable: AirtableClient) -> None:
    field = airtable.field("Files")["id"]
    new = airtable.upload(airtable.create(Name="x")["id"], field, PNG, "ünï/cøde.png").json()["fields"][field][-1]
    served = requests.get(new["url"], timeout=60)
    airtable.clock.at += 7201
    gone = requests.get(new["url"], timeout=60)
    forged = requests.get(new["url"].replace("/att", "/atx"), timeout=60)

    assert (PNG, "image/png") == (served.content, served.headers["Content-Type"])
    assert (410, 404) == (gone.status_code, forged.status_code)


def test_upload_larger_than_five_megabytes_is_rejected(airtable: AirtableClient) -> None:
    record = airtable.examples["record_id"]

    assert 200 == airtable.upload(record, "Files", bytes(5 * 1024 * 1024)).status_code
    assert 413 == airtable.upload(record, "Files", bytes(5 * 1024 * 1024 + 1)).status_code


@pytest.mark.parametrize(
    ("record", "field", "expected"),
    [
        ("recNowhere0000000", "Files", (404, "NOT_FOUND")),
        ("{record_id}", "Nope", (422, "UNKNOWN_FIELD_NAME")),
        ("{record_id}", "Name", (422, "INVALID_VALUE_FOR_COLUMN")),
        ("{record_id}", "Budget/Jahr €", (422, "INVALID_VALUE_FOR_COLUMN")),
    ],
)
def test_uploads_to_invalid_targets_are_rejected(
    airtable: AirtableClient, record: str, field: str, expected: tuple[int, str]
) -> None:
    response = airtable.upload(record.format(**airtable.examples), field, PNG)
    error = response.json()["error"]

    assert expected == (response.status_code, error if isinstance(error, str) else error["type"])


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({"file": "?"}, "INVALID_REQUEST_UNKNOWN"),
        ({"file": None}, "INVALID_REQUEST_UNKNOWN"),
        ({"contentType": "png\r\nX: y"}, "INVALID_REQUEST_UNKNOWN"),
    ],
)
def test_invalid_uploads_are_rejected(airtable: AirtableClient, change: dict[str, Any], kind: str) -> None:
    path = f"/v0/{airtable.examples['base_id']}/{airtable.examples['record_id']}/Files/uploadAttachment"
    body = {"contentType": "image/png", "file": "AAAA", "filename": "a.png"} | change

    assert (422, kind) == airtable.rejection("POST", path, body, host="content")


def test_hosts_do_not_serve_each_others_paths(airtable: AirtableClient) -> None:
    upload = f"/v0/{airtable.examples['base_id']}/{airtable.examples['record_id']}/Files/uploadAttachment"

    assert (404, "NOT_FOUND") == airtable.rejection("POST", upload, {})
    assert (404, "NOT_FOUND") == airtable.rejection("GET", airtable.leads, host="content")
