"""The management routes: workspaces, keys, connections and the history, for operators and for keys."""

from collections.abc import Callable
from typing import Any

import pytest

from connector_gateway.management.route_declaration import ManagementRoute
from connector_gateway.management.routes import MANAGEMENT
from harness.gateway_server import OPERATOR, Gateway, Reply
from harness.requirement import requirement

UNKNOWN_WORKSPACE = "ws_01KAJ5T6M0Q7Z3X9V2B8N4C1DF"
CREDENTIALS = {"token": "ntn_top_secret_token"}
UNVERIFIED = {"credentials": CREDENTIALS, "verify": False}
"""Credentials that the vendor would reject."""


def create(gateway: Gateway, path: str, **body: Any) -> dict[str, Any]:
    """Create an object as an operator, and return it."""
    data: dict[str, Any] = gateway.operator("POST", path, json=body).data
    return data


@pytest.fixture
def workspace(gateway: Gateway) -> str:
    return str(create(gateway, "/v1/workspaces", name="Acme")["workspace_id"])


def connect(gateway: Gateway, workspace: str) -> str:
    """Create a connection in *workspace*."""
    body = {"workspace_id": workspace, "connector": "notes"} | UNVERIFIED
    return str(create(gateway, "/v1/connections", **body)["connection_id"])


@pytest.fixture
def connection(gateway: Gateway, workspace: str) -> str:
    return connect(gateway, workspace)


def request_with_new_key(gateway: Gateway, workspace: str, **more: Any) -> Callable[..., Reply]:
    """Return a client with a new key of *workspace*."""
    key = create(gateway, "/v1/keys", **({"workspace_id": workspace, "scope": "read_write"} | more))["key"]
    return lambda method, path, **sent: gateway.request(
        method, path, headers={"Authorization": f"Bearer {key}"}, **sent
    )


def parameters_in_error(reply: Reply) -> list[str]:
    assert 422 == reply.status, reply.body
    return [detail["parameter"] for detail in reply.details]


# Workspaces


@requirement("common-109", "common-122")
def test_a_workspace_is_created_listed_and_changed(gateway: Gateway) -> None:
    workspace = create(gateway, "/v1/workspaces", name="Acme", plan="paid")
    changed = gateway.operator(
        "PATCH", f"/v1/workspaces/{workspace['workspace_id']}", json={"name": "Acme & Co", "plan": "free"}
    ).data
    listed = gateway.operator("GET", "/v1/workspaces").data

    assert {"workspace_id", "name", "plan", "created_at", "return_urls"} == workspace.keys()
    assert ("Acme & Co", "free") == (changed["name"], changed["plan"])
    assert changed == listed[0]


@requirement("common-109")
def test_the_default_plan_of_a_workspace_is_free(gateway: Gateway) -> None:
    assert "free" == create(gateway, "/v1/workspaces", name="Acme")["plan"]


def test_an_empty_change_leaves_a_workspace_unchanged(gateway: Gateway, workspace: str) -> None:
    assert "Acme" == gateway.operator("PATCH", f"/v1/workspaces/{workspace}", json={}).data["name"]


@pytest.mark.parametrize(
    ("body", "parameters"),
    [
        ({}, ["name"]),
        ({"name": ""}, ["name"]),
        ({"name": "x" * 201}, ["name"]),
        ({"name": 5, "plan": "gold"}, ["name", "plan"]),
        ({"name": "x", "colour": "red"}, ["colour"]),
    ],
)
def test_an_invalid_workspace_is_rejected(gateway: Gateway, body: Any, parameters: list[str]) -> None:
    assert parameters == parameters_in_error(gateway.operator("POST", "/v1/workspaces", json=body))


