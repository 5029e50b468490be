"""Responses that contradict the facts about Gmail."""

from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping
from typing import Any

from workspace_sandbox.kit.deliberate_deviations import Exchange, FalseFact, edit, every, reply, when

USER = "/gmail/v1/users/me"
PROFILE = f"GET {USER}/profile"
LIST = f"GET {USER}/messages"
MESSAGE = f"GET {USER}/messages/[0-9a-f]+"
ATTACHMENT = f"GET {USER}/messages/[0-9a-f]+/attachments/.+"
MODIFY = f"POST {USER}/messages/[0-9a-f]+/modify"
DRAFTS = f"POST {USER}/drafts"


def _has(**query: str) -> Callable[[Exchange], bool]:
    """Return True for requests with these query parameters."""
    return lambda exchange: query.items() <= exchange.query.items()


def _failed_with(status: int) -> Callable[[Exchange], bool]:
    return lambda exchange: exchange.status == status


def _adds(label_id: str, status: int) -> Callable[[Exchange], bool]:
    """Return True for the response with *status* to a request that adds that label."""
    return lambda exchange: exchange.status == status and exchange.sent.get("addLabelIds") == [label_id]


def _is_stored(exchange: Exchange) -> bool:
    """Return True for a reading of all parts."""
    return exchange.query.get("format") == "full" and "fields" not in exchange.query


def _is_sent(exchange: Exchange) -> bool:
    """Return True for a reading of the headers of a sent message."""
    return exchange.query.get("format") == "metadata" and "SENT" in exchange.body["labelIds"]


def _in_thread(exchange: Exchange) -> bool:
    return exchange.status == 200 and "threadId" in exchange.sent["message"]


def _is_plain_draft(exchange: Exchange) -> bool:
    return exchange.status == 200 and "threadId" not in exchange.sent["message"]


def _unnamed_inbox(body: Any) -> None:
    for label in body["labels"]:
        label["name"] = label["name"].replace("INBOX", "Inbox")


def _second_primary(body: Any) -> None:
    body["sendAs"].append({"sendAsEmail": "second@example.com", "isPrimary": True})


def _reversed_messages(body: Any) -> None:
    body.get("messages", []).reverse()


def _header(name: str, value: str | None) -> Callable[[Any], None]:
    """Return a change of the value of a header, which is removed if *value* is None."""

    def apply(body: Any) -> None:
        headers = body["payload"]["headers"]
        others = [one for one in headers if one["name"].lower() != name.lower()]
        body["payload"]["headers"] = others + ([] if value is None else [{"name": name, "value": value}])

    return apply


def _part(number: int, **fields: Any) -> Callable[[Any], None]:
    """Return a change of the fields of a part."""
    return lambda body: body["payload"]["parts"][number].update(fields)


def _join_thread(exchange: Exchange) -> None:
    exchange.body["message"]["threadId"] = exchange.sent["message"]["threadId"]


IN_UTF_8 = urlsafe_b64encode("Prüfung".encode()).decode()

