"""Verification of credentials before they are stored, and tests of connections."""

from typing import Any

import pytest

from harness.connect_pages import BrowserUser, connected, page_texts
from harness.gateway_server import Gateway, Reply
from harness.requirement import requirement


def create(gateway: Gateway, **more: Any) -> Reply:
    """Create a connection with the emulator's credentials, unless *more* overrides them, and return the reply."""
    credentials = {"token": gateway.sandbox.emulators["notes"].credentials()["token"]}
    body = {"workspace_id": gateway.workspace_id, "connector": "notes", "credentials": credentials}
    return gateway.operator("POST", "/v1/connections", json=body | more)


@requirement("connections-15")
def test_a_new_connection_returns_its_account(gateway: Gateway) -> None:
    created = create(gateway).data
    me = gateway.sandbox.emulators["notes"].credentials()["token"]

    assert ("active", "reason") == (created["status"], next(name for name in created if created[name] is None))
    assert created["account_id"]
    assert created["account_name"]
    assert me not in str(created)


@requirement("connections-14")
def test_a_wrong_token_is_rejected_and_not_stored(gateway: Gateway) -> None:
    before = len(gateway.operator("GET", "/v1/connections?limit=200").data)
    reply = create(gateway, credentials={"token": "ntn_wrong_token"})
    after = len(gateway.operator("GET", "/v1/connections?limit=200").data)

    assert (422, "credentials_refused", before) == (reply.status, reply.code, after)
    assert "ntn_wrong_token" not in str(reply.body)


@requirement("connections-14")
def test_a_wrong_token_is_stored_without_verification(gateway: Gateway) -> None:
    created = create(gateway, credentials={"token": "ntn_wrong_token"}, verify=False).data

    assert ("active", None) == (created["status"], created["account_id"])


@requirement("connections-14")
def test_wrong_new_credentials_do_not_replace_the_old_ones(gateway: Gateway) -> None:
    created = create(gateway).data["connection_id"]
    reply = gateway.operator("PATCH", f"/v1/connections/{created}", json={"credentials": {"token": "ntn_wrong_token"}})
    call = gateway.get("/notes/databases", connection_id=created)

    assert ("credentials_refused", 200) == (reply.code, call.status)


@requirement("connections-14")
def test_credentials_are_not_stored_if_verification_fails(gateway: Gateway) -> None:
    gateway.fault("notes", fault="status", status=500, times=10)
    reply = create(gateway)
    gateway.clear("notes")

    assert (502, "upstream_error") == (reply.status, reply.code)


@requirement("connections-17")
def test_credentials_of_another_account_are_rejected_unless_allowed(
    gateway: Gateway, browser_user: BrowserUser
) -> None:
    connection_id = connected(browser_user)
    body = {"credentials": {"token": gateway.sandbox.emulators["notes"].credentials()["token"]}}
    rejected = gateway.operator("PATCH", f"/v1/connections/{connection_id}", json=body)
    allowed = gateway.operator("PATCH", f"/v1/connections/{connection_id}", json=body | {"allow_other_account": True})

    assert (409, "other_account") == (rejected.status, rejected.code)
    assert page_texts(gateway, connection_id)["account_id"] == allowed.data["account_id"]


@requirement("connections-31")
def test_unverified_credentials_preserve_the_account(gateway: Gateway, browser_user: BrowserUser) -> None:
    connection_id = connected(browser_user)
    before = page_texts(gateway, connection_id)
    body = {"credentials": {"token": gateway.sandbox.emulators["notes"].credentials()["token"]}, "verify": False}
    changed = gateway.operator("PATCH", f"/v1/connections/{connection_id}", json=body).data
    tested = gateway.operator("POST", f"/v1/connections/{connection_id}/test")
    after = page_texts(gateway, connection_id)

    assert before["account_id"] is not None
    assert before["account_id"] == changed["account_id"] == after["account_id"]
    assert (409, "other_account") == (tested.status, tested.code)


@requirement("connections-31")
def test_another_account_requires_verification(gateway: Gateway) -> None:
    connection_id = create(gateway).data["connection_id"]
    body = {"credentials": {"token": "ntn_of_anybody"}, "verify": False, "allow_other_account": True}
    rejected = gateway.operator("PATCH", f"/v1/connections/{connection_id}", json=body)
    call = gateway.get("/notes/databases", connection_id=connection_id)

    assert (422, "invalid_parameters", "verify") == (rejected.status, rejected.code, rejected.details[0]["parameter"])
    assert 200 == call.status


@requirement("connections-32")
def test_no_call_of_a_key_binds_the_first_account_of_a_connection(gateway: Gateway) -> None:
    connection_id = create(gateway, credentials={"token": "ntn_wrong_token"}, verify=False).data["connection_id"]
    rejected = gateway.with_key("read").get("/notes/databases", connection_id=connection_id)
    managing = gateway.with_key("read", manages_connections=True)
    offered = managing.get("/notes/databases", connection_id=connection_id)

    assert (401, []) == (rejected.status, rejected.facts)
    assert [["reconnect_url"]] == [list(detail) for detail in offered.facts]
    assert page_texts(gateway, connection_id)["account_id"] is None


@requirement("connections-16")
def test_a_connection_is_tested(gateway: Gateway) -> None:
    created = create(gateway).data
    tested = gateway.operator("POST", f"/v1/connections/{created['connection_id']}/test").data
    gateway.revoke("notes")
    revoked = gateway.operator("POST", f"/v1/connections/{created['connection_id']}/test").data
    gateway.authorise("notes")
    again = gateway.operator("POST", f"/v1/connections/{created['connection_id']}/test").data

    assert ("active", created["account_id"], []) == (tested["status"], tested["account_id"], tested["missing_scopes"])
    assert ("revoked", "withdrawn", "active", None) == (
        revoked["status"],
        revoked["reason"],
        again["status"],
        again["reason"],
    )


@requirement("connections-10")
def test_no_connect_link_is_created_without_an_oauth_app(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gateway.app._tokens, "_connectors", {})
    reply = create(gateway, credentials=None)

    assert (409, "connect_not_set_up") == (reply.status, reply.code)


@requirement("connections-23")
def test_last_use_is_returned_before_it_is_stored(gateway: Gateway) -> None:
    created = create(gateway).data["connection_id"]
    before = page_texts(gateway, created)["last_used_at"]
    gateway.get("/notes/databases", connection_id=created)
    listed = gateway.operator("GET", "/v1/connections").data[0]

    assert (None, created) == (before, listed["connection_id"])
    assert listed["last_used_at"] == page_texts(gateway, created)["last_used_at"] is not None
