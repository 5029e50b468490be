"""Responses that contradict the facts about Slack."""

from collections.abc import Callable, Mapping
from typing import Any

from workspace_sandbox.kit.deliberate_deviations import (
    Change,
    Exchange,
    FalseFact,
    edit,
    every,
    reply,
    when,
    without_header,
)

ME = "GET /api/auth.test"
LIST = "GET /api/conversations.list"
HISTORY = "GET /api/conversations.history"
REPLIES = "GET /api/conversations.replies"
POST = "POST /api/chat.postMessage"
UPDATE = "POST /api/chat.update"
ACCEPTED = {"ok": True}


def _of_public_page(exchange: Exchange) -> bool:
    return exchange.query.get("limit") == "200" and exchange.query.get("types") == "public_channel"


def _of_one_message(exchange: Exchange) -> bool:
    return "latest" in exchange.query


def _edited(exchange: Exchange) -> bool:
    return _of_one_message(exchange) and "edited" in exchange.body["messages"][0]


def _of_all_messages(exchange: Exchange) -> bool:
    return exchange.query.get("limit") == "100"


def _of_search(exchange: Exchange) -> bool:
    """Return True for a search for a post in doubt, unlike the reading of one message."""
    return "include_all_metadata" in exchange.query and not _of_one_message(exchange)


def _failed(exchange: Exchange) -> bool:
    return not exchange.body["ok"]


def _failed_with(code: str) -> Callable[[Exchange], bool]:
    return lambda exchange: exchange.body.get("error") == code


def _of_reply(exchange: Exchange) -> bool:
    """Return True if a program reads the thread of a reply."""
    return "limit" not in exchange.query and len(exchange.body["messages"]) == 1


def _each(name: str, change: Callable[[dict[str, Any]], Any]) -> Change:
    """Return a change of each object in the list *name*."""

    def apply(body: Any) -> None:
        for one in body[name]:
            change(one)

    return edit(apply)


def _without_one(exchange: Exchange) -> None:
    exchange.body["messages"] = [one for one in exchange.body["messages"] if one["ts"] != exchange.query["ts"]]


def _with_oldest(exchange: Exchange) -> None:
    exchange.body["messages"].append({"ts": exchange.query["oldest"]})


def _with_replies(body: Any) -> None:
    """Add the last reply of each thread to a history."""
    threads = [one for one in body["messages"] if "latest_reply" in one]
    body["messages"] += [{"ts": one["latest_reply"], "text": ""} for one in threads]
    body["messages"].sort(key=lambda one: one["ts"], reverse=True)


def _split(body: Any) -> None:
    """Split long messages."""
    body["messages"] = [
        part
        for one in body["messages"]
        for part in ([one | {"text": one["text"][:4000]}] * 2 if len(one["text"]) > 4000 else [one])
    ]


def _no_messages(body: Any) -> None:
    body["messages"] = []


def _has_text(text: str) -> Callable[[Exchange], bool]:
    return lambda exchange: exchange.sent.get("text") == text


def _in_thread(ts: str) -> Callable[[Exchange], bool]:
    return lambda exchange: exchange.sent.get("thread_ts") == ts


