"""Checks of the facts of ``connectors/mail/facts.toml``."""

import re
from base64 import b64decode, urlsafe_b64decode, urlsafe_b64encode
from email.utils import parsedate_to_datetime
from functools import partial
from secrets import token_hex
from typing import Any
from urllib.parse import quote

from connector_gateway.verify.account_under_test import (
    TEXT,
    Account,
    NotCheckable,
    UnsuitablePlace,
    VendorReply,
)
from connector_gateway.verify.checks import Checks, expect

PREFIX = "/gmail/v1/users/me"
MARKER = "X-Connector-Gateway-Attempt"
LOST = f"{TEXT}: lost response"
FILE = b"\xfb\xff\xfe" * 8
"""The content of an attachment, whose base64 differs between the two alphabets."""

STORED = f"""\
From: <checks@example.com>
To: <checks@example.com>
Subject: {TEXT} =?utf-8?q?Pr=C3=BCfung?=
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="=_verify"

--=_verify
Content-Type: text/plain; charset=iso-8859-1
Content-Transfer-Encoding: quoted-printable

Pr=FCfung
--=_verify
Content-Type: application/octet-stream
Content-Disposition: attachment; filename*=utf-8''Pr%C3%BCfung.bin
Content-Transfer-Encoding: base64

+//++//++//++//++//++//++//++//+
--=_verify--
"""
"""A message with an encoded subject, text in Latin-1, and a file."""


async def open_place(account: Account) -> None:
    """Check that the place is a label of the user, without messages."""
    label = await send(account, "GET", f"/labels/{quote(account.place, safe='')}")
    if label.status != 200 or label.body["type"] != "user":
        raise UnsuitablePlace("It is not a label that was made in this mailbox.")
    if "messages" in (await get(account, "/messages", labelIds=account.place, maxResults=1)).body:
        raise UnsuitablePlace("The label has messages.")


CHECKS = Checks(open_place, "the ID of a label without messages, such as Label_12")


async def send(account: Account, method: str, path: str, body: Any = None, **query: Any) -> VendorReply:
    """Send a request about the mailbox."""
    return await account.request(method, PREFIX + path, body, query=query or None)


async def get(account: Account, path: str, **query: Any) -> VendorReply:
    """Read."""
    return await send(account, "GET", path, **query)


def failed_with(reply: VendorReply) -> tuple[int, Any]:
    """Return the status and the name of the status of a response."""
    return reply.status, (reply.body or {}).get("error", {}).get("status", "no status")


INVALID = (400, "INVALID_ARGUMENT")


def header(message: Any, name: str) -> str:
    """Return the first header of a message with that name, or an empty text."""
    headers = message["payload"]["headers"]
    return next((str(one["value"]) for one in headers if one["name"].lower() == name.lower()), "")


# What several checks read or create


async def me(account: Account) -> VendorReply:
    """Return the profile of the mailbox."""
    return await get(account, "/profile")


async def own_address(account: Account) -> str:
    """Return the address of the mailbox."""
    address: str = (await account.once(me)).body["emailAddress"]
    return address


async def stored_id(account: Account) -> str:
    """Store a message in the place without sending it, and return its ID."""
    raw = encode(f"Message-ID: <{token_hex(8)}@example.com>\n{STORED}")
    make = send(account, "POST", "/messages", {"raw": raw, "labelIds": [account.place]})
    reply = await account.create("message", make, made_id, partial(trash, account))
    if reply.status != 200:
        raise NotCheckable("No message can be stored in the mailbox.")
    return made_id(reply)


async def trash(account: Account, message_id: str) -> VendorReply:
    """Move a message into the trash. Deleting it would need a scope that the connection does not have."""
    return await send(account, "POST", f"/messages/{message_id}/trash")


async def stored(account: Account) -> Any:
    """Return the stored message with its parts."""
    return (await get(account, f"/messages/{await account.once(stored_id)}", format="full")).body


def made_id(reply: VendorReply) -> str:
    """Return the ID of a created object, or an empty text if none was created."""
    return str((reply.body or {}).get("id", ""))


def encode(message: str) -> str:
    """Return a message in the form of the API."""
    return urlsafe_b64encode(message.replace("\n", "\r\n").encode()).decode()


async def create_draft(account: Account, headers: str, thread_id: str | None = None) -> VendorReply:
    """Create a draft to the mailbox itself."""
    address = await own_address(account)
    message = {"raw": encode(f"From: <{address}>\nTo: <{address}>\n{headers}\n\n{TEXT}\n")}
    body = {"message": message | ({"threadId": thread_id} if thread_id else {})}
    make = send(account, "POST", "/drafts", body)
    return await account.create("draft", make, made_id, partial(delete_draft, account))