@pytest.mark.parametrize(
    ("method", "path", "body", "code"),
    [
        ("PATCH", f"/v1/workspaces/{UNKNOWN_WORKSPACE}", {"name": "x"}, "workspace_not_found"),
        ("POST", "/v1/keys", {"workspace_id": UNKNOWN_WORKSPACE, "scope": "read"}, "workspace_not_found"),
        (
            "POST",
            "/v1/connections",
            {"workspace_id": UNKNOWN_WORKSPACE, "connector": "notes", "credentials": CREDENTIALS},
            "workspace_not_found",
        ),
        ("DELETE", "/v1/keys/key_nothing", None, "key_not_found"),
        ("GET", "/v1/connections/conn_nothing", None, "connection_not_found"),
        ("PATCH", "/v1/connections/conn_nothing", {"name": "x"}, "connection_not_found"),
        ("DELETE", "/v1/connections/conn_nothing", None, "connection_not_found"),
        ("POST", "/v1/connections/conn_nothing/reconnect", {}, "connection_not_found"),
        ("POST", "/v1/connections/conn_nothing/test", None, "connection_not_found"),
        (
            "POST",
            "/v1/webhooks",
            {"workspace_id": UNKNOWN_WORKSPACE, "url": "https://example.com"},
            "workspace_not_found",
        ),
        ("GET", "/v1/webhooks/wh_nothing", None, "webhook_not_found"),
        ("PATCH", "/v1/webhooks/wh_nothing", {"name": "x"}, "webhook_not_found"),
        ("POST", "/v1/webhooks/wh_nothing/rotate", {}, "webhook_not_found"),
        ("POST", "/v1/webhooks/wh_nothing/replay", {"connection_id": "conn_nothing"}, "webhook_not_found"),
        ("DELETE", "/v1/webhooks/wh_nothing", None, "webhook_not_found"),
        ("GET", "/v1/runs/run_nothing", None, "run_not_found"),
    ],
)
def test_unknown_ids_are_not_found(gateway: Gateway, method: str, path: str, body: Any, code: str) -> None:
    reply = gateway.operator(method, path, json=body)

    assert (404, code) == (reply.status, reply.code)
    assert [f"{code.partition('_')[0]}_id"] == [detail["parameter"] for detail in reply.details]


# Permissions


OPERATORS_ONLY = [
    ("POST", "/v1/workspaces"),
    ("GET", "/v1/workspaces"),
    ("PATCH", "/v1/workspaces/ws_1"),
    ("POST", "/v1/keys"),
    ("GET", "/v1/keys"),
    ("DELETE", "/v1/keys/key_1"),
    ("POST", "/v1/connections"),
    ("PATCH", "/v1/connections/conn_1"),
    ("POST", "/v1/connections/conn_1/reconnect"),
    ("POST", "/v1/connections/conn_1/test"),
    ("DELETE", "/v1/connections/conn_1"),
]


@requirement("common-126")
@pytest.mark.parametrize(("method", "path"), OPERATORS_ONLY)
def test_keys_cannot_manage(gateway: Gateway, method: str, path: str) -> None:
    reply = gateway.request(method, path, content=b"{")

    assert (403, "operator_token_required") == (reply.status, reply.code)


@pytest.mark.parametrize(("method", "path"), [*OPERATORS_ONLY, ("GET", "/v1/runs"), ("GET", "/v1/connections")])
@pytest.mark.parametrize(
    ("header", "code"), [("", "missing_api_key"), ("Bearer op_0123456789abcdef", "invalid_api_key")]
)
def test_requests_without_a_valid_token_get_no_information(
    gateway: Gateway, method: str, path: str, header: str, code: str
) -> None:
    reply = gateway.request(method, path, headers={"Authorization": header}, content=b"{")

    assert (401, code) == (reply.status, reply.code)
    assert "Bearer" == reply.headers["www-authenticate"]


@requirement("common-59", "common-116")
def test_a_key_of_another_workspace_sees_no_objects(gateway: Gateway, connection: str) -> None:
    foreign = request_with_new_key(gateway, create(gateway, "/v1/workspaces", name="Other")["workspace_id"])
    own_run = gateway.get("/shelf/things").body["run_id"]

    assert [] == foreign("GET", "/v1/connections").data
    assert [] == foreign("GET", "/v1/runs").data
    assert "connection_not_found" == foreign("GET", f"/v1/connections/{connection}").code
    assert "run_not_found" == foreign("GET", f"/v1/runs/{own_run}").code
    assert [] == foreign("GET", f"/v1/runs?workspace_id={gateway.workspace_id}").data
    assert [] == foreign("GET", f"/v1/connections?workspace_id={gateway.workspace_id}").data


