"""The Slack emulator, tested with the vendor's libraries."""

import json
from collections.abc import Iterator, Sequence

import httpx
import pytest
from slack_bolt import App, BoltRequest
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError
from slack_sdk.oauth import AuthorizeUrlGenerator
from slack_sdk.oauth.installation_store import Bot
from slack_sdk.oauth.token_rotation import TokenRotator
from slack_sdk.signature import SignatureVerifier
from slack_sdk.web.async_client import AsyncWebClient

from harness.consent_pages import Browser
from harness.sandbox_server import run_emulators
from harness.webhook_receiver import run_receiver
from workspace_sandbox import Sandbox
from workspace_sandbox.chat import ChatEmulator, access
from workspace_sandbox.kit.state.pickling import dump_state, restore

pytestmark = pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
"""The SDK leaves its connections to the garbage collector."""

GENERAL = "C04GENERAL1"


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with run_emulators(chat=ChatEmulator) as started:
        yield started


@pytest.fixture
def emulator(sandbox: Sandbox) -> ChatEmulator:
    chat_emulator = sandbox.emulators["chat"]
    assert isinstance(chat_emulator, ChatEmulator)
    chat_emulator.context.reset()
    chat_emulator.reset()
    return chat_emulator


@pytest.fixture
def client(emulator: ChatEmulator) -> WebClient:
    return WebClient(token=emulator.credentials()["token"], base_url=api(emulator), retry_handlers=[])


def api(emulator: ChatEmulator) -> str:
    return f"{emulator.context.addresses['base']}/api/"


@pytest.fixture
def async_client(emulator: ChatEmulator) -> AsyncWebClient:
    return AsyncWebClient(token=emulator.credentials()["token"], base_url=api(emulator), retry_handlers=[])


def test_sdk_reads_its_identity(client: WebClient) -> None:
    assert "U05RELAYBOT" == client.auth_test()["user_id"]


def test_sdk_posts_edits_and_deletes_messages(client: WebClient) -> None:
    metadata = {"event_type": "gw_post", "event_payload": {"k": "1"}}
    root = client.chat_postMessage(channel="#general", text="root", metadata=metadata, client_msg_id="6f")
    reply = client.chat_postMessage(channel=GENERAL, text="reply", thread_ts=root["ts"], blocks=[{"type": "divider"}])
    edited = client.chat_update(channel=GENERAL, ts=root["ts"], text="edited")
    link = client.chat_getPermalink(channel=GENERAL, message_ts=reply["ts"])["permalink"]
    thread = client.conversations_replies(channel=GENERAL, ts=root["ts"], include_all_metadata=True)["messages"]
    client.chat_delete(channel=GENERAL, ts=reply["ts"])

    assert (root["channel"], "edited", "U05RELAYBOT") == (GENERAL, edited["text"], edited["message"]["edited"]["user"])
    assert link.endswith(f"?thread_ts={root['ts']}&cid={GENERAL}")
    assert [root["ts"], reply["ts"]] == [message["ts"] for message in thread]
    assert metadata == thread[0]["metadata"]


def test_sdk_pages_through_conversations(client: WebClient) -> None:
    listing = client.conversations_list(types="public_channel,private_channel,im", limit=50, exclude_archived=True)
    pages = [page["channels"] for page in listing]
    names = [channel.get("name", "") for page in pages for channel in page]

    assert [6, True] == [len(pages), {"general", "leadership-sync", "東京オフィス"} <= set(names)]
    assert not any(name.startswith("2024-project") for name in names)


def test_sdk_reads_conversations_and_users(client: WebClient) -> None:
    counted = client.conversations_info(channel=GENERAL, include_num_members=True)["channel"]["num_members"]
    mine = client.users_conversations(types="private_channel", limit=200)["channels"]
    members = client.conversations_members(channel=GENERAL, limit=100)["members"]
    opened = client.conversations_open(users=["U04NW000002"])["channel"]["id"]
    joined = client.conversations_join(channel="C04FINANCE1")["channel"]["is_member"]
    history = client.conversations_history(channel=GENERAL, limit=15, oldest="1700000000", inclusive=False)
    people = client.users_list(limit=40)
    person = client.users_info(user="U04NW000002")["user"]["real_name"]

    assert [46, 46, 15, 40] == [counted, len(members), len(history["messages"]), len(people["members"])]
    assert (True, "D04IM000001", True, "Zoë Brandt") == (bool(mine) or None, opened, joined, person)


