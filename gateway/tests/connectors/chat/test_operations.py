"""The chat operations, from the caller's side, against the emulator on real HTTP."""

from datetime import datetime
from typing import Any

import pytest

from gateway.tests.connectors.chat.vendor_view import (
    ARCHIVED,
    EMPTY,
    FOREIGN,
    GENERAL,
    OURS,
    PERSON,
    PRIVATE,
    RANDOM,
    THEIRS,
    UNJOINED,
    count_requests,
    find_channels,
    get_scopes_without,
    message,
    workspace,
)
from harness.gateway_server import Gateway, Reply, Restarting
from harness.requirement import requirement

UNKNOWN_TS = "1700000000.000001"


def post(gateway: Gateway, text: str, channel: str = RANDOM, **more: Any) -> str:
    return str(gateway.post("/chat/messages", channel=channel, text=text, **more).data["message_ts"])


# Posting


@requirement("chat-1", "common-3", "common-11", "common-12")
def test_the_response_to_a_post_contains_only_the_message(gateway: Gateway) -> None:
    reply = gateway.post("/chat/messages", channel=RANDOM, text="deploy *ok*")

    ts = reply.data["message_ts"]
    assert {"run_id", "connector", "status", "data"} == set(reply.body)
    assert ("chat", "ok") == (reply.body["connector"], reply.body["status"])
    assert reply.data == {
        "message_ts": ts,
        "channel_id": RANDOM,
        "permalink": f"https://northwind-labs.slack.com/archives/{RANDOM}/p{ts.replace('.', '')}",
        "posted_at": reply.data["posted_at"],
    }
    assert datetime.fromisoformat(reply.data["posted_at"]).timestamp() == pytest.approx(float(ts), abs=1e-3)
    assert "deploy *ok*" == message(gateway, RANDOM, ts).text


@requirement("chat-2", "chat-3")
@pytest.mark.parametrize(
    ("channel", "channel_id"),
    [
        ("general", GENERAL),
        ("#general", GENERAL),
        ("General", GENERAL),
        ("GENERAL", GENERAL),
        ("#GENERAL", GENERAL),
        ("#Büro-BERLIN", "C04BERLIN01"),
        ("büro-berlin", "C04BERLIN01"),
        ("bu\u0308ro-berlin", "C04BERLIN01"),
        ("東京オフィス", "C04TOKYO001"),
        ("leadership-sync", PRIVATE),
        ("finance", UNJOINED),
        (PRIVATE, PRIVATE),
        (PERSON, "D04IM000001"),
    ],
)
def test_a_channel_is_specified_by_identifier_name_or_person(gateway: Gateway, channel: str, channel_id: str) -> None:
    assert channel_id == gateway.post("/chat/messages", channel=channel, text="named").data["channel_id"]


def test_a_first_post_to_a_person_opens_the_conversation(gateway: Gateway) -> None:
    posted = gateway.post("/chat/messages", channel="U04NW000030", text="hello there").data

    assert posted["channel_id"].startswith("D")
    assert find_channels(gateway, "hello there") == [posted["channel_id"]]


@requirement("chat-25")
@pytest.mark.parametrize("person", ["U04NW000045", "U00NOBODY00", "U05DEPLOYER"])
def test_a_person_without_direct_messages_is_rejected(gateway: Gateway, person: str) -> None:
    assert "channel_not_found" == gateway.post("/chat/messages", channel=person, text="hello").code


@requirement("chat-7")
def test_a_reply_is_posted_in_its_thread(gateway: Gateway) -> None:
    root = post(gateway, "a question")

    reply = gateway.post("/chat/messages", channel=RANDOM, text="an answer", thread_ts=root).data

    assert message(gateway, RANDOM, reply["message_ts"]).thread_ts == root
    assert reply["permalink"].endswith(f"?thread_ts={root}&cid={RANDOM}")


@requirement("chat-8")
def test_a_reply_to_a_reply_is_posted_in_the_same_thread(gateway: Gateway) -> None:
    gateway.knob("chat", reply_to_reply="stray")
    root = post(gateway, "a question")
    first = post(gateway, "an answer", thread_ts=root)

    reply = gateway.post("/chat/messages", channel=RANDOM, text="a question to that", thread_ts=first).data

    assert root == message(gateway, RANDOM, reply["message_ts"]).thread_ts
    assert reply["permalink"].endswith(f"?thread_ts={root}&cid={RANDOM}")


