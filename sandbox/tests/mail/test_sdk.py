"""Google's own Python client, pointed at the emulator."""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterator
from typing import Any

import pytest
import requests
from google.auth.exceptions import RefreshError
from google.auth.transport.requests import Request
from google.oauth2.credentials import Credentials
from google_auth_oauthlib.flow import Flow
from googleapiclient.discovery import build_from_document
from googleapiclient.discovery_cache import get_static_doc
from googleapiclient.errors import HttpError, MediaUploadSizeError
from googleapiclient.http import MediaInMemoryUpload

from harness.consent_pages import Browser
from harness.sandbox_server import run_emulators
from sandbox.tests.documents.comparison import check_exchanges
from sandbox.tests.documents.exchange import Exchange, record_exchanges
from sandbox.tests.documents.vendor_documents import document
from workspace_sandbox.kit.oauth.server import Grant
from workspace_sandbox.mail import MailEmulator

LETTER = b"To: jonas@brightfjord.test\r\nSubject: From the SDK\r\n\r\nHello\r\n"
pytestmark = pytest.mark.filterwarnings(
    "ignore:unclosed <socket:ResourceWarning",  # httplib2 leaves its pool to the garbage collector
    "ignore::pytest.PytestUnraisableExceptionWarning",  # the same, seen later
)


class Sdk:
    """The client with its document redirected."""

    def __init__(self, emulator: MailEmulator, seen: list[Exchange]) -> None:
        self.emulator = emulator
        self.seen = seen
        self.examples = emulator.examples()
        self.address = emulator.context.addresses["base"]
        document = json.loads(get_static_doc("gmail", "v1"))
        document |= {"rootUrl": f"{self.address}/", "baseUrl": f"{self.address}/"}
        document.pop("mtlsRootUrl", None)
        credentials = Credentials(token=emulator.credentials()["token"])  # type: ignore[no-untyped-call]
        self.service: Any = build_from_document(document, credentials=credentials)
        self.users = self.service.users()
        self.messages = self.users.messages()
        self.drafts = self.users.drafts()
        self.labels = self.users.labels()

    def batch(self, *requests: Any) -> dict[str, Any]:
        """The answers or errors of *requests*, by their numbers."""
        responses: dict[str, Any] = {}
        batch = self.service.new_batch_http_request(
            callback=lambda key, answer, error: responses.update({key: error or answer})
        )
        for request in requests:
            batch.add(request)
        batch.execute()
        return responses


@pytest.fixture(scope="module")
def started() -> Iterator[Sdk]:
    with record_exchanges() as seen, run_emulators(mail=MailEmulator) as sandbox:
        emulator = sandbox.emulators["mail"]
        assert isinstance(emulator, MailEmulator)
        sdk = Sdk(emulator, seen)
        yield sdk
        sdk.service.close()


@pytest.fixture
def sdk(started: Sdk) -> Sdk:
    stage = started.emulator.context
    stage.knobs.update({**stage.default_knobs, "limits": False})
    stage.faults.clear()
    return started


def raw(content: bytes = LETTER) -> dict[str, str]:
    return {"raw": urlsafe_b64encode(content).decode()}


def test_the_profile_is_read(sdk: Sdk) -> None:
    assert "nora@brightfjord.test" == sdk.users.getProfile(userId="me").execute()["emailAddress"]


def test_messages_are_paged(sdk: Sdk) -> None:
    request = sdk.messages.list(userId="me", q="in:inbox", maxResults=50, labelIds=["INBOX"])
    pages = []
    while request is not None:
        pages.append(request.execute())
        request = sdk.messages.list_next(request, pages[-1])

    assert len(pages) > 2
    assert 50 == len(pages[0]["messages"])
    assert "nextPageToken" not in pages[-1]


def test_a_message_and_its_attachment_are_read(sdk: Sdk) -> None:
    message_id = sdk.examples["attachment_message_id"]
    message = sdk.messages.get(userId="me", id=message_id, format="full").execute()
    part = next(part for part in message["payload"]["parts"] if part["partId"] == sdk.examples["attachment_part_id"])
    attachment = (
        sdk.messages.attachments().get(userId="me", messageId=message_id, id=part["body"]["attachmentId"]).execute()
    )

    assert urlsafe_b64decode(attachment["data"]).startswith(b"%PDF")


def test_headers_and_fields_are_chosen(sdk: Sdk) -> None:
    request = sdk.messages.get(
        userId="me",
        id=sdk.examples["message_id"],
        format="metadata",
        metadataHeaders=["From", "Subject"],
        fields="id,payload/headers",
    )
    message = request.execute()

    assert {"id", "payload"} == set(message)
    assert {"From", "Subject"} == {header["name"] for header in message["payload"]["headers"]}


def test_a_message_is_sent_and_labelled(sdk: Sdk) -> None:
    sent = sdk.messages.send(userId="me", body=raw()).execute()
    label = sdk.labels.create(userId="me", body={"name": "SDK", "labelListVisibility": "labelShow"}).execute()
    modified = sdk.messages.modify(userId="me", id=sent["id"], body={"addLabelIds": [label["id"]]}).execute()
    deleted = sdk.labels.delete(userId="me", id=label["id"]).execute()

    assert ["SENT", label["id"]] == modified["labelIds"]
    assert not deleted
    assert "SDK" not in {one["name"] for one in sdk.labels.list(userId="me").execute()["labels"]}