@requirement("common-114", "common-126")
def test_a_key_sees_its_own_workspaces_connections_and_runs(gateway: Gateway, workspace: str, connection: str) -> None:
    own = request_with_new_key(gateway, workspace)
    run = own("GET", "/v1/connectors/shelf/things").body["run_id"]

    assert [connection] == [item["connection_id"] for item in own("GET", "/v1/connections").data]
    assert connection == own("GET", f"/v1/connections/{connection}").data["connection_id"]
    assert [run] == [item["run_id"] for item in own("GET", "/v1/runs").data]
    assert run == own("GET", f"/v1/runs/{run}").data["run_id"]


# Keys that manage connections


MANAGING = OPERATORS_ONLY[-5:]
"""Permissions of keys that manage connections"""


@requirement("connections-27")
def test_a_managing_key_creates_changes_and_removes_connections(gateway: Gateway, workspace: str) -> None:
    own = request_with_new_key(gateway, workspace, manages_connections=True)
    body = {"workspace_id": workspace, "connector": "notes"} | UNVERIFIED
    path = f"/v1/connections/{own('POST', '/v1/connections', json=body).data['connection_id']}"
    changed = own("PATCH", path, json={"name": "Ours"}).data
    link = own("POST", f"{path}/reconnect", json={}).data
    removed = own("DELETE", path).data

    assert ("Ours", "removed") == (changed["name"], removed["status"])
    assert path.endswith(link["connection_id"])
    assert [] == own("GET", "/v1/connections").data


@requirement("connections-27")
def test_a_managing_key_cannot_reach_connections_of_another_workspace(
    gateway: Gateway, workspace: str, connection: str
) -> None:
    foreign = request_with_new_key(
        gateway, create(gateway, "/v1/workspaces", name="Other")["workspace_id"], manages_connections=True
    )
    path = f"/v1/connections/{connection}"
    body = {"workspace_id": workspace, "connector": "notes"} | UNVERIFIED
    replies = [
        foreign("PATCH", path, json={"name": "Mine"}).code,
        foreign("POST", f"{path}/reconnect", json={}).code,
        foreign("POST", f"{path}/test").code,
        foreign("DELETE", path).code,
    ]

    assert ["connection_not_found"] * 4 == replies
    assert "workspace_not_found" == foreign("POST", "/v1/connections", json=body).code
    assert ("", "active") == tuple(gateway.operator("GET", path).data[name] for name in ("name", "status"))


@requirement("common-126", "connections-27")
@pytest.mark.parametrize(("method", "path"), OPERATORS_ONLY[:-5])
def test_a_managing_key_manages_only_connections(gateway: Gateway, workspace: str, method: str, path: str) -> None:
    reply = request_with_new_key(gateway, workspace, manages_connections=True)(method, path, content=b"{")

    assert (403, "operator_token_required") == (reply.status, reply.code)


@requirement("connections-27")
@pytest.mark.parametrize("scope", ["read", "read_write"])
@pytest.mark.parametrize(("method", "path"), MANAGING)
def test_other_keys_cannot_manage_connections(
    gateway: Gateway, workspace: str, method: str, path: str, scope: str
) -> None:
    reply = request_with_new_key(gateway, workspace, scope=scope)(method, path, content=b"{")

    assert (403, "operator_token_required") == (reply.status, reply.code)


@requirement("connections-27")
def test_a_key_limited_to_connections_cannot_manage_them(gateway: Gateway, workspace: str, connection: str) -> None:
    body = {"workspace_id": workspace, "scope": "read", "connection_ids": [connection], "manages_connections": True}

    assert ["connection_ids"] == parameters_in_error(gateway.operator("POST", "/v1/keys", json=body))


# Keys


@requirement("common-123")
def test_a_key_is_returned_once(gateway: Gateway, workspace: str) -> None:
    created = create(gateway, "/v1/keys", workspace_id=workspace, scope="read", name="ci")
    listed = gateway.operator("GET", f"/v1/keys?workspace_id={workspace}").data

    assert created["key"].startswith("cgw_")
    assert created["key"].endswith(created["ending"])
    assert [{name: value for name, value in created.items() if name != "key"}] == listed
    assert created["key"] not in str(listed)