@requirement("chat-8")
def test_the_thread_of_another_authors_reply_is_looked_up_once(gateway: Gateway) -> None:
    gateway.knob("chat", reply_to_reply="stray")
    theirs = gateway.act("chat", action="message", channel_id=GENERAL, text="theirs", thread_ts=THEIRS)["ts"]

    replies = [post(gateway, f"ours {number}", GENERAL, thread_ts=theirs) for number in range(2)]

    assert [THEIRS, THEIRS] == [message(gateway, GENERAL, ts).thread_ts for ts in replies]
    assert 1 == count_requests(gateway, "conversations.replies")


def test_the_thread_of_an_own_message_needs_no_lookup(gateway: Gateway) -> None:
    root = post(gateway, "a question")

    post(gateway, "an answer", thread_ts=root)

    assert 0 == count_requests(gateway, "conversations.replies")


def test_without_the_read_scope_a_reply_is_posted_to_its_target(gateway: Gateway) -> None:
    gateway.knob("chat", scopes=get_scopes_without("channels:history"))

    ts = post(gateway, "blindly", GENERAL, thread_ts=OURS)

    assert OURS == message(gateway, GENERAL, ts).thread_ts


def test_a_reply_is_posted_to_its_target_after_a_failed_lookup(
    gateway: Gateway, restartable_gateway: Restarting
) -> None:
    ration = {"status": 429, "headers": {"Retry-After": "600"}, "body": {"ok": False, "error": "ratelimited"}}
    gateway.fault("chat", path="/api/conversations.replies", fault="status", **ration)
    theirs = gateway.act("chat", action="message", channel_id=EMPTY, text="theirs")["ts"]

    with restartable_gateway() as rationed:
        ts = post(rationed, "without a look", EMPTY, thread_ts=theirs)

    assert theirs == message(gateway, EMPTY, ts).thread_ts


def test_a_reply_to_a_message_missing_in_its_thread_is_rejected(gateway: Gateway) -> None:
    nothing = {"ok": True, "messages": []}
    gateway.fault("chat", path="/api/conversations.replies", fault="status", status=200, body=nothing)
    theirs = gateway.act("chat", action="message", channel_id=EMPTY, text="theirs")["ts"]

    response = gateway.post("/chat/messages", channel=EMPTY, text="to nothing", thread_ts=theirs)

    assert (404, "thread_not_found") == (response.status, response.code)
    assert [] == find_channels(gateway, "to nothing")


@pytest.mark.parametrize("capitals", ["CNOSUCHCHANNEL", "UNOSUCHPERSON"])
def test_an_unknown_identifier_is_rejected(gateway: Gateway, capitals: str) -> None:
    response = gateway.post("/chat/messages", channel=capitals, text="to nobody")

    assert (404, "channel_not_found") == (response.status, response.code)
    assert "channel_not_found" == gateway.get("/chat/events", channel=capitals).code


def test_the_permalink_equals_that_of_the_vendor(gateway: Gateway) -> None:
    root = post(gateway, "permalink root")
    posted = gateway.post("/chat/messages", channel=RANDOM, text="permalink reply", thread_ts=root).data
    address = gateway.sandbox.emulators["chat"].context.addresses["base"]
    token = gateway.sandbox.emulators["chat"].credentials()["token"]

    theirs = gateway.http.get(
        f"{address}/api/chat.getPermalink",
        params={"channel": RANDOM, "message_ts": posted["message_ts"]},
        headers={"Authorization": f"Bearer {token}"},
    )

    assert theirs.json()["permalink"] == posted["permalink"]


def test_an_unknown_thread_is_rejected(gateway: Gateway) -> None:
    response = gateway.post("/chat/messages", channel=RANDOM, text="lost", thread_ts=UNKNOWN_TS)

    assert (404, "thread_not_found") == (response.status, response.code)
    assert [] == find_channels(gateway, "lost")


@requirement("chat-5")
def test_markup_reaches_the_vendor_unchanged(gateway: Gateway) -> None:
    text = f"*bold* <@{PERSON}> <https://example.com|link> &amp; :tada:\n> quoted"

    ts = post(gateway, text)

    assert message(gateway, RANDOM, ts).text == text.replace("\n> ", "\n&gt; ")


@requirement("chat-6")
def test_forty_thousand_characters_are_one_message(gateway: Gateway) -> None:
    ts = post(gateway, "é" * 40_000)

    assert message(gateway, RANDOM, ts).text == "é" * 40_000