def test_sdk_adds_and_removes_reactions(client: WebClient) -> None:
    item = {"channel": GENERAL, "timestamp": "1759000200.000200"}
    client.reactions_add(name="eyes", **item)
    with pytest.raises(SlackApiError) as caught:
        client.reactions_add(name="eyes", **item)
    names = [
        reaction["name"]
        for reaction in client.reactions_get(channel=GENERAL, timestamp=item["timestamp"])["message"]["reactions"]
    ]
    client.reactions_remove(name="eyes", **item)

    assert "already_reacted" == caught.value.response["error"]
    assert "eyes" in names
    assert "party_parrot" in client.emoji_list()["emoji"]


def test_sdk_manages_a_channel_until_it_leaves(client: WebClient, emulator: ChatEmulator) -> None:
    with run_receiver() as inbox:
        emulator.context.knobs["events_url"] = inbox.address
        channel = client.conversations_create(name="ships")["channel"]["id"]
        client.conversations_invite(channel=channel, users=["U04NW000002", "U04NW000003"])
        client.conversations_rename(channel=channel, name="boats")
        client.conversations_setTopic(channel=channel, topic="Sails")
        noted = client.conversations_setPurpose(channel=channel, purpose="All that floats")["channel"]
        client.conversations_kick(channel=channel, user="U04NW000003")
        client.conversations_archive(channel=channel)
        client.conversations_unarchive(channel=channel)
        ts = client.chat_meMessage(channel=channel, text="waves")["ts"]
        client.conversations_mark(channel=channel, ts=ts)
        read = client.conversations_info(channel=channel)["channel"]["last_read"]
        history = client.conversations_history(channel=channel)["messages"]
        client.conversations_leave(channel=channel)
        events = [json.loads(inbox.take()[1])["event"] for _ in range(18)]

    expected = [
        *("channel_created", "channel_rename", "channel_archive", "channel_unarchive", "channel_left"),
        *["member_joined_channel"] * 2,
        *["member_left_channel"] * 2,
        *["message"] * 9,
    ]
    assert sorted(expected) == sorted(event["type"] for event in events)
    assert ("boats", ["ships"], "Sails", "All that floats", ts) == (
        *(noted[name] for name in ("name", "previous_names")),
        *(noted[name]["value"] for name in ("topic", "purpose")),
        read,
    )
    assert ["me_message", "channel_unarchive", "channel_archive", "channel_purpose", "channel_topic"] == [
        one["subtype"] for one in history[:5]
    ]


def test_sdk_uploads_and_downloads_a_file(client: WebClient, emulator: ChatEmulator) -> None:
    with run_receiver() as inbox:
        emulator.context.knobs["events_url"] = inbox.address
        sent = client.files_upload_v2(
            channel=GENERAL, content="1,2\n", filename="n.csv", title="Numbers", initial_comment="See & read"
        )["file"]
        # Read before the reset, which drops pending deliveries.
        events = {json.loads(inbox.take()[1])["event"]["type"] for _ in range(3)}
        state = dump_state(emulator)
        emulator.reset()
        restore(emulator, state)
    file = client.files_info(file=sent["id"])["file"]
    listed = client.files_list(channel=GENERAL, types="all")
    (message, *_) = client.conversations_history(channel=GENERAL, limit=1)["messages"]
    with httpx.Client() as http:
        token = {"Authorization": f"Bearer {client.token}"}
        read, unauthorised = http.get(file["url_private"], headers=token), http.get(file["url_private"])
    client.files_delete(file=sent["id"])
    (stone,) = client.conversations_history(channel=GENERAL, limit=1)["messages"][0]["files"]

    assert {"file_created", "message", "file_shared"} == events
    assert ("Numbers", "csv", 4, [GENERAL], True) == tuple(
        file[name] for name in ("title", "filetype", "size", "channels", "is_public")
    )
    assert ("file_share", "See &amp; read", [sent["id"]]) == (
        *(message[name] for name in ("subtype", "text")),
        [one["id"] for one in message["files"]],
    )
    assert ([sent["id"]], 1) == ([one["id"] for one in listed["files"]], listed["paging"]["total"])
    assert (b"1,2\n", 302, "tombstone") == (read.content, unauthorised.status_code, stone["mode"])
    with pytest.raises(SlackApiError, match="file_deleted"):
        client.files_info(file=sent["id"])


