"""Requests that callers write themselves: what is sent, what is returned, and what is rejected before it is sent."""

from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import update

from connector_gateway.connectors import CONNECTORS
from connector_gateway.storage.sql import tables
from harness.gateway_server import Gateway, Reply, run_gateway
from harness.requirement import requirement
from harness.sandbox_server import run_emulators
from workspace_sandbox.boards import BoardsEmulator
from workspace_sandbox.chat import ChatEmulator
from workspace_sandbox.notes import NotesEmulator

ME: dict[str, Any] = {"method": "GET", "path": "/v1/users/me"}
POST_MESSAGE = "/api/chat.postMessage"
EMULATORS: dict[str, Any] = {"notes": NotesEmulator, "boards": BoardsEmulator, "chat": ChatEmulator}


@pytest.fixture(scope="module")
def module_gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    connectors = {name: CONNECTORS[name] for name in EMULATORS}
    with (
        run_emulators(**EMULATORS) as sandbox,
        run_gateway(sandbox, tmp_path_factory.mktemp("requests"), connectors=connectors) as gateway,
    ):
        yield gateway.with_key(passthrough=True)


@pytest.fixture
def gateway(module_gateway: Gateway) -> Gateway:
    for name in EMULATORS:
        module_gateway.clear(name)
    return module_gateway


def send(gateway: Gateway, connector: str = "notes", http_headers: Any = None, **request: Any) -> Reply:
    path = f"/v1/connections/{gateway.connections[connector]}/request"
    return gateway.request("POST", path, json=request, headers=http_headers)


def new_page(gateway: Gateway) -> dict[str, Any]:
    parent = {"type": "data_source_id", "data_source_id": gateway.examples("notes")["data_source_id"]}
    return {"method": "POST", "path": "/v1/pages", "body": {"parent": parent, "properties": {}}}


# Sending


@requirement("requests-1", "requests-6")
def test_a_request_returns_the_response_of_the_vendor(gateway: Gateway) -> None:
    reply = send(gateway, **ME)

    assert ("ok", 200, "user") == (reply.body["status"], reply.data["status"], reply.data["body"]["object"])
    assert reply.data["headers"]["content-type"].startswith("application/json")
    assert {"content-length", "connection"}.isdisjoint(reply.data["headers"])
    assert [("GET", "/v1/users/me", 200)] == gateway.journal("notes")


@requirement("requests-1")
@pytest.mark.parametrize("status", [302, 404, 500])
def test_every_status_of_the_vendor_is_returned(gateway: Gateway, status: int) -> None:
    gateway.fault("notes", fault="status", status=status, headers={"Location": "https://elsewhere.example"}, body="no")
    reply = send(gateway, **ME)

    assert (status, "no", "https://elsewhere.example") == (
        reply.data["status"],
        reply.data["body"],
        reply.data["headers"]["location"],
    )
    assert 1 == len(gateway.journal("notes"))


@requirement("requests-18")
def test_a_fraction_is_sent_as_a_number(gateway: Gateway) -> None:
    page = {"method": "PATCH", "path": f"/v1/pages/{gateway.examples('notes')['page_id']}"}
    reply = send(gateway, **page, body={"properties": {"Value": {"number": 0.1}}})

    assert 0.1 == reply.data["body"]["properties"]["Value"]["number"]


@requirement("requests-18")
def test_a_fraction_that_would_lose_digits_is_rejected(gateway: Gateway) -> None:
    path = f"/v1/connections/{gateway.connections['notes']}/request"
    text = '{"method": "PATCH", "path": "/v1/pages/x", "body": [0.1234567890123456789]}'
    reply = gateway.request("POST", path, content=text.encode(), headers={"Content-Type": "application/json"})

    assert (422, "body", "Contains a number with more digits than a double has") == (
        reply.status,
        reply.facts[0]["parameter"],
        reply.facts[0]["message"],
    )
    assert [] == gateway.journal("notes")


