"""Webhooks of the tables stand-in: what is listened to, for how long, and pings that nobody takes."""

from typing import Any

import pytest

from harness.wait import wait_until
from harness.webhook_receiver import Inbox
from sandbox.tests.tables.played import Played
from workspace_sandbox.tables.data.webhooks import WEEK


def address(airtable: Played, path: str = "") -> str:
    return f"/v0/bases/{airtable.examples['base_id']}/webhooks{path}"


def listening(airtable: Played, url: str | None = None, includes: dict[str, Any] | None = None, **filters: Any) -> Any:
    """The identifier of a webhook that listens to records, or to what *filters* say."""
    options = {"filters": {"dataTypes": ["tableData"], **filters}, **({"includes": includes} if includes else {})}
    body = {"notificationUrl": url, "specification": {"options": options}}
    return airtable.send("POST", address(airtable), body)["id"]


def payloads(airtable: Played, webhook: str, **params: Any) -> Any:
    return airtable.get(address(airtable, f"/{webhook}/payloads"), **params)


def act(airtable: Played, **action: Any) -> Any:
    return airtable.control("tables/act", base_id=airtable.examples["base_id"], table="Leads", **action)


def test_a_colleague_is_told_apart_from_programs(airtable: Played) -> None:
    people, programs = (listening(airtable, fromSources=[source]) for source in ("client", "publicApi"))
    act(airtable, action="create_record", fields={"Name": "By hand"})

    (payload,) = payloads(airtable, people)["payloads"]
    assert ("client", "José Arán") == (
        payload["actionMetadata"]["source"],
        payload["actionMetadata"]["sourceMetadata"]["user"]["name"],
    )
    assert {"payloads": [], "cursor": 1, "mightHaveMore": False, "payloadFormat": "v0"} == payloads(airtable, programs)


def test_only_what_is_watched_is_told_with_what_is_asked_for_beside_it(airtable: Played) -> None:
    stage, name, value = (airtable.field(field)["id"] for field in ("Stage", "Name", "Value"))
    record = airtable.create(Name="Watched", Stage="Open")["id"]
    webhook = listening(
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


def test_new_tables_and_names_are_told(airtable: Played) -> None:
    webhook = listening(airtable, dataTypes=["tableMetadata", "tableFields"])
    tables = f"/v0/meta/bases/{airtable.examples['base_id']}/tables"
    made = airtable.send("POST", tables, {"name": "New", "fields": [{"name": "A", "type": "email"}]})
    airtable.send("PATCH", f"{tables}/{made['id']}", {"name": "Newer"})
    act(airtable, action="rename_field", field="Notes", name="Remarks")

    created, renamed, field = payloads(airtable, webhook)["payloads"]
    assert {"name": "New"} == created["createdTablesById"][made["id"]]["metadata"]
    assert {"current": {"name": "Newer"}, "previous": {"name": "New"}} == (
        renamed["changedTablesById"][made["id"]]["changedMetadata"]
    )
    (changed,) = field["changedTablesById"].values()
    assert [{"current": {"name": "Remarks"}}] == list(changed["changedFieldsById"].values())


def test_payloads_are_read_by_cursor_and_forgotten_after_a_week(airtable: Played) -> None:
    webhook = listening(airtable)
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


def test_a_webhook_expires_and_is_gone_a_week_later(airtable: Played) -> None:
    webhook = listening(airtable)
    airtable.clock.at += WEEK + 1
    expired = airtable.get(address(airtable))["webhooks"]
    airtable.create(Name="Unheard")
    unheard = payloads(airtable, webhook)["payloads"]
    airtable.clock.at += WEEK

    assert [(webhook, False)] == [(one["id"], one["isHookEnabled"]) for one in expired]
    assert [] == unheard
    assert [] == airtable.get(address(airtable))["webhooks"]
    assert (404, "NOT_FOUND") == airtable.refused("GET", address(airtable, f"/{webhook}/payloads"))


def test_pings_that_fail_are_tried_again_and_then_no_more(airtable: Played, inbox: Inbox) -> None:
    airtable.knobs(webhook_retry_seconds=[0.0, 0.0])
    inbox.answers = [(500, {}, b"")] * 3
    webhook = listening(airtable, inbox.address)

    wait_until(lambda: not airtable.get(address(airtable))["webhooks"][0]["areNotificationsEnabled"])

    result = airtable.get(address(airtable))["webhooks"][0]["lastNotificationResult"]
    assert (False, 2, False) == (result["success"], result["retryNumber"], result["willBeRetried"])
    assert [(webhook, 1, 500), (webhook, 2, 500), (webhook, 3, 500)] == [
        (one["event_id"], one["attempt"], one["status"]) for one in act(airtable, action="deliveries")["deliveries"]
    ]


def test_a_base_has_ten_webhooks_at_most(airtable: Played) -> None:
    there = [listening(airtable) for _ in range(10)]
    body = {"specification": {"options": {"filters": {"dataTypes": ["tableData"]}}}}

    assert (422, "TOO_MANY_WEBHOOKS_IN_BASE") == airtable.refused("POST", address(airtable), body)
    assert there == [one["id"] for one in airtable.get(address(airtable))["webhooks"]]


@pytest.mark.parametrize(
    "filters",
    [{}, {"dataTypes": []}, {"dataTypes": ["rows"]}, {"dataTypes": ["tableData"], "recordChangeScope": "tblNowhere"}],
)
def test_a_specification_that_is_wrong_is_refused(airtable: Played, filters: dict[str, Any]) -> None:
    body = {"specification": {"options": {"filters": filters}}}

    assert (422, "INVALID_REQUEST_UNKNOWN") == airtable.refused("POST", address(airtable), body)


def test_webhooks_need_their_scope_and_that_of_what_they_hear(airtable: Played) -> None:
    body = {"specification": {"options": {"filters": {"dataTypes": ["tableFields"]}}}}
    airtable.knobs(scopes="webhook:manage data.records:read")
    unread = airtable.refused("POST", address(airtable), body)
    airtable.knobs(scopes="schema.bases:read")

    assert (403, "INVALID_PERMISSIONS") == unread == airtable.refused("GET", address(airtable))


def test_webhooks_and_comments_travel_with_the_state(airtable: Played) -> None:
    record = airtable.create(Name="Kept")["id"]
    airtable.send("POST", f"{airtable.leads}/{record}/comments", {"text": "Also kept"})
    webhook = listening(airtable)
    airtable.control("save", name="heard")
    airtable.control("reset")
    airtable.control("load", name="heard")

    assert [webhook] == [one["id"] for one in airtable.get(address(airtable))["webhooks"]]
    assert ["Also kept"] == [one["text"] for one in airtable.get(f"{airtable.leads}/{record}/comments")["comments"]]
