"""Responses that contradict the facts about Airtable."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from workspace_sandbox.kit.deliberate_deviations import Change, Exchange, FalseFact, edit, every, reply, when

BASE, TABLE, RECORD = "/v0/app[A-Za-z0-9]+", "/v0/app[A-Za-z0-9]+/tbl[A-Za-z0-9]+", "rec[A-Za-z0-9]+"
LIST, READ = f"GET {TABLE}", f"GET {TABLE}/{RECORD}"
CREATE, CHANGE = f"POST {TABLE}", f"PATCH {TABLE}/{RECORD}"
SCHEMA = "GET /v0/meta/bases/[^/]+/tables"

ACCEPTED: Mapping[str, Any] = {"records": []}


def _rejected(exchange: Exchange) -> bool:
    return exchange.status == 422


def _formula(exchange: Exchange) -> str:
    return exchange.query.get("filterByFormula", "")


def _finds_since(year: str) -> Any:
    return lambda exchange: f"CREATED_TIME(), DATETIME_PARSE('{year}" in _formula(exchange)


def _error_type(exchange: Exchange) -> Any:
    error = exchange.body.get("error")
    return error["type"] if isinstance(error, dict) else error


def _fails_with(kind: str) -> Any:
    return lambda exchange: _error_type(exchange) == kind


def _cells(exchange: Exchange) -> list[Any]:
    return [row["fields"] for row in exchange.sent.get("records", ())]


def _other_type(body: Any) -> None:
    body["error"] = {"type": "INVALID_REQUEST_UNKNOWN", "message": "Invalid request"}


def _with_empty_cells(exchange: Exchange) -> None:
    for sent, row in zip(_cells(exchange), exchange.body["records"], strict=True):
        row["fields"] = sent | row["fields"]


def _with_null(exchange: Exchange) -> None:
    exchange.body["fields"] = exchange.sent["fields"] | exchange.body["fields"]


def _first_text_only(body: Any) -> None:
    texts = [name for name, value in body.get("fields", {}).items() if isinstance(value, str)]
    for name in texts[1:]:
        del body["fields"][name]


def _other_names(body: Any) -> None:
    cells = body["fields"]
    body["fields"] = {f"{name}0" if isinstance(value, str) else name: value for name, value in cells.items()}


def _files(change: Callable[[list[Any]], list[Any]]) -> Change:
    def apply(body: Any) -> None:
        cells = body.get("fields", {})
        cells |= {name: change(value) for name, value in cells.items() if isinstance(value, list)}

    return edit(apply)


def _without_size(files: list[Any]) -> list[Any]:
    return [{name: value for name, value in one.items() if name != "size"} for one in files]


def _rounded(body: Any) -> None:
    for row in body["records"]:
        row["fields"] = {name: round(value) for name, value in row["fields"].items()}


def _no_records(body: Any) -> None:
    body["records"] = []


FALSE_FACTS: Mapping[str, FalseFact] = {
    "user-of-token": FalseFact("GET /v0/meta/whoami", edit(lambda body: body.update(id="acc00000000000000"))),
    "permission-in-base": FalseFact("GET /v0/meta/bases", every("permissionLevel", lambda _: "member")),
    "prefixes-of-ids": FalseFact(
        SCHEMA, every("views", lambda views: [one | {"id": f"v{one['id']}"} for one in views])
    ),
    "primary-field-in-schema": FalseFact(SCHEMA, every("primaryFieldId", lambda _: "fld00000000000000")),
    "same-403-for-missing": FalseFact(LIST, when(lambda one: one.status == 403, reply(404, {"error": "NOT_FOUND"}))),
    "bare-404-for-path": FalseFact("GET /v0/meta/noSuchPath", edit(_other_type)),
    "missing-record-is-404": FalseFact(READ, when(lambda one: one.status == 404, reply(410))),
    "pages-of-100": FalseFact(LIST, when(lambda one: one.query.get("pageSize") == "101", reply(200, ACCEPTED))),
    "unknown-view-is-422": FalseFact(LIST, when(_fails_with("VIEW_NAME_NOT_FOUND"), edit(_other_type))),
    "expiring-offsets": FalseFact(LIST, when(_fails_with("LIST_RECORDS_ITERATOR_NOT_AVAILABLE"), edit(_other_type))),
    "invalid-formula-is-422": FalseFact(LIST, when(_fails_with("INVALID_FILTER_BY_FORMULA"), edit(_other_type))),
    "trailing-slash": FalseFact(f"{LIST}/", reply(404)),
    "created-in-order": FalseFact(
        CREATE, when(lambda one: len(_cells(one)) == 3, edit(lambda body: body["records"].reverse()))
    ),
    "ten-records-at-most": FalseFact(CREATE, when(lambda one: len(_cells(one)) == 11, reply(200, ACCEPTED))),
    "atomic-batches": FalseFact(
        LIST,
        when(
            lambda one: re.search("}='[0-9a-f]{16}'", _formula(one)),
            reply(200, {"records": [{"id": "recAAAAAAAAAAAAAA"}]}),
        ),
    ),
    "unknown-field-is-422": FalseFact(
        CREATE, when(lambda one: len(_cells(one)) == 1 and _fails_with("UNKNOWN_FIELD_NAME")(one), edit(_other_type))
    ),
    "strict-values": FalseFact(
        CREATE, when(lambda one: _rejected(one) and 5 in _cells(one)[0].values(), reply(200, ACCEPTED))
    ),
    "missing-option-error": FalseFact(CREATE, when(_fails_with("INVALID_MULTIPLE_CHOICE_OPTIONS"), edit(_other_type))),
    "dates-without-time": FalseFact(
        CREATE, when(lambda one: _rejected(one) and "2030-" in str(_cells(one)), reply(200, ACCEPTED))
    ),
    "decimals-unchanged": FalseFact(CREATE, when(lambda one: "0.1" in str(_cells(one)), edit(_rounded))),
    "empty-cells-omitted": FalseFact(CREATE, when(lambda one: "''" in str(_cells(one)), _with_empty_cells)),
    "null-clears": FalseFact(CHANGE, when(lambda one: None in one.sent["fields"].values(), _with_null)),
    "other-cells-unchanged": FalseFact(
        READ, when(lambda one: "returnFieldsByFieldId" not in one.query, edit(_first_text_only))
    ),
    "fields-by-id": FalseFact(READ, when(lambda one: "returnFieldsByFieldId" in one.query, edit(_other_names))),
    "filter-by-id": FalseFact(LIST, when(lambda one: _formula(one).startswith("RECORD_ID"), edit(_no_records))),
    "filter-without-lag": FalseFact(LIST, when(_finds_since("2020"), edit(_no_records))),
    "lost-record-is-found": FalseFact(
        LIST, when(_finds_since("2"), when(lambda one: not _finds_since("2020")(one), edit(_no_records)))
    ),
    "whole-seconds": FalseFact(READ, every("createdTime", lambda value: value.replace(".000Z", ".402Z"))),
    "offset-until-end": FalseFact(
        LIST,
        when(lambda one: "offset" in one.query and _formula(one), edit(lambda body: body.update(offset="itr/rec"))),
    ),
    "record-of-any-table": FalseFact(f"GET {BASE}/(?!tbl)[^/]+/{RECORD}", reply(404)),
    "fetched-later": FalseFact(READ, _files(_without_size)),
    "uploads-appended": FalseFact(READ, _files(lambda files: files[::-1])),
}
