"""Calls of this connector for the tests that all connectors share."""

from collections.abc import Sequence

from harness.operation_calls import Examples, ReadCall

WRITE = ("chat.post_message", "/api/chat.postMessage")
"""A write by its name in the simulation, and the start of its request's path."""


def readings(known: Examples) -> Sequence[ReadCall]:
    """The calls that change nothing. The first one always sends a request to the vendor."""
    gone = "1111111111.111111"
    return [
        ReadCall("GET", "/channels", {"limit": 20}),
        ReadCall("POST", "/messages", {"channel": "no such channel", "text": "x"}),
        ReadCall("POST", "/messages", {"channel": known["channel"], "text": "x", "thread_ts": gone}),
        ReadCall("PATCH", f"/messages/{gone}", {"channel": known["channel"], "text": "x"}),
        ReadCall("POST", "/reactions", {"channel": known["channel"], "message_ts": gone, "emoji": "eyes"}),
        ReadCall("GET", "/events", {"channel": known["channel"]}),
        ReadCall("GET", "/events", {}),
    ]
