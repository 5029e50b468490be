"""Operators with roles, and the audit trail, over real HTTP."""

from collections.abc import Callable, Iterator
from secrets import token_hex
from typing import Any
from urllib.parse import urlsplit

import pytest

from connector_gateway.management.route_declaration import ManagementRoute
from connector_gateway.management.routes import MANAGEMENT
from harness.gateway_server import Gateway, Reply
from harness.requirement import requirement

UNKNOWN_OBJECTS = {"operator_id": "opr_01KAJ5T6M0Q7Z3X9V2B8N4C1DF", "connector": "notes"}
"""Path parameters of objects that do not exist or are not looked up."""

READS = [route for route in MANAGEMENT if not route.changes]
CHANGES = [route for route in MANAGEMENT if route.changes]

RequestFunction = Callable[..., Reply]


def request_with(gateway: Gateway, token: str) -> RequestFunction:
    """Return a function that sends management requests with a token."""
    return lambda method, path, **sent: gateway.request(
        method, path, headers={"Authorization": f"Bearer {token}"}, **sent
    )


def list_entries(gateway: Gateway, **filters: Any) -> list[dict[str, Any]]:
    """Return the entries of the audit trail, newest first."""
    rows: list[dict[str, Any]] = gateway.operator("GET", "/v1/audit", params=filters).data
    return rows


@pytest.fixture(scope="module")
def viewer(module_gateway: Gateway) -> RequestFunction:
    """Sends requests as an operator with the role viewer."""
    created = module_gateway.operator("POST", "/v1/operators", json={"name": "vera", "role": "viewer"}).data
    return request_with(module_gateway, created["token"])


@pytest.fixture(scope="module")
def object_ids(module_gateway: Gateway) -> dict[str, str]:
    """Identifiers of one object of each kind."""
    workspace = {"workspace_id": module_gateway.workspace_id}
    key = module_gateway.operator("POST", "/v1/keys", json={**workspace, "scope": "read"}).data
    webhook = module_gateway.operator(
        "POST", "/v1/webhooks", json={**workspace, "url": "https://example.com/events"}
    ).data
    run = module_gateway.get("/shelf/things")
    return {
        **UNKNOWN_OBJECTS,
        **workspace,
        "key_id": key["key_id"],
        "connection_id": module_gateway.connections["shelf"],
        "webhook_id": webhook["webhook_id"],
        "run_id": run.body["run_id"],
    }


@pytest.fixture
def second_admin(gateway: Gateway) -> Iterator[RequestFunction]:
    """Sends requests as another admin."""
    created = gateway.operator("POST", "/v1/operators", json={"name": f"anna-{token_hex(4)}", "role": "admin"})
    yield request_with(gateway, created.data["token"])
    gateway.operator("DELETE", f"/v1/operators/{created.data['operator_id']}")


@requirement("administration-3")
@pytest.mark.parametrize("route", READS, ids=lambda route: route.name)
def test_a_viewer_reads_what_an_admin_reads(
    gateway: Gateway, viewer: RequestFunction, object_ids: dict[str, str], route: ManagementRoute
) -> None:
    path = route.path.format(**object_ids)
    seen, expected = viewer("GET", path), gateway.operator("GET", path)

    assert expected.status == seen.status
    # The connector's verification window is closed, since no vendor has sent a secret.
    assert ("hook_not_found" if route.name == "show_hook" else 200) == (seen.code if seen.status != 200 else 200)


@requirement("administration-3", "administration-9")
@pytest.mark.parametrize("route", CHANGES, ids=lambda route: route.name)
@pytest.mark.parametrize("body", [{}, {"name": 5}], ids=["empty", "wrong"])
def test_changes_by_a_viewer_are_rejected_and_recorded(
    gateway: Gateway, object_ids: dict[str, str], route: ManagementRoute, body: Any
) -> None:
    # The audit trail records a limited number of rejections per actor and minute, and there may be more routes.
    name = f"{route.name}-{len(body)}"
    token = gateway.operator("POST", "/v1/operators", json={"name": name, "role": "viewer"}).data["token"]
    sent = {"json": body} if route.has_body else {}
    reply = request_with(gateway, token)(route.method, route.path.format(**object_ids), **sent)
    (entry, *_) = list_entries(gateway, actor=name, act=route.name)

    assert (403, "admin_role_required") == (reply.status, reply.code)
    assert ("admin_role_required", "127.0.0.1") == (entry["outcome"], entry["address"])


