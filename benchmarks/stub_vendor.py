"""A vendor without costs: canned responses of the notes vendor, sent as fast as a socket allows."""

import json
from itertools import count
from typing import Any

DATABASE_ID = "11111111-1111-4111-8111-111111111111"
SOURCE_ID = "22222222-2222-4222-8222-222222222222"
PAGE_ID = "33333333-3333-4333-8333-333333333333"

TEXT = [{"type": "text", "plain_text": "Acme", "text": {"content": "Acme", "link": None}, "annotations": {}}]
SCHEMA = {
    "Name": {"id": "title", "name": "Name", "type": "title", "title": {}},
    "Value": {"id": "v", "name": "Value", "type": "number", "number": {}},
}
PAGE = {
    "object": "page",
    "id": PAGE_ID,
    "created_time": "2026-10-05T14:08:00.000Z",
    "last_edited_time": "2026-10-05T14:08:00.000Z",
    "created_by": {"object": "user", "id": "b-1"},
    "last_edited_by": {"object": "user", "id": "b-1"},
    "parent": {"type": "data_source_id", "data_source_id": SOURCE_ID, "database_id": DATABASE_ID},
    "in_trash": False,
    "properties": {
        "Name": {"id": "title", "type": "title", "title": TEXT},
        "Value": {"id": "v", "type": "number", "number": 12.5},
    },
    "url": "https://app.example/p/Acme",
    "request_id": "r-2",
}
ANSWERS: dict[str, Any] = {
    "/v1/users/me": {"object": "user", "id": "b-1", "type": "bot", "bot": {"workspace_name": "Acme"}},
    f"/v1/databases/{DATABASE_ID}": {
        "object": "database",
        "id": DATABASE_ID,
        "title": TEXT,
        "data_sources": [{"id": SOURCE_ID}],
    },
    f"/v1/data_sources/{SOURCE_ID}": {
        "object": "data_source",
        "id": SOURCE_ID,
        "title": TEXT,
        "parent": {"type": "database_id", "database_id": DATABASE_ID},
        "properties": SCHEMA,
        "in_trash": False,
        "created_time": "2026-10-05T14:08:00.000Z",
        "last_edited_time": "2026-10-05T14:08:00.000Z",
    },
    f"/v1/data_sources/{SOURCE_ID}/query": {
        "object": "list",
        "results": [PAGE],
        "next_cursor": None,
        "has_more": False,
    },
    "/v1/pages": PAGE,
}
BODIES = {path: json.dumps(answer).encode() for path, answer in ANSWERS.items()}
BEFORE, AFTER = BODIES.pop("/v1/pages").split(PAGE_ID.encode())
NUMBERS = count()
"""Each created page has its own identifier."""


async def app(scope: Any, receive: Any, send: Any) -> None:
    if scope["type"] != "http":
        return
    while (await receive()).get("more_body"):
        pass
    body = BODIES.get(scope["path"], b"{}") if scope["path"] != "/v1/pages" else page()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def page() -> bytes:
    return BEFORE + b"33333333-3333-4333-8333-%012d" % next(NUMBERS) + AFTER
