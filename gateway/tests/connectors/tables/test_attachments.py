"""Attaching files, from the caller's side, against the emulator and a web server on real HTTP."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest

from gateway.tests.connectors.tables.vendor_view import VendorInspector
from harness.file_server import ScriptedResponse, redirect_to, scripted_response, serve_files
from harness.gateway_server import Gateway, Reply
from harness.requirement import requirement

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(100))
LARGEST_UPLOAD = 5_000_000
MAX_BYTES = 12_000_000


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    pages = {
        "/logo.png": scripted_response(PNG),
        "/B%C3%BCro%20plan.pdf?version=2": scripted_response(b"%PDF", "application/pdf"),
        "/": scripted_response(PNG),
        "/largest.bin": scripted_response(bytes(LARGEST_UPLOAD), "application/octet-stream"),
        "/film.mp4": scripted_response(bytes(LARGEST_UPLOAD + 1), "video/mp4"),
        "/stream.mp4": ScriptedResponse([bytes(1_000_000)] * 6, headers={"Content-Type": "video/mp4"}),
        "/huge.bin": ScriptedResponse([b"x"], headers={"Content-Length": str(MAX_BYTES + 1)}),
        "/moved": redirect_to("/logo.png"),
        "/to-private": redirect_to("http://10.0.0.1/logo.png"),
        "/gone.png": ScriptedResponse(status=410),
        "/breaks-off.png": ScriptedResponse([b"x"], headers={"Content-Length": "100"}),
    }
    with serve_files(pages) as address:
        yield address


def attach(gateway: Gateway, url: str, field: str = "Files", **more: Any) -> Reply:
    body = {"record_id": gateway.examples("tables")["record_id"], "field": field, "url": url}
    return gateway.post("/tables/attachments", **(body | more))


def cache_records(gateway: Gateway, table: str = "Leads", **query: Any) -> list[str]:
    """Read a page of records, so that their locations are cached."""
    query = {"base_id": gateway.examples("tables")["base_id"], "table": table, "limit": 100} | query
    return [record["record_id"] for record in gateway.get("/tables/records", **query).data]


def list_files(inspector: VendorInspector, record_id: str, field: str = "Files") -> list[Mapping[str, Any]]:
    return list(inspector.record(record_id).get(field, []))


def with_key(key: str) -> Mapping[str, str]:
    return {"Idempotency-Key": key}


# Small files


@requirement("tables-20", "tables-21", "tables-31")
def test_a_file_is_appended_to_the_existing_ones(gateway: Gateway, inspector: VendorInspector, site: str) -> None:
    record_id = gateway.examples("tables")["record_id"]
    before = list_files(inspector, record_id)
    reply = attach(gateway, f"{site}/logo.png")
    after = list_files(inspector, record_id)

    assert reply.data == {
        "record_id": record_id,
        "field": "Files",
        "attachment_id": after[-1]["id"],
        "filename": "logo.png",
        "size_bytes": len(PNG),
    }
    assert [file["id"] for file in before] == [file["id"] for file in after[:-1]]
    assert ("image/png", len(PNG)) == (after[-1]["type"], after[-1]["size"])


def test_the_content_of_a_file_is_unchanged(gateway: Gateway, inspector: VendorInspector, site: str) -> None:
    attach(gateway, f"{site}/logo.png")
    url = list_files(inspector, gateway.examples("tables")["record_id"])[-1]["url"]

    assert PNG == gateway.http.get(url).content


@requirement("tables-22")
def test_a_file_is_named_after_its_url(gateway: Gateway, site: str) -> None:
    assert "Büro plan.pdf" == attach(gateway, f"{site}/B%C3%BCro%20plan.pdf?version=2").data["filename"]


@requirement("tables-22")
def test_a_file_can_have_another_name(gateway: Gateway, inspector: VendorInspector, site: str) -> None:
    reply = attach(gateway, f"{site}/logo.png", filename="Logo, neu.png")

    assert "Logo, neu.png" == reply.data["filename"]
    assert "Logo, neu.png" == list_files(inspector, reply.data["record_id"])[-1]["filename"]


def test_concurrently_attached_files_are_all_stored(gateway: Gateway, inspector: VendorInspector, site: str) -> None:
    cache_records(gateway)
    replies = gateway.together(*[lambda: attach(gateway, f"{site}/logo.png")] * 8)

    assert 8 == len({reply.data["attachment_id"] for reply in replies})
    assert 2 + 8 == len(list_files(inspector, gateway.examples("tables")["record_id"]))


def test_a_file_of_maximum_upload_size_is_uploaded(gateway: Gateway, inspector: VendorInspector, site: str) -> None:
    reply = attach(gateway, f"{site}/largest.bin")

    assert LARGEST_UPLOAD == reply.data["size_bytes"]
    assert 1 == len([path for path in inspector.list_requests("POST") if path.endswith("/uploadAttachment")])


# Large files


@requirement("tables-30")
@pytest.mark.parametrize(("path", "size_bytes"), [("/film.mp4", LARGEST_UPLOAD + 1), ("/stream.mp4", 6_000_000)])
def test_a_larger_file_is_passed_by_its_url(
    gateway: Gateway, inspector: VendorInspector, site: str, path: str, size_bytes: int
) -> None:
    record_id = gateway.examples("tables")["record_id"]
    before = list_files(inspector, record_id)
    reply = attach(gateway, site + path)
    after = list_files(inspector, record_id)

    assert (path[1:], size_bytes) == (reply.data["filename"], reply.data["size_bytes"])
    assert (after[-1]["id"], site + path) == (reply.data["attachment_id"], after[-1]["url"])
    assert [file["id"] for file in before] == [file["id"] for file in after[:-1]]
    assert [] == inspector.list_requests("POST")


def test_concurrently_attached_large_and_small_files_are_all_stored(
    gateway: Gateway, inspector: VendorInspector, site: str
) -> None:
    cache_records(gateway)
    calls = [lambda: attach(gateway, f"{site}/film.mp4"), lambda: attach(gateway, f"{site}/logo.png")] * 3
    replies = gateway.together(*calls)

    assert 6 == len({reply.data["attachment_id"] for reply in replies})
    assert 2 + 6 == len(list_files(inspector, gateway.examples("tables")["record_id"]))


@requirement("tables-29")
def test_a_file_above_the_limit_is_rejected(gateway: Gateway, inspector: VendorInspector, site: str) -> None:
    reply = attach(gateway, f"{site}/huge.bin")

    assert (413, "file_too_large") == (reply.status, reply.code)
    assert [{"parameter": "url", "value": f"{site}/huge.bin", "max_bytes": MAX_BYTES}] == reply.facts
    assert 2 == len(list_files(inspector, gateway.examples("tables")["record_id"]))


# Links


@requirement("tables-25", "tables-27")
@pytest.mark.parametrize(
    "url",
    [
        "http://10.0.0.1/logo.png",
        "http://169.254.169.254/latest/meta-data",
        "http://[::1]/logo.png",
        "http://localhost.localdomain@10.0.0.1/",
        "file:///etc/passwd",
        "ftp://example.com/logo.png",
        "{site}/to-private",
    ],
)
def test_only_public_urls_are_fetched(gateway: Gateway, site: str, url: str) -> None:
    reply = attach(gateway, url.format(site=site))

    assert (422, "url_not_allowed") == (reply.status, reply.code)
    assert [{"parameter", "value", "reason"}] == [detail.keys() for detail in reply.facts]


@requirement("tables-28")
@pytest.mark.parametrize("path", ["/gone.png", "/nothing-here.png", "/breaks-off.png"])
def test_a_failed_fetch_is_reported_as_unreachable(
    gateway: Gateway, inspector: VendorInspector, site: str, path: str
) -> None:
    reply = attach(gateway, site + path)

    assert (422, "url_unreachable") == (reply.status, reply.code)
    assert [] == inspector.list_requests("POST")


@pytest.mark.parametrize(
    ("more", "parameter"),
    [
        ({"url": ""}, "url"),
        ({"url": "http://example.com/" + "a" * 4000}, "url"),
        ({"filename": ""}, "filename"),
        ({"record_id": "rec/../x"}, "record_id"),
        ({"base_id": "appX"}, "base_id"),
    ],
)
def test_invalid_parameters_are_rejected(gateway: Gateway, more: dict[str, Any], parameter: str) -> None:
    reply = attach(gateway, **({"url": "http://example.com/a.png"} | more))

    assert (422, "invalid_parameters") == (reply.status, reply.code)
    assert [parameter] == [detail["parameter"] for detail in reply.details]
    assert [] == gateway.journal("tables")


# Location of the record


@requirement("tables-23")
def test_a_cached_record_is_not_searched(gateway: Gateway, inspector: VendorInspector, site: str) -> None:
    cache_records(gateway)
    attach(gateway, f"{site}/logo.png")

    assert "/v0/meta/bases" not in inspector.list_requests("GET")


def test_a_newly_created_record_is_not_searched(gateway: Gateway, inspector: VendorInspector, site: str) -> None:
    base_id = gateway.examples("tables")["base_id"]
    created = gateway.post("/tables/records", base_id=base_id, table="Leads", records=[{"Name": "new"}])
    attach(gateway, f"{site}/logo.png", record_id=created.data["created"][0])

    assert "/v0/meta/bases" not in inspector.list_requests("GET")


@requirement("tables-24")
def test_an_uncached_record_is_searched_in_every_base(gateway: Gateway, inspector: VendorInspector, site: str) -> None:
    gateway.knob("tables", bases_per_page=1)
    record_id = next(iter(inspector.table("Inventory", inspector.office).records))
    reply = attach(gateway, f"{site}/logo.png", field="Photos", record_id=record_id)

    assert "ok" == reply.body["status"]
    assert "logo.png" == inspector.record(record_id, inspector.office)["Photos"][0]["filename"]


def test_a_record_is_searched_once(gateway: Gateway, inspector: VendorInspector, site: str) -> None:
    attach(gateway, f"{site}/logo.png")
    gateway.clear("tables")
    attach(gateway, f"{site}/logo.png")

    assert "/v0/meta/bases" not in inspector.list_requests("GET")


def test_a_field_name_of_several_tables_is_resolved_by_the_record(
    gateway: Gateway, inspector: VendorInspector, site: str
) -> None:
    inspector.field("Contracts", "Companies / Konten").name = "Files"
    record_id = next(iter(inspector.table("Companies / Konten").records))
    reply = attach(gateway, f"{site}/film.mp4", record_id=record_id)

    assert "film.mp4" == inspector.record(record_id)["Files"][-1]["filename"]
    assert reply.data["attachment_id"] == inspector.record(record_id)["Files"][-1]["id"]


@requirement("tables-24")
@pytest.mark.parametrize("record_id", ["recDoesNotExist00", "recnonsense"])
def test_an_unknown_record_is_not_found(gateway: Gateway, site: str, record_id: str) -> None:
    reply = attach(gateway, f"{site}/logo.png", record_id=record_id)

    assert (404, "record_not_found") == (reply.status, reply.code)


def test_a_record_of_an_unshared_base_is_not_found(gateway: Gateway, inspector: VendorInspector, site: str) -> None:
    hidden = next(iter(inspector.emulator.workspace.bases[2].tables[0].records))

    assert "record_not_found" == attach(gateway, f"{site}/logo.png", record_id=hidden).code


def test_a_record_deleted_after_caching_is_not_found(gateway: Gateway, inspector: VendorInspector, site: str) -> None:
    record_id = cache_records(gateway)[5]
    inspector.delete_record(record_id)

    assert "record_not_found" == attach(gateway, f"{site}/logo.png", record_id=record_id).code


def test_a_record_of_a_base_removed_after_caching_is_not_found(
    gateway: Gateway, inspector: VendorInspector, site: str
) -> None:
    seen = cache_records(gateway, "Inventory", base_id=inspector.office.id)
    inspector.office.permission = "none"
    at_once = attach(gateway, f"{site}/logo.png", "Photos", record_id=seen[0])
    gateway.get("/tables/tables", base_id=inspector.office.id)
    gateway.get("/tables/records", base_id=inspector.office.id, table="Inventory")
    later = attach(gateway, f"{site}/logo.png", "Photos", record_id=seen[0])

    assert ["record_not_found"] * 2 == [at_once.code, later.code]


# Fields


@pytest.mark.parametrize("is_seen", [False, True])
def test_an_unknown_field_is_not_found(gateway: Gateway, site: str, *, is_seen: bool) -> None:
    record_id = cache_records(gateway)[0] if is_seen else gateway.examples("tables")["record_id"]
    reply = attach(gateway, f"{site}/logo.png", "files", record_id=record_id)

    assert (404, "field_not_found") == (reply.status, reply.code)
    assert ["field_not_found", "field", "files", "files"] == [
        reply.details[0][name] for name in ("code", "parameter", "field", "value")
    ]


def test_a_field_of_another_table_is_not_found(gateway: Gateway, site: str) -> None:
    assert "field_not_found" == attach(gateway, f"{site}/logo.png", "Contracts").code


def test_a_field_that_cannot_contain_files_is_rejected(gateway: Gateway, site: str) -> None:
    reply = attach(gateway, f"{site}/logo.png", "Notes")

    assert (422, "lossy_cast") == (reply.status, reply.code)
    about = {"code": "lossy_cast", "parameter": "field", "field": "Notes", "value": "Notes", "type": "multilineText"}
    assert [about] == reply.details


def test_a_computed_field_is_rejected(gateway: Gateway, site: str) -> None:
    assert "read_only_field" == attach(gateway, f"{site}/logo.png", "Value per star").code


def test_a_field_added_after_caching_is_found(gateway: Gateway, inspector: VendorInspector, site: str) -> None:
    cache_records(gateway)
    inspector.table().fields.append(replace(inspector.field("Files"), id="fldScans0000000", name="Scans"))

    assert "Scans" == attach(gateway, f"{site}/logo.png", "Scans").data["field"]


# In-doubt attachments


def test_a_size_rejected_by_the_vendor_leaves_the_key_unused(
    gateway: Gateway, inspector: VendorInspector, site: str
) -> None:
    body = {"error": {"type": "REQUEST_TOO_LARGE", "message": "No."}}
    gateway.fault("tables", method="POST", fault="status", status=413, body=body)
    first = attach(gateway, f"{site}/logo.png", headers=with_key("big"))
    repeat = attach(gateway, f"{site}/logo.png", headers=with_key("big"))

    assert (413, "file_too_large") == (first.status, first.code)
    assert "ok" == repeat.body["status"]
