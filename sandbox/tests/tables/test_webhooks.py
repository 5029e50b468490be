"""Webhooks of the Airtable emulator: subscriptions, expiry and failed pings."""

from typing import Any

import pytest

from harness.wait import wait_until
from harness.webhook_receiver import Inbox
from sandbox.tests.tables.airtable_client import AirtableClient
from workspace_sandbox.tables.data.webhooks import WEEK


def webhooks_path(airtable: AirtableClient, path: str = "") -> str:
    return f"/v0/bases/{airtable.examples['base_id']}/webhooks{path}"


def subscribe(
    airtable: AirtableClient, url: str | None = None, includes: dict[str, Any] | None = None, **filters: Any
) -> Any:
    """Create a webhook for records, or with other *filters*, and return its id."""
    options = {"filters": {"dataTypes": ["tableData"], **filters}, **({"includes": includes} if includes else {})}
    body = {"notificationUrl": url, "specification": {"options": options}}
    return airtable.send("POST", webhooks_path(airtable), body)["id"]


def payloads(airtable: AirtableClient, webhook: str, **params: Any) -> Any:
    return airtable.get(webhooks_path(airtable, f"/{webhook}/payloads"), **params)


def perform(airtable: AirtableClient, **action: Any) -> Any:
    return airtable.control("tables/act", base_id=airtable.examples["base_id"], table="Leads", **action)


def test_user_changes_are_distinguished_from_api_changes(airtable: AirtableClient) -> None:
    people, programs = (subscribe(airtable, fromSources=[source]) for source in ("client", "publicApi"))
    perform(airtable, action="create_record", fields={"Name": "By hand"})

    (payload,) = payloads(airtable, people)["payloads"]
    assert ("client", "José Arán") == (
        payload["actionMetadata"]["source"],
        payload["actionMetadata"]["sourceMetadata"]["user"]["name"],
    )
    assert {"payloads": [], "cursor": 1, "mightHaveMore": False, "payloadFormat": "v0"} == payloads(airtable, programs)


def test_payload_contains_only_watched_changes_and_included_cells(airtable: AirtableClient) -> None:
    stage, name, value = (airtable.field(field)["id"] for field in ("Stage", "Name", "Value"))
    record = airtable.create(Name="Watched", Stage="Open")["id"]
    webhook = subscribe(
        airtable,
        includes={"includeCellValuesInFieldIds": [name]},
        watchDataInFieldIds=[stage],
        changeTypes=["update"],
    )
    airtable.send("PATCH", f"{airtable.leads}/{record}", {"fields": {"Value": 1}})
    airtable.send("PATCH", f"{airtable.leads}/{record}", {"fields": {"Value": 2, "Stage": None}})
    airtable.create(Name="Not watched")

    (payload,) = payloads(airtable, webhook)["payloads"]
    (table,) = payload["changedTablesById"].values()
    assert {"changedRecordsById": {record: table["changedRecordsById"][record]}} == table
    assert {
        "current": {"cellValuesByFieldId": {stage: None}},
        "unchanged": {"cellValuesByFieldId": {name: "Watched"}},
    } == table["changedRecordsById"][record]
    assert value not in str(payload)


def test_created_and_renamed_tables_and_fields_are_reported(airtable: AirtableClient) -> None:
    webhook = subscribe(airtable, dataTypes=["tableMetadata", "tableFields"])
    tables = f"/v0/meta/bases/{airtable.examples['base_id']}/tables"
    table = airtable.send("POST", tables, {"name": "New", "fields": [{"name": "A", "type": "email"}]})
    airtable.send("PATCH", f"{tables}/{table['id']}", {"name": "Newer"})
    perform(airtable, action="rename_field", field="Notes", name="Remarks")

    created, renamed, field = payloads(airtable, webhook)["payloads"]
    assert {"name": "New"} == created["createdTablesById"][table["id"]]["metadata"]
    assert {"current": {"name": "Newer"}, "previous": {"name": "New"}} == (
        renamed["changedTablesById"][table["id"]]["changedMetadata"]
    )
    (changed,) = field["changedTablesById"].values()
    assert [{"current": {"name": "Remarks"}}] == list(changed["changedFieldsById"].values())