@requirement("common-205")
@pytest.mark.parametrize(
    ("query", "parameter", "meant"),
    [
        ({"operation": "list_thngs"}, "operation", "list_things"),
        ({"operation": "nope"}, "operation", None),
        ({"operation": "nope", "connector": "shelf"}, "operation", None),
        ({"connector": "shlef"}, "connector", "shelf"),
        ({"status": "eror"}, "status", "error"),
    ],
)
def test_unknown_filter_values_of_runs_are_rejected_with_suggestions(
    gateway: Gateway, query: dict[str, str], parameter: str, meant: str | None
) -> None:
    reply = gateway.operator("GET", "/v1/runs", params=query)

    assert (422, [(parameter, meant)]) == (
        reply.status,
        [(detail["parameter"], detail.get("did_you_mean")) for detail in reply.details],
    )


@requirement("common-68")
def test_a_key_can_have_its_own_rate_limit(gateway: Gateway, workspace: str) -> None:
    own = request_with_new_key(gateway, workspace, calls_per_minute=2)

    assert "1" == own("GET", "/v1/connections").headers["x-service-ratelimit-remaining"]


@requirement("common-191")
def test_a_key_can_be_limited_to_operations(gateway: Gateway, workspace: str, connection: str) -> None:
    own = request_with_new_key(gateway, workspace, operations=["notes_read_*"])
    denied = own("GET", f"/v1/connectors/notes/databases?connection_id={connection}")
    allowed = own("GET", f"/v1/connectors/notes/events?connection_id={connection}")

    assert (403, "operation_not_allowed") == (denied.status, denied.code)
    assert [{"allowed": ["notes_read_*"]}] == denied.facts
    assert "operation_not_allowed" != allowed.body.get("error", {}).get("code")
    assert 200 == own("GET", f"/v1/runs/{denied.body['run_id']}").status


@requirement("common-60")
@pytest.mark.parametrize(
    ("more", "parameters"),
    [
        ({"scope": "all"}, ["scope"]),
        ({"scope": None}, ["scope"]),
        ({"calls_per_minute": 0}, ["calls_per_minute"]),
        ({"calls_per_minute": 10**9}, ["calls_per_minute"]),
        ({"calls_per_minute": "5"}, ["calls_per_minute"]),
        ({"expires_at": "never"}, ["expires_at"]),
        ({"operations": ["notes_nothing"]}, ["operations"]),
        ({"operations": []}, ["operations"]),
        ({"operations": ["Notes"]}, ["operations.0"]),
        ({"connection_ids": "conn_1"}, ["connection_ids"]),
        ({"name": "x" * 201}, ["name"]),
        ({"workspace_id": ""}, ["workspace_id"]),
    ],
)
def test_an_invalid_key_is_rejected(
    gateway: Gateway, workspace: str, more: dict[str, Any], parameters: list[str]
) -> None:
    body = {"workspace_id": workspace, "scope": "read"} | more

    assert parameters == parameters_in_error(gateway.operator("POST", "/v1/keys", json=body))


# Connections


@requirement("common-124")
def test_a_connection_is_created_and_its_secrets_are_never_returned(gateway: Gateway, workspace: str) -> None:
    body = {"workspace_id": workspace, "connector": "notes", "name": "Ours"} | UNVERIFIED
    created = gateway.operator("POST", "/v1/connections", json=body)
    read = gateway.operator("GET", f"/v1/connections/{created.data['connection_id']}")
    changed = gateway.operator(
        "PATCH",
        f"/v1/connections/{created.data['connection_id']}",
        json={"credentials": {"token": "ntn_new_secret"}, "verify": False},
    )
    listed = gateway.operator("GET", f"/v1/connections?workspace_id={workspace}&connector=notes")

    assert ("Ours", "active", {}) == tuple(created.data[name] for name in ("name", "status", "settings"))
    assert created.data == read.data | {"connect_url": None}
    assert "secret" not in f"{created.body} {read.body} {changed.body} {listed.body}"
    assert "settings" in changed.data


@requirement("common-125")
def test_secrets_are_encrypted_in_the_database(gateway: Gateway, connection: str) -> None:
    database = gateway.app.settings.database_url.removeprefix("sqlite:///")
    with open(database, "rb") as file, open(database + "-wal", "rb") as log:  # noqa: PTH123  # both as bytes
        stored = file.read() + log.read()

    assert connection.encode() in stored
    assert CREDENTIALS["token"].encode() not in stored