@requirement("chat-6")
@pytest.mark.parametrize("text", ["x" * 40_001, "", "  \n "])
def test_invalid_text_is_rejected_without_a_vendor_request(gateway: Gateway, text: str) -> None:
    response = gateway.post("/chat/messages", channel=RANDOM, text=text)

    assert (422, "invalid_parameters") == (response.status, response.code)
    assert ["text"] == [detail["parameter"] for detail in response.details]
    assert [] == gateway.journal("chat")


def test_the_marker_of_a_post_does_not_contain_the_key(gateway: Gateway) -> None:
    ts = post(gateway, "marked", idempotency_key="a secret of the caller's")

    metadata = message(gateway, RANDOM, ts).metadata
    assert metadata is not None
    assert {"k"} == metadata["event_payload"].keys()
    assert "secret" not in str(metadata)


# Channels that cannot be posted into


@requirement("chat-25")
@pytest.mark.parametrize("channel", [FOREIGN, "compensation-2025", "C00NOWHERE0", "no-such-channel", "#nowhere"])
def test_an_unknown_channel_and_a_private_one_without_invitation_are_not_found(gateway: Gateway, channel: str) -> None:
    response = gateway.post("/chat/messages", channel=channel, text="hello")

    assert (404, "channel_not_found") == (response.status, response.code)


@requirement("chat-4")
def test_a_private_channel_is_found_after_an_invitation(gateway: Gateway) -> None:
    before = gateway.post("/chat/messages", channel="team-checkout-private", text="now?", idempotency_key="invited")
    gateway.act("chat", action="invite", channel_id="C04PRV00001")

    after = gateway.post("/chat/messages", channel="team-checkout-private", text="now?", idempotency_key="invited")

    assert "channel_not_found" == before.code
    assert "C04PRV00001" == after.data["channel_id"]


@requirement("chat-26")
@pytest.mark.parametrize("channel", [UNJOINED, "finance"])
def test_a_post_without_membership_requires_the_public_scope(gateway: Gateway, channel: str) -> None:
    gateway.knob("chat", scopes=get_scopes_without("chat:write.public"))

    response = gateway.post("/chat/messages", channel=channel, text="outside")

    assert (403, "not_in_channel") == (response.status, response.code)
    assert [] == find_channels(gateway, "outside")


@requirement("chat-28")
@pytest.mark.parametrize("channel", [ARCHIVED, "2024-project-01"])
def test_an_archived_channel_is_rejected(gateway: Gateway, channel: str) -> None:
    response = gateway.post("/chat/messages", channel=channel, text="hello")

    assert (409, "channel_archived") == (response.status, response.code)


@requirement("chat-27")
@pytest.mark.parametrize("name", ["war-room", "#war-room"])
def test_an_ambiguous_name_is_rejected_with_the_identifiers(gateway: Gateway, name: str) -> None:
    response = gateway.post("/chat/messages", channel=name, text="which?")

    assert (409, "ambiguous_channel") == (response.status, response.code)
    assert {"C04WARROOM1", "G04WARROOM2"} == {detail["channel_id"] for detail in response.details}
    assert [] == find_channels(gateway, "which?")


# Names


def test_names_are_read_once_for_many_posts(gateway: Gateway) -> None:
    post(gateway, "first", "general")
    before = count_requests(gateway, "conversations.list")

    post(gateway, "second", "random")
    post(gateway, "third", "news-billing")

    assert count_requests(gateway, "conversations.list") == before


def test_a_channel_that_was_renamed_is_found_by_its_new_name(gateway: Gateway) -> None:
    post(gateway, "before", "ops-billing")
    channel_id = find_channels(gateway, "before")[0]
    gateway.act("chat", action="rename", channel_id=channel_id, name="ops-invoices")

    assert gateway.post("/chat/messages", channel="ops-invoices", text="after").data["channel_id"] == channel_id


def test_a_reused_name_means_the_new_channel_once_the_old_is_archived(gateway: Gateway) -> None:
    post(gateway, "to the old one", "team-platform")
    old = find_channels(gateway, "to the old one")[0]
    gateway.act("chat", action="rename", channel_id=old, name="team-platform-old")
    gateway.act("chat", action="archive", channel_id=old)
    new = gateway.act("chat", action="create", name="team-platform")["channel_id"]

    assert gateway.post("/chat/messages", channel="team-platform", text="to the new one").data["channel_id"] == new