@requirement("administration-3")
def test_a_viewer_is_rejected_before_the_body_is_parsed(viewer: RequestFunction) -> None:
    assert "admin_role_required" == viewer("POST", "/v1/workspaces", content=b"{no json").code


@requirement("administration-4")
def test_a_verification_token_is_hidden_from_viewers(gateway: Gateway, viewer: RequestFunction) -> None:
    gateway.run(gateway.app.hooks._store_secret("notes", "secret_handed_over"))
    seen, known = viewer("GET", "/v1/hooks/notes").data, gateway.operator("GET", "/v1/hooks/notes").data
    gateway.operator("DELETE", "/v1/hooks/notes")

    assert (None, "secret_handed_over") == (seen["verification_token"], known["verification_token"])


@requirement("administration-1")
def test_an_admin_has_the_rights_of_the_built_in_operator(gateway: Gateway, second_admin: RequestFunction) -> None:
    workspace = second_admin("POST", "/v1/workspaces", json={"name": "Anna's"}).data
    (entry,) = list_entries(gateway, object_id=workspace["workspace_id"])

    assert (True, "create_workspace") == (entry["actor"].startswith("anna-"), entry["act"])


def test_operator_tokens_cannot_call_operations(gateway: Gateway, second_admin: RequestFunction) -> None:
    assert "invalid_api_key" == second_admin("GET", "/v1/connectors/shelf/things").code


@requirement("administration-7")
def test_every_administrative_request_has_an_audit_entry(gateway: Gateway) -> None:
    operator = gateway.operator
    workspace = operator("POST", "/v1/workspaces", json={"name": "Audited"}).data["workspace_id"]
    of_it = {"workspace_id": workspace}
    operator("PATCH", f"/v1/workspaces/{workspace}", json={"name": "Audited well"})
    key = operator("POST", "/v1/keys", json={**of_it, "scope": "read"}).data["key_id"]
    operator("DELETE", f"/v1/keys/{key}")
    new = {**of_it, "connector": "notes", "credentials": {"token": "ntn_secret_of_the_audit"}, "verify": False}
    connection = operator("POST", "/v1/connections", json=new).data["connection_id"]
    changed = operator(
        "PATCH", f"/v1/connections/{connection}", json={"credentials": {"token": "ntn_other_secret"}, "verify": False}
    )
    new_webhook = {**of_it, "url": "https://example.com/events"}
    webhook = operator("POST", "/v1/webhooks", json=new_webhook).data["webhook_id"]
    operator("PATCH", f"/v1/webhooks/{webhook}", json={"name": "renamed"})
    operator("POST", f"/v1/webhooks/{webhook}/rotate", json={})
    operator("POST", f"/v1/webhooks/{webhook}/replay", json={"connection_id": connection})
    operator("DELETE", f"/v1/webhooks/{webhook}")
    operator("DELETE", f"/v1/connections/{connection}")
    recorded = [(entry["act"], entry["object_id"]) for entry in reversed(list_entries(gateway, workspace_id=workspace))]

    assert 200 == changed.status, changed.body
    assert [
        ("create_workspace", workspace),
        ("change_workspace", workspace),
        ("create_key", key),
        ("revoke_key", key),
        ("create_connection", connection),
        ("change_connection", connection),
        ("create_webhook", webhook),
        ("change_webhook", webhook),
        ("rotate_webhook_secret", webhook),
        ("replay_webhook", webhook),
        ("remove_webhook", webhook),
        ("remove_connection", connection),
    ] == recorded


@requirement("administration-7")
def test_hook_windows_and_their_results_are_recorded(gateway: Gateway) -> None:
    url = gateway.operator("POST", "/v1/hooks/notes/window").data["url"]
    gateway.request("POST", urlsplit(url).path, json={"verification_token": "secret_given"})
    gateway.operator("DELETE", "/v1/hooks/notes")
    gateway.operator("DELETE", "/v1/hooks/notes/window")
    recorded = [(entry["act"], entry["actor"]) for entry in reversed(list_entries(gateway, object_id="notes", limit=4))]

    assert [
        ("open_hook", "operator"),
        ("hand_over_secret", "application"),
        ("forget_hook", "operator"),
        ("close_hook", "operator"),
    ] == recorded


@requirement("administration-7")
def test_changes_of_operators_are_recorded(gateway: Gateway) -> None:
    operator = gateway.operator("POST", "/v1/operators", json={"name": "otto", "role": "viewer"}).data
    gateway.operator("DELETE", "/v1/operators/otto")
    recorded = [(entry["act"], entry["details"]) for entry in list_entries(gateway, object_id=operator["operator_id"])]

    assert [("revoke_operator", {"operator": "otto"}), ("create_operator", {"operator": "otto", "role": "viewer"})] == (
        recorded
    )