@requirement("common-8")
def test_new_credentials_are_used_by_the_next_call(gateway: Gateway) -> None:
    body = {
        "workspace_id": gateway.workspace_id,
        "connector": "notes",
        "credentials": {"token": "a-wrong-token"},
        "verify": False,
    }
    connection = create(gateway, "/v1/connections", **body)["connection_id"]
    before = gateway.get("/notes/databases", connection_id=connection)
    credentials = gateway.sandbox.emulators["notes"].credentials()
    changed = gateway.operator("PATCH", f"/v1/connections/{connection}", json={"credentials": credentials}).data
    after = gateway.get("/notes/databases", connection_id=connection)

    assert ("connection_revoked", "active", 200) == (before.code, changed["status"], after.status)


def test_new_credentials_invalidate_cached_lookups(gateway: Gateway) -> None:
    database_id = gateway.examples("notes")["database_id"]
    credentials = gateway.sandbox.emulators["notes"].credentials()
    body = {"workspace_id": gateway.workspace_id, "connector": "notes", "credentials": credentials}
    connection = create(gateway, "/v1/connections", **body)["connection_id"]

    def count_lookups() -> int:
        gateway.clear("notes")
        gateway.post("/notes/pages", connection_id=connection, database_id=database_id, properties={})
        return sum("/data_sources/" in path for _, path, _ in gateway.journal("notes"))

    first, repeated = count_lookups(), count_lookups()
    gateway.operator("PATCH", f"/v1/connections/{connection}", json={"credentials": credentials})

    assert (1, 0, 1) == (first, repeated, count_lookups())


@requirement("common-124")
def test_a_connection_is_removed_and_its_history_retained(gateway: Gateway, workspace: str, connection: str) -> None:
    own = request_with_new_key(gateway, workspace)
    run = own("GET", f"/v1/connectors/notes/databases?connection_id={connection}").body["run_id"]
    gateway.operator("DELETE", f"/v1/connections/{connection}")
    call = own("GET", f"/v1/connectors/notes/databases?connection_id={connection}")

    assert "connection_not_found" == call.code
    assert "connection_not_found" == gateway.operator("DELETE", f"/v1/connections/{connection}").code
    assert [] == own("GET", "/v1/connections").data
    assert run in [item["run_id"] for item in own("GET", f"/v1/runs?connection_id={connection}").data]


@pytest.mark.parametrize(
    ("more", "parameters"),
    [
        ({"connector": "fax"}, ["connector"]),
        ({"connector": 5}, ["connector"]),
        ({"credentials": {}}, ["credentials.token"]),
        ({"credentials": {"token": 5}}, ["credentials.token"]),
        ({"credentials": {"token": "a\u0000"}}, ["credentials.token"]),
        ({"credentials": {"tokn": "a"}}, ["credentials.token", "credentials.tokn"]),
        ({"settings": {"colour": "red"}}, ["settings.colour"]),
        ({"settings": []}, ["settings"]),
    ],
)
def test_an_invalid_connection_is_rejected(
    gateway: Gateway, workspace: str, more: dict[str, Any], parameters: list[str]
) -> None:
    body = {"workspace_id": workspace, "connector": "notes", "credentials": CREDENTIALS} | more
    reply = gateway.operator("POST", "/v1/connections", json=body)

    assert parameters == parameters_in_error(reply)
    assert "secret" not in str(reply.body)


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        (
            {"credentials": {"tokn": "a"}},
            {
                "parameter": "credentials.tokn",
                "message": "Unknown parameter",
                "allowed": ["token"],
                "did_you_mean": "token",
            },
        ),
        (
            {"settings": {"colour": "red"}},
            {"parameter": "settings.colour", "message": "Unknown parameter", "allowed": []},
        ),
    ],
)
@requirement("common-182")
def test_an_unknown_name_within_a_parameter_lists_what_is_allowed_there(
    gateway: Gateway, workspace: str, more: dict[str, Any], expected: dict[str, Any]
) -> None:
    body = {"workspace_id": workspace, "connector": "notes", "credentials": CREDENTIALS} | more
    reply = gateway.operator("POST", "/v1/connections", json=body)

    assert expected == reply.facts[-1]