# Editing


@requirement("chat-10", "chat-12")
def test_an_edit_returns_its_time(gateway: Gateway) -> None:
    ts = post(gateway, "draft")

    reply = gateway.patch(f"/chat/messages/{ts}", channel=RANDOM, text="final")

    edited = message(gateway, RANDOM, ts)
    assert "final" == edited.text
    assert edited.edited is not None
    assert {"run_id", "connector", "status", "data"} == set(reply.body)
    assert reply.data == {"message_ts": ts, "channel_id": RANDOM, "edited_at": reply.data["edited_at"]}
    assert datetime.fromisoformat(reply.data["edited_at"]).timestamp() == float(edited.edited["ts"])


@pytest.mark.parametrize(("channel", "channel_id"), [("#random", RANDOM), (PERSON, "D04IM000001")])
def test_an_edit_resolves_the_channel_like_a_post(gateway: Gateway, channel: str, channel_id: str) -> None:
    ts = post(gateway, "draft", channel)

    assert gateway.patch(f"/chat/messages/{ts}", channel=channel, text="final").data["channel_id"] == channel_id


def test_an_edit_retains_the_marker_of_the_post(gateway: Gateway) -> None:
    ts = post(gateway, "draft")
    marked = message(gateway, RANDOM, ts).metadata

    gateway.patch(f"/chat/messages/{ts}", channel=RANDOM, text="final")

    assert message(gateway, RANDOM, ts).metadata == marked


@requirement("chat-6")
@pytest.mark.parametrize("text", ["x" * 4_001, "", " "])
def test_an_invalid_edit_is_rejected_without_a_vendor_request(gateway: Gateway, text: str) -> None:
    response = gateway.patch(f"/chat/messages/{OURS}", channel=GENERAL, text=text)

    assert (422, "invalid_parameters") == (response.status, response.code)
    assert [] == gateway.journal("chat")


@requirement("chat-6")
@pytest.mark.parametrize("text", ["a" * 3_995 + "&", "&amp;" * 800, "<https://example.com/|here>" * 148, "é" * 4_000])
def test_an_edit_at_the_length_limit_after_escaping_is_accepted(gateway: Gateway, text: str) -> None:
    ts = post(gateway, "draft")

    assert 200 == gateway.patch(f"/chat/messages/{ts}", channel=RANDOM, text=text).status


@requirement("chat-6")
@pytest.mark.parametrize("text", ["a" * 3_996 + "&", "<" * 1_001, "> " * 1_000, "&amp;" * 798 + "&lt & co"])
def test_an_edit_that_is_too_long_after_escaping_is_rejected(gateway: Gateway, text: str) -> None:
    response = gateway.patch(f"/chat/messages/{OURS}", channel=GENERAL, text=text)

    assert (422, "invalid_parameters") == (response.status, response.code)
    assert ["text"] == [detail["parameter"] for detail in response.details]
    assert "4,000 characters" in response.details[0]["message"]
    assert [] == gateway.journal("chat")


@requirement("chat-13")
def test_a_message_of_another_author_cannot_be_edited(gateway: Gateway) -> None:
    response = gateway.patch(f"/chat/messages/{THEIRS}", channel=GENERAL, text="mine now")

    assert (403, "not_message_author") == (response.status, response.code)


@requirement("chat-14")
def test_a_missing_message_cannot_be_edited(gateway: Gateway) -> None:
    response = gateway.patch(f"/chat/messages/{UNKNOWN_TS}", channel=GENERAL, text="hello")

    assert (404, "message_not_found") == (response.status, response.code)


@requirement("chat-11")
def test_a_message_is_not_found_in_another_channel(gateway: Gateway) -> None:
    assert "message_not_found" == gateway.patch(f"/chat/messages/{OURS}", channel=RANDOM, text="hello").code


def test_a_message_of_an_archived_channel_cannot_be_edited(gateway: Gateway) -> None:
    ts = post(gateway, "last words", EMPTY)
    gateway.act("chat", action="archive", channel_id=EMPTY)

    response = gateway.patch(f"/chat/messages/{ts}", channel=EMPTY, text="hello")
    gateway.act("chat", action="unarchive", channel_id=EMPTY)

    assert (409, "channel_archived") == (response.status, response.code)


def test_an_edit_after_the_edit_window_is_forbidden(gateway: Gateway) -> None:
    gateway.knob("chat", edit_window_seconds=60)

    response = gateway.patch(f"/chat/messages/{OURS}", channel=GENERAL, text="too late")

    assert (403, "upstream_forbidden") == (response.status, response.code)


