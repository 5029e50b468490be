"""What testers let go wrong."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any, Literal
from urllib.parse import parse_qsl

from aiohttp import web

from workspace_sandbox.kit.asking import Field, flag, number, object_of, one_of, read, text, whole

FaultKind = Literal["status", "delay", "drop_before", "drop_after", "garbage", "slow_body", "throttle"]
KINDS: tuple[FaultKind, ...] = ("status", "delay", "drop_before", "drop_after", "garbage", "slow_body", "throttle")


@dataclass(slots=True)
class Fault:
    """Something that goes wrong with the next ``times`` requests that match.

    ``status`` answers with ``status``, ``headers`` and ``body`` and writes nothing, unless the request is ``served``
    first.
    ``delay`` waits ``seconds`` once the request has arrived and is counted, then serves as usual, even when the caller
    has gone.
    ``drop_before`` cuts the connection and writes nothing; ``drop_after`` serves, then cuts before the answer.
    ``garbage`` serves, then answers with something that is not JSON.
    ``slow_body`` serves, then lets the body trickle over ``seconds``.
    ``throttle`` refuses as the vendor does who was asked too often, for ``seconds``, and writes nothing.
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
    """Only requests that present this token match."""
    after: int = 0
    """So many matching requests are served as usual first."""
    probability: float = 1.0
    """How likely each matching request is met, by chance that begins with ``seed`` and so repeats."""
    seed: int = 0
    asked: Mapping[str, Any] = field(default_factory=dict)
    """What a tester said, as far as a tester said it."""
    matched: int = 0
    done: int = 0
    _chance: Random = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self._chance = Random(self.seed)

    def matches(self, method: str, path: str, tokens: Iterable[str] = ()) -> bool:
        """Whether such a request is one of those this fault is for."""
        alike = self.times > 0 and self.method in {None, method} and path.startswith(self.path)
        return alike and (self.token is None or self.token in tokens)

    def consume(self) -> bool:
        """Count a request that it concerns; whether it goes wrong."""
        self.matched += 1
        if self.matched <= self.after or (self.probability < 1 and self._chance.random() >= self.probability):
            return False
        # Only what meets a request is used up; what chance has spared is still to come.
        self.times -= 1
        self.done += 1
        return True

    def answer(self) -> web.Response:
        """The answer of a ``status`` fault."""
        if not isinstance(self.body, str):
            answer = web.json_response(self.body, status=self.status)
        else:
            answer = web.Response(status=self.status, text=self.body)
        # Set afterwards: a type given beside a text would be refused by aiohttp, and the one given here counts.
        answer.headers.update(self.headers)
        return answer

    def told(self) -> dict[str, Any]:
        """The fault as it was asked for, how many requests matched it, met it, and may still meet it."""
        asked = {"fault": self.fault, **self.asked}
        return {**asked, "matched": self.matched, "done": self.done, "left": self.times}


def _path(value: Any) -> str:
    prefix = text(value)
    if prefix and not prefix.startswith("/"):
        raise ValueError("must begin with /")
    # It would never match, and a fault that never comes looks like one that was survived.
    if "?" in prefix:
        raise ValueError("is compared with the path alone, so it has no ?")
    return prefix


def _status(value: Any) -> int:
    status = whole(value)
    if not 200 <= status <= 599:
        raise ValueError("must be from 200 to 599")
    return status


def _headers(value: Any) -> dict[str, str]:
    given = object_of(value)
    for name, told in given.items():
        if isinstance(told, bool) or not isinstance(told, str | int | float):
            raise ValueError(f"must have a text for {name}")
        # Faults are sent as they are: what breaks the wire is a kind of its own.
        if not name or any(character in f"{name}{told}" for character in "\r\n\0") or not name.isascii():
            raise ValueError(f"cannot have {name!r} on the wire")
    return {name: str(told) for name, told in given.items()}


def _likely(value: Any) -> float:
    share = number(value)
    if share > 1:
        raise ValueError("must be from 0 to 1")
    return share


ASKED: Mapping[str, Field] = {
    "fault": one_of(*KINDS),
    "times": whole,
    "method": lambda value: text(value).upper(),
    "path": _path,
    "status": _status,
    "headers": _headers,
    "body": lambda value: value,
    "seconds": number,
    "served": flag,
    "token": text,
    "after": whole,
    "probability": _likely,
    "seed": whole,
}
"""What a tester says of a fault, and how each is read."""


def fault_of(wanted: Mapping[str, Any]) -> Fault:
    """The fault that is asked for; all that is wrong with it is told at once."""
    made = read(wanted, ASKED, needs=("fault",))
    if "body" in wanted:
        made["body"] = wanted["body"]  # Null is a body too.
    return Fault(**made, asked=made)


async def tokens_of(request: web.Request) -> list[str]:
    """Every text of a request that may be its token: in the header, in the query, in a form or a JSON body."""
    scheme, _, given = request.headers.get("Authorization", "").partition(" ")
    # One vendor's header holds several quoted values after its scheme.
    found = [scheme, given.strip(), *(part.split('"')[1] for part in given.split(",") if part.count('"') == 2)]
    found += request.query.values()
    # Read only what handlers read as a whole too: the parts of a form with files are read once.
    if request.content_type == "application/x-www-form-urlencoded":
        found += (value for _, value in parse_qsl((await request.read()).decode("utf-8", "replace")))
    elif request.content_type == "application/json":
        found += _in_json(await request.read())
    return found


def _in_json(content: bytes) -> list[str]:
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        return []
    return [value for value in body.values() if isinstance(value, str)] if isinstance(body, dict) else []