def test_a_draft_is_created_and_sent(sdk: Sdk) -> None:
    draft = sdk.drafts.create(userId="me", body={"message": raw()}).execute()
    sdk.drafts.update(userId="me", id=draft["id"], body={"message": raw(LETTER.replace(b"SDK", b"other"))}).execute()
    listed = sdk.drafts.list(userId="me", q="subject:other").execute()["drafts"]
    sent = sdk.drafts.send(userId="me", body={"id": draft["id"]}).execute()

    assert [draft["id"]] == [one["id"] for one in listed]
    assert ["SENT"] == sent["labelIds"]
    with pytest.raises(HttpError, match="Requested entity was not found"):
        sdk.drafts.get(userId="me", id=draft["id"]).execute()


def test_threads_and_history_are_read(sdk: Sdk) -> None:
    start = sdk.users.getProfile(userId="me").execute()["historyId"]
    sdk.messages.send(userId="me", body=raw()).execute()
    threads = sdk.users.threads()
    listed = threads.list(userId="me", maxResults=2).execute()
    thread = threads.get(userId="me", id=sdk.examples["thread_id"], format="minimal").execute()
    history = sdk.users.history().list(userId="me", startHistoryId=start).execute()

    assert 2 == len(listed["threads"])
    assert len(thread["messages"]) > 2
    assert "messagesAdded" in history["history"][0]


def test_a_mailbox_is_watched_and_its_settings_are_changed(sdk: Sdk) -> None:
    scopes = ("modify", "settings.basic")
    sdk.emulator.context.knobs["token_scopes"] = [f"https://www.googleapis.com/auth/gmail.{name}" for name in scopes]
    settings = sdk.users.settings()
    watched = sdk.users.watch(userId="me", body={"topicName": "projects/my-project/topics/mail"}).execute()
    changed = settings.updateVacation(userId="me", body={"enableAutoReply": True, "responseSubject": "Away"}).execute()
    rule = {"criteria": {"from": "news@acmefreight.test"}, "action": {"addLabelIds": ["TRASH"]}}
    created = settings.filters().create(userId="me", body=rule).execute()
    settings.filters().delete(userId="me", id=created["id"]).execute()
    settings.sendAs().patch(userId="me", sendAsEmail="nora@brightfjord.test", body={"signature": "N."}).execute()
    sdk.users.stop(userId="me").execute()

    assert {"historyId", "expiration"} == watched.keys()
    assert changed == settings.getVacation(userId="me").execute()
    assert {**rule, "id": created["id"]} == created
    assert {} == settings.filters().list(userId="me").execute()
    assert "N." == settings.sendAs().list(userId="me").execute()["sendAs"][0]["signature"]


def test_many_messages_are_modified(sdk: Sdk) -> None:
    body = {"ids": [sdk.examples["message_id"]], "addLabelIds": ["STARRED"]}
    sdk.messages.batchModify(userId="me", body=body).execute()
    message = sdk.messages.get(userId="me", id=sdk.examples["message_id"], format="minimal").execute()

    assert "STARRED" in message["labelIds"]


def test_a_message_is_uploaded_with_and_without_metadata(sdk: Sdk) -> None:
    media = MediaInMemoryUpload(LETTER, "message/rfc822")
    alone = sdk.messages.send(userId="me", media_body=media).execute()
    second = sdk.drafts.create(
        userId="me", body={"message": {"threadId": alone["threadId"]}}, media_body=media
    ).execute()

    assert ["SENT"] == alone["labelIds"]
    assert ["DRAFT"] == second["message"]["labelIds"]


def test_a_message_is_uploaded_in_pieces(sdk: Sdk) -> None:
    content = LETTER + b"x" * 700_000
    media = MediaInMemoryUpload(content, "message/rfc822", chunksize=262_144, resumable=True)
    request = sdk.messages.send(userId="me", body={}, media_body=media)
    progress, sent = [], None
    while sent is None:
        status, sent = request.next_chunk()
        progress.append(status.resumable_progress if status else None)

    stored = sdk.messages.get(userId="me", id=sent["id"], format="raw").execute()
    assert [262_144, 524_288, None] == progress
    assert stored["sizeEstimate"] > len(content)


def test_the_client_checks_the_upload_limit(sdk: Sdk) -> None:
    media = MediaInMemoryUpload(b"x" * 36_700_161, "message/rfc822")

    with pytest.raises(MediaUploadSizeError):
        sdk.messages.send(userId="me", media_body=media)


def test_a_batch_returns_every_response(sdk: Sdk) -> None:
    ids = [message["id"] for message in sdk.messages.list(userId="me", maxResults=20).execute()["messages"]]
    requests = [sdk.messages.get(userId="me", id=message_id) for message_id in ids]
    responses = sdk.batch(
        *requests, sdk.messages.get(userId="me", id="nonsense"), sdk.messages.send(userId="me", body=raw())
    )

    assert ids == [responses[str(number)]["id"] for number in range(1, 21)]
    assert 400 == responses["21"].resp.status
    assert ["SENT"] == responses["22"]["labelIds"]


