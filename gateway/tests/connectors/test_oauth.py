"""Every room connects an account through the real stand-in's page, keeps it connected, and tells whose it is."""

from collections.abc import Iterator
from functools import partial
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httpx
import pytest

from connector_gateway.connectors import CONNECTORS
from connector_gateway.kit.operation import AnyConnector
from harness.all_connectors import UNHURRIED
from harness.connect_pages import BrowserUser, heading, open_link, page_texts, reconnecting, user
from harness.consent_pages import Browser
from harness.gateway_server import Gateway, Reply, run_gateway
from harness.operation_calls import calls_of, read
from harness.requirement import requirement
from harness.sandbox_server import create_emulator, run_emulators
from sandbox.tests.oauth_flows import OAUTH_FLOWS as DIALECTS
from workspace_sandbox import EMULATORS
from workspace_sandbox.notes import NotesEmulator

NAMES = {
    "notes": ("Fernweh Studios", "Lantern Bakery"),
    "boards": ("Gateway Bot", "Inès Marchetti"),
    "mail": ("nora@brightfjord.test", "jonas@brightfjord.test"),
    "chat": ("Northwind Labs", "Harbour Collective"),
    "crm": ("Portal 4471120", "Portal 9022540"),
    "tables": ("mara.lindqvist@example.com", "jose.aran@example.com"),
}
"""What the first and the second account of each stand-in are called."""


API = {"notes": "/v1/", "boards": "/1/", "mail": "/gmail/", "chat": "/api/", "crm": "/crm/", "tables": "/v0/"}
ENDED: dict[str, dict[str, Any]] = {
    "notes": {"status": 401, "body": {"object": "error", "status": 401, "code": "unauthorized", "message": "Invalid."}},
    "boards": {"status": 401, "body": "expired token"},
    "mail": {"status": 401, "body": {"error": {"code": 401, "status": "UNAUTHENTICATED", "message": "Invalid."}}},
    "chat": {"status": 200, "body": {"ok": False, "error": "token_expired"}},
    "crm": {"status": 401, "body": {"status": "error", "category": "EXPIRED_AUTHENTICATION", "message": "Expired."}},
    "tables": {"status": 401, "body": {"error": {"type": "AUTHENTICATION_REQUIRED", "message": "Required"}}},
}
"""How each application refuses a token that has ended, below the paths of its API."""


@requirement("connections-3")
@pytest.mark.parametrize("connector", CONNECTORS.values(), ids=lambda one: one.name)
def test_users_are_asked_in_words_and_not_in_names_of_scopes(connector: AnyConnector) -> None:
    oauth = connector.oauth
    assert oauth is not None
    words = [*oauth.readable, *oauth.changeable]

    assert [True, True] == [bool(oauth.readable), bool(oauth.changeable)]
    assert [] == [one for one in words if one in oauth.scopes or "_" in one or not one[0].isupper()]