@requirement("connections-26")
def test_connections_are_paginated_newest_first(gateway: Gateway, workspace: str) -> None:
    created = [connect(gateway, workspace) for _ in range(5)]
    own = request_with_new_key(gateway, workspace)
    first = own("GET", "/v1/connections?limit=2")
    second = own("GET", f"/v1/connections?limit=2&cursor={first.body['next_cursor']}")
    third = own("GET", f"/v1/connections?limit=2&cursor={second.body['next_cursor']}")
    listed = [item["connection_id"] for page in (first, second, third) for item in page.data]

    assert created[::-1] == listed
    assert third.body["next_cursor"] is None


@requirement("common-217")
def test_keys_are_paginated_newest_first(gateway: Gateway, workspace: str) -> None:
    created = [create(gateway, "/v1/keys", workspace_id=workspace, scope="read")["key_id"] for _ in range(3)]
    address = f"/v1/keys?workspace_id={workspace}&limit=2"
    first = gateway.operator("GET", address)
    second = gateway.operator("GET", f"{address}&cursor={first.body['next_cursor']}")

    assert created[::-1] == [key["key_id"] for page in (first, second) for key in page.data]
    assert second.body["next_cursor"] is None


@requirement("common-217")
def test_workspaces_are_paginated_newest_first(gateway: Gateway) -> None:
    older, newer = [create(gateway, "/v1/workspaces", name="One of many")["workspace_id"] for _ in range(2)]
    first = gateway.operator("GET", "/v1/workspaces?limit=1")
    second = gateway.operator("GET", f"/v1/workspaces?limit=1&cursor={first.body['next_cursor']}")

    assert [newer, older] == [page.data[0]["workspace_id"] for page in (first, second)]


def test_connections_of_a_limited_key_are_paginated(gateway: Gateway, workspace: str) -> None:
    oldest, _, newest = [connect(gateway, workspace) for _ in range(3)]
    own = request_with_new_key(gateway, workspace, connection_ids=[oldest, newest])
    first = own("GET", "/v1/connections?limit=1")
    second = own("GET", f"/v1/connections?limit=1&cursor={first.body['next_cursor']}")

    assert [newest, oldest] == [page.data[0]["connection_id"] for page in (first, second)]
    assert second.body["next_cursor"] is None


# Runs


@requirement("common-115")
def test_runs_are_paginated_newest_first(gateway: Gateway, workspace: str) -> None:
    own = request_with_new_key(gateway, workspace)
    run_ids = [own("GET", "/v1/connectors/shelf/things").body["run_id"] for _ in range(7)]
    first = own("GET", "/v1/runs?limit=3")
    second = own("GET", f"/v1/runs?limit=3&cursor={first.body['next_cursor']}")
    third = own("GET", f"/v1/runs?limit=3&cursor={second.body['next_cursor']}")
    listed = [run["run_id"] for reply in (first, second, third) for run in reply.data]

    assert run_ids[::-1] == listed
    assert third.body["next_cursor"] is None


@requirement("limits-6")
@pytest.mark.parametrize("route", MANAGEMENT, ids=lambda route: route.name)
def test_management_requests_with_a_key_count_as_calls(
    gateway: Gateway, workspace: str, route: ManagementRoute
) -> None:
    own = request_with_new_key(gateway, workspace, calls_per_minute=2)
    counted, last, limited = (own(route.method, route.path) for _ in range(3))
    left = [reply.headers["x-service-ratelimit-remaining"] for reply in (counted, last, limited)]

    assert ["1", "0", "0"] == left
    assert counted.status == last.status != 429
    assert (429, "rate_limited") == (limited.status, limited.code)
    assert 0 < int(limited.headers["retry-after"]) <= 60


def test_a_full_last_page_has_no_cursor(gateway: Gateway, workspace: str) -> None:
    own = request_with_new_key(gateway, workspace)
    own("GET", "/v1/connectors/shelf/things")

    assert None is own("GET", "/v1/runs?limit=1").body["next_cursor"]


@requirement("connections-26")
@pytest.mark.parametrize(
    ("path", "more"),
    [
        ("/v1/runs", "status=error"),
        ("/v1/runs", "workspace_id=ws_1"),
        ("/v1/runs", "since=2020-01-01"),
        ("/v1/connections", "connector=mail"),
        ("/v1/connections", "workspace_id=ws_other"),
    ],
)
def test_a_cursor_is_valid_only_for_its_filters(gateway: Gateway, connection: str, path: str, more: str) -> None:
    gateway.get("/shelf/things")
    gateway.get("/shelf/things")
    cursor = gateway.operator("GET", f"{path}?limit=1").body["next_cursor"]

    assert "invalid_cursor" == gateway.operator("GET", f"{path}?limit=1&cursor={cursor}&{more}").code


