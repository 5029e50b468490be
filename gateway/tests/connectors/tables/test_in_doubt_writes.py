"""Writes with an unknown outcome happen once per key, match no other object, and report completed steps."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from gateway.tests.connectors.tables.vendor_view import VendorInspector
from harness.file_server import ScriptedResponse, scripted_response, serve_files
from harness.gateway_server import Gateway, Reply
from harness.requirement import requirement

HTML = "<html>Bad gateway</html>"
FORBIDDEN = {"error": {"type": "INVALID_PERMISSIONS", "message": "No."}}
REJECTED_RECORD = {"Name": "bad", "Owner": "usrNobody"}
"""A record that the vendor rejects."""

NOT_DONE = [
    {"fault": "drop_before"},
    {"fault": "status", "status": 500},
    {"fault": "status", "status": 502, "body": HTML},
    {"fault": "status", "status": 503, "body": HTML},
    {"fault": "status", "status": 504},
    {"fault": "status", "status": 200, "body": {}},
    {"fault": "status", "status": 200, "body": {"records": []}},
    {"fault": "status", "status": 200, "body": {"records": [{"fields": {}}]}},
    {"fault": "status", "status": 200, "body": HTML},
]
"""Faults after which a write was not performed, although its outcome is unknown."""

PNG, OTHER = (
    scripted_response(b"\x89PNG\r\n\x1a\n" + bytes(100)),
    scripted_response(b"\x89PNG\r\n\x1a\n" + bytes(99) + b"x"),
)
FILM = scripted_response(bytes(5_000_001), "video/mp4")


def create(gateway: Gateway, *records: Any, key: str | None = None, **more: Any) -> Reply:
    body = {"base_id": gateway.examples("tables")["base_id"], "table": "Leads", "records": list(records)}
    return gateway.post("/tables/records", headers=with_key(key), **(body | more))


def create_both(gateway: Gateway, name: str, key: str | None = None) -> Reply:
    """Create two records. The second adds an option and therefore has its own request."""
    records = [{"Name": name}, {"Name": name, "Stage": "Paused"}]
    return create(gateway, *records, key=key, allow_new_options=True)


def update(gateway: Gateway, record_id: str | None = None, *, key: str | None = None, **fields: Any) -> Reply:
    examples = gateway.examples("tables")
    body = {"base_id": examples["base_id"], "table": "Leads", "fields": fields}
    return gateway.patch(f"/tables/records/{record_id or examples['record_id']}", headers=with_key(key), **body)


def attach(gateway: Gateway, url: str, key: str | None = None, **more: Any) -> Reply:
    body = {"record_id": gateway.examples("tables")["record_id"], "field": "Files", "url": url}
    return gateway.post("/tables/attachments", headers=with_key(key), **(body | more))


def list_completed_steps(reply: Reply) -> list[dict[str, Any]]:
    """Return the details of completed steps."""
    return [detail for detail in reply.details if "done" in detail]


def with_key(key: str | None) -> Mapping[str, str]:
    return {} if key is None else {"Idempotency-Key": key}


def inject_fault(gateway: Gateway, method: str = "POST", *, after: int = 0, **injected: Any) -> None:
    """Inject a fault into a writing request, *after* some that succeed."""
    if after:
        gateway.fault("tables", method=method, fault="delay", times=after)
    gateway.fault("tables", method=method, **injected)


def cache_records(gateway: Gateway) -> None:
    """Read the leads, so that the base and the records are cached."""
    gateway.get("/tables/records", base_id=gateway.examples("tables")["base_id"], table="Leads", limit=100)


def example(gateway: Gateway, inspector: VendorInspector) -> dict[str, Any]:
    return inspector.record(gateway.examples("tables")["record_id"])


def attachments(gateway: Gateway, inspector: VendorInspector) -> list[Any]:
    return [item["id"] for item in example(gateway, inspector)["Files"]]


# Records


def test_a_reported_failure_is_retried_without_waiting(
    slow_vendor_gateway: Gateway, inspector: VendorInspector
) -> None:
    inject_fault(slow_vendor_gateway, fault="status", status=500, body={"error": {"type": "SERVER_ERROR"}})
    create(slow_vendor_gateway, {"Name": "failed"}, key="failed")
    repeat = create(slow_vendor_gateway, {"Name": "failed"}, key="failed")

    assert 1 == len(repeat.data["created"])
    assert 1 == len(inspector.records(Name="failed"))


# Records of others


@requirement("common-97", "tables-15")
@pytest.mark.parametrize("key", [None, "older"])
@pytest.mark.parametrize(
    "injected",
    [{"fault": "drop_before"}, {"fault": "status", "status": 500}, {"fault": "status", "status": 502}],
    ids=str,
)
@pytest.mark.parametrize("record", [{"Stage": "Open"}, {}], ids=str)
def test_a_record_from_before_the_call_is_never_matched(
    gateway: Gateway, inspector: VendorInspector, record: dict[str, Any], injected: dict[str, Any], key: str | None
) -> None:
    inspector.hide_authors()
    inspector.create_manually(seconds_ago=30, **record)
    inject_fault(gateway, **injected)
    reply = create(gateway, record, key=key and f"{key} {record} {injected}")

    assert 502 == reply.status


@requirement("common-97", "tables-15")
def test_a_record_of_another_creator_is_never_matched(gateway: Gateway, inspector: VendorInspector) -> None:
    inject_fault(gateway, fault="drop_before")
    create(gateway, {"Stage": "Open"}, key="authors")
    theirs = inspector.create_manually(Stage="Open")
    repeat = create(gateway, {"Stage": "Open"}, key="authors")

    assert theirs not in repeat.data["created"]


@requirement("common-97", "tables-15")
@pytest.mark.parametrize("more", [{"Notes": "by hand"}, {"Hot": True}, {"Tags": ["eu"]}], ids=str)
@pytest.mark.parametrize("record", [{"Name": "same"}, {}], ids=str)
def test_a_record_with_additional_values_is_never_matched(
    gateway: Gateway, inspector: VendorInspector, record: dict[str, Any], more: dict[str, Any]
) -> None:
    inspector.hide_authors()
    inject_fault(gateway, fault="drop_before")
    create(gateway, record, key=f"more {record} {more}")
    theirs = inspector.create_manually(**record, **more)
    repeat = create(gateway, record, key=f"more {record} {more}")

    assert 1 == len(repeat.data["created"])
    assert theirs not in repeat.data["created"]


@requirement("tables-15")
def test_a_record_with_previously_seen_default_values_is_matched(gateway: Gateway, inspector: VendorInspector) -> None:
    inspector.field("Stage").default = "Open"
    create(gateway, {"Name": "seen"})
    inject_fault(gateway, fault="drop_after")
    reply = create(gateway, {"Name": "default"})

    assert [("default", "Open")] == [
        (record["Name"], record["Stage"]) for record in map(inspector.record, reply.data["created"])
    ]


@requirement("tables-15")
def test_an_incomplete_batch_is_never_matched(gateway: Gateway, inspector: VendorInspector) -> None:
    inspector.hide_authors()
    inject_fault(gateway, fault="drop_before")
    create(gateway, {"Name": "part"}, {"Name": "whole"}, key="part")
    theirs = inspector.create_manually(Name="part")
    repeat = create(gateway, {"Name": "part"}, {"Name": "whole"}, key="part")

    assert ["part", "whole"] == [inspector.record(created)["Name"] for created in repeat.data["created"]]
    assert theirs not in repeat.data["created"]


@requirement("common-97", "tables-15")
@pytest.mark.parametrize("record", [{"Name": "alike"}, {}], ids=str)
def test_none_of_two_possible_records_is_matched(
    gateway: Gateway, inspector: VendorInspector, record: dict[str, Any]
) -> None:
    inspector.hide_authors()
    cache_records(gateway)
    inject_fault(gateway, fault="drop_after")
    gateway.fault("tables", method="GET", fault="status", status=500, times=30)
    create(gateway, record, key=f"alike {record}")
    gateway.clear("tables")
    theirs = inspector.create_manually(**record)
    repeat = create(gateway, record, key=f"alike {record}")

    assert (502, "outcome_unknown") == (repeat.status, repeat.code)
    assert theirs in [detail["candidate"] for detail in repeat.details]
    assert [] == inspector.list_requests("POST")


# Partial writes


@requirement("tables-16")
@pytest.mark.parametrize("injected", NOT_DONE, ids=str)
@pytest.mark.parametrize("key", [None, "half"])
def test_created_records_are_reported_if_the_others_are_in_doubt(
    gateway: Gateway, inspector: VendorInspector, injected: dict[str, Any], key: str | None
) -> None:
    inject_fault(gateway, after=1, **injected)
    reply = create_both(gateway, "half", key and f"{key} {injected}")
    (record,) = inspector.records(Name="half")

    assert 502 == reply.status
    assert [("create records", record)] == [
        (detail["done"], inspector.record(detail["created"][0])) for detail in list_completed_steps(reply)
    ]


@requirement("common-95", "tables-16")
@pytest.mark.parametrize("injected", NOT_DONE, ids=str)
def test_a_repeat_completes_a_partial_write(
    gateway: Gateway, inspector: VendorInspector, injected: dict[str, Any]
) -> None:
    inject_fault(gateway, after=1, **injected)
    first = create_both(gateway, "rest", key=f"rest {injected}")
    repeat = create_both(gateway, "rest", key=f"rest {injected}")

    assert [repeat.data["created"][:1]] == [detail["created"] for detail in list_completed_steps(first)]
    assert [None, "Paused"] == [inspector.record(created).get("Stage") for created in repeat.data["created"]]
    assert 2 == len(inspector.records(Name="rest"))


def test_created_records_remain_after_the_table_has_changed(gateway: Gateway, inspector: VendorInspector) -> None:
    inject_fault(gateway, after=1, fault="status", status=500)
    records = [{"Name": "half", "Phone": "1"}, {"Name": "half", "Stage": "Paused"}]
    create(gateway, *records, allow_new_options=True, key="changed")
    inspector.field("Phone").type = "autoNumber"
    repeat = create(gateway, *records, allow_new_options=True, key="changed")

    assert ("ok", 2) == (repeat.body["status"], len(repeat.data["created"]))


@requirement("tables-16")
@pytest.mark.parametrize("injected", NOT_DONE, ids=str)
def test_records_created_singly_after_a_rejection_are_created_once(
    gateway: Gateway, inspector: VendorInspector, injected: dict[str, Any]
) -> None:
    inject_fault(gateway, after=2, **injected)
    records = [{"Name": "one"}, {"Name": "two"}, REJECTED_RECORD, {"Name": "three"}]
    first = create(gateway, *records, key=f"singly {injected}")
    repeat = create(gateway, *records, key=f"singly {injected}")

    assert 502 == first.status
    assert [["one"]] == [
        [inspector.record(one)["Name"] for one in detail["created"]] for detail in list_completed_steps(first)
    ]
    assert ["one", "two", "three"] == [inspector.record(created)["Name"] for created in repeat.data["created"]]
    assert [2] == [item["index"] for item in repeat.data["failed"]]
    assert [1, 1, 1] == [len(inspector.records(Name=name)) for name in ("one", "two", "three")]


def test_a_repeat_reports_the_same_rejection(gateway: Gateway, inspector: VendorInspector) -> None:
    inject_fault(gateway, after=2, fault="drop_before")
    create(gateway, REJECTED_RECORD, {"Name": "alone"}, key="told")
    repeat = create(gateway, REJECTED_RECORD, {"Name": "alone"}, key="told")

    fields = {"index": 0, "error": "upstream_refused", "field": "Owner", "value": "usrNobody"}
    reason = {
        "vendor_code": "INVALID_VALUE_FOR_COLUMN",
        "vendor_message": 'Field "Owner" cannot accept the provided value',
    }
    assert [fields | reason] == repeat.data["failed"]
    assert 1 == len(inspector.records(Name="alone"))
    assert 4 == len(inspector.list_requests("POST"))


def test_a_rejection_leaves_the_idempotency_key_unused(gateway: Gateway, inspector: VendorInspector) -> None:
    inject_fault(gateway, after=1, fault="status", status=403, body=FORBIDDEN)
    first = create(gateway, REJECTED_RECORD, {"Name": "fine"}, key="refused")
    repeat = create(gateway, {"Name": "another"}, key="refused")

    assert (403, "upstream_forbidden", []) == (first.status, first.code, list_completed_steps(first))
    assert ["another"] == [inspector.record(created)["Name"] for created in repeat.data["created"]]


def test_a_rejected_record_does_not_block_an_equal_one(gateway: Gateway, inspector: VendorInspector) -> None:
    gateway.fault("tables", method="POST", fault="status", status=422, body={"error": "INVALID_REQUEST"}, times=2)
    create(gateway, {"Name": "equal"})
    inject_fault(gateway, fault="drop_after")
    reply = create(gateway, {"Name": "equal"})

    assert 1 == len(reply.data["created"])
    assert 1 == len(inspector.records(Name="equal"))


@requirement("tables-16")
def test_a_rate_limit_during_a_batch_reports_the_created_records(
    slow_vendor_gateway: Gateway, inspector: VendorInspector
) -> None:
    throttled = {"errors": [{"error": "RATE_LIMIT_REACHED", "message": "Rate limit exceeded."}]}
    inject_fault(
        slow_vendor_gateway, after=1, fault="status", status=429, body=throttled, headers={"Retry-After": "3600"}
    )
    reply = create_both(slow_vendor_gateway, "limits")
    (record,) = inspector.records(Name="limits")

    assert (429, "upstream_rate_limited") == (reply.status, reply.code)
    assert [record] == [inspector.record(created) for created in reply.details[0]["created"]]


# Changes


def test_a_change_of_a_deleted_record_is_rejected(gateway: Gateway, inspector: VendorInspector) -> None:
    inject_fault(gateway, "PATCH", fault="drop_before")
    record_id = gateway.examples("tables")["record_id"]
    update(gateway, record_id, Phone="+46 1", key="gone")
    inspector.delete_record(record_id)
    repeat = update(gateway, record_id, Phone="+46 1", key="gone")

    assert (404, "record_not_found") == (repeat.status, repeat.code)


def test_a_rejected_change_is_resent_only_if_the_table_has_changed(
    gateway: Gateway, inspector: VendorInspector
) -> None:
    reply = update(gateway, Owner="usrNobody")

    assert (422, "upstream_refused") == (reply.status, reply.code)
    assert 1 == len(inspector.list_requests("PATCH"))


# Attachments


@pytest.fixture
def pages() -> dict[str, ScriptedResponse]:
    return {"/logo.png": PNG, "/film.mp4": FILM, "/other.png": OTHER}


@pytest.fixture
def site(pages: dict[str, ScriptedResponse]) -> Iterator[str]:
    with serve_files(pages) as address:
        yield address


WRITES = [("/logo.png", "POST"), ("/film.mp4", "PATCH")]


@requirement("common-87")
@pytest.mark.parametrize("injected", ["drop_before", "drop_after"])
def test_a_repeat_with_another_url_returns_the_first_attachment(
    gateway: Gateway, inspector: VendorInspector, site: str, injected: str
) -> None:
    before = attachments(gateway, inspector)
    inject_fault(gateway, fault=injected)
    attach(gateway, f"{site}/logo.png", key=f"links {injected}")
    repeat = attach(gateway, f"{site}/film.mp4", key=f"links {injected}")

    assert "logo.png" == repeat.data["filename"]
    assert [*before, repeat.data["attachment_id"]] == attachments(gateway, inspector)


@requirement("common-98")
@pytest.mark.parametrize(("path", "method"), WRITES)
def test_equal_files_attached_concurrently_are_distinguished(
    gateway: Gateway, inspector: VendorInspector, site: str, path: str, method: str
) -> None:
    before = attachments(gateway, inspector)
    gateway.fault("tables", method=method, fault="drop_after", times=2)
    calls = [lambda key=key: attach(gateway, site + path, key=key) for key in (f"{path} 1", f"{path} 2")]
    replies = gateway.together(*calls)

    assert {reply.data["attachment_id"] for reply in replies} == set(attachments(gateway, inspector)) - set(before)
    assert 2 == len({reply.data["attachment_id"] for reply in replies})


def test_interrupted_files_of_one_name_and_size_are_matched_by_count(
    gateway: Gateway, inspector: VendorInspector, site: str
) -> None:
    inject_fault(gateway, fault="drop_before", times=2)
    attach(gateway, f"{site}/logo.png", key="one")
    attach(gateway, f"{site}/other.png", key="other", filename="logo.png")
    one = attach(gateway, f"{site}/logo.png", key="one")
    other = attach(gateway, f"{site}/other.png", key="other", filename="logo.png")

    assert [one.data["attachment_id"], other.data["attachment_id"]] == attachments(gateway, inspector)[-2:]


def test_an_attachment_of_another_size_is_not_matched(gateway: Gateway, inspector: VendorInspector, site: str) -> None:
    inject_fault(gateway, fault="drop_before")
    attach(gateway, f"{site}/logo.png", key="sizes")
    theirs = attach(gateway, f"{site}/film.mp4", filename="logo.png")
    repeat = attach(gateway, f"{site}/logo.png", key="sizes")

    assert [theirs.data["attachment_id"], repeat.data["attachment_id"]] == attachments(gateway, inspector)[-2:]


def test_attachments_added_meanwhile_remain_when_a_large_file_is_resent(
    gateway: Gateway, inspector: VendorInspector, site: str
) -> None:
    before = attachments(gateway, inspector)
    inject_fault(gateway, "PATCH", fault="drop_before")
    attach(gateway, f"{site}/film.mp4", key="between")
    between = attach(gateway, f"{site}/logo.png")
    repeat = attach(gateway, f"{site}/film.mp4", key="between")

    assert [*before, between.data["attachment_id"], repeat.data["attachment_id"]] == attachments(gateway, inspector)


@requirement("tables-32")
@pytest.mark.parametrize("now", [OTHER, FILM], ids=["other", "large"])
def test_a_changed_file_is_reported_and_leaves_the_key_unused(
    gateway: Gateway, inspector: VendorInspector, site: str, pages: dict[str, ScriptedResponse], now: ScriptedResponse
) -> None:
    before = attachments(gateway, inspector)
    inject_fault(gateway, fault="drop_before")
    attach(gateway, f"{site}/logo.png", key=f"changed {now.headers}")
    pages["/logo.png"] = now
    response = attach(gateway, f"{site}/logo.png", key=f"changed {now.headers}")
    repeat = attach(gateway, f"{site}/logo.png", key=f"changed {now.headers}")

    assert (422, "url_unreachable") == (response.status, response.code)
    assert [*before, repeat.data["attachment_id"]] == attachments(gateway, inspector)


def test_an_attached_file_is_matched_after_its_url_became_invalid(
    gateway: Gateway, inspector: VendorInspector, site: str, pages: dict[str, ScriptedResponse]
) -> None:
    before = attachments(gateway, inspector)
    gateway.fault("tables", method="POST", fault="drop_after")
    cache_records(gateway)
    inject_fault(gateway, "GET", after=1, fault="status", status=500, times=30)
    first = attach(gateway, f"{site}/logo.png", key="nowhere")
    del pages["/logo.png"]
    gateway.clear("tables")
    repeat = attach(gateway, f"{site}/logo.png", key="nowhere")

    assert 502 == first.status
    assert [*before, repeat.data["attachment_id"]] == attachments(gateway, inspector)