@requirement("requests-1")
def test_a_head_request_has_no_body(gateway: Gateway) -> None:
    gateway.fault("notes", fault="status", status=200, headers={"ETag": '"1"'})
    reply = send(gateway, method="HEAD", path="/v1/users/me")

    assert (200, None, '"1"') == (reply.data["status"], reply.data["body"], reply.data["headers"]["etag"])


@requirement("requests-1")
def test_query_parameters_are_encoded_once(gateway: Gateway) -> None:
    reply = send(gateway, method="GET", path="/v1/users", query={"page_size": 1, "start_cursor": "a b&c={token}"})

    assert 400 == reply.data["status"]
    assert "a b&c={token}" in str(reply.data["body"])


@requirement("requests-1", "requests-5")
def test_a_write_is_recorded_like_every_call(gateway: Gateway) -> None:
    reply = send(gateway, **new_page(gateway))
    run = gateway.operator("GET", f"/v1/runs/{reply.body['run_id']}").data

    assert (200, "page") == (reply.data["status"], reply.data["body"]["object"])
    assert ("notes", "request", "ok") == (run["connector"], run["operation"], run["status"])
    assert [("POST", "/v1/pages", 200)] == [(one["method"], one["path"], one["status"]) for one in run["upstream"]]


@requirement("requests-5")
def test_requests_are_filtered_and_counted_by_their_operation(gateway: Gateway) -> None:
    run_id = send(gateway, **ME).body["run_id"]
    runs = gateway.operator("GET", "/v1/runs", params={"operation": "request", "limit": 1}).data
    metrics = gateway.http.get(f"{gateway.base_url}/metrics").text

    assert [run_id] == [run["run_id"] for run in runs]
    assert 'gateway_calls_total{connector="notes",operation="request",status="200"}' in metrics


@requirement("requests-4")
def test_a_throttled_read_is_sent_again(gateway: Gateway) -> None:
    gateway.fault("notes", fault="throttle", seconds=0.01)
    reply = send(gateway, **ME)

    assert [429, 200] == [status for _, _, status in gateway.journal("notes")]
    assert 200 == reply.data["status"]


@requirement("requests-4")
def test_a_throttled_request_that_would_wait_too_long_returns_the_response(gateway: Gateway) -> None:
    gateway.fault("notes", fault="status", status=429, headers={"Retry-After": "3600"})

    assert 429 == send(gateway, **ME).data["status"]


@requirement("requests-4", "requests-8")
def test_a_write_is_not_sent_again_after_a_response_that_proves_nothing(gateway: Gateway) -> None:
    gateway.fault("notes", fault="status", status=429, headers={"Retry-After": "0"}, body="an edge")

    assert 429 == send(gateway, **new_page(gateway)).data["status"]
    assert 1 == len(gateway.journal("notes"))


@requirement("requests-6")
def test_bytes_are_returned_as_base64_and_texts_as_text(gateway: Gateway) -> None:
    gateway.fault("notes", fault="status", status=200, headers={"Content-Type": "text/csv; charset=utf-8"}, body="a,b")
    text = send(gateway, **ME).data
    gateway.fault("notes", fault="garbage")
    garbage = send(gateway, **ME).data

    assert ("a,b", False) == (text["body"], text["is_base64"])
    assert (200, str) == (garbage["status"], type(garbage["body"]))


@requirement("requests-6")
def test_secrets_and_cookies_are_removed_from_responses(gateway: Gateway) -> None:
    token = gateway.sandbox.emulators["notes"].credentials()["token"]
    headers = {"X-Echo": token, "Set-Cookie": "session=1", "Content-Type": "application/json"}
    gateway.fault("notes", fault="status", status=200, headers=headers, body={"authorization": f"Bearer {token}"})
    reply = send(gateway, **ME)

    assert ({"authorization": "Bearer …"}, "…") == (reply.data["body"], reply.data["headers"]["x-echo"])
    assert "set-cookie" not in reply.data["headers"]