@requirement("administration-7")
def test_changes_by_a_managing_key_name_the_key_as_actor(gateway: Gateway) -> None:
    body = {"workspace_id": gateway.workspace_id, "scope": "read", "manages_connections": True}
    key = gateway.operator("POST", "/v1/keys", json=body).data
    path = f"/v1/connections/{gateway.connections['shelf']}"
    changed = request_with(gateway, key["key"])("PATCH", path, json={"name": "renamed"})
    (entry,) = list_entries(gateway, actor=key["key_id"])

    assert 200 == changed.status
    assert ("change_connection", {"changed": ["name"]}) == (entry["act"], entry["details"])


@requirement("administration-9")
def test_a_failed_request_is_recorded_with_its_code(gateway: Gateway) -> None:
    unknown = "key_01KAJ5T6M0Q7Z3X9V2B8N4C1DF"
    gateway.operator("DELETE", f"/v1/keys/{unknown}")
    (entry,) = list_entries(gateway, object_id=unknown)

    assert ("revoke_key", "key_not_found") == (entry["act"], entry["outcome"])


@requirement("administration-9")
def test_rejected_management_by_a_key_is_recorded(gateway: Gateway) -> None:
    key = gateway.operator("POST", "/v1/keys", json={"workspace_id": gateway.workspace_id, "scope": "read"}).data
    request_with(gateway, key["key"])("POST", "/v1/workspaces", json={"name": "mine"})
    (entry,) = list_entries(gateway, actor=key["key_id"])

    assert ("create_workspace", "operator_token_required") == (entry["act"], entry["outcome"])


@requirement("administration-10")
def test_a_wrong_token_is_recorded_once_and_counted(gateway: Gateway) -> None:
    guess = request_with(gateway, "a wrong token")
    replies = [guess("GET", "/v1/workspaces").status for _ in range(5)]
    failures = list_entries(gateway, actor="anonymous", act="sign_in")

    assert {401} == set(replies)
    assert [("invalid_api_key", "127.0.0.1")] == [(entry["outcome"], entry["address"]) for entry in failures]


@requirement("administration-14")
def test_the_audit_trail_is_paginated(gateway: Gateway) -> None:
    first = gateway.operator("GET", "/v1/audit", params={"limit": 2})
    second = gateway.operator("GET", "/v1/audit", params={"limit": 2, "cursor": first.body["next_cursor"]})
    numbers = [entry["sequence"] for entry in (*first.data, *second.data)]

    assert list(range(numbers[0], numbers[0] - 4, -1)) == numbers


@requirement("administration-14")
@pytest.mark.parametrize("name", ["actor", "act", "object_id", "workspace_id", "outcome"])
def test_a_filter_without_matches_returns_no_entries(gateway: Gateway, name: str) -> None:
    assert [] == list_entries(gateway, **{name: "nothing"})


def test_keys_cannot_read_the_audit_trail(gateway: Gateway) -> None:
    assert "operator_token_required" == gateway.request("GET", "/v1/audit").code


@requirement("administration-15")
def test_the_audit_trail_contains_no_secrets(gateway: Gateway) -> None:
    new = {"workspace_id": gateway.workspace_id, "connector": "notes", "credentials": {"token": "ntn_kept_out"}}
    gateway.operator("POST", "/v1/connections", json={**new, "verify": False})
    gateway.operator("POST", "/v1/connections", json={**new, "credentials": {"token": "ntn_refused"}})
    key = gateway.operator("POST", "/v1/keys", json={"workspace_id": gateway.workspace_id, "scope": "read"}).data
    text = str(list_entries(gateway, limit=200))

    assert [] == [secret for secret in ("ntn_kept_out", "ntn_refused", key["key"]) if secret in text]


@requirement("administration-11")
def test_the_audit_trail_of_http_requests_can_be_verified(gateway: Gateway) -> None:
    verdict = gateway.run(gateway.app.audit.verify())

    assert verdict.broken is None


@requirement("administration-18")
def test_a_run_contains_the_names_of_the_sent_parameters(gateway: Gateway) -> None:
    run_id = gateway.get("/notes/databases", limit=2).body["run_id"]
    wrong = gateway.get("/notes/databases", limit="many").body["run_id"]
    parameters = [gateway.operator("GET", f"/v1/runs/{one}").data["parameters"] for one in (run_id, wrong)]

    assert [["limit"], None] == parameters
