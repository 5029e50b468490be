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

NOWHERE = {"operator_id": "opr_01KAJ5T6M0Q7Z3X9V2B8N4C1DF", "connector": "notes"}
"""What stands in addresses where it is not found, or not looked for."""

READS = [route for route in MANAGEMENT if not route.changes]
CHANGES = [route for route in MANAGEMENT if route.changes]

RequestFunction = Callable[..., Reply]


def request_with(gateway: Gateway, token: str) -> RequestFunction:
    """Management requests with a token."""
    return lambda method, path, **sent: gateway.request(
        method, path, headers={"Authorization": f"Bearer {token}"}, **sent
    )


def entries(gateway: Gateway, **filters: Any) -> list[dict[str, Any]]:
    """Entries of the audit trail, newest first."""
    rows: list[dict[str, Any]] = gateway.operator("GET", "/v1/audit", params=filters).data
    return rows


@pytest.fixture(scope="module")
def viewer(house: Gateway) -> RequestFunction:
    """Requests of an operator who may only look."""
    created = house.operator("POST", "/v1/operators", json={"name": "vera", "role": "viewer"}).data
    return request_with(house, created["token"])


@pytest.fixture(scope="module")
def things(house: Gateway) -> dict[str, str]:
    """Identifiers of one thing of each kind."""
    workspace = {"workspace_id": house.workspace_id}
    key = house.operator("POST", "/v1/keys", json={**workspace, "scope": "read"}).data
    webhook = house.operator("POST", "/v1/webhooks", json={**workspace, "url": "https://example.com/events"}).data
    run = house.get("/shelf/things")
    return {
        **NOWHERE,
        **workspace,
        "key_id": key["key_id"],
        "connection_id": house.connections["shelf"],
        "webhook_id": webhook["webhook_id"],
        "run_id": run.body["run_id"],
    }


@pytest.fixture
def anna(gateway: Gateway) -> Iterator[RequestFunction]:
    """Requests of another admin."""
    created = gateway.operator("POST", "/v1/operators", json={"name": f"anna-{token_hex(4)}", "role": "admin"})
    yield request_with(gateway, created.data["token"])
    gateway.operator("DELETE", f"/v1/operators/{created.data['operator_id']}")


@requirement("administration-3")
@pytest.mark.parametrize("route", READS, ids=lambda route: route.name)
def test_a_viewer_reads_what_an_admin_reads(
    gateway: Gateway, viewer: RequestFunction, things: dict[str, str], route: ManagementRoute
) -> None:
    path = route.path.format(**things)
    seen, expected = viewer("GET", path), gateway.operator("GET", path)

    assert expected.status == seen.status
    # The window of the room is closed: no application has handed anything over.
    assert ("hook_not_found" if route.name == "show_hook" else 200) == (seen.code if seen.status != 200 else 200)


@requirement("administration-3", "administration-9")
@pytest.mark.parametrize("route", CHANGES, ids=lambda route: route.name)
@pytest.mark.parametrize("body", [{}, {"name": 5}], ids=["empty", "wrong"])
def test_a_viewer_changes_nothing_and_the_attempt_is_recorded(
    gateway: Gateway, things: dict[str, str], route: ManagementRoute, body: Any
) -> None:
    # Of one actor the audit trail records only so many refusals a minute, and there may be more routes than that.
    name = f"{route.name}-{len(body)}"
    token = gateway.operator("POST", "/v1/operators", json={"name": name, "role": "viewer"}).data["token"]
    sent = {"json": body} if route.has_body else {}
    reply = request_with(gateway, token)(route.method, route.path.format(**things), **sent)
    (entry, *_) = entries(gateway, actor=name, act=route.name)

    assert (403, "admin_role_required") == (reply.status, reply.code)
    assert ("admin_role_required", "127.0.0.1") == (entry["outcome"], entry["address"])


@requirement("administration-3")
def test_a_viewer_is_rejected_whatever_the_body(viewer: RequestFunction) -> None:
    assert "admin_role_required" == viewer("POST", "/v1/workspaces", content=b"{no json").code


@requirement("administration-4")
def test_a_viewer_does_not_see_a_token_that_was_handed_over(gateway: Gateway, viewer: RequestFunction) -> None:
    gateway.run(gateway.app.hooks._store_secret("notes", "secret_handed_over"))
    seen, known = viewer("GET", "/v1/hooks/notes").data, gateway.operator("GET", "/v1/hooks/notes").data
    gateway.operator("DELETE", "/v1/hooks/notes")

    assert (None, "secret_handed_over") == (seen["verification_token"], known["verification_token"])


@requirement("administration-1")
def test_an_admin_does_what_the_built_in_operator_does(gateway: Gateway, anna: RequestFunction) -> None:
    workspace = anna("POST", "/v1/workspaces", json={"name": "Anna's"}).data
    (entry,) = entries(gateway, object_id=workspace["workspace_id"])

    assert (True, "create_workspace") == (entry["actor"].startswith("anna-"), entry["act"])


