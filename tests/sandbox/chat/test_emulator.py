"""The chat stand-in over real HTTP, without any library of the vendor's."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import requests

from harness.playing import playing
from harness.receiving import Answer, Inbox, receiving
from workspace_sandbox import Sandbox
from workspace_sandbox.chat import ChatEmulator, access
from workspace_sandbox.chat.emoji import canonical
from workspace_sandbox.chat.emulator import SCOPES
from workspace_sandbox.chat.messages import escaped
from workspace_sandbox.chat.routes import ROUTES, Method

GENERAL = "C04GENERAL1"
UNJOINED_PUBLIC = "C04FINANCE1"
DELETED_IM = "D04IM000014"
FOREIGN_IM = "D04IM000015"


class Frozen:
    """A clock that moves only when told, or when somebody waits."""

    def __init__(self, now: float) -> None:
        self.at = now

    def now(self) -> float:
        return self.at

    async def sleep(self, seconds: float) -> None:
        self.at += seconds


METHODS = {route.name: route for route in ROUTES if isinstance(route, Method)}


@dataclass
class Chat:
    """A client with no opinion: forms out, JSON back."""

    sandbox: Sandbox
    token: str
    http: requests.Session

    @property
    def address(self) -> str:
        return self.sandbox.emulators["chat"].stage.addresses["base"]

    def send(self, method: str, **options: Any) -> requests.Response:
        headers = {"Authorization": f"Bearer {self.token}"} | options.pop("headers", {})
        verb = options.pop("verb", "POST")
        return self.http.request(verb, f"{self.address}/api/{method}", headers=headers, timeout=10, **options)

    def let_in_by(self, token: str) -> "Chat":
        return Chat(self.sandbox, token, self.http)

    def __call__(self, method: str, **arguments: Any) -> dict[str, Any]:
        return dict(self.send(method, data=arguments).json())

    def post(self, text: str, channel: str = GENERAL, **arguments: Any) -> str:
        return str(self("chat.postMessage", channel=channel, text=text, **arguments)["ts"])

    def steer(self, what: str, **body: Any) -> Any:
        answer = self.http.post(f"{self.sandbox.address}/_control/chat/{what}", json=body, timeout=10)
        assert 200 == answer.status_code, answer.text
        return answer.json()

    def act(self, action: str, **fields: Any) -> dict[str, Any]:
        return dict(self.steer("act", action=action, **fields))

    def reset(self) -> None:
        self.http.post(f"{self.sandbox.address}/_control/reset", timeout=10)

    def pages(self, method: str, key: str, **arguments: Any) -> list[list[dict[str, Any]]]:
        pages, cursor = [], ""
        while True:
            answer = self(method, cursor=cursor, **arguments)
            pages.append(answer[key])
            cursor = answer.get("response_metadata", {}).get("next_cursor", "")
            if not cursor:
                return pages


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with playing(chat=ChatEmulator) as started:
        yield started


@pytest.fixture(scope="module")
def http() -> Iterator[requests.Session]:
    with requests.Session() as session:
        yield session


@pytest.fixture
def chat(sandbox: Sandbox, http: requests.Session) -> Chat:
    found = Chat(sandbox, sandbox.emulators["chat"].credentials()["token"], http)
    found.reset()
    return found


@pytest.fixture
def clock(sandbox: Sandbox, chat: Chat) -> Iterator[Frozen]:
    stage = sandbox.emulators["chat"].stage
    real, stage.clock = stage.clock, Frozen(1_790_000_000.0)
    chat.reset()
    yield stage.clock
    stage.clock = real


@pytest.fixture
def inbox(chat: Chat) -> Iterator[Inbox]:
    with receiving() as listening:
        chat.steer("knobs", events_url=listening.address)
        yield listening


# The wire


def test_the_listed_routes_are_those_served(sandbox: Sandbox) -> None:
    application = sandbox.emulators["chat"].applications()["base"]

    assert sorted(route.path for route in ROUTES) == sorted(
        resource.canonical for resource in application.router.resources()
    )


@pytest.mark.parametrize(
    "options",
    [
        {"data": {"channel": GENERAL}},
        {"json": {"channel": GENERAL}},
        {"files": {"channel": (None, GENERAL)}},
        {"params": {"channel": GENERAL}, "verb": "GET"},
    ],
    ids=["form", "json", "multipart", "query"],
)
def test_arguments_are_taken_in_every_form(chat: Chat, options: dict[str, Any]) -> None:
    answer = chat.send("conversations.info", **options)

    assert (200, "general") == (answer.status_code, answer.json()["channel"]["name"])


def test_a_token_is_taken_from_a_form_but_not_from_json_or_the_address(chat: Chat) -> None:
    bare = {"headers": {"Authorization": ""}}

    form = chat.send("auth.test", data={"token": chat.token}, **bare).json()
    in_json = chat.send("auth.test", json={"token": chat.token}, **bare).json()
    query = chat.send("auth.test", params={"token": chat.token}, verb="GET", **bare).json()

    assert [True, "not_authed", "not_authed"] == [form["ok"], in_json["error"], query["error"]]


def test_an_empty_json_body_is_no_arguments(chat: Chat) -> None:
    answer = chat.send("auth.test", headers={"Content-Type": "application/json;charset=utf-8"}).json()

    assert {
        "ok": True,
        "url": "https://northwind-labs.slack.com/",
        "team": "Northwind Labs",
        "team_id": "T04NW2K7QLM",
        "user": "relay",
        "user_id": "U05RELAYBOT",
        "bot_id": "B05RELAY9KD",
        "is_enterprise_install": False,
    } == answer


@pytest.mark.parametrize(
    ("kind", "body", "error"),
    [
        ("application/json; charset=utf-8", b"{", "invalid_json"),
        ("application/json; charset=utf-8", b"\xff", "invalid_json"),
        ("application/json; charset=utf-8", b"[" * 100_000, "invalid_json"),
        ("application/json; charset=utf-8", b"[]", "json_not_object"),
        ("application/json; charset=utf-16", b"{}", "invalid_charset"),
        ("application/xml", b"<a/>", "invalid_post_type"),
        ("application/x-www-form-urlencoded", b"a=\xff", "invalid_form_data"),
        ("multipart/form-data", b"no boundary", "invalid_form_data"),
    ],
)
def test_a_body_that_cannot_be_read_is_refused(chat: Chat, kind: str, body: bytes, error: str) -> None:
    answer = chat.send("auth.test", data=body, headers={"Content-Type": kind})

    assert (200, False, error) == (answer.status_code, answer.json()["ok"], answer.json()["error"])


def test_a_body_without_a_type_is_refused(chat: Chat) -> None:
    answer = chat.send("auth.test", data=b"channel=C1").json()

    assert {"ok": False, "error": "missing_post_type"} == answer


def test_json_without_a_charset_is_remarked_on(chat: Chat) -> None:
    answer = chat.send("conversations.info", json={"channel": GENERAL}).json()

    assert ["missing_charset", ["missing_charset"]] == [answer["warning"], answer["response_metadata"]["warnings"]]


def test_a_missing_or_untextual_argument_is_named(chat: Chat) -> None:
    missing = chat("conversations.info")
    number = chat.send("conversations.info", json={"channel": 5}).json()

    assert ["invalid_arguments", "invalid_arguments"] == [missing["error"], number["error"]]
    assert ["[ERROR] missing required field: channel"] == missing["response_metadata"]["messages"]
    assert ["[ERROR] must be a string [json-pointer:/channel]"] == number["response_metadata"]["messages"]


def test_unknown_methods_and_paths_are_refused_in_the_vendors_words(chat: Chat) -> None:
    unknown = chat.send("chat.shout")
    wrong_verb = chat.send("auth.test", verb="PUT").json()
    page = requests.get(f"{chat.address}/nowhere", timeout=10)

    assert (200, {"ok": False, "error": "unknown_method", "req_method": "chat.shout"}) == (
        unknown.status_code,
        unknown.json(),
    )
    assert "unknown_method" == wrong_verb["error"]
    assert (404, "text/html; charset=utf-8") == (page.status_code, page.headers["Content-Type"])


def test_a_bug_is_answered_in_the_dialect(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat.sandbox.emulators["chat"], "limits", None)

    answer = chat.send("auth.test")

    assert (500, {"ok": False, "error": "internal_error"}) == (answer.status_code, answer.json())


# Tokens and scopes


def test_tokens_that_are_missing_or_unknown_are_refused(chat: Chat) -> None:
    missing = chat.send("auth.test", headers={"Authorization": ""}).json()
    unknown = chat.send("auth.test", headers={"Authorization": "Bearer xoxb-1"}).json()

    assert ["not_authed", "invalid_auth"] == [missing["error"], unknown["error"]]


def test_a_missing_scope_is_named_with_those_there_are(chat: Chat) -> None:
    chat.steer("knobs", scopes="channels:read,users:read")

    post = chat("chat.postMessage", channel=GENERAL, text="x")
    groups = chat("conversations.list", types="public_channel,private_channel")
    private = chat("conversations.info", channel="C04PRIVATE1")
    public = chat("conversations.info", channel=GENERAL)

    assert {
        "ok": False,
        "error": "missing_scope",
        "needed": "chat:write",
        "provided": "channels:read,users:read",
    } == post
    assert ["groups:read", "groups:read"] == [groups["needed"], private["needed"]]
    assert public["ok"]


def test_scopes_stand_in_the_headers_of_those_let_in(chat: Chat) -> None:
    answer = chat.send("reactions.get")
    stranger = chat.let_in_by("xoxb-1").send("reactions.get")

    assert SCOPES == answer.headers["x-oauth-scopes"]
    assert "reactions:read" == answer.headers["x-accepted-oauth-scopes"]
    assert "x-oauth-scopes" not in stranger.headers


def test_a_revoked_application_is_refused_until_it_is_authorised(chat: Chat) -> None:
    chat.steer("revoke")
    refused = chat("auth.test")
    chat.steer("authorise")
    again = chat("auth.test")

    assert [{"ok": False, "error": "account_inactive"}, True] == [refused, again["ok"]]


@pytest.mark.parametrize("method", ["auth.revoke", "apps.uninstall"])
def test_revoking_the_token_removes_the_application(chat: Chat, method: str) -> None:
    client = {"client_id": access.CLIENT_ID, "client_secret": access.CLIENT_SECRET}
    tried = chat("auth.revoke", test="1")
    done = chat(method, **client)
    after = chat("auth.test")

    assert [False, True, "account_inactive"] == [tried["revoked"], done["ok"], after["error"]]


def test_uninstalling_takes_the_clients_own_secret(chat: Chat) -> None:
    answer = chat("apps.uninstall", client_id=access.CLIENT_ID, client_secret="guess")

    assert "bad_client_secret" == answer["error"]


# Consent


def consent(chat: Chat, **query: str) -> requests.Response:
    asked = {
        "client_id": access.CLIENT_ID,
        "scope": "chat:write,channels:read",
        "redirect_uri": "https://app.example/back?a=1",
        "state": "s t",
    } | query
    return requests.get(f"{chat.address}/oauth/v2/authorize", params=asked, allow_redirects=False, timeout=10)


def code_of(answer: requests.Response) -> str:
    return parse_qs(urlsplit(answer.headers["Location"]).query)["code"][0]


def exchange(chat: Chat, *, basic: bool = True, **fields: str) -> dict[str, Any]:
    client = {"client_id": access.CLIENT_ID, "client_secret": access.CLIENT_SECRET}
    form = ({} if basic else client) | {"redirect_uri": "https://app.example/back?a=1"} | fields
    auth = (access.CLIENT_ID, access.CLIENT_SECRET) if basic else None
    address = f"{chat.address}/api/oauth.v2.access"
    return dict(requests.post(address, data=form, auth=auth, timeout=10).json())


def test_the_consent_page_asks_and_sends_the_decision_back(chat: Chat) -> None:
    page = consent(chat)
    denied = consent(chat, decision="deny")
    allowed = consent(chat, decision="allow")

    assert (200, True) == (page.status_code, "chat:write" in page.text)
    assert "https://app.example/back?a=1&error=access_denied&state=s+t" == denied.headers["Location"]
    assert allowed.headers["Location"].endswith("&state=s+t")


def test_consent_can_be_given_by_itself(chat: Chat) -> None:
    chat.steer("knobs", auto_approve=True)

    assert 302 == consent(chat).status_code


@pytest.mark.parametrize(
    ("query", "refusal"),
    [
        ({"client_id": "1.2"}, "invalid_client_id"),
        ({"scope": ""}, "no_scopes"),
        ({"redirect_uri": "javascript:alert(1)"}, "bad_redirect_uri"),
        ({"redirect_uri": "http://[::"}, "bad_redirect_uri"),
    ],
)
def test_the_consent_page_refuses_what_it_cannot_ask(chat: Chat, query: dict[str, str], refusal: str) -> None:
    answer = consent(chat, auto_approve="1", **query)

    assert (200, True) == (answer.status_code, refusal in answer.text)


@pytest.mark.parametrize("basic", [True, False], ids=["basic", "form"])
def test_a_code_is_exchanged_once(chat: Chat, *, basic: bool) -> None:
    code = code_of(consent(chat, auto_approve="1"))

    granted = exchange(chat, basic=basic, code=code)
    again = exchange(chat, basic=basic, code=code)

    token = granted.pop("access_token")
    assert {
        "ok": True,
        "app_id": "A05RELAY7X2",
        "authed_user": {"id": "U04NW000001"},
        "scope": SCOPES,
        "token_type": "bot",
        "bot_user_id": "U05RELAYBOT",
        "team": {"id": "T04NW2K7QLM", "name": "Northwind Labs"},
        "enterprise": None,
        "is_enterprise_install": False,
    } == granted
    assert {"ok": False, "error": "invalid_code"} == again
    assert chat.let_in_by(token)("auth.test")["ok"]


def test_a_removed_application_is_installed_again_with_what_is_granted_now(chat: Chat) -> None:
    chat.steer("revoke")

    granted = exchange(chat, code=code_of(consent(chat, auto_approve="1")))

    assert "chat:write,channels:read" == granted["scope"]
    assert "account_inactive" == chat("auth.test")["error"]
    assert chat.let_in_by(granted["access_token"])("conversations.info", channel=GENERAL)["ok"]


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"code": "x"}, "invalid_code"),
        ({"redirect_uri": "https://other.example/"}, "bad_redirect_uri"),
        ({"grant_type": "password"}, "invalid_grant_type"),
        ({"grant_type": "refresh_token", "refresh_token": "x"}, "invalid_refresh_token"),
        ({"client_secret": "x"}, "bad_client_secret"),
        ({"client_id": "x"}, "invalid_client_id"),
    ],
)
def test_an_exchange_that_does_not_fit_is_refused(chat: Chat, fields: dict[str, str], error: str) -> None:
    code = code_of(consent(chat, auto_approve="1"))

    assert exchange(chat, basic=False, **({"code": code} | fields)) == {"ok": False, "error": error}


def test_a_code_grows_old(chat: Chat, clock: Frozen) -> None:
    code = code_of(consent(chat, auto_approve="1"))
    clock.at += 600

    assert "invalid_code" == exchange(chat, code=code)["error"]


def test_a_challenge_needs_its_verifier(chat: Chat) -> None:
    challenge = {"code_challenge": access.challenge_of("v" * 43), "code_challenge_method": "S256"}

    wrong = exchange(chat, code=code_of(consent(chat, auto_approve="1", **challenge)))
    right = exchange(chat, code=code_of(consent(chat, auto_approve="1", **challenge)), code_verifier="v" * 43)

    assert ["invalid_code_verifier", True] == [wrong["error"], right["ok"]]


def refresh(chat: Chat, token: str) -> dict[str, Any]:
    return exchange(chat, grant_type="refresh_token", refresh_token=token)


def test_rotating_tokens_expire_and_are_refreshed(chat: Chat, clock: Frozen) -> None:
    chat.steer("knobs", rotation=True)
    first = exchange(chat, code=code_of(consent(chat, auto_approve="1")))
    clock.at += 43_200
    expired = chat.let_in_by(first["access_token"])("auth.test")
    second = refresh(chat, first["refresh_token"])
    remaining = chat.let_in_by(second["access_token"])("auth.test")["expires_in"]

    assert ("xoxe.xoxb-1-", "xoxe-1-") == (first["access_token"][:12], first["refresh_token"][:7])
    assert [43_200, "bot", 43_200] == [second["expires_in"], second["token_type"], remaining]
    assert {"ok": False, "error": "token_expired"} == expired


def test_a_refresh_token_is_taken_again_only_for_a_short_while(chat: Chat, clock: Frozen) -> None:
    chat.steer("knobs", rotation=True)
    token = exchange(chat, code=code_of(consent(chat, auto_approve="1")))["refresh_token"]
    refresh(chat, token)
    clock.at += 30
    soon = refresh(chat, token)
    clock.at += 31
    late = refresh(chat, token)

    assert [True, "invalid_refresh_token"] == [soon["ok"], late["error"]]


def test_a_third_rotating_token_ends_the_oldest(chat: Chat) -> None:
    chat.steer("knobs", rotation=True)
    first = exchange(chat, code=code_of(consent(chat, auto_approve="1")))
    second = refresh(chat, first["refresh_token"])
    third = refresh(chat, second["refresh_token"])
    answers = [chat.let_in_by(pair["access_token"])("auth.test") for pair in (first, second, third)]

    assert ["token_revoked", None, None] == [answer.get("error") for answer in answers]


def test_revoking_a_rotating_token_ends_it_alone(chat: Chat) -> None:
    chat.steer("knobs", rotation=True)
    pair = exchange(chat, code=code_of(consent(chat, auto_approve="1")))
    rotating = chat.let_in_by(pair["access_token"])
    rotating("auth.revoke")

    assert ["token_revoked", True] == [rotating("auth.test")["error"], chat("auth.test")["ok"]]


def test_a_legacy_token_is_swapped_once(chat: Chat) -> None:
    client = {"client_id": access.CLIENT_ID, "client_secret": access.CLIENT_SECRET}
    swapped = chat("oauth.v2.exchange", token=chat.token, **client)
    again = chat("oauth.v2.exchange", token=chat.token, **client)

    assert [43_200, "token_revoked"] == [swapped["expires_in"], again["error"]]


# Posting


def test_a_post_is_answered_with_its_message(chat: Chat) -> None:
    answer = chat("chat.postMessage", channel=GENERAL, text="deploy *ok* ✅")

    message = answer["message"]
    assert "U05RELAYBOT" == message.pop("bot_profile")["user_id"]
    assert answer == {
        "ok": True,
        "channel": GENERAL,
        "ts": answer["ts"],
        "message": {
            "type": "message",
            "ts": answer["ts"],
            "text": "deploy *ok* ✅",
            "team": "T04NW2K7QLM",
            "user": "U05RELAYBOT",
            "bot_id": "B05RELAY9KD",
            "app_id": "A05RELAY7X2",
        },
    }


@pytest.mark.parametrize(
    ("named", "channel"),
    [
        ("general", GENERAL),
        ("#general", GENERAL),
        ("finance", UNJOINED_PUBLIC),
        ("war-room", "C04WARROOM1"),
        ("東京オフィス", "C04TOKYO001"),
        ("G04WARROOM2", "G04WARROOM2"),
        ("U04NW000002", "D04IM000001"),
        ("D04IM000001", "D04IM000001"),
    ],
)
def test_a_post_goes_to_ids_public_names_and_people(chat: Chat, named: str, channel: str) -> None:
    assert channel == chat("chat.postMessage", channel=named, text="x")["channel"]


def test_a_post_to_somebody_new_opens_a_conversation(chat: Chat) -> None:
    posted = chat("chat.postMessage", channel="U04NW000030", text="hello")
    found = chat("conversations.open", users="U04NW000030")

    assert (posted["channel"][0], posted["channel"], True) == ("D", found["channel"]["id"], found["already_open"])


@pytest.mark.parametrize(
    ("channel", "error"),
    [
        ("C04NOWHERE1", "channel_not_found"),
        ("leadership-sync", "channel_not_found"),
        ("C04FOREIGN1", "channel_not_found"),
        (FOREIGN_IM, "channel_not_found"),
        (DELETED_IM, "channel_not_found"),
        ("U04NW000045", "channel_not_found"),
        ("U04NOBODY01", "channel_not_found"),
        ("C04ARCHIVE1", "is_archived"),
        ("C04ARCHIVE2", "is_archived"),
    ],
)
def test_a_post_to_where_the_bot_cannot_go_is_refused(chat: Chat, channel: str, error: str) -> None:
    assert chat("chat.postMessage", channel=channel, text="x") == {"ok": False, "error": error}


def test_unjoined_public_channels_need_a_scope_of_their_own(chat: Chat) -> None:
    with_scope = chat("chat.postMessage", channel=UNJOINED_PUBLIC, text="x")
    chat.steer("knobs", scopes="chat:write")
    without = chat("chat.postMessage", channel=UNJOINED_PUBLIC, text="x")

    assert [True, "not_in_channel"] == [with_scope["ok"], without["error"]]


@pytest.mark.parametrize(
    ("content", "error"),
    [
        ({}, "no_text"),
        ({"text": ""}, "no_text"),
        ({"text": "  \n"}, "no_text"),
        ({"text": "x" * 40_001}, "msg_too_long"),
        ({"text": "x", "blocks": "{"}, "invalid_blocks_format"),
        ({"text": "x", "blocks": "[{}]"}, "invalid_blocks"),
        ({"text": "x", "blocks": json.dumps([{"type": "divider"}] * 51)}, "invalid_blocks"),
        ({"text": "x", "attachments": "5"}, "invalid_attachments"),
        ({"text": "x", "attachments": json.dumps([{}] * 101)}, "too_many_attachments"),
        ({"text": "x", "metadata": "{"}, "invalid_metadata_format"),
        ({"text": "x", "metadata": "[]"}, "invalid_metadata_format"),
        ({"text": "x", "metadata": '{"event_type": "a"}'}, "invalid_metadata_schema"),
        (
            {"text": "x", "metadata": json.dumps({"event_type": "a", "event_payload": {"k": "x" * 9000}})},
            "metadata_too_large",
        ),
        ({"text": "x", "thread_ts": "17"}, "invalid_thread_ts"),
        ({"text": "x", "thread_ts": "1700000000.000001"}, "thread_not_found"),
    ],
)
def test_a_post_that_does_not_fit_is_refused(chat: Chat, content: dict[str, str], error: str) -> None:
    assert error == chat("chat.postMessage", channel=GENERAL, **content)["error"]


def test_the_longest_post_is_kept_whole(chat: Chat) -> None:
    answer = chat("chat.postMessage", channel=GENERAL, text="ü" * 40_000)

    assert 40_000 == len(answer["message"]["text"])


def test_long_posts_can_be_split_as_the_vendor_used_to(chat: Chat) -> None:
    chat.steer("knobs", long_text="split")
    answer = chat("chat.postMessage", channel=GENERAL, text="a" * 4_000 + "b")
    newest = chat("conversations.history", channel=GENERAL, limit=2)["messages"]

    assert [message["text"] for message in newest] == ["b", "a" * 4_000]
    assert answer["ts"] == newest[1]["ts"]


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("a & b < c > d", "a &amp; b &lt; c &gt; d"),
        ("a &amp; b", "a &amp; b"),
        (
            "<@U04NW000002> <https://a.example/?b&c|label> <!here>",
            "<@U04NW000002> <https://a.example/?b&c|label> <!here>",
        ),
        ("> quoted <b>", "&gt; quoted &lt;b&gt;"),
    ],
)
def test_special_characters_are_escaped_outside_markup(sent: str, kept: str) -> None:
    assert kept == escaped(sent)


def test_metadata_is_kept_and_shown_on_request_only(chat: Chat) -> None:
    metadata = {"event_type": "gw_post", "event_payload": {"k": "9f"}}
    ts = chat.post("marked", metadata=json.dumps(metadata))
    nested = chat.send("chat.postMessage", json={"channel": GENERAL, "text": "also", "metadata": metadata}).json()
    chat("chat.update", channel=GENERAL, ts=ts, text="changed")
    shown = chat("conversations.history", channel=GENERAL, limit=2, include_all_metadata="1")["messages"]
    hidden = chat("conversations.history", channel=GENERAL, limit=2)["messages"]

    assert [metadata, metadata] == [message["metadata"] for message in shown]
    assert [nested["ts"], ts] == [message["ts"] for message in hidden]
    assert [] == [message for message in hidden if "metadata" in message]


def test_ids_of_messages_grow_even_while_the_clock_stands(chat: Chat, clock: Frozen) -> None:
    made = [chat.post(f"{number}") for number in range(5)]

    assert ["1790000000.000000", "1790000000.000001"] == made[:2]
    assert all(earlier < later for earlier, later in pairwise(made))


def test_a_repeated_client_message_id_is_a_new_post_unless_switched_off(chat: Chat) -> None:
    first = chat.post("x", client_msg_id="6f-1")
    second = chat.post("x", client_msg_id="6f-1")
    chat.steer("knobs", dedupe_client_msg_id=True)
    third = chat.post("x", client_msg_id="6f-1")

    assert first != second
    assert second == third


# Threads and addresses


def test_a_reply_is_read_with_its_thread_and_not_in_the_history(chat: Chat) -> None:
    root = chat.post("root")
    replies = [chat.post("one", thread_ts=root), chat.post("two", thread_ts=root)]
    thread = chat("conversations.replies", channel=GENERAL, ts=root)
    newest = chat("conversations.history", channel=GENERAL, limit=1)["messages"][0]

    assert [root, *replies] == [message["ts"] for message in thread["messages"]]
    assert [root, "U05RELAYBOT"] == [thread["messages"][1][key] for key in ("thread_ts", "parent_user_id")]
    assert (root, 2, replies[1]) == (newest["ts"], newest["reply_count"], newest["latest_reply"])


def test_a_reply_to_a_reply_joins_the_same_thread(chat: Chat) -> None:
    root = chat.post("root")
    reply = chat.post("one", thread_ts=root)
    answer = chat("chat.postMessage", channel=GENERAL, text="two", thread_ts=reply)

    assert root == answer["message"]["thread_ts"]


def test_a_reply_to_a_reply_may_be_made_to_stray_where_nobody_sees_it(chat: Chat) -> None:
    chat.steer("knobs", reply_to_reply="stray")
    root = chat("chat.postMessage", channel=GENERAL, text="root")["ts"]
    first = chat("chat.postMessage", channel=GENERAL, text="first", thread_ts=root)["ts"]
    stray = chat("chat.postMessage", channel=GENERAL, text="second", thread_ts=first)

    shown = chat("conversations.replies", channel=GENERAL, ts=root)["messages"]
    assert first == stray["message"]["thread_ts"]
    assert ["root", "first"] == [message["text"] for message in shown]


def test_a_broadcast_reply_is_in_the_history_too(chat: Chat) -> None:
    root = chat.post("root")
    reply = chat.post("all", thread_ts=root, reply_broadcast="true")
    newest = chat("conversations.history", channel=GENERAL, limit=1)["messages"][0]

    assert (reply, "thread_broadcast") == (newest["ts"], newest["subtype"])


def test_a_thread_named_by_a_number_swallows_the_message(chat: Chat, clock: Frozen) -> None:
    root = chat.post("root")
    lost = chat.send("chat.postMessage", json={"channel": GENERAL, "text": "lost", "thread_ts": float(root)}).json()
    thread = chat("conversations.replies", channel=GENERAL, ts=root)["messages"]
    newest = chat("conversations.history", channel=GENERAL, limit=1)["messages"]

    assert lost["ok"]
    assert [[root], [root]] == [[message["ts"] for message in found] for found in (thread, newest)]


def test_addresses_name_the_thread_where_there_is_one(chat: Chat) -> None:
    alone, root = chat.post("alone"), chat.post("root")
    reply = chat.post("reply", thread_ts=root)
    links = [
        chat("chat.getPermalink", channel=GENERAL, message_ts=ts)["permalink"].partition(f"{GENERAL}/")[2]
        for ts in (alone, root, reply)
    ]

    thread = f"?thread_ts={root}&cid={GENERAL}"
    assert [f"p{alone}", f"p{root}{thread}", f"p{reply}{thread}"] == [f"{link[:11]}.{link[11:]}" for link in links]


@pytest.mark.parametrize(("channel", "error"), [("C04FOREIGN1", "channel_not_found"), (GENERAL, "message_not_found")])
def test_addresses_of_nothing_are_refused(chat: Chat, channel: str, error: str) -> None:
    assert error == chat("chat.getPermalink", channel=channel, message_ts="1700000000.000001")["error"]


# Editing and deleting


def test_an_edit_says_who_and_when(chat: Chat, clock: Frozen) -> None:
    ts = chat.post("before", blocks='[{"type": "divider"}]', attachments='[{"text": "kept"}]')
    clock.at += 54.5
    answer = chat("chat.update", channel=GENERAL, ts=ts, text="after")

    assert {"user": "U05RELAYBOT", "ts": "1790000054.000000"} == answer["message"]["edited"]
    assert ("after", "after", False) == (answer["text"], answer["message"]["text"], "blocks" in answer["message"])
    assert [{"id": 1, "text": "kept"}] == answer["message"]["attachments"]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"ts": "1759000200.000200"}, "cant_update_message"),
        ({"ts": "1700000000.000001"}, "message_not_found"),
        ({"text": "x" * 4_001}, "msg_too_long"),
        ({"text": "x" * 3_996 + "&"}, "msg_too_long"),
        ({"text": ""}, "no_text"),
        ({"channel": "general"}, "channel_not_found"),
        ({"channel": "U04NW000002"}, "channel_not_found"),
    ],
)
def test_an_edit_that_cannot_be_is_refused(chat: Chat, arguments: dict[str, str], error: str) -> None:
    wanted = {"channel": GENERAL, "ts": "1759000100.000100", "text": "x"} | arguments

    assert error == chat("chat.update", **wanted)["error"]


def test_archived_channels_and_closed_windows_refuse_edits(chat: Chat, clock: Frozen) -> None:
    ts = chat.post("x")
    chat.steer("knobs", edit_window_seconds=60)
    clock.at += 61
    late = chat("chat.update", channel=GENERAL, ts=ts, text="y")
    chat.act("archive", channel_id=GENERAL)
    archived = chat("chat.update", channel=GENERAL, ts=ts, text="y")

    assert ["edit_window_closed", "is_inactive"] == [late["error"], archived["error"]]


def test_own_messages_can_be_deleted(chat: Chat) -> None:
    alone, root = chat.post("alone"), chat.post("root")
    chat.post("reply", thread_ts=root)
    answers = [chat("chat.delete", channel=GENERAL, ts=ts) for ts in (alone, root, "1759000200.000200", alone)]
    newest = chat("conversations.history", channel=GENERAL, limit=1)["messages"][0]

    assert [{"ok": True, "channel": GENERAL, "ts": alone}, True] == [answers[0], answers[1]["ok"]]
    assert ["cant_delete_message", "message_not_found"] == [answer["error"] for answer in answers[2:]]
    assert (root, "tombstone") == (newest["ts"], newest["subtype"])


# Conversations


def test_lists_show_what_the_bot_sees(chat: Chat) -> None:
    everything = [
        channel
        for page in chat.pages("conversations.list", "channels", types="public_channel,private_channel,im", limit=200)
        for channel in page
    ]
    by_id = {channel["id"]: channel for channel in everything}

    assert by_id.keys() >= {GENERAL, UNJOINED_PUBLIC, "C04PRIVATE1", "G04WARROOM2", "C04ARCHIVE1", DELETED_IM}
    assert not by_id.keys() & {"C04FOREIGN1", "G04FINANCE2", FOREIGN_IM}
    assert (True, False) == (by_id[GENERAL]["is_member"], by_id[UNJOINED_PUBLIC]["is_member"])
    assert 46 == by_id[GENERAL]["num_members"]
    assert (True, False) == (by_id["G04WARROOM2"]["is_group"], by_id["G04WARROOM2"]["is_channel"])


def test_an_im_has_a_user_and_no_name(chat: Chat) -> None:
    left = chat("conversations.info", channel=DELETED_IM)["channel"]

    assert ("U04NW000045", True) == (left["user"], left["is_user_deleted"])
    assert not left.keys() & {"name", "is_private", "num_members", "is_member"}


def test_lists_are_public_only_unless_types_are_given(chat: Chat) -> None:
    plain = chat("conversations.list", limit=999)["channels"]
    misspelt = chat("conversations.list", limit=999, type="private_channel")["channels"]

    assert [False, False] == [any(c["is_private"] for c in found) for found in (plain, misspelt)]


def test_pages_are_cut_before_they_are_filtered(chat: Chat) -> None:
    pages = chat.pages("conversations.list", "channels", limit=25, exclude_archived="true")
    lengths = [len(page) for page in pages]
    whole = chat("conversations.list", limit=999, exclude_archived="1")["channels"]

    assert 0 in lengths[:-1]
    assert whole == [channel for page in pages for channel in page]


def test_cursors_look_like_the_vendors(chat: Chat) -> None:
    cursor = chat("conversations.list", limit=10)["response_metadata"]["next_cursor"]

    assert cursor.endswith("=")


@pytest.mark.parametrize(
    ("method", "arguments", "error"),
    [
        ("conversations.list", {"cursor": "nonsense"}, "invalid_cursor"),
        ("conversations.list", {"cursor": "ü"}, "invalid_cursor"),
        ("conversations.history", {"channel": GENERAL, "cursor": "ü"}, "invalid_cursor"),
        ("conversations.list", {"cursor": "dGVhbTpDMQ=="}, "invalid_cursor"),
        ("conversations.list", {"types": "channels"}, "invalid_types"),
        ("conversations.list", {"types": "public_channel,mpim"}, "missing_scope"),
        ("conversations.list", {"limit": "1000"}, "invalid_limit"),
        ("conversations.list", {"limit": "-1"}, "invalid_limit"),
        ("conversations.list", {"limit": "many"}, "invalid_limit"),
        ("users.conversations", {"user": "U04NOBODY01"}, "user_not_found"),
        ("users.list", {"cursor": "dGVhbTpDMQ=="}, "invalid_cursor"),
        ("users.info", {"user": "U04NOBODY01"}, "user_not_found"),
        ("conversations.info", {"channel": "C04FOREIGN1"}, "channel_not_found"),
        ("conversations.members", {"channel": FOREIGN_IM}, "channel_not_found"),
        ("conversations.history", {"channel": UNJOINED_PUBLIC}, "not_in_channel"),
        ("conversations.history", {"channel": "C04FOREIGN1"}, "channel_not_found"),
        ("conversations.history", {"channel": "general"}, "channel_not_found"),
        ("conversations.history", {"channel": GENERAL, "oldest": "soon"}, "invalid_ts_oldest"),
        ("conversations.history", {"channel": GENERAL, "latest": "now"}, "invalid_ts_latest"),
        ("conversations.history", {"channel": GENERAL, "cursor": "bmV4dF90czp4"}, "invalid_cursor"),
        ("conversations.replies", {"channel": GENERAL, "ts": "1700000000.000001"}, "thread_not_found"),
        ("conversations.join", {"channel": "C04ARCHIVE2"}, "is_archived"),
        ("conversations.join", {"channel": "C04FOREIGN1"}, "channel_not_found"),
        ("conversations.join", {"channel": "C04PRIVATE1"}, "method_not_supported_for_channel_type"),
        ("conversations.open", {}, "users_list_not_supplied"),
        ("conversations.open", {"users": "U04NOBODY01"}, "user_not_found"),
        ("conversations.open", {"users": "U04NW000045"}, "user_disabled"),
        ("conversations.open", {"users": "U04NW000002,U04NW000003"}, "missing_scope"),
        ("conversations.open", {"users": ",".join(["U04NW000002"] * 9)}, "too_many_users"),
        ("conversations.open", {"channel": GENERAL}, "method_not_supported_for_channel_type"),
    ],
)
def test_requests_that_cannot_be_met_are_refused(
    chat: Chat, method: str, arguments: dict[str, str], error: str
) -> None:
    assert error == chat(method, **arguments)["error"]


def test_memberships_come_without_counts(chat: Chat) -> None:
    pages = chat.pages("users.conversations", "channels", types="public_channel,private_channel", limit=200)
    found = {channel["id"]: channel for page in pages for channel in page}

    assert found.keys() >= {GENERAL, "C04PRIVATE1"}
    assert UNJOINED_PUBLIC not in found
    assert not found[GENERAL].keys() & {"num_members", "is_member"}


def test_counts_of_one_channel_come_on_request(chat: Chat) -> None:
    plain = chat("conversations.info", channel=GENERAL)["channel"]
    counted = chat("conversations.info", channel=GENERAL, include_num_members="true")["channel"]

    assert (False, 46) == ("num_members" in plain, counted["num_members"])


def test_members_are_paged(chat: Chat) -> None:
    pages = chat.pages("conversations.members", "members", channel=GENERAL, limit=20)

    assert [20, 20, 6] == [len(page) for page in pages]


def test_joining_twice_is_remarked_on(chat: Chat) -> None:
    first = chat("conversations.join", channel=UNJOINED_PUBLIC)
    second = chat("conversations.join", channel=UNJOINED_PUBLIC)

    assert (True, "already_in_channel") == (first["channel"]["is_member"], second["warning"])
    assert "channel_join" == chat("conversations.history", channel=UNJOINED_PUBLIC, limit=1)["messages"][0]["subtype"]


def test_history_is_paged_newest_first(chat: Chat) -> None:
    pages = chat.pages("conversations.history", "messages", channel=GENERAL, limit=50)
    ids = [message["ts"] for page in pages for message in page]
    whole = chat("conversations.history", channel=GENERAL, limit=999)

    assert ids == sorted(ids, reverse=True)
    assert ids == [message["ts"] for message in whole["messages"]]
    assert (False, False) == (whole["has_more"], "response_metadata" in whole)


def test_history_is_bounded_by_time(chat: Chat) -> None:
    a, b, c = (chat.post(text) for text in "abc")

    def ids(**arguments: str) -> list[str]:
        return [message["ts"] for message in chat("conversations.history", channel=GENERAL, **arguments)["messages"]]

    assert [c, b] == ids(oldest=a)
    assert [c, b, a] == ids(oldest=a, inclusive="1")
    assert [b] == ids(oldest=a, latest=c)
    assert [c, b, a] == ids(oldest=a, latest=c, inclusive="true")


def test_threads_are_paged_oldest_first_from_their_parent_on(chat: Chat) -> None:
    root = chat.post("root")
    replies = [chat.act("message", channel_id=GENERAL, text=f"{n}", thread_ts=root)["ts"] for n in range(4)]
    pages = chat.pages("conversations.replies", "messages", channel=GENERAL, ts=root, limit=2)
    since = chat("conversations.replies", channel=GENERAL, ts=root, oldest=replies[2])["messages"]
    alone = chat("conversations.replies", channel=GENERAL, ts=replies[0])["messages"]

    assert [[root, replies[0]], replies[1:3], replies[3:]] == [[m["ts"] for m in page] for page in pages]
    assert [[root, replies[3]], [replies[0]]] == [[m["ts"] for m in found] for found in (since, alone)]


def test_the_restricted_tier_reads_fifteen_once_a_minute(chat: Chat, clock: Frozen) -> None:
    chat.steer("knobs", history_tier="restricted")
    first = chat("conversations.history", channel=GENERAL, limit=200)
    second = chat.send("conversations.history", data={"channel": "C04PRIVATE1"})
    replies = chat("conversations.replies", channel=GENERAL, ts="1759000100.000100")
    clock.at += 60
    third = chat("conversations.history", channel=GENERAL, cursor=first["response_metadata"]["next_cursor"])

    assert (15, 15, True) == (len(first["messages"]), len(third["messages"]), replies["ok"])
    assert (429, "60") == (second.status_code, second.headers["Retry-After"])


# People and reactions


def test_people_are_listed_whole_or_in_pages(chat: Chat) -> None:
    whole = chat("users.list")["members"]
    pages = chat.pages("users.list", "members", limit=20)

    assert [20, 20, 9] == [len(page) for page in pages]
    assert whole == [user for page in pages for user in page]
    assert {"田中 さくら", "Slackbot"} <= {user["profile"]["real_name"] for user in whole}


def test_a_person_is_shown_by_id(chat: Chat) -> None:
    user = chat("users.info", user="U04NW000002")["user"]

    assert ("Zoë Brandt", False, "zoe") == (user["real_name"], user["deleted"], user["profile"]["display_name"])


def test_a_reaction_is_added_once_per_user(chat: Chat) -> None:
    item = {"channel": GENERAL, "timestamp": "1759000200.000200"}
    chat.act("react", channel_id=GENERAL, ts=item["timestamp"], name="eyes", user="U04NW000002")
    first = chat("reactions.add", name="eyes", **item)
    second = chat("reactions.add", name="eyes", **item)
    shown = chat("reactions.get", **item)["message"]["reactions"]

    assert [{"ok": True}, {"ok": False, "error": "already_reacted"}] == [first, second]
    assert {"name": "eyes", "users": ["U04NW000002", "U05RELAYBOT"], "count": 2} in shown


def test_a_reaction_is_removed_once(chat: Chat) -> None:
    item = {"channel": GENERAL, "timestamp": "1759000100.000100", "name": "rocket"}
    chat("reactions.add", **item)
    answers = [chat("reactions.remove", **item) for _ in range(2)]

    assert [{"ok": True}, {"ok": False, "error": "no_reaction"}] == answers


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("thumbsup", "+1"),
        ("thumbsup::skin-tone-3", "+1::skin-tone-3"),
        ("party_parrot", "party_parrot"),
        ("thumbsup::skin-tone-7", None),
        ("eyes::skin-tone-3", None),
        ("party_parrot::skin-tone-3", None),
        (":eyes:", None),
        ("no_such_thing", None),
    ],
)
def test_emoji_are_known_by_name(name: str, kept: str | None) -> None:
    assert kept == canonical(name)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"name": "no_such_thing"}, "invalid_name"),
        ({"timestamp": "17"}, "bad_timestamp"),
        ({"timestamp": "1700000000.000001"}, "message_not_found"),
        ({"timestamp": ""}, "no_item_specified"),
        ({"channel": ""}, "no_item_specified"),
        ({"channel": "general"}, "channel_not_found"),
        ({"channel": "C04FOREIGN1"}, "channel_not_found"),
        ({"channel": UNJOINED_PUBLIC}, "not_in_channel"),
    ],
)
def test_a_reaction_that_cannot_be_is_refused(chat: Chat, arguments: dict[str, str], error: str) -> None:
    wanted = {"channel": GENERAL, "timestamp": "1759000100.000100", "name": "eyes"} | arguments

    assert error == chat("reactions.add", **wanted)["error"]


def test_archived_channels_take_no_reactions(chat: Chat) -> None:
    ts = chat("conversations.history", channel="C04ARCHIVE1", limit=1)["messages"][0]["ts"]

    assert "is_archived" == chat("reactions.add", channel="C04ARCHIVE1", timestamp=ts, name="eyes")["error"]


def test_one_user_reacts_so_often_and_no_more(chat: Chat) -> None:
    chat.steer("knobs", limits=False)
    item = {"channel": GENERAL, "timestamp": "1759000100.000100"}
    names = [f"clock{hour}{half}" for half in ("", "30") for hour in range(1, 13)]
    answers = [chat("reactions.add", name=name, **item) for name in names]

    assert [answer["ok"] for answer in answers[:-1]] == [True] * 23
    assert "too_many_reactions" == answers[-1]["error"]


def test_added_emoji_are_listed(chat: Chat) -> None:
    assert "alias:squirrel" == chat("emoji.list")["emoji"]["shipit"]


# Limits


def test_a_method_is_throttled_by_itself(chat: Chat, clock: Frozen) -> None:
    answers = [chat.send("users.list", data={"limit": 1}) for _ in range(21)]
    other = chat("auth.test")
    clock.at += 59.5
    waiting = chat.send("users.list")
    clock.at += 0.5
    after = chat.send("users.list")

    assert [answer.status_code for answer in answers] == [200] * 20 + [429]
    assert ("60", {"ok": False, "error": "ratelimited"}) == (answers[-1].headers["Retry-After"], answers[-1].json())
    assert ("1", True, 200) == (waiting.headers["Retry-After"], other["ok"], after.status_code)


@pytest.mark.parametrize(
    ("method", "per_minute"),
    [
        ("conversations.list", 20),
        ("users.conversations", 50),
        ("conversations.history", 50),
        ("conversations.members", 100),
        ("chat.postMessage", 300),
        ("chat.update", 50),
        ("reactions.add", 50),
        ("auth.test", 600),
    ],
)
def test_budgets_are_the_vendors(chat: Chat, method: str, per_minute: int) -> None:
    limits = chat.sandbox.emulators["chat"].limits  # type: ignore[attr-defined]

    assert per_minute == limits._per_minute(method, METHODS[method].per_minute)


def test_a_channel_takes_a_post_a_second_after_a_small_burst(chat: Chat, clock: Frozen) -> None:
    burst = [chat.send("chat.postMessage", data={"channel": GENERAL, "text": "x"}) for _ in range(6)]
    elsewhere = chat("chat.postMessage", channel="random", text="x")
    clock.at += 1
    after = [chat.send("chat.postMessage", data={"channel": GENERAL, "text": "x"}).status_code for _ in range(2)]

    assert [answer.status_code for answer in burst] == [200] * 5 + [429]
    assert ("1", "rate_limited") == (burst[-1].headers["Retry-After"], burst[-1].json()["error"])
    assert (True, [200, 429]) == (elsewhere["ok"], after)


def test_throttling_can_be_switched_off(chat: Chat) -> None:
    chat.steer("knobs", limits=False)

    assert all(chat("users.list", limit=1)["ok"] for _ in range(25))


# Steering


def test_a_reset_repeats_the_same_state(chat: Chat, clock: Frozen) -> None:
    def play() -> tuple[Any, ...]:
        code = code_of(consent(chat, auto_approve="1"))
        posted = chat("chat.postMessage", channel="U04NW000033", text="x")
        return code, posted, chat("conversations.list", limit=999), chat("conversations.history", channel=GENERAL)

    first = play()
    chat.act("message", channel_id=GENERAL, text="more")
    chat.steer("revoke")
    chat.reset()

    assert first == play()


def test_the_examples_are_what_they_say(chat: Chat) -> None:
    examples = chat.sandbox.emulators["chat"].examples()
    workspace = chat.sandbox.emulators["chat"].workspace  # type: ignore[attr-defined]
    channel = workspace.channels[examples["channel_id"]]

    assert examples["channel"] == channel.name
    assert workspace.is_member(channel)
    assert workspace.is_member(workspace.channels[examples["private_channel_id"]])
    assert not workspace.sees(workspace.channels[examples["foreign_private_channel_id"]])
    assert workspace.channels[examples["archived_channel_id"]].is_archived
    assert "U05RELAYBOT" == channel.messages[examples["message_ts"]].user
    assert examples["user_id"] == channel.messages[examples["foreign_message_ts"]].user


def test_the_seed_is_a_workspace_with_a_past(chat: Chat) -> None:
    workspace = chat.sandbox.emulators["chat"].workspace  # type: ignore[attr-defined]
    channels = workspace.channels.values()

    assert (277, 49) == (len(channels), len(workspace.users))
    assert sum(len(channel.messages) for channel in channels) > 1_000
    assert all(list(channel.messages) == sorted(channel.messages) for channel in channels)


def test_people_talk_invite_and_archive(chat: Chat) -> None:
    said = chat.act("message", channel_id="C04FOREIGN1", text="a < b")
    chat.act("invite", channel_id="C04FOREIGN1")
    newest = chat("conversations.history", channel="C04FOREIGN1", limit=2)["messages"]
    chat.act("archive", channel_id="C04FOREIGN1")
    archived = chat("chat.postMessage", channel="C04FOREIGN1", text="x")
    chat.act("unarchive", channel_id="C04FOREIGN1")
    chat.act("kick", channel_id="C04FOREIGN1")
    kicked = chat("conversations.info", channel="C04FOREIGN1")

    assert [("channel_join", None), (None, "a &lt; b")] == [
        (newest[0].get("subtype"), None),
        (newest[1].get("subtype"), newest[1]["text"]),
    ]
    assert (said["ts"], "is_archived", "channel_not_found") == (newest[1]["ts"], archived["error"], kicked["error"])


def test_people_create_and_rename_channels(chat: Chat) -> None:
    channel = chat.act("create", name="new-plans")["channel_id"]
    chat.act("rename", channel_id=channel, name="newer-plans")
    shown = chat("conversations.info", channel=channel)["channel"]

    assert ("newer-plans", ["new-plans"]) == (shown["name"], shown["previous_names"])


@pytest.mark.parametrize(
    "action",
    [
        {},
        {"action": "dance"},
        {"action": "message", "channel_id": "C04NOWHERE1", "text": "x"},
        {"action": "message", "channel_id": GENERAL},
        {"action": "message", "channel_id": GENERAL, "text": "x", "user": "U04NOBODY01"},
        {"action": "message", "channel_id": GENERAL, "text": "x", "thread_ts": "1"},
        {"action": "message", "channel_id": GENERAL, "text": "x", "subtype": "odd"},
        {"action": "message", "channel_id": "C04ARCHIVE1", "text": "x"},
        {"action": "message", "channel_id": "D04IM000001", "text": "x", "user": "U04NW000009"},
        {"action": "edit", "channel_id": GENERAL, "ts": "1", "text": "x"},
        {"action": "react", "channel_id": GENERAL, "ts": "1759000100.000100", "name": "odd_thing"},
        {"action": "invite", "channel_id": "D04IM000001"},
        {"action": "archive", "channel_id": "D04IM000001"},
        {"action": "rename", "channel_id": GENERAL, "name": "Big Name"},
        {"action": "create", "name": "general"},
        {"action": "verify_url"},
    ],
)
def test_what_people_cannot_do_is_a_value_error(chat: Chat, action: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=r".+"):
        chat.sandbox.emulators["chat"].act(action)


# Faults


def history_length(chat: Chat) -> int:
    return len(chat("conversations.history", channel=GENERAL, limit=999)["messages"])


@pytest.mark.parametrize(("kind", "written"), [("drop_before", 0), ("drop_after", 1)], ids=["before", "after"])
def test_a_connection_is_cut_around_the_write(chat: Chat, kind: str, written: int) -> None:
    before = history_length(chat)
    chat.steer("faults", fault=kind, path="/api/chat.postMessage")
    with pytest.raises(requests.ConnectionError):
        chat.post("x")

    assert written == history_length(chat) - before


def test_a_failing_answer_may_be_a_page(chat: Chat) -> None:
    before = history_length(chat)
    chat.steer("faults", fault="status", status=503, body="<html>down</html>", path="/api/chat")
    answer = chat.send("chat.postMessage", data={"channel": GENERAL, "text": "x"})

    assert (503, "<html>down</html>", before) == (answer.status_code, answer.text, history_length(chat))


def test_an_answer_may_be_garbage_or_late_or_slow(chat: Chat, clock: Frozen) -> None:
    chat.steer("faults", fault="garbage", path="/api/auth.test")
    chat.steer("faults", fault="delay", seconds=30, path="/api/auth.test")
    chat.steer("faults", fault="slow_body", seconds=10, path="/api/auth.test")
    answers = [chat.send("auth.test") for _ in range(3)]

    assert answers[0].content.startswith(b'{"broken"')
    assert [True, True] == [answer.json()["ok"] for answer in answers[1:]]
    assert clock.at == pytest.approx(1_790_000_040)


def test_a_fatal_error_may_follow_the_write(chat: Chat) -> None:
    before = history_length(chat)
    chat.steer("knobs", fatal_after_commit=1)
    refused = chat("chat.postMessage", channel=GENERAL, text="x")
    accepted = chat("chat.postMessage", channel=GENERAL, text="y")

    assert ({"ok": False, "error": "fatal_error"}, True) == (refused, accepted["ok"])
    assert 2 == history_length(chat) - before


# Events


def test_a_message_is_delivered_in_an_envelope(chat: Chat, inbox: Inbox) -> None:
    said = chat.act("message", channel_id=GENERAL, text="deploy now", user="U04NW000007")
    envelope = inbox.next()

    event = envelope["event"]
    assert ("event_callback", "T04NW2K7QLM", "A05RELAY7X2") == (
        envelope["type"],
        envelope["team_id"],
        envelope["api_app_id"],
    )
    assert envelope["event_id"].startswith("Ev")
    assert "U05RELAYBOT" == envelope["authorizations"][0]["user_id"]
    assert (said["ts"], said["ts"], "U04NW000007") == (event["ts"], event["event_ts"], event["user"])
    assert (
        "message",
        GENERAL,
        "channel",
        "deploy now",
    ) == tuple(event[key] for key in ("type", "channel", "channel_type", "text"))


def test_the_bots_own_posts_are_delivered_with_their_metadata(chat: Chat, inbox: Inbox) -> None:
    metadata = {"event_type": "gw_post", "event_payload": {"k": "9f"}}
    chat.post("x", channel="G04WARROOM2", metadata=json.dumps(metadata))
    event = inbox.next()["event"]

    assert ("group", "B05RELAY9KD", metadata) == (event["channel_type"], event["bot_id"], event["metadata"])


def test_edits_previews_and_deletions_are_delivered_as_such(chat: Chat, inbox: Inbox) -> None:
    ts = chat.post("before")
    inbox.next()
    chat("chat.update", channel=GENERAL, ts=ts, text="after")
    edited = inbox.next()["event"]
    chat.act("unfurl", channel_id=GENERAL, ts=ts)
    unfurled = inbox.next()["event"]
    chat("chat.delete", channel=GENERAL, ts=ts)
    deleted = inbox.next()["event"]

    assert ("message_changed", "before", "after") == (
        edited["subtype"],
        edited["previous_message"]["text"],
        edited["message"]["text"],
    )
    assert (True, edited["message"]["edited"]) == (unfurled["hidden"], unfurled["message"]["edited"])
    assert ("message_deleted", ts) == (deleted["subtype"], deleted["deleted_ts"])


def test_channels_without_the_bot_are_silent(chat: Chat, inbox: Inbox) -> None:
    chat.act("message", channel_id="C04FOREIGN1", text="secret")
    chat.act("message", channel_id=UNJOINED_PUBLIC, text="elsewhere")
    chat.act("message", channel_id=GENERAL, text="heard")

    assert "heard" == inbox.next()["event"]["text"]


@pytest.mark.parametrize(
    ("act", "types"),
    [
        (lambda chat: chat.act("invite", channel_id="C04FOREIGN1"), ["member_joined_channel", "message"]),
        (lambda chat: chat.act("archive", channel_id=GENERAL), ["message", "channel_archive"]),
        (lambda chat: chat.act("archive", channel_id="G04WARROOM2"), ["message", "group_archive"]),
        (lambda chat: chat.act("rename", channel_id=UNJOINED_PUBLIC, name="money"), ["channel_rename"]),
        (lambda chat: chat.act("create", name="fresh"), ["channel_created"]),
        (lambda chat: chat.steer("revoke"), ["tokens_revoked", "app_uninstalled"]),
        (lambda chat: chat("auth.revoke"), ["tokens_revoked", "app_uninstalled"]),
    ],
)
def test_changes_around_the_bot_are_delivered(
    chat: Chat, inbox: Inbox, act: Callable[[Chat], Any], types: list[str]
) -> None:
    act(chat)

    assert sorted(types) == sorted(inbox.next()["event"]["type"] for _ in types)


def test_a_removed_application_hears_nothing_more(chat: Chat, inbox: Inbox) -> None:
    chat.steer("revoke")
    last = {inbox.next()["event"]["type"] for _ in range(2)}
    chat.act("message", channel_id=GENERAL, text="unheard")
    chat.steer("authorise")
    chat.act("message", channel_id=GENERAL, text="heard")

    assert (last, "heard") == ({"tokens_revoked", "app_uninstalled"}, inbox.next()["event"]["text"])


def test_a_failed_delivery_is_tried_three_times_more(chat: Chat, clock: Frozen, inbox: Inbox) -> None:
    inbox.answers += [(500, {}, b"")] * 4
    chat.act("message", channel_id=GENERAL, text="x")
    tries = [inbox.take() for _ in range(4)]

    assert 1 == len({json.loads(body)["event_id"] for _, body in tries})
    assert [
        (None, None),
        ("1", "http_error"),
        ("2", "http_error"),
        ("3", "http_error"),
    ] == [(headers.get("X-Slack-Retry-Num"), headers.get("X-Slack-Retry-Reason")) for headers, _ in tries]


def test_a_slow_answer_counts_as_none(chat: Chat, clock: Frozen, inbox: Inbox) -> None:
    chat.steer("knobs", ack_seconds=0.05)
    inbox.answers.append((200, {"Content-Length": "5"}, b""))
    chat.act("message", channel_id=GENERAL, text="x")
    inbox.take()

    assert "http_timeout" == inbox.take()[0]["X-Slack-Retry-Reason"]


def test_a_receiver_may_refuse_retries(chat: Chat, clock: Frozen, inbox: Inbox) -> None:
    inbox.answers.append((500, {"X-Slack-No-Retry": "1"}, b""))
    chat.act("message", channel_id=GENERAL, text="first")
    inbox.take()
    chat.act("message", channel_id=GENERAL, text="second")

    assert "second" == inbox.next()["event"]["text"]


def test_too_many_redirects_are_a_failure(chat: Chat, clock: Frozen, inbox: Inbox) -> None:
    inbox.answers += [(307, {"Location": inbox.address}, b"")] * 3
    chat.act("message", channel_id=GENERAL, text="x")
    tries = [inbox.take()[0] for _ in range(4)]

    assert "too_many_redirects" == tries[3]["X-Slack-Retry-Reason"]


def test_an_event_can_come_twice_under_two_ids(chat: Chat, inbox: Inbox) -> None:
    chat.steer("knobs", deliver_twice=True)
    chat.act("message", channel_id=GENERAL, text="x")
    first, second = inbox.next(), inbox.next()

    assert first["event"] == second["event"]
    assert first["event_id"] != second["event_id"]


def test_events_can_come_in_disorder(chat: Chat, inbox: Inbox) -> None:
    chat.steer("knobs", deliver_disordered=True)
    chat.act("message", channel_id=GENERAL, text="first")
    chat.act("message", channel_id=GENERAL, text="second")

    assert ["second", "first"] == [inbox.next()["event"]["text"] for _ in range(2)]


def test_too_many_events_are_dropped_and_said_so(chat: Chat, inbox: Inbox) -> None:
    chat.steer("knobs", events_per_hour=1)
    chat.act("message", channel_id=GENERAL, text="x")
    inbox.take()
    chat.act("message", channel_id=GENERAL, text="y")
    limited = inbox.next()

    assert ("app_rate_limited", "T04NW2K7QLM", False) == (limited["type"], limited["team_id"], "event" in limited)


@pytest.mark.parametrize(("answer", "reason"), [((200, {}, b"repeat"), None), ((200, {}, b"ok"), "challenge_mismatch")])
def test_an_address_proves_itself_by_repeating_the_challenge(
    chat: Chat, inbox: Inbox, answer: Answer, reason: str | None
) -> None:
    inbox.answers.append(answer)
    challenge = chat.act("verify_url")["challenge"]
    asked = inbox.next()
    chat.act("message", channel_id=GENERAL, text="x")
    inbox.take()
    first = next(d for d in chat.act("deliveries")["deliveries"] if d["type"] == "url_verification")

    assert ("url_verification", challenge) == (asked["type"], asked["challenge"])
    assert (200, reason) == (first["status"], first["reason"])


def test_ids_of_events_do_not_return_after_a_reset(chat: Chat, inbox: Inbox) -> None:
    chat.act("message", channel_id=GENERAL, text="x")
    before = inbox.next()["event_id"]
    chat.reset()
    chat.steer("knobs", events_url=inbox.address)
    chat.act("message", channel_id=GENERAL, text="x")

    assert before != inbox.next()["event_id"]