# Listing channels


@requirement("chat-16", "common-15")
def test_channels_are_listed_with_the_documented_fields(gateway: Gateway) -> None:
    reply = gateway.get("/chat/channels", limit=1)

    assert {"run_id", "connector", "status", "data", "next_cursor"} == set(reply.body)
    assert [{"channel_id": GENERAL, "name": "general", "is_private": False, "member_count": 46}] == reply.data


@requirement("chat-15", "chat-17", "chat-19", "common-5")
def test_every_writable_channel_is_listed_once(gateway: Gateway) -> None:
    listed = [channel["channel_id"] for channel in gateway.items("/chat/channels")]

    space = workspace(gateway)
    open_to_posts = {
        channel.id
        for channel in space.channels.values()
        if channel.type != "im" and not channel.is_archived and (not channel.is_private or space.is_member(channel))
    }
    assert len(listed) == len(set(listed))
    assert set(listed) == open_to_posts


@requirement("chat-15")
def test_without_the_public_scope_only_joined_channels_are_listed(gateway: Gateway) -> None:
    gateway.knob("chat", scopes=get_scopes_without("chat:write.public"))

    listed = {channel["channel_id"] for channel in gateway.items("/chat/channels", limit=200)}

    assert GENERAL in listed
    assert UNJOINED not in listed


@requirement("chat-17")
@pytest.mark.parametrize(
    ("types", "private"), [("public", {False}), ("private", {True}), ("public,private", {False, True})]
)
def test_channels_are_listed_by_type(gateway: Gateway, types: str, private: set[bool]) -> None:
    assert private == {channel["is_private"] for channel in gateway.items("/chat/channels", types=types, limit=200)}


@requirement("chat-17")
def test_direct_conversations_are_listed_with_the_person(gateway: Gateway) -> None:
    listed = gateway.items("/chat/channels", types="im", limit=200)

    first = next(channel for channel in listed if channel["channel_id"] == "D04IM000001")
    assert {"channel_id": "D04IM000001", "name": PERSON, "is_private": True, "member_count": 2} == first
    assert {"D04IM000014", "D04IM000015"}.isdisjoint(channel["channel_id"] for channel in listed)


def test_a_short_page_is_filled_by_at_most_one_more_request(gateway: Gateway) -> None:
    first = gateway.get("/chat/channels", limit=3)
    second = gateway.get("/chat/channels", limit=3, cursor=first.body["next_cursor"])

    assert 2 == len(first.data)
    assert [] == second.data
    assert second.body["next_cursor"] is not None
    assert 4 == count_requests(gateway, "conversations.list")


def test_a_cursor_that_the_vendor_no_longer_recognises_is_invalid(gateway: Gateway) -> None:
    cursor = gateway.get("/chat/channels", limit=5).body["next_cursor"]
    gateway.fault(
        "chat", path="/api/conversations.list", fault="status", status=200, body=build_vendor_error("invalid_cursor")
    )

    response = gateway.get("/chat/channels", limit=5, cursor=cursor)

    assert (422, "invalid_cursor") == (response.status, response.code)


# Reactions


@requirement("chat-20", "chat-21", "chat-22")
def test_the_response_to_a_reaction_reports_if_it_existed(gateway: Gateway) -> None:
    ts = post(gateway, "react to me")

    first = gateway.post("/chat/reactions", channel=RANDOM, message_ts=ts, emoji="eyes")
    second = gateway.post("/chat/reactions", channel="random", message_ts=ts, emoji=":eyes:")

    assert {"run_id", "connector", "status", "data"} == set(first.body)
    assert first.data == {"message_ts": ts, "emoji": "eyes", "already_present": False}
    assert second.data == {"message_ts": ts, "emoji": "eyes", "already_present": True}


def test_the_reaction_of_another_person_does_not_count(gateway: Gateway) -> None:
    ts = post(gateway, "people react to me")
    gateway.act("chat", action="react", channel_id=RANDOM, ts=ts, name="tada")

    assert not gateway.post("/chat/reactions", channel=RANDOM, message_ts=ts, emoji="tada").data["already_present"]