def test_a_batch_above_a_hundred_calls_is_rejected(sdk: Sdk) -> None:
    with pytest.raises(HttpError, match="Received: 101, Limit: 100"):
        sdk.batch(*[sdk.users.getProfile(userId="me") for _ in range(101)])


@pytest.mark.parametrize(
    ("force", "status", "reason"),
    [
        ("scope", 403, "ACCESS_TOKEN_SCOPE_INSUFFICIENT"),
        ("quota", 403, "rateLimitExceeded"),
        ("retry_after_403", 403, "userRateLimitExceeded"),
        ("exhausted", 429, "rateLimitExceeded"),
        ("backend_error", 500, "backendError"),
    ],
)
def test_errors_raise_http_errors(sdk: Sdk, force: str, status: int, reason: str) -> None:
    sdk.emulator.context.knobs["force"] = force

    with pytest.raises(HttpError) as error:
        sdk.users.getProfile(userId="me").execute()

    assert status == error.value.resp.status
    assert reason in str(error.value.error_details)


@pytest.mark.parametrize(
    ("name", "expected"), [("clients", (409, "Label name exists or conflicts")), ("", (400, "Invalid label name"))]
)
def test_label_errors_raise_http_errors(sdk: Sdk, name: str, expected: tuple[int, str]) -> None:
    with pytest.raises(HttpError) as error:
        sdk.labels.create(userId="me", body={"name": name}).execute()

    assert expected == (error.value.resp.status, error.value.reason)


def test_the_client_retries_throttled_requests(sdk: Sdk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("googleapiclient.http.time.sleep", lambda _: None)
    sdk.emulator.context.knobs.update(limits=True, units_per_minute=0, latency_seconds=0)
    request = sdk.users.getProfile(userId="me")
    before = len(sdk.emulator.context.request_log)

    with pytest.raises(HttpError):
        request.execute(num_retries=2)

    assert [403, 403, 403] == [exchange.status for exchange in list(sdk.emulator.context.request_log)[before:]]


def test_a_revoked_token_cannot_be_refreshed(sdk: Sdk) -> None:
    sdk.emulator.revoke()

    with pytest.raises(RefreshError):
        sdk.users.getProfile(userId="me").execute()

    sdk.emulator.authorise()


def test_googles_auth_library_refreshes_tokens(sdk: Sdk) -> None:
    knobs, oauth = sdk.emulator.context.knobs, sdk.emulator.oauth
    tokens = oauth.issue(
        "refresh", Grant(knobs["client_id"], oauth.selected_account(""), tuple(knobs["token_scopes"]))
    ).value
    about = {"token_uri": f"{sdk.address}/token", "client_id": knobs["client_id"]}
    credentials = Credentials(None, refresh_token=tokens, client_secret=knobs["client_secret"], **about)  # type: ignore[no-untyped-call]
    revoked = Credentials(None, refresh_token="gone", client_secret=knobs["client_secret"], **about)  # type: ignore[no-untyped-call]

    credentials.refresh(Request())  # type: ignore[no-untyped-call]

    assert credentials.valid
    with pytest.raises(RefreshError, match="invalid_grant"):
        revoked.refresh(Request())  # type: ignore[no-untyped-call]


def test_googles_flow_leads_from_consent_to_a_mailbox_and_refreshes(sdk: Sdk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OAUTHLIB_INSECURE_TRANSPORT", "1")
    addresses = {"auth_uri": f"{sdk.address}/o/oauth2/v2/auth", "token_uri": f"{sdk.address}/token"}
    scopes = ["openid", "https://www.googleapis.com/auth/gmail.modify"]
    flow = Flow.from_client_config(
        {"web": sdk.emulator.client() | addresses}, scopes, redirect_uri="http://localhost/c"
    )

    page, state = flow.authorization_url(access_type="offline", prompt="consent")
    with Browser() as browser:
        back = browser.allow(page, account="priya@brightfjord.test")
    flow.fetch_token(code=back["code"])
    credentials, first = flow.credentials, flow.credentials.token
    credentials.refresh(Request())

    assert (state, scopes) == (back["state"], credentials.scopes)
    assert first != credentials.token
    assert "priya@brightfjord.test" == whose(sdk, credentials.token)


def whose(sdk: Sdk, token: str) -> str:
    headers = {"Authorization": f"Bearer {token}"}
    response = requests.get(f"{sdk.address}/gmail/v1/users/me/profile", headers=headers, timeout=60)
    return str(response.json()["emailAddress"])


def test_all_requests_and_responses_match_the_discovery_document(sdk: Sdk) -> None:
    sdk.users.getProfile(userId="me").execute()

    counts, findings = check_exchanges(sdk.seen, [document(json.loads(get_static_doc("gmail", "v1")))])

    assert [] == findings
    assert counts["requests"] > 0