# Keys


@requirement("requests-2")
def test_a_key_without_the_permission_is_rejected(gateway: Gateway) -> None:
    reply = send(gateway.with_key(), **ME)

    assert (403, "operation_not_allowed") == (reply.status, reply.code)
    assert "passthrough" in reply.body["error"]["remedy"]
    assert [] == gateway.journal("notes")


@requirement("requests-2")
@pytest.mark.parametrize(("operations", "status"), [(["notes_request"], 200), (["notes_list_databases"], 403)])
def test_a_key_can_be_limited_to_requests(gateway: Gateway, operations: list[str], status: int) -> None:
    assert status == send(gateway.with_key(passthrough=True, operations=operations), **ME).status


@requirement("requests-2")
def test_a_key_that_neutralises_mentions_cannot_send_requests(gateway: Gateway) -> None:
    body = {
        "workspace_id": gateway.workspace_id,
        "scope": "read_write",
        "passthrough": True,
        "mentions": "neutralise",
    }

    assert "passthrough" == gateway.operator("POST", "/v1/keys", json=body).facts[0]["parameter"]


@requirement("requests-3")
def test_a_read_key_sends_only_reads(gateway: Gateway) -> None:
    reader = gateway.with_key("read", passthrough=True)

    assert 200 == send(reader, **ME).data["status"]
    assert (403, "write_scope_required") == ((reply := send(reader, **new_page(gateway))).status, reply.code)
    assert [("GET", "/v1/users/me", 200)] == gateway.journal("notes")


@requirement("requests-3")
@pytest.mark.parametrize("path", [POST_MESSAGE, "/api/chat%2EpostMessage"])
def test_a_read_key_does_not_post_at_a_vendor_with_methods_in_the_path(gateway: Gateway, path: str) -> None:
    reader = gateway.with_key("read", passthrough=True)
    message = {"channel": gateway.examples("chat")["channel_id"], "text": "Hello"}

    assert "write_scope_required" == send(reader, "chat", method="GET", path=path, query=message).code
    assert [] == gateway.journal("chat")
    assert send(reader, "chat", method="POST", path="/api/auth.test").data["body"]["ok"]


@requirement("requests-2", "common-44")
def test_a_connection_of_another_workspace_is_not_found(gateway: Gateway) -> None:
    workspace = gateway.run(gateway.app.workspaces.create("Another"))["workspace_id"]
    key = gateway.run(gateway.app.keys.create(workspace, "read", passthrough=True))["key"]
    reply = send(gateway, http_headers={"Authorization": f"Bearer {key}"}, **ME)

    assert (404, "connection_not_found", None) == (reply.status, reply.code, reply.body["connector"])


def test_a_connection_whose_connector_is_not_installed_is_not_found(gateway: Gateway) -> None:
    created = gateway.run(gateway.app.connections.create(gateway.workspace_id, "chat", {"token": "token-of-chat"}))
    rename = update(tables.connections).where(tables.connections.c.connection_id == created["connection_id"])

    async def remove_connector() -> None:
        await gateway.app.database.write(lambda db: db.execute(rename.values(connector="removed")).rowcount)

    gateway.run(remove_connector())
    reply = gateway.request("POST", f"/v1/connections/{created['connection_id']}/request", json=ME)

    assert (404, "connection_not_found") == (reply.status, reply.code)
    assert "The connector removed of connection" in reply.body["error"]["message"]


# Sent once


@requirement("requests-8")
@pytest.mark.parametrize("fault", ["drop_after", "drop_before"])
def test_a_write_whose_response_is_lost_is_not_sent_again(gateway: Gateway, fault: str) -> None:
    gateway.fault("notes", fault=fault)
    reply = send(gateway, **new_page(gateway))

    assert (502, "outcome_unknown") == (reply.status, reply.code)
    assert "Check in Notion whether it took effect before you send it again." == reply.body["error"]["remedy"]
    assert "retry_after" not in reply.body
    assert 1 == len(gateway.journal("notes"))