FALSE_FACTS: Mapping[str, FalseFact] = {
    "errors-with-status-200": FalseFact("GET /api/conversations.info", when(_failed, reply(404))),
    "unknown-method": FalseFact("GET /api/no.such.info", reply(404)),
    "own-identity": FalseFact(ME, edit(lambda body: body.pop("bot_id") and None)),
    "scopes-in-header": FalseFact(ME, without_header("X-OAuth-Scopes")),
    "invalid-cursor": FalseFact(LIST, when(lambda one: one.query.get("cursor") == "invalid", reply(200, ACCEPTED))),
    "pages-below-1000": FalseFact(LIST, when(lambda one: one.query.get("limit") == "1000", reply(200, ACCEPTED))),
    "cursor-of-lists": FalseFact(LIST, when(_of_public_page, edit(lambda body: body.update(response_metadata={})))),
    "counts-in-list": FalseFact(LIST, when(_of_public_page, _each("channels", lambda one: one.pop("num_members")))),
    "archived-excluded": FalseFact(
        LIST, when(_of_public_page, _each("channels", lambda one: one.update(is_archived=True)))
    ),
    "ims-without-name": FalseFact(
        "GET /api/users.conversations",
        when(lambda one: one.query.get("types") == "im", _each("channels", lambda one: one.update(name=""))),
    ),
    "public-is-not-in-channel": FalseFact(
        HISTORY, when(_failed, edit(lambda body: body | {"error": "channel_not_found"}))
    ),
    "bot-is-author": FalseFact(HISTORY, when(_of_one_message, every("user", lambda _: "U0000000000"))),
    "text-is-escaped": FalseFact(HISTORY, when(_of_one_message, every("text", lambda text: text.replace("&lt;", "<")))),
    "times-as-ids": FalseFact(
        HISTORY, when(_of_one_message, _each("messages", lambda one: one.update(ts=one["ts"][:10])))
    ),
    "stored-metadata": FalseFact(
        HISTORY,
        when(
            lambda one: _of_one_message(one) and not _edited(one),
            _each("messages", lambda one: one.pop("metadata")),
        ),
    ),
    "permalinks-from-url": FalseFact(
        "GET /api/chat.getPermalink", every("permalink", lambda url: url if "?" in url else f"{url}/")
    ),
    "permalinks-of-replies": FalseFact(
        "GET /api/chat.getPermalink", every("permalink", lambda url: url.partition("&cid=")[0])
    ),
    "edited-in-seconds": FalseFact(
        HISTORY, when(_edited, every("edited", lambda one: one | {"ts": one["ts"].replace("000000", "123456")}))
    ),
    "metadata-after-edits": FalseFact(HISTORY, when(_edited, _each("messages", lambda one: one.pop("metadata")))),
    "edits-of-4000": FalseFact(UPDATE, when(_failed_with("msg_too_long"), reply(200, ACCEPTED))),
    "already-reacted": FalseFact(
        "POST /api/reactions.add", when(_failed_with("already_reacted"), reply(200, ACCEPTED))
    ),
    "users-of-reactions": FalseFact(HISTORY, when(_of_one_message, every("users", lambda _: []))),
    "unknown-emoji": FalseFact("POST /api/reactions.add", when(_failed_with("invalid_name"), reply(200, ACCEPTED))),
    "unknown-message": FalseFact(UPDATE, when(_failed_with("message_not_found"), reply(404))),
    "missing-thread": FalseFact(POST, when(_in_thread("1000000000.000000"), reply(200, ACCEPTED))),
    "malformed-thread": FalseFact(POST, when(_in_thread("yesterday"), reply(200, ACCEPTED))),
    "text-required": FalseFact(POST, when(_has_text(""), reply(200, ACCEPTED))),
    "long-posts-whole": FalseFact(HISTORY, when(_of_all_messages, edit(_split))),
    "newest-message-first": FalseFact(HISTORY, when(_of_all_messages, edit(lambda body: body["messages"].reverse()))),
    "oldest-is-excluded": FalseFact(
        HISTORY, when(lambda one: "oldest" in one.query and "include_all_metadata" not in one.query, _with_oldest)
    ),
    "replies-not-in-history": FalseFact(HISTORY, when(_of_all_messages, edit(_with_replies))),
    "thread-begins-with-root": FalseFact(
        REPLIES, when(lambda one: len(one.body["messages"]) == 2, edit(lambda body: body["messages"].reverse()))
    ),
    "reply-alone": FalseFact(
        REPLIES,
        when(_of_reply, _without_one),
    ),
    "scheduled-within-120-days": FalseFact("POST /api/chat.scheduleMessage", reply(200, ACCEPTED)),
    "lost-post-is-found": FalseFact(HISTORY, when(_of_search, edit(_no_messages))),
}