def test_payloads_are_paged_by_cursor_and_expire_after_a_week(airtable: AirtableClient) -> None:
    webhook = subscribe(airtable)
    airtable.create(Name="One")
    airtable.create(Name="Two")
    airtable.create(Name="Three")
    first = payloads(airtable, webhook, limit=2)
    rest = payloads(airtable, webhook, cursor=first["cursor"])
    airtable.clock.at += WEEK - 1
    payloads(airtable, webhook)
    airtable.clock.at += 2

    assert (2, 3, True) == (len(first["payloads"]), first["cursor"], first["mightHaveMore"])
    assert (1, 4, False) == (len(rest["payloads"]), rest["cursor"], rest["mightHaveMore"])
    assert [] == payloads(airtable, webhook)["payloads"]


def test_expired_webhook_is_deleted_a_week_later(airtable: AirtableClient) -> None:
    webhook = subscribe(airtable)
    airtable.clock.at += WEEK + 1
    expired = airtable.get(webhooks_path(airtable))["webhooks"]
    airtable.create(Name="Unheard")
    ignored = payloads(airtable, webhook)["payloads"]
    airtable.clock.at += WEEK

    assert [(webhook, False)] == [(one["id"], one["isHookEnabled"]) for one in expired]
    assert [] == ignored
    assert [] == airtable.get(webhooks_path(airtable))["webhooks"]
    assert (404, "NOT_FOUND") == airtable.rejection("GET", webhooks_path(airtable, f"/{webhook}/payloads"))


def test_failed_pings_are_retried_until_notifications_are_disabled(airtable: AirtableClient, inbox: Inbox) -> None:
    airtable.knobs(webhook_retry_seconds=[0.0, 0.0])
    inbox.answers = [(500, {}, b"")] * 3
    webhook = subscribe(airtable, inbox.address)

    wait_until(lambda: not airtable.get(webhooks_path(airtable))["webhooks"][0]["areNotificationsEnabled"])

    result = airtable.get(webhooks_path(airtable))["webhooks"][0]["lastNotificationResult"]
    assert (False, 2, False) == (result["success"], result["retryNumber"], result["willBeRetried"])
    assert [(webhook, 1, 500), (webhook, 2, 500), (webhook, 3, 500)] == [
        (one["event_id"], one["attempt"], one["status"]) for one in perform(airtable, action="deliveries")["deliveries"]
    ]


def test_base_is_limited_to_ten_webhooks(airtable: AirtableClient) -> None:
    webhooks = [subscribe(airtable) for _ in range(10)]
    body = {"specification": {"options": {"filters": {"dataTypes": ["tableData"]}}}}

    assert (422, "TOO_MANY_WEBHOOKS_IN_BASE") == airtable.rejection("POST", webhooks_path(airtable), body)
    assert webhooks == [one["id"] for one in airtable.get(webhooks_path(airtable))["webhooks"]]


@pytest.mark.parametrize(
    "filters",
    [{}, {"dataTypes": []}, {"dataTypes": ["rows"]}, {"dataTypes": ["tableData"], "recordChangeScope": "tblNowhere"}],
)
def test_invalid_webhook_specifications_are_rejected(airtable: AirtableClient, filters: dict[str, Any]) -> None:
    body = {"specification": {"options": {"filters": filters}}}

    assert (422, "INVALID_REQUEST_UNKNOWN") == airtable.rejection("POST", webhooks_path(airtable), body)


def test_webhooks_require_their_scope_and_the_scopes_of_their_data(airtable: AirtableClient) -> None:
    body = {"specification": {"options": {"filters": {"dataTypes": ["tableFields"]}}}}
    airtable.knobs(scopes="webhook:manage data.records:read")
    unread = airtable.rejection("POST", webhooks_path(airtable), body)
    airtable.knobs(scopes="schema.bases:read")

    assert (403, "INVALID_PERMISSIONS") == unread == airtable.rejection("GET", webhooks_path(airtable))


def test_webhooks_and_comments_are_saved_with_the_state(airtable: AirtableClient) -> None:
    record = airtable.create(Name="Kept")["id"]
    airtable.send("POST", f"{airtable.leads}/{record}/comments", {"text": "Also kept"})
    webhook = subscribe(airtable)
    airtable.control("save", name="heard")
    airtable.control("reset")
    airtable.control("load", name="heard")

    assert [webhook] == [one["id"] for one in airtable.get(webhooks_path(airtable))["webhooks"]]
    assert ["Also kept"] == [one["text"] for one in airtable.get(f"{airtable.leads}/{record}/comments")["comments"]]