@requirement("requests-8")
def test_a_get_request_that_posts_is_not_sent_again(gateway: Gateway) -> None:
    gateway.fault("chat", fault="drop_after")
    message = {"channel": gateway.examples("chat")["channel_id"], "text": "Hello"}

    assert "outcome_unknown" == send(gateway, "chat", method="GET", path=POST_MESSAGE, query=message).code
    assert 1 == len(gateway.journal("chat"))


@requirement("requests-9")
def test_idempotency_keys_are_rejected(gateway: Gateway) -> None:
    by_header = send(gateway, http_headers={"Idempotency-Key": "k"}, **ME)
    by_body = send(gateway, idempotency_key="k", **ME)

    assert [("Idempotency-Key", 422), ("idempotency_key", 422)] == [
        (reply.facts[0]["parameter"], reply.status) for reply in (by_header, by_body)
    ]
    assert [] == gateway.journal("notes")


@requirement("requests-9")
def test_a_dry_run_returns_the_request_and_sends_nothing(gateway: Gateway) -> None:
    request = new_page(gateway)
    reply = send(gateway, http_headers={"Prefer": "dry-run"}, **request)

    (withheld,) = reply.data["requests"]
    assert ("POST", "/v1/pages", request["body"]) == (withheld["method"], withheld["path"], withheld["body"])
    assert [] == gateway.journal("notes")


@requirement("requests-9")
def test_mentions_cannot_be_neutralised(gateway: Gateway) -> None:
    assert "Prefer" == send(gateway, http_headers={"Prefer": "mentions=neutralise"}, **ME).facts[0]["parameter"]


@requirement("requests-9")
def test_the_response_cannot_be_lost(gateway: Gateway) -> None:
    assert "Prefer" == send(gateway, http_headers={"Prefer": "lose-response"}, **ME).facts[0]["parameter"]


# Lost responses


@requirement("requests-17")
def test_a_lost_response_is_resolved_with_the_key(gateway: Gateway) -> None:
    message = {"channel": gateway.examples("chat")["channel_id"], "text": "Said once", "idempotency_key": "lost-1"}
    first = gateway.post("/chat/messages", headers={"Prefer": "lose-response"}, **message)
    repeated = gateway.post("/chat/messages", **message)

    assert "lose-response" == first.headers["Preference-Applied"]
    assert 200 == repeated.status
    assert 1 == [path for _, path, _ in gateway.journal("chat")].count(POST_MESSAGE)


@requirement("requests-17")
def test_losing_a_response_requires_an_idempotency_key(gateway: Gateway) -> None:
    message = {"channel": gateway.examples("chat")["channel_id"], "text": "Never said"}
    reply = gateway.post("/chat/messages", headers={"Prefer": "lose-response"}, **message)

    assert (422, "Idempotency-Key") == (reply.status, reply.facts[0]["parameter"])
    assert [] == gateway.journal("chat")


@requirement("requests-17")
def test_losing_a_response_requires_the_permission(gateway: Gateway) -> None:
    message = {"channel": gateway.examples("chat")["channel_id"], "text": "Never said", "idempotency_key": "lost-2"}
    reply = gateway.with_key().post("/chat/messages", headers={"Prefer": "lose-response"}, **message)

    assert "operation_not_allowed" == reply.code
    assert [] == gateway.journal("chat")


# Within the vendor's API