def test_an_alias_of_the_emoji_counts_as_the_same_reaction(gateway: Gateway) -> None:
    ts = post(gateway, "thumbs")
    gateway.post("/chat/reactions", channel=RANDOM, message_ts=ts, emoji="+1")

    assert gateway.post("/chat/reactions", channel=RANDOM, message_ts=ts, emoji="thumbsup").data["already_present"]


@pytest.mark.parametrize("emoji", ["wave::skin-tone-3", ":wave::skin-tone-3:", "party_parrot", ":+1:"])
def test_skin_tones_and_custom_emoji_are_accepted(gateway: Gateway, emoji: str) -> None:
    ts = post(gateway, "emoji")

    assert gateway.post("/chat/reactions", channel=RANDOM, message_ts=ts, emoji=emoji).data["emoji"] == emoji.strip(":")


@requirement("chat-23")
@pytest.mark.parametrize("emoji", ["no_such_emoji", ":no_such_emoji:", "👀", "wave::skin-tone-9"])
def test_an_unknown_emoji_is_not_found(gateway: Gateway, emoji: str) -> None:
    response = gateway.post("/chat/reactions", channel=GENERAL, message_ts=OURS, emoji=emoji)

    assert (404, "emoji_not_found") == (response.status, response.code)


@pytest.mark.parametrize("emoji", ["", "::", "two words", "a:b"])
def test_an_invalid_emoji_name_is_rejected(gateway: Gateway, emoji: str) -> None:
    response = gateway.post("/chat/reactions", channel=GENERAL, message_ts=OURS, emoji=emoji)

    assert (422, "invalid_parameters") == (response.status, response.code)


@pytest.mark.parametrize(
    ("channel", "ts", "status", "code"),
    [
        (GENERAL, UNKNOWN_TS, 404, "message_not_found"),
        (FOREIGN, OURS, 404, "channel_not_found"),
        ("nowhere", OURS, 404, "channel_not_found"),
        ("war-room", OURS, 409, "ambiguous_channel"),
        (UNJOINED, OURS, 403, "not_in_channel"),
    ],
)
def test_an_unreachable_message_gets_no_reaction(
    gateway: Gateway, channel: str, ts: str, status: int, code: str
) -> None:
    response = gateway.post("/chat/reactions", channel=channel, message_ts=ts, emoji="eyes")

    assert (response.status, response.code) == (status, code)


def test_a_message_of_an_archived_channel_gets_no_reaction(gateway: Gateway) -> None:
    ts = next(iter(workspace(gateway).channels[ARCHIVED].messages))

    response = gateway.post("/chat/reactions", channel=ARCHIVED, message_ts=ts, emoji="eyes")

    assert (409, "channel_archived") == (response.status, response.code)


# Watch settings


@requirement("chat-39")
def test_watch_settings_are_stored_with_the_connection(gateway: Gateway) -> None:
    settings = {"channels": ["general", RANDOM], "keywords": ["outage"]}
    path = f"/v1/connections/{gateway.connections['chat']}"

    changed = gateway.operator("PATCH", path, json={"settings": settings})

    assert changed.data["settings"] == settings


@requirement("chat-39")
@pytest.mark.parametrize(
    "settings", [{"keywords": "outage"}, {"keywords": [" "]}, {"words": []}, {"channels": ["a b"]}]
)
def test_invalid_watch_settings_are_rejected(gateway: Gateway, settings: dict[str, Any]) -> None:
    path = f"/v1/connections/{gateway.connections['chat']}"

    assert "invalid_parameters" == gateway.operator("PATCH", path, json={"settings": settings}).code


# Permissions


@pytest.mark.parametrize(
    ("scope", "method", "path", "body"),
    [
        ("chat:write", "post", "/chat/messages", {"channel": RANDOM, "text": "hello"}),
        ("chat:write", "patch", f"/chat/messages/{OURS}", {"channel": GENERAL, "text": "hello"}),
        ("reactions:write", "post", "/chat/reactions", {"channel": GENERAL, "message_ts": OURS, "emoji": "eyes"}),
        ("groups:read", "get", "/chat/channels", {}),
    ],
)
def test_a_missing_scope_is_reported(
    gateway: Gateway, scope: str, method: str, path: str, body: dict[str, Any]
) -> None:
    gateway.knob("chat", scopes=get_scopes_without(scope))

    response: Reply = getattr(gateway, method)(path, **body)

    assert (403, "connection_scope_missing") == (response.status, response.code)


def build_vendor_error(code: str) -> dict[str, Any]:
    """Return a vendor error."""
    return {"ok": False, "error": code}
