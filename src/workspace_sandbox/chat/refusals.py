"""How the vendor says no."""

from typing import Any


class SlackError(Exception):
    """Ends a method with ``ok: false`` and this code; *details* are further keys of the answer."""

    def __init__(self, code: str, **details: Any) -> None:
        super().__init__(code)
        self.code = code
        self.details = details


class Throttled(Exception):
    """Ends a method with status 429: nothing was done, and there is room again after ``seconds``."""

    def __init__(self, seconds: float, code: str = "ratelimited") -> None:
        super().__init__(code)
        self.seconds = seconds
        self.code = code


def invalid_arguments(*messages: str) -> SlackError:
    """The refusal of arguments that do not fit the method, with a line for each fault."""
    return SlackError("invalid_arguments", response_metadata={"messages": [f"[ERROR] {line}" for line in messages]})
