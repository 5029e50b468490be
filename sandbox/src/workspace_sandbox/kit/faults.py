"""Faults that testers inject into responses."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any, Literal
from urllib.parse import parse_qsl

from aiohttp import web

from workspace_sandbox.kit.input_validation import (
    Field,
    flag,
    json_object,
    non_negative_int,
    non_negative_number,
    one_of,
    read,
    text,
)

FaultKind = Literal["status", "delay", "drop_before", "drop_after", "garbage", "slow_body", "throttle"]
KINDS: tuple[FaultKind, ...] = ("status", "delay", "drop_before", "drop_after", "garbage", "slow_body", "throttle")


@dataclass(slots=True)
class Fault:
    """A fault of the next ``times`` matching requests.

    ``status`` responds with ``status``, ``headers`` and ``body`` without any change, or after serving the request if
    ``served`` is set.
    ``delay`` waits for ``seconds`` after the request was received and counted, then serves it, even if the client has
    disconnected.
    ``drop_before`` aborts the connection without any change. ``drop_after`` serves the request, then aborts the
    connection before the response.
    ``garbage`` serves the request, then responds with invalid JSON.
    ``slow_body`` serves the request, then sends the body slowly over ``seconds``.
    ``throttle`` responds with the vendor's throttling error for ``seconds``, without any change.
    """

    fault: FaultKind
    times: int = 1
    method: str | None = None
    path: str = "/"
    status: int = 500
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Any = ""
    seconds: float = 0.0
    served: bool = False
    """Whether a ``status`` replaces the response to a request that was carried out."""
    token: str | None = None
    """The access token of matching requests, wherever they carry it (``read_tokens``), or None for any."""
    after: int = 0
    """Number of matching requests that are served before the fault occurs."""
    probability: float = 1.0
    """The probability that the fault occurs on a matching request. ``seed`` makes the sequence reproducible."""
    seed: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)
    """The parameters that the tester specified."""
    matched: int = 0
    done: int = 0
    _chance: Random = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self._chance = Random(self.seed)

    def matches(self, method: str, path: str, tokens: Iterable[str] = ()) -> bool:
        """Return True if the fault applies to such a request."""
        alike = self.times > 0 and self.method in {None, method} and path.startswith(self.path)
        return alike and (self.token is None or self.token in tokens)

    def consume(self) -> bool:
        """Count a matching request. Returns whether the fault occurs on it."""
        self.matched += 1
        if self.matched <= self.after or (self.probability < 1 and self._chance.random() >= self.probability):
            return False
        # Only occurrences use up ``times``. Requests spared by chance do not count.
        self.times -= 1
        self.done += 1
        return True

    def response(self) -> web.Response:
        """Return the response of a ``status`` fault."""
        if not isinstance(self.body, str):
            response = web.json_response(self.body, status=self.status)
        else:
            response = web.Response(status=self.status, text=self.body)
        # Set after construction, because aiohttp rejects a content type next to a text.
        response.headers.update(self.headers)
        return response

    def to_json(self) -> dict[str, Any]:
        """Return the parameters of the fault and its counters of matching, affected and remaining requests."""
        options = {"fault": self.fault, **self.options}
        return {**options, "matched": self.matched, "done": self.done, "left": self.times}


def _path(value: Any) -> str:
    prefix = text(value)
    if prefix and not prefix.startswith("/"):
        raise ValueError("must start with /")
    # It would never match, and a fault that never occurs looks like one that the client survived.
    if "?" in prefix:
        raise ValueError("must not contain ?, because it is compared with the path only")
    return prefix


def _status(value: Any) -> int:
    status = non_negative_int(value)
    if not 200 <= status <= 599:
        raise ValueError("must be between 200 and 599")
    return status


def _headers(value: Any) -> dict[str, str]:
    headers = json_object(value)
    for name, content in headers.items():
        if isinstance(content, bool) or not isinstance(content, str | int | float):
            raise ValueError(f"must have a string for {name}")
        # Header values are sent unchanged. Malformed responses are a separate kind of fault.
        if not name or any(character in f"{name}{content}" for character in "\r\n\0") or not name.isascii():
            raise ValueError(f"has an invalid name or value for {name!r}")
    return {name: str(content) for name, content in headers.items()}


def _probability(value: Any) -> float:
    share = non_negative_number(value)
    if share > 1:
        raise ValueError("must be between 0 and 1")
    return share


FIELDS: Mapping[str, Field] = {
    "fault": one_of(*KINDS),
    "times": non_negative_int,
    "method": lambda value: text(value).upper(),
    "path": _path,
    "status": _status,
    "headers": _headers,
    "body": lambda value: value,
    "seconds": non_negative_number,
    "served": flag,
    "token": text,
    "after": non_negative_int,
    "probability": _probability,
    "seed": non_negative_int,
}
"""Readers of the parameters of a fault."""


def parse_fault(fields: Mapping[str, Any]) -> Fault:
    """Create the fault that *fields* describe. Raises ``InvalidInput`` with all errors."""
    options = read(fields, FIELDS, required=("fault",))
    if "body" in fields:
        options["body"] = fields["body"]  # Null is a body too.
    return Fault(**options, options=options)


async def read_tokens(request: web.Request) -> list[str]:
    """Return all strings of a request that can be its token, from headers, the query, a form or a JSON body."""
    scheme, _, credentials = request.headers.get("Authorization", "").partition(" ")
    # Trello's header contains several quoted values after its scheme.
    candidates = [
        scheme,
        credentials.strip(),
        *(part.split('"')[1] for part in credentials.split(",") if part.count('"') == 2),
    ]
    candidates += [*request.headers.values(), *request.query.values()]
    # Only bodies that handlers read completely: the parts of a multipart form can be read only once.
    if request.content_type == "application/x-www-form-urlencoded":
        candidates += (value for _, value in parse_qsl((await request.read()).decode("utf-8", "replace")))
    elif request.content_type == "application/json":
        candidates += _in_json(await request.read())
    return candidates


def _in_json(content: bytes) -> list[str]:
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        return []
    return [value for value in body.values() if isinstance(value, str)] if isinstance(body, dict) else []
