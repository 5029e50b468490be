"""The Airtable emulator, tested with pyairtable."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import pyairtable
import pytest
import requests
from pyairtable.formulas import match
from pyairtable.models import WebhookNotification
from requests.adapters import HTTPAdapter

from harness.sandbox_server import run_emulators
from harness.webhook_receiver import Inbox
from workspace_sandbox.sandbox import Sandbox
from workspace_sandbox.tables import TablesEmulator
from workspace_sandbox.tables.access import TOKEN


class ContentHost(HTTPAdapter):
    """Redirects requests for the content host to the emulator. The SDK has no setting for this host."""

    def __init__(self, address: str) -> None:
        super().__init__()
        self._host = urlsplit(address).netloc

    def send(self, request: requests.PreparedRequest, *args: Any, **kwargs: Any) -> requests.Response:
        request.url = urlunsplit(urlsplit(str(request.url))._replace(netloc=self._host))
        return super().send(request, *args, **kwargs)


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with run_emulators(tables=TablesEmulator) as sandbox:
        yield sandbox


@pytest.fixture
def api(sandbox: Sandbox) -> Iterator[pyairtable.Api]:
    requests.post(f"{sandbox.address}/_control/reset", timeout=60)
    context = sandbox.emulators["tables"].context
    context.knobs["limits"] = False
    api = pyairtable.Api(TOKEN, endpoint_url=context.addresses["base"], retry_strategy=None)
    with api.session:
        api.session.mount("http://content.airtable.com", ContentHost(context.addresses["content"]))
        yield api


@pytest.fixture
def base_id(sandbox: Sandbox) -> str:
    return str(sandbox.emulators["tables"].examples()["base_id"])


@pytest.fixture
def leads(api: pyairtable.Api, base_id: str) -> pyairtable.Table:
    return api.table(base_id, "Leads")


def test_whoami_and_the_bases_are_read(api: pyairtable.Api, base_id: str) -> None:
    assert "mara.lindqvist@example.com" == dict(api.whoami())["email"]
    assert [(base_id, "create")] == [(base.id, base.permission_level) for base in api.bases()][:1]


def test_sdk_parses_the_schema(api: pyairtable.Api, base_id: str) -> None:
    schema = api.base(base_id).schema().table("Leads")
    fields: dict[str, Any] = {field.name: field for field in schema.fields}

    assert ["Leads", "Companies / Konten"] == [table.name for table in api.base(base_id).tables()]
    assert 2 == fields["Value"].options.precision
    assert "emotionScale" == fields["Mood"].type
    assert "UnknownFieldSchema" == type(fields["Mood"]).__name__
    assert schema.view("All leads").visible_field_ids == [field.id for field in schema.fields]


def test_sdk_knows_all_field_types_but_one(api: pyairtable.Api, base_id: str) -> None:
    fields = api.base(base_id).schema().table("Leads").fields

    assert ["Mood"] == [field.name for field in fields if type(field).__name__ == "UnknownFieldSchema"]


def test_sdk_reads_all_pages(leads: pyairtable.Table) -> None:
    rows = leads.all(view="Open leads", page_size=7, fields=["Name", "Stage"])

    assert {"Open"} == {row["fields"]["Stage"] for row in rows}
    assert len(rows) == len({row["id"] for row in rows}) > 14


def test_rows_are_sorted_and_counted(leads: pyairtable.Table) -> None:
    rows = leads.all(sort=["-No."], max_records=3)

    assert [640, 639, 638] == [row["fields"]["No."] for row in rows]
    assert rows[0] == leads.first(sort=["-No."])


def test_formulas_of_the_sdk_are_supported(leads: pyairtable.Table) -> None:
    record = leads.create({"Name": 'Guest\'s "own"', "Value": 21, "Hot": True})

    assert [record["id"]] == [row["id"] for row in leads.all(formula=match({"Name": 'Guest\'s "own"', "Value": 21}))]
    assert record["id"] in {row["id"] for row in leads.all(formula=match({"Name": "?", "Value": 21}, match_any=True))}


def test_long_formula_is_sent_in_a_body(leads: pyairtable.Table) -> None:
    formula = "OR(" + ",".join(f"{{Name}}='{'x' * 400}{number}'" for number in range(60)) + ",{No.}=3)"

    assert [3] == [row["fields"]["No."] for row in leads.all(formula=formula)]


def test_text_cells_and_field_ids_are_returned_on_request(leads: pyairtable.Table) -> None:
    as_text = leads.first(cell_format="string", time_zone="utc", user_locale="en")
    by_id = leads.first(use_field_ids=True)

    assert as_text
    assert by_id
    assert "checked" == as_text["fields"]["Hot"]
    assert {"fld"} == {name[:3] for name in by_id["fields"]}


def test_records_are_created_updated_and_deleted(leads: pyairtable.Table) -> None:
    record = leads.create({"Name": "Acme", "Stage": "Open"})
    changed = leads.update(record["id"], {"Stage": "Won"})
    replaced = leads.update(record["id"], {"Name": "Bolt"}, replace=True)

    assert ("Acme", "Won") == (changed["fields"]["Name"], changed["fields"]["Stage"])
    assert "Stage" not in replaced["fields"]
    assert replaced == leads.get(record["id"])
    assert {"id": record["id"], "deleted": True} == leads.delete(record["id"])


def test_batches_are_split_into_tens(leads: pyairtable.Table) -> None:
    created = leads.batch_create([{"Name": f"Row {number}"} for number in range(23)])
    changed = leads.batch_update([{"id": row["id"], "fields": {"Value": 1}} for row in created])
    gone = leads.batch_delete([row["id"] for row in created])

    assert [1] * 23 == [row["fields"]["Value"] for row in changed]
    assert [True] * 23 == [row["deleted"] for row in gone]


def test_upsert_distinguishes_created_from_updated_records(leads: pyairtable.Table) -> None:
    existing = leads.create({"Name": "Known"})["id"]
    merged = leads.batch_upsert([{"fields": {"Name": "Known"}}, {"fields": {"Name": "New"}}], key_fields=["Name"])

    assert [existing] == merged["updatedRecords"]
    assert [merged["records"][1]["id"]] == merged["createdRecords"]


def test_typecast_creates_an_option(leads: pyairtable.Table) -> None:
    assert "Maybe" == leads.create({"Stage": "Maybe"}, typecast=True)["fields"]["Stage"]


def test_file_is_uploaded_and_downloaded(leads: pyairtable.Table) -> None:
    record = leads.create({"Name": "With a file"})["id"]
    response = leads.upload_attachment(record, "Files", "notes.txt", b"line\n" * 100, "text/plain")
    attachment = leads.get(record)["fields"]["Files"][0]

    assert [attachment["id"]] == [item["id"] for items in response["fields"].values() for item in items]
    assert b"line\n" * 100 == requests.get(attachment["url"], timeout=60).content


def test_table_with_a_slash_in_its_name_is_read(api: pyairtable.Api, base_id: str) -> None:
    assert 60 == len(api.table(base_id, "Companies / Konten").all())


def error_response(caught: pytest.ExceptionInfo[requests.HTTPError]) -> tuple[int, str]:
    assert caught.value.response is not None
    return caught.value.response.status_code, str(caught.value.args[-1])


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({"Nope": 1}, "UNKNOWN_FIELD_NAME"),
        ({"Value": "many"}, "INVALID_VALUE_FOR_COLUMN"),
        ({"No.": 1}, "INVALID_VALUE_FOR_COLUMN"),
        ({"Stage": "Maybe"}, "INVALID_MULTIPLE_CHOICE_OPTIONS"),
        ({"Company": ["recNowhere0000000"]}, "ROW_DOES_NOT_EXIST"),
        ({"Files": [{"id": "attX"}]}, "INVALID_ATTACHMENT_OBJECT"),
    ],
)
def test_rejected_writes_have_an_error_type(leads: pyairtable.Table, fields: dict[str, Any], kind: str) -> None:
    with pytest.raises(requests.HTTPError) as caught:
        leads.create(fields)

    status, error = error_response(caught)
    assert 422 == status
    assert kind in error


def test_missing_records_and_bases_differ_by_status(api: pyairtable.Api, base_id: str) -> None:
    with pytest.raises(requests.HTTPError) as record:
        api.table(base_id, "Leads").get("recNowhere0000000")
    with pytest.raises(requests.HTTPError) as base:
        api.table("appNowhere0000000", "Leads").all()

    assert (404, "'NOT_FOUND'") == error_response(record)
    assert 403 == error_response(base)[0]


def test_invalid_token_is_rejected(sandbox: Sandbox) -> None:
    address = sandbox.emulators["tables"].context.addresses["base"]
    api = pyairtable.Api("patNope", endpoint_url=address, retry_strategy=None)
    with api.session, pytest.raises(requests.HTTPError) as caught:
        api.whoami()

    assert 401 == error_response(caught)[0]


def test_too_many_requests_are_rejected(sandbox: Sandbox, leads: pyairtable.Table) -> None:
    sandbox.emulators["tables"].context.knobs["limits"] = True
    with pytest.raises(requests.HTTPError) as caught:
        leads.all(page_size=10)

    assert 429 == error_response(caught)[0]


def test_base_is_created_and_its_schema_is_updated(api: pyairtable.Api, sandbox: Sandbox) -> None:
    workspace = api.workspace(sandbox.emulators["tables"].examples()["workspace_id"])
    base = workspace.create_base(
        "Projects", [{"name": "Tasks", "fields": [{"name": "Task", "type": "singleLineText"}]}]
    )
    people = base.create_table("People", [{"name": "Name", "type": "singleLineText"}], description="Who works")
    tasks = base.table("Tasks", validate=True)
    tasks.create_field("Done", "checkbox", options={"icon": "check", "color": "greenBright"})
    tasks.create_field("Due", "date", options={"dateFormat": {"name": "iso"}})
    tasks.create_field("Who", "multipleRecordLinks", options={"linkedTableId": people.id})
    schema = tasks.schema(force=True)
    due = schema.field("Due")
    due.name = "Until"
    due.save()
    schema.name = "Chores"
    schema.save()
    person = people.create({"Name": "Li"})["id"]
    task = tasks.create({"Task": "Sweep", "Until": "2026-12-01", "Who": [person]})

    assert ["Task", "Done", "Until", "Who"] == [field.name for field in base.schema(force=True).table("Chores").fields]
    assert [task["id"]] == people.get(person)["fields"]["Tasks"]


def test_comments_are_created_updated_and_deleted(leads: pyairtable.Table) -> None:
    record = leads.create({"Name": "Talked about"})["id"]
    first = leads.add_comment(record, "Ask @[usrK2fGh9pWn40RtYc] about it")
    reply = leads.add_comment(record, "Asked.", parent_comment_id=first.id)
    reply.text = "Asked, and answered."
    reply.save()
    counted = leads.all(formula=f"RECORD_ID()='{record}'", count_comments=True)
    newest, oldest = leads.comments(record)
    newest.delete()

    assert ["José Arán"] == [mentioned.display_name for mentioned in oldest.mentioned.values()]
    assert ("Asked, and answered.", first.id) == (newest.text, newest.parent_comment_id)
    assert newest.last_updated_time is not None
    assert [2] == [row["commentCount"] for row in counted]
    assert [first.id] == [comment.id for comment in leads.comments(record)]


def test_a_webhook_is_pinged_and_its_payloads_are_read(leads: pyairtable.Table, inbox: Inbox) -> None:
    spec = {
        "options": {
            "filters": {"dataTypes": ["tableData", "tableFields"], "recordChangeScope": leads.schema().id},
            "includes": {"includePreviousCellValues": True},
        }
    }
    registered = leads.base.add_webhook(inbox.address, spec)
    inbox.take()
    record = leads.create({"Name": "Heard", "Stage": "Open"})["id"]
    leads.update(record, {"Stage": "Won"})
    leads.delete(record)
    leads.create_field("Extra", "email")
    headers, raw = inbox.take()
    ping = WebhookNotification.from_request(
        raw.decode(), headers["X-Airtable-Content-MAC"], registered.mac_secret_base64
    )
    webhook = leads.base.webhook(registered.id)
    payloads = list(webhook.payloads())
    created, changed, gone, added = (payload.changed_tables_by_id[leads.schema().id] for payload in payloads)
    stage = leads.schema().field("Stage").id
    edited = changed.changed_records_by_id[record]
    webhook.disable_notifications()
    webhook.extend_expiration()

    assert (leads.base.id, registered.id) == (ping.base.id, ping.webhook.id)
    assert [("publicApi", 1), ("publicApi", 2)] == [
        (payload.action_metadata and payload.action_metadata.source, payload.cursor) for payload in payloads[:2]
    ]
    assert "Open" == created.created_records_by_id[record].cell_values_by_field_id[stage]["name"]
    assert "Won" == edited.current.cell_values_by_field_id[stage]["name"]
    assert edited.previous is not None
    assert "Open" == edited.previous.cell_values_by_field_id[stage]["name"]
    assert [record] == gone.destroyed_record_ids
    assert ["email"] == [field.type for field in added.created_fields_by_id.values()]
    assert [] == list(webhook.payloads(cursor=5))
    assert not leads.base.webhook(registered.id).are_notifications_enabled
    webhook.delete()
    assert [] == leads.base.webhooks()