async def own_draft(account: Account) -> Any:
    """Create a draft."""
    return (await create_draft(account, f"Subject: {TEXT}")).body


async def sent_draft(account: Account) -> tuple[Any, Any]:
    """Send a draft to the mailbox itself, and return the draft and the message that it became."""
    draft = (await create_draft(account, f"Subject: {TEXT}\nMessage-ID: <{token_hex(8)}@example.com>")).body
    make = send(account, "POST", "/drafts/send", {"id": draft["id"]})
    reply = await account.create("message", make, made_id, partial(trash, account))
    if reply.status == 200:
        account.release("draft", draft["id"])
    return draft, (await get(account, f"/messages/{made_id(reply)}", format="metadata")).body


async def sent_message(account: Account) -> Any:
    """Send a message to the mailbox itself through the operation, and return it."""
    make = account.call("send_message", to=[await own_address(account)], subject=TEXT, body_html=TEXT)
    sent = await account.create("message", make, lambda one: str(one["message_id"]), partial(trash, account))
    return (await get(account, f"/messages/{sent['message_id']}", format="metadata")).body


async def own_label(account: Account) -> str:
    """Create a label on the stored message through the operation, and return its name."""
    name = f"{TEXT} {token_hex(4)}"
    change = {"message_id": await account.once(stored_id), "add": [name], "create_missing": True}
    make = account.call("change_message_labels", **change)

    async def remove(name: str) -> VendorReply:
        labels = (await get(account, "/labels")).body["labels"]
        (label_id,) = (one["id"] for one in labels if one["name"] == name)
        return await send(account, "DELETE", f"/labels/{label_id}")

    await account.create("label", make, lambda one: name if name in one["created"] else "", remove)
    return name


async def drafts(account: Account) -> set[str]:
    """Return the IDs of the newest drafts."""
    return {one["id"] for one in (await get(account, "/drafts", maxResults=500)).body.get("drafts", ())}


async def lost_drafts(account: Account) -> list[str]:
    """Create a draft whose response is lost, and return the IDs of all drafts that this created."""
    before = await drafts(account)
    make = account.call_losing_response("create_draft", to=[await own_address(account)], subject=LOST, body_html=TEXT)
    await account.create("draft", make, lambda one: str(one["draft_id"]), partial(delete_draft, account))
    created = [uid for uid in await drafts(account) - before if await _is_lost_one(account, uid)]
    for uid in created:
        account.adopt("draft", uid, partial(delete_draft, account))
    return created


async def delete_draft(account: Account, draft_id: str) -> VendorReply:
    """Delete a draft."""
    return await send(account, "DELETE", f"/drafts/{draft_id}")


async def _is_lost_one(account: Account, draft_id: str) -> bool:
    draft = (await get(account, f"/drafts/{draft_id}", format="metadata")).body
    return header(draft["message"], "Subject") == LOST


# Reads


@CHECKS.reads
async def _profile_names_address(account: Account) -> None:
    profile = (await account.once(me)).body
    expect((True, True), ("@" in profile["emailAddress"], profile["historyId"].isdecimal()))


@CHECKS.reads
async def _primary_address(account: Account) -> None:
    addresses = (await get(account, "/settings/sendAs")).body["sendAs"]
    primary = [one["sendAsEmail"].lower() for one in addresses if one.get("isPrimary")]
    expect(True, primary == [(await own_address(account)).lower()])


@CHECKS.reads
async def _error_objects(account: Account) -> None:
    reply = await get(account, f"/messages/{token_hex(8)}")
    error = reply.body["error"]
    expect((404, "NOT_FOUND", "notFound"), (error["code"], error["status"], error["errors"][0]["reason"]))


@CHECKS.reads
async def _malformed_id_is_400(account: Account) -> None:
    expect(INVALID, failed_with(await get(account, "/messages/no-identifier")))


@CHECKS.reads
async def _unknown_parameter_is_400(account: Account) -> None:
    expect(INVALID, failed_with(await get(account, "/profile", noSuchParameter="1")))


@CHECKS.reads
async def _invalid_page_token_is_400(account: Account) -> None:
    expect(INVALID, failed_with(await get(account, "/messages", pageToken="invalid")))


@CHECKS.reads
async def _no_key_if_empty(account: Account) -> None:
    reply = await get(account, "/messages", q=token_hex(16))
    expect({"resultSizeEstimate"}, set(reply.body))