@requirement("requests-10")
@pytest.mark.parametrize(
    "path",
    [
        "https://elsewhere.example/v1/users/me",
        "//elsewhere.example/v1/users/me",
        "@elsewhere.example/",
        "v1/users/me",
        "/\\elsewhere.example",
        "/v1/../secret",
        "/v1/%2e%2E/secret",
        "/v1/.",
        "/v1/users%2Fme",
        "/v1/users%5cme",
        "/v1/users//me",
        "/v1/users?a=b",
        "/v1/users#me",
        "/v1/users/me\r\nHost: elsewhere.example",
        "/v1/users%0d%0ame",
        "/v1/users/%00",
        "/v1/users/{token}",
        "/v1/users/a b",
        "/v1/users/%zz",
        "/v1/üsers",
    ],
)
def test_a_path_stays_within_the_api(gateway: Gateway, path: str) -> None:
    reply = send(gateway, method="GET", path=path)

    assert (422, {"path"}) == (reply.status, {fact["parameter"] for fact in reply.facts})
    assert [] == gateway.journal("notes")


@requirement("requests-10")
def test_a_redirect_is_not_followed(gateway: Gateway) -> None:
    elsewhere = f"{gateway.sandbox.emulators['chat'].context.addresses['base']}/api/auth.test"
    gateway.fault("notes", fault="status", status=307, headers={"Location": elsewhere})

    assert 307 == send(gateway, **ME).data["status"]
    assert [] == gateway.journal("chat")


@requirement("requests-11")
@pytest.mark.parametrize(
    "name",
    [
        *("Authorization", "authorization", "Cookie", "Proxy-Authorization", "X-Api-Key", "Notion-Version"),
        *("Host", "Connection", "Transfer-Encoding", "Content-Length", "TE", "Upgrade", "Keep-Alive", "Trailer"),
        *("X-HTTP-Method-Override", "Forwarded", "X-Forwarded-Host", "Accept-Encoding", "Expect", "Accept\r\nHost"),
    ],
)
def test_other_headers_are_rejected(gateway: Gateway, name: str) -> None:
    request = ME | {"headers": {name: "1"}}

    assert 422 == send(gateway, **request).status
    assert [] == gateway.journal("notes")


@requirement("requests-11")
@pytest.mark.parametrize("value", ["text/plain\r\nHost: elsewhere.example", "é", "multipart/form-data; boundary=x"])
def test_invalid_header_values_are_rejected(gateway: Gateway, value: str) -> None:
    assert 422 == send(gateway, method="POST", path="/v1/pages", headers={"Content-Type": value}, body="").status
    assert [] == gateway.journal("notes")


@requirement("requests-12")
@pytest.mark.parametrize(
    "more",
    [
        {"query": {"key": "other"}},
        {"query": {"Token": "other"}},
        {"query": {"access_token": "other"}},
        {"query": {"_method": "DELETE"}},
        {"body": {"token": "other"}},
        {"body": "name=a&token=other", "headers": {"content-type": "application/x-www-form-urlencoded"}},
    ],
)
def test_parameters_with_credentials_are_rejected(gateway: Gateway, more: dict[str, Any]) -> None:
    reply = send(gateway, "boards", method="POST", path="/1/cards", **more)

    assert 422 == reply.status
    assert [] == gateway.journal("boards")


@requirement("requests-12")
def test_all_violations_are_reported_together(gateway: Gateway) -> None:
    reply = send(gateway, method="GET", path="/a/..", query={"token": "x"}, headers={"Host": "y"}, body=1)

    assert ["path", "headers.Host", "body", "query.token"] == [fact["parameter"] for fact in reply.facts]


@requirement("requests-1")
@pytest.mark.parametrize("method", ["get", "OPTIONS", "TRACE", "CONNECT", "PURGE", "GET / HTTP/1.1", ""])
def test_unknown_methods_are_rejected(gateway: Gateway, method: str) -> None:
    reply = send(gateway, method=method, path="/v1/users/me")

    assert ["method"] == [fact["parameter"] for fact in reply.facts]
    assert "DELETE" in reply.facts[0]["allowed"]


@requirement("requests-1")
def test_a_body_of_5_mib_is_rejected(gateway: Gateway) -> None:
    reply = send(gateway, method="POST", path="/v1/pages", body="x" * 5 * 1024 * 1024)

    assert (413, "payload_too_large") == (reply.status, reply.code)
    assert [] == gateway.journal("notes")
