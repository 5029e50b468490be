"""Undocumented vendor responses are reported with the JSON path, and are not cached.

``tests/hostile`` mutates all responses at random. Those here once caused errors, or are easily accepted by mistake.
"""

from collections.abc import Iterator
from itertools import count
from typing import Any, NamedTuple

import pytest

from connector_gateway.connectors import CONNECTORS
from harness.all_connectors import AllConnectors, run_all_connectors
from harness.gateway_server import Reply
from harness.operation_calls import defects, read, write
from harness.requirement import requirement
from harness.sandbox_server import run_emulators
from workspace_sandbox import EMULATORS

AT = "2026-11-02T09:30:00.000Z"
UID = "0b1c2d3e-4f50-4617-8293-a4b5c6d7e8f9"
BY = {"created_by": {"id": UID}, "last_edited_by": {"id": UID}}
SOURCE = {"object": "data_source", "id": UID, "title": [], "parent": {"type": "database_id", "database_id": UID}}
DATED = {"properties": {}, "in_trash": False, "created_time": AT, "last_edited_time": AT}
PAGE = {"object": "page", "id": UID, "url": "", "parent": {"type": "data_source_id", "data_source_id": UID}, **BY}
LIST = {"id": "1" * 24, "name": "To do", "closed": False, "idBoard": "1" * 24}
CARD: dict[str, Any] = {
    "id": "1" * 24,
    "name": "Odd",
    "desc": "",
    "due": None,
    "idBoard": "1" * 24,
    "idList": "1" * 24,
    "labels": [],
}
MESSAGE = {"id": "19a3f0c2b7d4e851", "threadId": "19a3f0c2b7d4e851", "internalDate": "1795125600000", "payload": {}}
CHANNEL = {"id": "C1", "name": "ops", "is_private": False, "is_member": True, "num_members": 3}
RECORD = {"id": "1", "properties": {}, "createdAt": AT, "updatedAt": AT}
TABLE = {"id": "tbl1", "name": "Leads", "primaryFieldId": "fld1"}
FIELD = {"id": "fld1", "name": "Name", "type": "singleLineText"}
ROW = {"id": "rec1", "createdTime": AT, "fields": {}}
ME, OBJECTS = "/gmail/v1/users/me", "/crm/objects/2026-09"


class Case(NamedTuple):
    """A call, its vendor request that gets *body* with status 200, and the unexpected part of that body."""

    call: str
    """A write of the simulation, or a connector and the number of one of its reads."""

    request: str
    """The method, and the beginning of the path with names of the emulator's examples."""

    body: Any
    place: str | None = None


CASES = [
    Case("notes 0", "POST /v1/search", {"results": 5}, "results"),
    Case("notes 0", "POST /v1/search", {"results": [SOURCE | DATED | {"last_edited_time": 5}]}, "last_edited_time"),
    Case("notes 0", "POST /v1/search", {"results": [SOURCE | DATED | {"last_edited_time": "2026-11-02T09:30:00"}]}),
    Case("notes 1", "GET /v1/data_sources", SOURCE | DATED | {"properties": {"Name": None}}, "properties[...]"),
    Case("notes 1", "POST /v1/data_sources", {"results": [PAGE | DATED | {"created_time": "then"}]}, "created_time"),
    Case("notes.update_page", "GET /v1/pages", PAGE | DATED | {"in_trash": None}, "in_trash"),
    Case("boards 0", "GET /1/boards/{board_id}/cards", [{"id": ["Ops"]}], "[0].id"),
    Case("boards.create_card", "GET /1/lists", LIST | {"idBoard": 7}, "idBoard"),
    Case("boards.create_card", "GET /1/lists", {"id": "1" * 24}),
    Case("boards.move_card", "GET /1/cards", CARD | {"due": "soon"}, "due"),
    Case("boards.attach_checklist", "GET /1/cards", {}),
    Case("mail 0", f"GET {ME}/messages", {"messages": [{"threadId": "1"}]}, "messages[0]"),
    Case("mail 0", f"GET {ME}/messages/", MESSAGE | {"internalDate": "soon"}, "internalDate"),
    Case("mail 0", f"GET {ME}/messages/", MESSAGE | {"payload": {"parts": [{"body": {"size": "12"}}]}}),
    Case("mail 0", f"GET {ME}/labels", {"labels": [{"id": 1, "name": 2}]}, "labels[0].id"),
    Case("mail.send_message", f"GET {ME}/settings/sendAs", {"sendAs": []}),
    Case("mail.send_message", f"GET {ME}/settings/sendAs", {"sendAs": [{"sendAsEmail": ""}]}),
    Case("chat 0", "GET /api/conversations.list", {"ok": True, "channels": [{"id": "D1", "is_im": True}]}),
    Case("chat 0", "GET /api/conversations.list", {"ok": True, "channels": [CHANNEL | {"num_members": "3"}]}),
    Case("chat.post_message", "GET /api/auth.test", {"ok": True, "url": "https://northwind-labs.slack.com/"}),
    Case("crm 0", f"POST {OBJECTS}/contacts/batch/read", {"results": [RECORD | {"createdAt": "yesterday"}]}),
    Case("crm 1", f"POST {OBJECTS}/contacts/search", {"results": [RECORD | {"properties": {"email": 7}}]}),
    Case("crm.create_deal", "GET /crm/pipelines", {"results": [{"id": "default", "label": "Sales"}]}, "results[0]"),
    Case("crm.update_deal", f"GET {OBJECTS}/deals", RECORD | {"updatedAt": "soon"}, "updatedAt"),
    Case("crm.create_or_update_contact", "GET /account-info", {"portalId": {"id": 1}}, "portalId"),
    Case("tables 0", "GET /v0/meta/bases", {"tables": [TABLE | {"fields": [FIELD], "name": None}]}, "tables[0].name"),
    Case("tables 0", "GET /v0/app", {"records": [ROW | {"createdTime": "yesterday"}]}, "records[0].createdTime"),
    Case("tables.create_records", "GET /v0/meta/bases", {"tables": [None]}, "tables[0]"),
]

numbers = count(1)


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AllConnectors]:
    with run_emulators(**EMULATORS) as sandbox, run_all_connectors(sandbox, tmp_path_factory.mktemp("case")) as started:
        yield started


@requirement("common-44", "common-51")
@pytest.mark.parametrize("case", CASES, ids=[f"{case.call}: {case.request}, {case.place}" for case in CASES])
def test_an_unexpected_response_is_reported_with_its_path_and_not_cached(started: AllConnectors, case: Case) -> None:
    connector = case.call.partition(" ")[0].partition(".")[0]
    gateway, content = started.with_new_connection(connector), f"case {next(numbers)}"
    method, path = case.request.format(**gateway.examples(connector)).split()
    started.gateway.clear(connector)

    def call() -> Reply:
        if "." in case.call:
            return write(gateway, started.world, case.call, content, content)
        return read(gateway, connector, started.read_calls(connector)[int(case.call.partition(" ")[2])])

    if "." in case.call:
        started.prepare(case.call, content)
    gateway.fault(connector, fault="status", status=200, method=method, path=path, body=case.body)
    first, again = call(), call()

    assert (502, "upstream_unexpected") == (first.status, first.code)
    assert case.place is None or [{"place": case.place}] == first.details
    assert 200 == again.status
    assert "." not in case.call or [] == list(defects(started.world, case.call, content, again))


def test_every_connector_is_covered() -> None:
    assert set(CONNECTORS) <= {case.call.partition(" ")[0].partition(".")[0] for case in CASES}
