"""Calls of this connector for the tests that all connectors share."""

from collections.abc import Sequence

from harness.operation_calls import Examples, ReadCall

WRITE = ("chat.post_message", "/api/chat.postMessage")
"""The name of a write in the simulation, and the start of the path of its vendor request."""


def list_reads(examples: Examples) -> Sequence[ReadCall]:
    """Return calls that change nothing. The first one sends a vendor request each time."""
    gone = "1111111111.111111"
    return [
        ReadCall("GET", "/channels", {"limit": 20}),
        ReadCall("POST", "/messages", {"channel": "no such channel", "text": "x"}),
        ReadCall("POST", "/messages", {"channel": examples["channel"], "text": "x", "thread_ts": gone}),
        ReadCall("PATCH", f"/messages/{gone}", {"channel": examples["channel"], "text": "x"}),
        ReadCall("POST", "/reactions", {"channel": examples["channel"], "message_ts": gone, "emoji": "eyes"}),
        ReadCall("GET", "/events", {"channel": examples["channel"]}),
        ReadCall("GET", "/events", {}),
    ]