@pytest.fixture(scope="module", params=DIALECTS)
def room(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def house(room: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    with (
        run_emulators(**{room: EMULATORS[room]}) as sandbox,
        run_gateway(sandbox, tmp_path_factory.mktemp(room), connectors={room: UNHURRIED[room]}) as gateway,
    ):
        yield gateway


@pytest.fixture
def gateway(house: Gateway, room: str) -> Iterator[Gateway]:
    house.clear(room)
    # New tokens of chat end only with this knob, and without an end there is nothing to renew.
    house.sandbox.emulators[room].context.knobs |= {"rotation": True} if room == "chat" else {}
    yield house
    house.authorise(room)


@pytest.fixture
def someone(gateway: Gateway) -> Iterator[BrowserUser]:
    with user(gateway) as someone:
        yield someone


def connected(someone: BrowserUser, room: str, account: str = "") -> str:
    """A connection that *someone* has connected."""
    invitation = open_link(someone.gateway, connector=room)
    page = someone.allow(invitation["connect_url"], account=account)
    assert "Connected" == heading(page)
    return str(invitation["connection_id"])


def called(gateway: Gateway, room: str, connection_id: str) -> Reply:
    """The answer to a call of the room that asks the application."""
    gateway.connections[room] = connection_id
    return read(gateway, room, calls_of(room).readings(gateway.examples(room))[0])


def asked(gateway: Gateway, room: str) -> int:
    """How often tokens were asked for."""
    return sum(path == DIALECTS[room].token for _, path, _ in gateway.journal(room))


def remove_all(gateway: Gateway) -> list[int]:
    """Remove every connection there is."""
    there = gateway.operator("GET", "/v1/connections").data
    return [gateway.operator("DELETE", f"/v1/connections/{one['connection_id']}").status for one in there]


def second(gateway: Gateway, room: str) -> str:
    """The other account as the page of consent has it."""
    chosen = {"notes": create_emulator(gateway.sandbox, NotesEmulator).oauth.accounts} if room == "notes" else {}
    return str([*chosen["notes"]][1]) if chosen else DIALECTS[room].second


def test_an_account_is_connected_and_used(gateway: Gateway, someone: BrowserUser, room: str) -> None:
    connection_id = connected(someone, room)
    after = page_texts(gateway, connection_id)

    assert ("active", NAMES[room][0]) == (after["status"], after["account_name"])
    assert 200 == called(gateway, room, connection_id).status


def test_whoever_cancels_has_connected_nothing(gateway: Gateway, someone: BrowserUser, room: str) -> None:
    invitation = open_link(gateway, connector=room)
    page = someone.cancel(invitation["connect_url"])

    assert (400, "You did not allow the access") == (page.status_code, heading(page))
    assert "pending" == page_texts(gateway, invitation["connection_id"])["status"]


@requirement("connections-12")
def test_another_account_is_connected_only_where_that_is_allowed(
    gateway: Gateway, someone: BrowserUser, room: str
) -> None:
    connection_id, other = connected(someone, room), second(gateway, room)
    refused = someone.allow(reconnecting(gateway, connection_id), account=other)
    before = page_texts(gateway, connection_id)["account_name"]
    someone.allow(reconnecting(gateway, connection_id, allow_other_account=True), account=other)

    assert "This is another account" == heading(refused)
    assert NAMES[room] == (before, page_texts(gateway, connection_id)["account_name"])


@pytest.mark.parametrize("room", sorted(DIALECTS.keys() - {"notes"}), indirect=True, scope="module")
def test_a_token_near_its_end_is_renewed_once_for_all_calls(gateway: Gateway, someone: BrowserUser, room: str) -> None:
    gateway.knob(room, token_seconds=30)
    connection_id = connected(someone, room)
    gateway.knob(room, token_seconds=86_400)
    gateway.sandbox.emulators[room].context.request_log.clear()
    call = partial(called, gateway, room, connection_id)
    replies = gateway.together(*[call] * 8)

    assert [200] * 8 == [reply.status for reply in replies]
    assert 1 == asked(gateway, room)


@requirement("connections-18", "connections-23")
def test_a_token_that_is_refused_is_renewed_and_the_call_sent_again(
    gateway: Gateway, someone: BrowserUser, room: str
) -> None:
    gateway.knob(room, token_seconds=86_400)
    connection_id = connected(someone, room)
    gateway.fault(room, path=API[room], times=1, fault="status", **ENDED[room])
    gateway.sandbox.emulators[room].context.request_log.clear()
    reply = called(gateway, room, connection_id)

    assert (200, 1) == (reply.status, asked(gateway, room))
    assert page_texts(gateway, connection_id)["last_refreshed_at"] is not None


@pytest.mark.parametrize("room", ["boards"], indirect=True, scope="module")
def test_a_board_out_of_sight_is_no_reason_to_renew(gateway: Gateway, someone: BrowserUser, room: str) -> None:
    gateway.connections[room] = connected(someone, room)
    gateway.sandbox.emulators[room].context.request_log.clear()
    reply = read(gateway, room, calls_of(room).readings(gateway.examples(room))[1])

    assert ("board_not_authorised", 0) == (reply.code, asked(gateway, room))


@pytest.mark.parametrize(
    ("room", "path"),
    [("notes", "/v1/oauth/revoke"), ("mail", "/revoke"), ("crm", "/oauth/2026-09/token/revoke")],
    indirect=["room"],
    scope="module",
)
def test_tokens_are_given_back_where_they_are_taken(
    gateway: Gateway, someone: BrowserUser, room: str, path: str
) -> None:
    remove_all(gateway)
    connection_id = connected(someone, room)
    gateway.operator("DELETE", f"/v1/connections/{connection_id}")

    assert ("POST", path, 200) == gateway.journal(room)[-1]


def test_a_withdrawn_authorisation_is_told_and_mended_by_connecting_again(
    gateway: Gateway, someone: BrowserUser, room: str
) -> None:
    connection_id = connected(someone, room)
    gateway.revoke(room)
    refused = called(gateway.with_key(manages_connections=True), room, connection_id)
    someone.allow(refused.details[-1]["reconnect_url"])
    again = called(gateway, room, connection_id)

    assert (401, "connection_revoked", 200) == (refused.status, refused.code, again.status)
    assert "active" == page_texts(gateway, connection_id)["status"]


@requirement("connections-37")
@pytest.mark.parametrize("room", ["boards", "mail", "chat", "tables"], indirect=True, scope="module")
def test_an_unused_code_of_one_consent_connects_nothing_in_another(
    gateway: Gateway, someone: BrowserUser, room: str
) -> None:
    made = open_link(gateway, connector=room)
    with user(gateway) as victim, Browser() as there, Browser() as here:
        stolen = there.allow(victim.depart(open_link(gateway, connector=room)["connect_url"]))
        own = someone.depart(made["connect_url"])
        page = someone.come_back(own, {**here.allow(own), "code": stolen["code"]})

    assert (400, "The consent does not hold any more") == (page.status_code, heading(page))
    assert ("pending", None) == (page_texts(gateway, made["connection_id"])["status"], stolen.get("error"))


def test_credentials_that_were_pasted_are_asked_about(gateway: Gateway, room: str) -> None:
    good = gateway.sandbox.emulators[room].credentials()
    body = {"workspace_id": gateway.workspace_id, "connector": room}
    made = gateway.operator("POST", "/v1/connections", json=body | {"credentials": good})
    wrong = good | {"token": f"{good['token'][:-4]}AAAA"}
    refused = gateway.operator("POST", "/v1/connections", json=body | {"credentials": wrong})

    assert ("active", NAMES[room][0]) == (made.data["status"], made.data["account_name"])
    assert (422, "credentials_refused") == (refused.status, refused.code)


@requirement("connections-25", "connections-30")
@pytest.mark.parametrize("room", ["boards"], indirect=True, scope="module")
def test_a_token_of_somebody_elses_key_is_told_of_and_not_given_back(gateway: Gateway, room: str) -> None:
    credentials = gateway.sandbox.emulators[room].credentials()
    body = {"workspace_id": gateway.workspace_id, "connector": room, "credentials": credentials}
    made = gateway.operator("POST", "/v1/connections", json=body).data
    tested = gateway.operator("POST", f"/v1/connections/{made['connection_id']}/test").data
    gateway.operator("DELETE", f"/v1/connections/{made['connection_id']}")

    assert (["read", "write"], []) == (made["scopes"], tested["missing_scopes"])
    assert [] == [seen for seen in gateway.journal(room) if seen[0] == "DELETE"]


@requirement("connections-25")
@pytest.mark.parametrize("room", ["mail", "crm"], indirect=True, scope="module")
def test_tokens_are_kept_as_long_as_another_connection_lives_by_them(
    gateway: Gateway, someone: BrowserUser, room: str
) -> None:
    first, second = connected(someone, room), connected(someone, room)
    gateway.operator("DELETE", f"/v1/connections/{first}")
    kept = called(gateway, room, second)

    assert (200, False) == (kept.status, any("revoke" in path for _, path, _ in gateway.journal(room)))


@pytest.mark.parametrize(
    ("room", "unticked", "operation"),
    [
        ("mail", "https://www.googleapis.com/auth/gmail.modify", "send_message"),
        ("boards", "write:board:trello", "create_card"),
    ],
    indirect=["room"],
    scope="module",
)
def test_a_consent_without_what_is_needed_connects_nothing_and_names_it(
    gateway: Gateway, someone: BrowserUser, room: str, unticked: str, operation: str
) -> None:
    invitation = open_link(gateway, connector=room)
    page = someone.allow(invitation["connect_url"], unticked={unticked})

    assert (400, "Not everything was allowed") == (page.status_code, heading(page))
    assert f"<code>{unticked}</code>" in page.text
    assert operation.replace("_", " ") in page.text
    assert "pending" == page_texts(gateway, invitation["connection_id"])["status"]


def test_every_room_whose_accounts_are_connected_in_a_browser_is_tried() -> None:
    assert {name for name, connector in CONNECTORS.items() if connector.oauth is not None} == DIALECTS.keys()


def test_scopes_are_needed_by_operations_that_there_are(room: str) -> None:
    connector = CONNECTORS[room]
    assert connector.oauth is not None
    named = {name for needed in connector.oauth.scopes.values() for name in needed}

    assert set() == named - {operation.name for operation in connector.operations}
    assert named in (set(), {operation.name for operation in connector.operations})


FAILURES: dict[str, dict[str, Any]] = {
    "garbage": {"fault": "garbage"},
    "throttled": {"fault": "status", "status": 429, "headers": {"Retry-After": "1"}},
    "failed": {"fault": "status", "status": 500},
    "page": {"fault": "status", "status": 200, "body": "<html>Sign in</html>"},
}
"""What token endpoints answer when something is wrong there."""


@requirement("connections-9")
@pytest.mark.parametrize("failure", FAILURES)
def test_a_token_request_that_fails_connects_nothing(
    gateway: Gateway, someone: BrowserUser, room: str, failure: str
) -> None:
    invitation = open_link(gateway, connector=room)
    gateway.fault(room, path=DIALECTS[room].token, times=1, **FAILURES[failure])
    page = someone.allow(invitation["connect_url"])
    gateway.clear(room)

    assert (502, "The application did not answer") == (page.status_code, heading(page))
    assert "pending" == page_texts(gateway, invitation["connection_id"])["status"]


@requirement("connections-7")
@pytest.mark.parametrize("room", ["mail"], indirect=True, scope="module")
def test_an_answer_in_the_name_of_another_sender_connects_nothing(
    gateway: Gateway, someone: BrowserUser, room: str
) -> None:
    invitation = open_link(gateway, connector=room)
    consent = someone.depart(invitation["connect_url"])
    with Browser() as there:
        page = someone.come_back(consent, there.allow(consent) | {"iss": "https://accounts.evil.test"})

    assert (400, "The answer came from somebody else") == (page.status_code, heading(page))
    assert ("pending", 0) == (page_texts(gateway, invitation["connection_id"])["status"], asked(gateway, room))


# Codes and tokens that the application takes no more


def reused(someone: BrowserUser, room: str) -> tuple[str, httpx.Response]:
    """A pending connection, and the page that a code gets there which was redeemed for another one."""
    gateway = someone.gateway
    spent, made = someone.depart(open_link(gateway, connector=room)["connect_url"]), open_link(gateway, connector=room)
    with Browser() as there:
        answer = there.allow(spent)
    assert "Connected" == heading(someone.come_back(spent, answer))
    consent = someone.depart(made["connect_url"])
    state = dict(parse_qsl(urlsplit(consent).query))["state"]
    return made["connection_id"], someone.come_back(consent, answer | {"state": state})


@requirement("connections-9")
def test_a_code_that_was_redeemed_before_connects_nothing(gateway: Gateway, someone: BrowserUser, room: str) -> None:
    connection_id, page = reused(someone, room)
    connection = page_texts(gateway, connection_id)

    assert (400, "The consent does not hold any more", True) == (
        page.status_code,
        heading(page),
        "Try again" in page.text,
    )
    assert ("pending", None, None) == (connection["status"], connection["account_id"], connection["expires_at"])


def ended(gateway: Gateway, room: str, times: int) -> None:
    """Let the application refuse the token of so many calls as one that has ended; its token endpoint works."""
    gateway.fault(room, path=API[room], times=times, fault="status", **ENDED[room])


def rested(gateway: Gateway) -> None:
    """Let the pause after a failure pass."""
    gateway.app.connections.token_refresher._backoffs.clear()


@requirement("connections-21")
@pytest.mark.parametrize("failure", ["throttled", "failed", "page"])
def test_a_renewal_that_fails_for_a_time_revokes_nothing(
    gateway: Gateway, someone: BrowserUser, room: str, failure: str
) -> None:
    gateway.knob(room, token_seconds=86_400)
    connection_id = connected(someone, room)
    gateway.fault(room, path=DIALECTS[room].token, times=1, **FAILURES[failure])
    ended(gateway, room, 1)
    failed = called(gateway, room, connection_id)
    between = page_texts(gateway, connection_id)["status"]
    gateway.clear(room)
    rested(gateway)
    after = called(gateway, room, connection_id)

    assert {"throttled": 429}.get(failure, 502) == failed.status
    assert ("active", 200) == (between, after.status)


SURVIVE = {"mail": "refresh tokens stay", "crm": "refresh tokens stay", "chat": "spent ones are taken for a while more"}
"""Applications at which tokens that were lost on the way back cost nothing, and why; at the others they are told."""


@requirement("connections-21", "connections-22")
@pytest.mark.parametrize("lost", ["drop_after", "garbage"])
def test_tokens_that_are_lost_on_the_way_back_are_had_again_or_told(
    gateway: Gateway, someone: BrowserUser, room: str, lost: str
) -> None:
    gateway.knob(room, token_seconds=86_400)
    connection_id = connected(someone, room)
    gateway.fault(room, path=DIALECTS[room].token, times=1, fault=lost)
    ended(gateway, room, 2)
    failed = called(gateway, room, connection_id)
    rested(gateway)
    again = called(gateway, room, connection_id)
    after = page_texts(gateway, connection_id)

    told = (401, "revoked", "refresh_interrupted")
    assert (502, "upstream_error") == (failed.status, failed.code)
    assert ((200, "active", None) if room in SURVIVE else told) == (again.status, after["status"], after["reason"])