def test_a_cursor_is_valid_only_for_its_workspace(gateway: Gateway, workspace: str) -> None:
    gateway.get("/shelf/things")
    gateway.get("/shelf/things")
    cursor = gateway.request("GET", "/v1/runs?limit=1").body["next_cursor"]

    assert "invalid_cursor" == request_with_new_key(gateway, workspace)("GET", f"/v1/runs?limit=1&cursor={cursor}").code


@requirement("common-115")
def test_runs_are_filtered(gateway: Gateway, workspace: str) -> None:
    body = {"workspace_id": workspace, "connector": "shelf", "credentials": {"token": "shelf-token-1"}}
    connection = create(gateway, "/v1/connections", **body)["connection_id"]
    own = request_with_new_key(gateway, workspace)
    good = own("GET", f"/v1/connectors/shelf/things?connection_id={connection}").body["run_id"]
    bad = own("GET", f"/v1/connectors/notes/databases?connection_id={connection}").body["run_id"]

    def run_ids(query: str) -> list[str]:
        return [run["run_id"] for run in own("GET", f"/v1/runs?{query}").data]

    assert [good] == run_ids("status=ok")
    assert [bad] == run_ids("status=error")
    assert [good] == run_ids("operation=list_things")
    assert [bad] == run_ids("connector=notes")
    assert [bad, good] == run_ids(f"connection_id={connection}")
    assert [] == run_ids("connection_id=conn_other")
    assert [] == run_ids("since=2100-01-01T00:00:00Z")
    assert [bad, good] == run_ids("since=2020-01-01")


@pytest.mark.parametrize(
    ("query", "parameter"),
    [("limit=0", "limit"), ("limit=201", "limit"), ("status=odd", "status"), ("since=x", "since"), ("a=b", "a")],
)
def test_invalid_filters_are_rejected(gateway: Gateway, query: str, parameter: str) -> None:
    assert [parameter] == parameters_in_error(gateway.request("GET", f"/v1/runs?{query}"))


@pytest.mark.parametrize("cursor", ["x", "AAAA", "=", "%00", "a" * 8192, "ÄÖ"])
def test_a_forged_cursor_is_rejected(gateway: Gateway, cursor: str) -> None:
    reply = gateway.request("GET", "/v1/runs", params={"cursor": cursor})

    assert 422 == reply.status


@requirement("common-128")
def test_management_responses_and_errors_have_the_documented_shapes(gateway: Gateway) -> None:
    page, bad = gateway.operator("GET", "/v1/workspaces"), gateway.operator("POST", "/v1/workspaces", json={})
    good = gateway.operator("POST", "/v1/workspaces", json={"name": "Shapely"})

    assert [["data"], ["data", "next_cursor"]] == [list(good.body), list(page.body)]
    assert {"run_id", "connector", "error"} == bad.body.keys()
    assert None is bad.body["connector"]
    assert bad.body["run_id"] == bad.headers["x-run-id"]


@pytest.mark.parametrize(
    ("content", "kind", "status"),
    [(b"{", "application/json", 400), (b"{}", "text/plain", 415), (b" " * 1_100_000, "application/json", 413)],
)
def test_management_bodies_are_parsed_strictly(gateway: Gateway, content: bytes, kind: str, status: int) -> None:
    headers = {"Authorization": f"Bearer {OPERATOR}", "Content-Type": kind}

    assert status == gateway.request("POST", "/v1/workspaces", headers=headers, content=content).status


@requirement("common-67")
def test_a_key_limited_to_some_connections_sees_only_those_and_their_runs(gateway: Gateway) -> None:
    gateway.get("/notes/databases", limit=1)
    limited = gateway.with_key("read", connection_ids=["conn_elsewhere"])

    seen = limited.request("GET", "/v1/connections").data + limited.request("GET", "/v1/runs").data
    connection = limited.request("GET", f"/v1/connections/{gateway.connections['notes']}")

    assert [] == seen
    assert "connection_not_found" == connection.code