@CHECKS.reads
async def _system_labels(account: Account) -> None:
    labels = (await get(account, "/labels")).body["labels"]
    needed = {"DRAFT", "INBOX", "SENT", "TRASH", "UNREAD"}
    expect(needed, needed & {one["id"] for one in labels if one["type"] == "system" and one["name"] == one["id"]})


@CHECKS.reads
async def _search_operators(account: Account) -> None:
    found = await account.call("search_messages", q="in:sent", limit=1)
    searched = (await get(account, "/messages", q="in:sent", maxResults=2)).body.get("messages", ())
    if not (found and searched):
        raise NotCheckable("The mailbox has no sent message.")
    labelled = (await get(account, "/messages", labelIds="SENT", maxResults=1)).body["messages"]
    expect(True, searched[0]["id"] == labelled[0]["id"] == found[0]["message_id"])


@CHECKS.reads
async def _newest_message_first(account: Account) -> None:
    listed = (await get(account, "/messages", labelIds="SENT", maxResults=3)).body.get("messages", ())
    read = [(await get(account, f"/messages/{one['id']}", format="minimal")).body for one in listed]
    times = [int(one["internalDate"]) for one in read]
    if len(times) < 2:
        raise NotCheckable("The mailbox has fewer than two sent messages.")
    expect(True, times == sorted(times, reverse=True))


# Writes


@CHECKS.writes
async def _dates_in_milliseconds(account: Account) -> None:
    now = parsedate_to_datetime((await account.once(me)).headers["date"]).timestamp()
    expect(True, abs(int((await account.once(stored))["internalDate"]) / 1000 - now) < 600)


@CHECKS.writes
async def _no_parts_in_metadata(account: Account) -> None:
    reply = await get(account, f"/messages/{await account.once(stored_id)}", format="metadata")
    expect((True, False), ("headers" in reply.body["payload"], "parts" in reply.body["payload"]))


@CHECKS.writes
async def _no_payload_in_minimal(account: Account) -> None:
    reply = await get(account, f"/messages/{await account.once(stored_id)}", format="minimal")
    expect((True, False), ("labelIds" in reply.body, "payload" in reply.body))


@CHECKS.writes
async def _selected_fields(account: Account) -> None:
    reply = await get(account, f"/messages/{await account.once(stored_id)}", fields="id,payload(partId)")
    expect(({"id", "payload"}, {"partId"}), (set(reply.body), set(reply.body["payload"])))


@CHECKS.writes
async def _part_ids(account: Account) -> None:
    payload = (await account.once(stored))["payload"]
    expect(("", ["0", "1"]), (payload["partId"], [one["partId"] for one in payload["parts"]]))


@CHECKS.writes
async def _headers_decoded(account: Account) -> None:
    expect(True, header(await account.once(stored), "Subject") == f"{TEXT} Prüfung")


@CHECKS.writes
async def _charset_unchanged(account: Account) -> None:
    data = (await account.once(stored))["payload"]["parts"][0]["body"]["data"]
    expect(True, urlsafe_b64decode(data).strip() == "Prüfung".encode("latin-1"))


@CHECKS.writes
async def _file_names_decoded(account: Account) -> None:
    expect(True, (await account.once(stored))["payload"]["parts"][1]["filename"] == "Prüfung.bin")


@CHECKS.writes
async def _attachment_ids_change(account: Account) -> None:
    path = f"/messages/{await account.once(stored_id)}"
    first, second = [
        (await get(account, path, fields="payload(parts(body(attachmentId)))")).body["payload"]["parts"][1]
        for _ in range(2)
    ]
    expect(False, first == second)


def attachment_id(message: Any) -> str:
    """Return the vendor's ID of the file in the stored message."""
    uid: str = message["payload"]["parts"][1]["body"]["attachmentId"]
    return uid


@CHECKS.writes
async def _attachments_in_base64url(account: Account) -> None:
    message = await account.once(stored)
    path = f"/messages/{message['id']}/attachments/{attachment_id(message)}"
    file = (await get(account, path, fields="data,size")).body
    expect((True, len(FILE)), (file["data"] == urlsafe_b64encode(FILE).decode(), file["size"]))


@CHECKS.writes
async def _attachment_ids_remain_valid(account: Account) -> None:
    message = await account.once(stored)
    form = {"message_id": message["id"], "as": "base64"}
    fetched = await account.call("fetch_attachment", attachment_id=attachment_id(message), **form)
    expect(True, b64decode(fetched["content_base64"]) == FILE)