def test_an_operators_token_calls_no_operation(gateway: Gateway, anna: RequestFunction) -> None:
    assert "invalid_api_key" == anna("GET", "/v1/connectors/shelf/things").code


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
    recorded = [(entry["act"], entry["object_id"]) for entry in reversed(entries(gateway, workspace_id=workspace))]

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
    recorded = [(entry["act"], entry["actor"]) for entry in reversed(entries(gateway, object_id="notes", limit=4))]

    assert [
        ("open_hook", "operator"),
        ("hand_over_secret", "application"),
        ("forget_hook", "operator"),
        ("close_hook", "operator"),
    ] == recorded


@requirement("administration-7")
def test_operators_are_recorded_themselves(gateway: Gateway) -> None:
    operator = gateway.operator("POST", "/v1/operators", json={"name": "otto", "role": "viewer"}).data
    gateway.operator("DELETE", "/v1/operators/otto")
    recorded = [(entry["act"], entry["details"]) for entry in entries(gateway, object_id=operator["operator_id"])]

    assert [("revoke_operator", {"operator": "otto"}), ("create_operator", {"operator": "otto", "role": "viewer"})] == (
        recorded
    )


@requirement("administration-7")
def test_a_managing_key_is_an_actor(gateway: Gateway) -> None:
    body = {"workspace_id": gateway.workspace_id, "scope": "read", "manages_connections": True}
    key = gateway.operator("POST", "/v1/keys", json=body).data
    path = f"/v1/connections/{gateway.connections['shelf']}"
    changed = request_with(gateway, key["key"])("PATCH", path, json={"name": "renamed"})
    (entry,) = entries(gateway, actor=key["key_id"])

    assert 200 == changed.status
    assert ("change_connection", {"changed": ["name"]}) == (entry["act"], entry["details"])


@requirement("administration-9")
def test_a_failed_request_is_recorded_with_its_code(gateway: Gateway) -> None:
    unknown = "key_01KAJ5T6M0Q7Z3X9V2B8N4C1DF"
    gateway.operator("DELETE", f"/v1/keys/{unknown}")
    (entry,) = entries(gateway, object_id=unknown)

    assert ("revoke_key", "key_not_found") == (entry["act"], entry["outcome"])


@requirement("administration-9")
def test_a_key_that_tries_to_manage_is_recorded(gateway: Gateway) -> None:
    key = gateway.operator("POST", "/v1/keys", json={"workspace_id": gateway.workspace_id, "scope": "read"}).data
    request_with(gateway, key["key"])("POST", "/v1/workspaces", json={"name": "mine"})
    (entry,) = entries(gateway, actor=key["key_id"])

    assert ("create_workspace", "operator_token_required") == (entry["act"], entry["outcome"])


@requirement("administration-10")
def test_a_wrong_token_is_recorded_once_and_counted(gateway: Gateway) -> None:
    guess = request_with(gateway, "a wrong token")
    replies = [guess("GET", "/v1/workspaces").status for _ in range(5)]
    failures = entries(gateway, actor="anonymous", act="sign_in")

    assert {401} == set(replies)
    assert [("invalid_api_key", "127.0.0.1")] == [(entry["outcome"], entry["address"]) for entry in failures]


@requirement("administration-14")
def test_the_trail_comes_page_by_page(gateway: Gateway) -> None:
    first = gateway.operator("GET", "/v1/audit", params={"limit": 2})
    second = gateway.operator("GET", "/v1/audit", params={"limit": 2, "cursor": first.body["next_cursor"]})
    numbers = [entry["sequence"] for entry in (*first.data, *second.data)]

    assert list(range(numbers[0], numbers[0] - 4, -1)) == numbers


@requirement("administration-14")
@pytest.mark.parametrize("name", ["actor", "act", "object_id", "workspace_id", "outcome"])
def test_a_filter_that_nothing_fits_finds_nothing(gateway: Gateway, name: str) -> None:
    assert [] == entries(gateway, **{name: "nothing"})


def test_the_trail_is_not_for_keys(gateway: Gateway) -> None:
    assert "operator_token_required" == gateway.request("GET", "/v1/audit").code


@requirement("administration-15")
def test_no_secret_is_in_the_trail(gateway: Gateway) -> None:
    new = {"workspace_id": gateway.workspace_id, "connector": "notes", "credentials": {"token": "ntn_kept_out"}}
    gateway.operator("POST", "/v1/connections", json={**new, "verify": False})
    gateway.operator("POST", "/v1/connections", json={**new, "credentials": {"token": "ntn_refused"}})
    key = gateway.operator("POST", "/v1/keys", json={"workspace_id": gateway.workspace_id, "scope": "read"}).data
    text = str(entries(gateway, limit=200))

    assert [] == [secret for secret in ("ntn_kept_out", "ntn_refused", key["key"]) if secret in text]


@requirement("administration-11")
def test_the_audit_trail_of_http_requests_can_be_verified(gateway: Gateway) -> None:
    verdict = gateway.run(gateway.app.audit.verify())

    assert verdict.broken is None


@requirement("administration-18")
def test_a_run_names_the_parameters_that_were_sent(gateway: Gateway) -> None:
    run_id = gateway.get("/notes/databases", limit=2).body["run_id"]
    wrong = gateway.get("/notes/databases", limit="many").body["run_id"]
    parameters = [gateway.operator("GET", f"/v1/runs/{one}").data["parameters"] for one in (run_id, wrong)]

    assert [["limit"], None] == parameters