FALSE_FACTS: Mapping[str, FalseFact] = {
    "profile-names-address": FalseFact(PROFILE, every("historyId", int)),
    "primary-address": FalseFact(f"GET {USER}/settings/sendAs", edit(_second_primary)),
    "error-objects": FalseFact(
        MESSAGE,
        when(lambda one: one.status == 404 and "format" not in one.query, every("reason", lambda _: "missing")),
    ),
    "malformed-id-is-400": FalseFact(f"GET {USER}/messages/no-identifier", reply(404)),
    "unknown-parameter-is-400": FalseFact(PROFILE, when(lambda one: "noSuchParameter" in one.query, reply(200, {}))),
    "invalid-page-token-is-400": FalseFact(LIST, when(_has(pageToken="invalid"), reply(200, {}))),
    "no-key-if-empty": FalseFact(
        LIST,
        when(lambda one: "q" in one.query and "messages" not in one.body, edit(lambda body: body.update(messages=[]))),
    ),
    "system-labels": FalseFact(f"GET {USER}/labels", edit(_unnamed_inbox)),
    "search-operators": FalseFact(LIST, when(_has(q="in:sent", maxResults="2"), edit(_reversed_messages))),
    "newest-message-first": FalseFact(LIST, when(_has(labelIds="SENT", maxResults="3"), edit(_reversed_messages))),
    "dates-in-milliseconds": FalseFact(MESSAGE, when(_is_stored, every("internalDate", lambda value: value[:10]))),
    "no-parts-in-metadata": FalseFact(
        MESSAGE, when(_has(format="metadata"), edit(lambda body: body["payload"].update(parts=[])))
    ),
    "no-payload-in-minimal": FalseFact(
        MESSAGE, when(_has(format="minimal"), edit(lambda body: body.update(payload={})))
    ),
    "selected-fields": FalseFact(
        MESSAGE, when(_has(fields="id,payload(partId)"), edit(lambda body: body.update(snippet="")))
    ),
    "part-ids": FalseFact(MESSAGE, when(_is_stored, edit(_part(1, partId="2")))),
    "headers-decoded": FalseFact(MESSAGE, when(_is_stored, edit(_header("Subject", "=?utf-8?q?Pr=C3=BCfung?=")))),
    "charset-unchanged": FalseFact(MESSAGE, when(_is_stored, every("data", lambda _: IN_UTF_8))),
    "file-names-decoded": FalseFact(MESSAGE, when(_is_stored, edit(_part(1, filename="Pr%C3%BCfung.bin")))),
    "attachment-ids-change": FalseFact(
        MESSAGE, when(lambda one: "attachmentId" in one.query.get("fields", ""), every("attachmentId", lambda _: "A"))
    ),
    "attachments-in-base64url": FalseFact(
        ATTACHMENT,
        when(_has(fields="data,size"), every("data", lambda data: data.replace("-", "+").replace("_", "/"))),
    ),
    "attachment-ids-remain-valid": FalseFact(ATTACHMENT, when(lambda one: "fields" not in one.query, reply(404))),
    "labels-after-change": FalseFact(MODIFY, when(_adds("STARRED", 200), every("labelIds", lambda _: []))),
    "sent-is-immovable": FalseFact(MODIFY, when(_adds("SENT", 400), reply(200, {}))),
    "label-names-ignore-case": FalseFact(f"POST {USER}/labels", when(_failed_with(409), reply(200, {}))),
    "history-records": FalseFact(f"GET {USER}/history", every("messagesAdded", lambda _: [])),
    "recipient-required": FalseFact(f"POST {USER}/messages/send", reply(200, {})),
    "unknown-thread-is-404": FalseFact(DRAFTS, when(_failed_with(404), reply(400))),
    "threads-by-subject": FalseFact(DRAFTS, when(_in_thread, _join_thread)),
    "drafts-have-own-ids": FalseFact(DRAFTS, when(_is_plain_draft, every("labelIds", lambda _: ["INBOX"]))),
    "drafts-in-list": FalseFact(
        LIST, when(lambda one: dict(one.query) == {"maxResults": "100"}, edit(lambda body: body.update(messages=[])))
    ),
    "drafts-keep-labels": FalseFact(MODIFY, when(_adds("STARRED", 400), reply(200, {}))),
    "sent-draft-is-gone": FalseFact(f"GET {USER}/drafts/.+", when(_failed_with(404), reply(200))),
    "thread-after-sending": FalseFact(MESSAGE, when(_is_sent, every("threadId", lambda _: "0" * 16))),
    "message-id-replaced": FalseFact(MESSAGE, when(_is_sent, edit(_header("Message-ID", "<id@example.com>")))),
    "mail-to-oneself": FalseFact(MESSAGE, when(_is_sent, every("labelIds", lambda _: ["SENT"]))),
    "headers-after-sending": FalseFact(MESSAGE, when(_is_sent, edit(_header("X-Connector-Gateway-Attempt", None)))),
    "lost-draft-is-found": FalseFact(
        f"GET {USER}/drafts", when(_has(maxResults="100"), edit(lambda body: body.update(drafts=[])))
    ),
}