@CHECKS.writes
async def _labels_after_change(account: Account) -> None:
    await account.once(own_label)
    path = f"/messages/{await account.once(stored_id)}/modify"
    reply = await send(account, "POST", path, {"addLabelIds": ["STARRED"]})
    again = await send(account, "POST", path, {"removeLabelIds": ["STARRED"]})
    expect((True, False), ("STARRED" in reply.body["labelIds"], "STARRED" in again.body["labelIds"]))


@CHECKS.writes
async def _sent_is_immovable(account: Account) -> None:
    path = f"/messages/{await account.once(stored_id)}/modify"
    expect(INVALID, failed_with(await send(account, "POST", path, {"addLabelIds": ["SENT"]})))


@CHECKS.writes
async def _label_names_ignore_case(account: Account) -> None:
    make = send(account, "POST", "/labels", {"name": (await account.once(own_label)).upper()})
    reply = await account.create("label", make, made_id, lambda uid: send(account, "DELETE", f"/labels/{uid}"))
    expect(409, reply.status)


@CHECKS.writes
async def _history_records(account: Account) -> None:
    start = (await account.once(me)).body["historyId"]
    message_id = await account.once(stored_id)
    reply = await get(account, "/history", startHistoryId=start, historyTypes="messageAdded", maxResults=500)
    added = {one["message"]["id"] for record in reply.body["history"] for one in record["messagesAdded"]}
    expect(True, message_id in added)


@CHECKS.writes
async def _recipient_required(account: Account) -> None:
    body = {"raw": encode(f"Subject: {TEXT}\n\n{TEXT}\n")}
    expect(INVALID, failed_with(await send(account, "POST", "/messages/send", body)))


@CHECKS.writes
async def _unknown_thread_is_404(account: Account) -> None:
    reply = await create_draft(account, f"Subject: {TEXT}", token_hex(8))
    expect((404, "NOT_FOUND"), failed_with(reply))


@CHECKS.writes
async def _threads_by_subject(account: Account) -> None:
    root = await account.once(stored)
    parent = header(root, "Message-ID")
    reply = f"In-Reply-To: {parent}\nReferences: {parent}\nSubject: "
    same = await create_draft(account, f"{reply}Re: {TEXT} =?utf-8?q?Pr=C3=BCfung?=", root["threadId"])
    other = await create_draft(account, f"{reply}Re: another subject", root["threadId"])
    threads = [one.body["message"]["threadId"] == root["threadId"] for one in (same, other)]
    expect([True, False], threads)


@CHECKS.writes
async def _drafts_have_own_ids(account: Account) -> None:
    draft = await account.once(own_draft)
    expect((False, ["DRAFT"]), (draft["id"] == draft["message"]["id"], draft["message"]["labelIds"]))


@CHECKS.writes
async def _drafts_in_list(account: Account) -> None:
    draft = await account.once(own_draft)
    listed = (await get(account, "/messages", maxResults=100)).body["messages"]
    expect(True, draft["message"]["id"] in {one["id"] for one in listed})


@CHECKS.writes
async def _drafts_keep_labels(account: Account) -> None:
    path = f"/messages/{(await account.once(own_draft))['message']['id']}/modify"
    expect(400, (await send(account, "POST", path, {"addLabelIds": ["STARRED"]})).status)


@CHECKS.writes
async def _sent_draft_is_gone(account: Account) -> None:
    draft, _ = await account.once(sent_draft)
    again = await send(account, "POST", "/drafts/send", {"id": draft["id"]})
    expect((404, 404), ((await get(account, f"/drafts/{draft['id']}")).status, again.status))


@CHECKS.writes
async def _thread_after_sending(account: Account) -> None:
    draft, message = await account.once(sent_draft)
    expect(True, message["threadId"] == draft["message"]["threadId"])


@CHECKS.writes
async def _message_id_replaced(account: Account) -> None:
    _, message = await account.once(sent_draft)
    expect(True, re.fullmatch(r"<[^<>@]+@mail\.gmail\.com>", header(message, "Message-ID")) is not None)


@CHECKS.writes
async def _mail_to_oneself(account: Account) -> None:
    _, message = await account.once(sent_draft)
    expect({"INBOX", "SENT", "UNREAD"}, {"INBOX", "SENT", "UNREAD"} & set(message["labelIds"]))


@CHECKS.writes
async def _headers_after_sending(account: Account) -> None:
    expect(True, header(await account.once(sent_message), MARKER) != "")


@CHECKS.writes
async def _lost_draft_is_found(account: Account) -> None:
    expect(1, len(await account.once(lost_drafts)))