def test_sdk_schedules_messages(client: WebClient, emulator: ChatEmulator, sandbox: Sandbox) -> None:
    soon = int(emulator.context.clock.now()) + 600
    scheduled = client.chat_scheduleMessage(channel=GENERAL, text="later", post_at=soon)
    dropped = client.chat_scheduleMessage(channel=GENERAL, text="never", post_at=soon + 60)["scheduled_message_id"]
    client.chat_deleteScheduledMessage(channel=GENERAL, scheduled_message_id=dropped)
    waiting = client.chat_scheduledMessages_list()["scheduled_messages"]
    with run_receiver() as inbox:
        emulator.context.knobs["events_url"] = inbox.address
        sandbox.clock.set(soon + 1)
        delivered = json.loads(inbox.take()[1])["event"]["text"]
        sandbox.clock.release()
    (posted, *_) = client.conversations_history(channel=GENERAL, limit=1)["messages"]

    assert [(scheduled["scheduled_message_id"], soon, "later")] == [
        (one["id"], one["post_at"], one["text"]) for one in waiting
    ]
    assert ("later", "later", "U05RELAYBOT") == (delivered, posted["text"], posted["user"])


def test_sdk_pins_messages_and_looks_up_users(client: WebClient, emulator: ChatEmulator) -> None:
    item = {"channel": GENERAL, "timestamp": "1759000200.000200"}
    with run_receiver() as inbox:
        emulator.context.knobs["events_url"] = inbox.address
        client.pins_add(**item)
        (pinned,) = client.pins_list(channel=GENERAL)["items"]
        client.pins_remove(**item)
        client.reactions_add(name="eyes", **item)
        (reacted,) = client.reactions_list(limit=5)["items"]
        client.reactions_remove(name="eyes", **item)
        events = [json.loads(inbox.take()[1])["event"]["type"] for _ in range(4)]
    person = client.users_lookupByEmail(email="Zoe@northwind-labs.example")["user"]
    profile = client.users_profile_get(user=person["id"])["profile"]

    assert sorted(["pin_added", "pin_removed", "reaction_added", "reaction_removed"]) == sorted(events)
    assert [item["timestamp"]] * 2 == [pinned["message"]["ts"], reacted["message"]["ts"]]
    assert ("Zoë Brandt", "zoe@northwind-labs.example", "away") == (
        person["real_name"],
        profile["email"],
        client.users_getPresence(user=person["id"])["presence"],
    )
    assert client.chat_postEphemeral(channel=GENERAL, user=person["id"], text="psst")["message_ts"]
    assert ("relay", "northwind-labs", {"a": "1"}) == (
        client.bots_info(bot="B05RELAY9KD")["bot"]["name"],
        client.team_info()["team"]["domain"],
        client.api_test(a="1")["args"],
    )


def test_sdk_receives_rate_limit_errors(client: WebClient) -> None:
    responses = [client.users_list(limit=1)["ok"] for _ in range(20)]
    with pytest.raises(SlackApiError) as caught:
        client.users_list(limit=1)

    assert responses == [True] * 20
    assert (429, "ratelimited") == (caught.value.response.status_code, caught.value.response["error"])
    assert 0 < int(caught.value.response.headers["Retry-After"]) <= 60


def test_sdk_receives_missing_scope_errors(client: WebClient, emulator: ChatEmulator) -> None:
    emulator.context.knobs["scopes"] = "chat:write"
    with pytest.raises(SlackApiError) as caught:
        client.conversations_list()

    assert ("missing_scope", "chat:write") == (caught.value.response["error"], caught.value.response["provided"])


def test_sdk_revokes_its_token(client: WebClient) -> None:
    revoked = client.auth_revoke()["revoked"]
    with pytest.raises(SlackApiError) as caught:
        client.auth_test()

    assert (True, "account_inactive") == (revoked, caught.value.response["error"])


