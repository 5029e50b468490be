"""Responses that contradict the facts about Notion."""

from collections.abc import Mapping
from typing import Any

from workspace_sandbox.kit.deliberate_deviations import FalseFact, edit, every, headers, reply, when, without_header

REJECTED = {"object": "error", "status": 400, "code": "validation_error", "message": "body failed validation."}
PAGE = r"/v1/pages/[^/]+"
ROWS = r"POST /v1/data_sources/[^/]+/query"
ME = "GET /v1/users/me"


def _properties(exchange: Any) -> Any:
    return exchange.sent["properties"]


def _filter(exchange: Any) -> Any:
    return exchange.sent["filter"]


def _of_search(exchange: Any) -> bool:
    """Return True for a search for a page in doubt."""
    return "sorts" in exchange.sent and "contains" not in str(_filter(exchange))


def _text_length(exchange: Any) -> int:
    """Return the length of the text of a new row in characters."""
    texts = _properties(exchange).get("Text", {"rich_text": []})["rich_text"]
    return sum(len(one["text"]["content"]) for one in texts)


def _only_the_type(parent: Any) -> Any:
    return {name: value for name, value in parent.items() if name in {"type", parent["type"]}}


def _without_results(body: Any) -> None:
    body["results"] = []


def _all_properties(body: Any) -> None:
    for row in body["results"]:
        row["properties"]["Text"] = {}


FALSE_FACTS: Mapping[str, FalseFact] = {
    "request-ids": FalseFact(ME, without_header("x-notion-request-id")),
    "own-bot-user": FalseFact(ME, edit(lambda body: body.update(type="person"))),
    "clock-in-date": FalseFact(ME, headers(Date="soon")),
    "own-events": FalseFact(ME, every("workspace_name", lambda _: None)),
    "unknown-is-404": FalseFact("GET /v1/databases/.*", when(lambda one: one.status == 404, reply(400))),
    "malformed-id-is-400": FalseFact("GET /v1/pages/no-identifier", reply(404)),
    "unknown-path-is-400": FalseFact("GET /v1/no-such-path", reply(404)),
    "pages-of-100": FalseFact("POST /v1/search", when(lambda one: one.sent.get("page_size") == 101, reply(200))),
    "invalid-cursor-is-400": FalseFact("POST /v1/search", when(lambda one: "start_cursor" in one.sent, reply(200))),
    "data-source-search": FalseFact(
        "POST /v1/search", when(lambda one: one.sent.get("page_size") == 2, every("object", lambda _: "page"))
    ),
    "search-newest-first": FalseFact("POST /v1/search", edit(lambda body: body.get("results", []).reverse())),
    "cursor-until-null": FalseFact(
        "POST /v1/search", when(lambda one: one.sent.get("page_size") == 2, every("has_more", lambda value: not value))
    ),
    "schema-in-source": FalseFact(
        "POST /v1/search", when(lambda one: one.sent.get("page_size") == 2, every("properties", lambda _: []))
    ),
    "no-schema-in-database": FalseFact("GET /v1/databases/.*", edit(lambda body: body.update(properties={}))),
    "dashes-optional": FalseFact(r"GET /v1/data_sources/[0-9a-f]{32}", reply(404, REJECTED | {"status": 404})),
    "precise-database-times": FalseFact(
        "GET /v1/databases/.*", every("created_time", lambda value: f"{value[:16]}:00.000Z")
    ),
    "minute-times": FalseFact(
        f"GET {PAGE}", every("last_edited_time", lambda value: value.replace(":00.000Z", ":31.402Z"))
    ),
    "bot-is-author": FalseFact(
        f"GET {PAGE}", edit(lambda body: body.update(created_by={"object": "user", "id": "other"}))
    ),
    "numbers-unchanged": FalseFact(f"GET {PAGE}", every("number", lambda value: value and round(value, 0))),
    "urls-unchanged": FalseFact(f"GET {PAGE}", every("url", lambda value: value and value.lower())),
    "parent-of-row": FalseFact(f"GET {PAGE}", every("parent", _only_the_type)),
    "query-without-lag": FalseFact(ROWS, when(lambda one: "contains" in str(_filter(one)), edit(_without_results))),
    "minute-is-included": FalseFact(
        ROWS, when(lambda one: "created_time" in _filter(one) and not _of_search(one), edit(_without_results))
    ),
    "select-filter-by-name": FalseFact(ROWS, when(lambda one: "select" in _filter(one), reply(200))),
    "filtered-properties": FalseFact(
        ROWS, when(lambda one: "is_not_empty" in str(_filter(one)), edit(_all_properties))
    ),
    "options-created-silently": FalseFact(
        "POST /v1/pages", when(lambda one: "Choice" in _properties(one), reply(400, REJECTED))
    ),
    "unknown-property-is-400": FalseFact(
        "POST /v1/pages", when(lambda one: "No such property" in _properties(one), reply(200))
    ),
    "wrong-type-is-400": FalseFact(
        "POST /v1/pages",
        when(lambda one: _properties(one).get("Number") == {"number": "no number"}, reply(200)),
    ),
    "blocks-in-array": FalseFact("POST /v1/pages", when(lambda one: len(one.sent["children"]) == 101, reply(200))),
    "text-of-2000": FalseFact("POST /v1/pages", when(lambda one: _text_length(one) == 2001, reply(200))),
    "text-in-utf16-units": FalseFact("POST /v1/pages", when(lambda one: _text_length(one) == 2000, reply(200))),
    "appended-at-end": FalseFact("PATCH /v1/blocks/[^/]+/children", edit(lambda body: body["results"].reverse())),
    "archived-is-rejected": FalseFact(f"PATCH {PAGE}", when(lambda one: "archived" in one.sent, reply(200))),
    "null-clears-select": FalseFact(f"PATCH {PAGE}", every("select", lambda _: {"name": "first"})),
    "trash-is-readable": FalseFact(f"GET {PAGE}", when(lambda one: one.body.get("in_trash"), reply(404))),
    "trash-is-read-only": FalseFact(
        f"PATCH {PAGE}", when(lambda one: one.status == 400 and "in_trash" in one.sent, reply(200))
    ),
    "trash-not-queried": FalseFact(ROWS, every("in_trash", lambda _: True)),
    "lost-page-is-found": FalseFact(ROWS, when(_of_search, edit(_without_results))),
}