def test_sdk_installs_the_app_and_rotates_tokens(client: WebClient, emulator: ChatEmulator) -> None:
    emulator.context.knobs["rotation"] = True
    back = "https://app.example/back"
    page = AuthorizeUrlGenerator(
        client_id=access.CLIENT_ID,
        scopes=["chat:write"],
        redirect_uri=back,
        authorization_url=f"{emulator.context.addresses['base']}/oauth/v2/authorize",
    ).generate(state="s", team="T04NW2K7QLM")
    with Browser() as browser:
        code = browser.allow(page)["code"]
    secrets = {"client_id": access.CLIENT_ID, "client_secret": access.CLIENT_SECRET}
    granted = client.oauth_v2_access(code=code, redirect_uri=back, **secrets)
    bot = Bot(
        bot_token=granted["access_token"],
        bot_id="B05RELAY9KD",
        bot_user_id=granted["bot_user_id"],
        bot_refresh_token=granted["refresh_token"],
        bot_token_expires_in=60,
        installed_at=emulator.context.clock.now(),
    )
    rotated = TokenRotator(**secrets, client=client).perform_bot_token_rotation(bot=bot, minutes_before_expiration=120)

    assert rotated is not None
    assert rotated.bot_token != granted["access_token"]
    assert client.auth_test(token=rotated.bot_token)["ok"]


async def test_async_sdk_makes_the_same_calls(async_client: AsyncWebClient) -> None:
    identity = await async_client.auth_test()
    posted = await async_client.chat_postMessage(channel=GENERAL, text="x")
    edited = await async_client.chat_update(channel=GENERAL, ts=posted["ts"], text="y")
    listed = await async_client.conversations_list(types="public_channel,private_channel", limit=20)
    pages = [page async for page in await async_client.conversations_members(channel=GENERAL, limit=20)]
    await async_client.reactions_add(channel=GENERAL, timestamp=posted["ts"], name="eyes")
    with pytest.raises(SlackApiError, match="channel_not_found"):
        await async_client.conversations_info(channel="C04FOREIGN1")

    assert ("U05RELAYBOT", "y", 20, 3) == (identity["user_id"], edited["text"], len(listed["channels"]), len(pages))


@pytest.mark.parametrize("ahead", [0, 3600])
def test_delivery_signatures_are_valid_even_with_the_clock_ahead(
    sandbox: Sandbox, emulator: ChatEmulator, ahead: float
) -> None:
    verifier = SignatureVerifier(emulator.credentials()["signing_secret"])
    sandbox.clock.set(sandbox.clock.now() + ahead)
    with run_receiver() as inbox:
        emulator.context.knobs["events_url"] = inbox.address
        emulator.perform({"action": "message", "channel_id": GENERAL, "text": "deploy 🚀"})
        headers, body = inbox.take()
    sandbox.clock.release()

    assert verifier.is_valid_request(body, headers)
    assert not verifier.is_valid_request(body + b" ", headers)


def bolt_request(delivery: tuple[dict[str, str], bytes]) -> BoltRequest:
    headers: dict[str, str | Sequence[str]] = {**delivery[0]}
    return BoltRequest(body=delivery[1].decode(), headers=headers)


def test_bolt_accepts_the_handshake_and_events(client: WebClient, emulator: ChatEmulator) -> None:
    received: list[str] = []
    secret = emulator.credentials()["signing_secret"]
    app = App(signing_secret=secret, client=client, process_before_response=True)
    app.event("message")(lambda event: received.append(event["text"]))
    app.event("app_mention")(lambda event: received.append(f"to us: {event['text']}"))
    with run_receiver() as inbox:
        emulator.context.knobs["events_url"] = inbox.address
        emulator.perform({"action": "verify_url"})
        handshake = inbox.take()
        emulator.perform({"action": "message", "channel_id": GENERAL, "text": "<@U05RELAYBOT> deploy"})
        deliveries = [handshake, inbox.take(), inbox.take()]
    responses = [app.dispatch(bolt_request(delivery)) for delivery in deliveries]

    assert [200, 200, 200] == [response.status for response in responses]
    assert ["<@U05RELAYBOT> deploy", "to us: <@U05RELAYBOT> deploy"] == sorted(received)
    assert "challenge" in responses[0].body
