"""What it costs to decode the answers of third parties into typed shapes: msgspec against pydantic, on real answers."""

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import files
from pathlib import Path
from types import GenericAlias
from typing import Any

import aiohttp
import msgspec
import pydantic
import pydantic_core
from pydantic_core import from_json

from connector_gateway.connectors import CONNECTORS
from workspace_sandbox import EMULATORS
from workspace_sandbox.kit.emulator import Emulator
from workspace_sandbox.sandbox import Sandbox

ROUNDS = 40
ROUND_SECONDS = 0.01

WHOLE = {
    "msgspec": ("msgspec",),
    "pydantic": ("pydantic", "pydantic_core", "annotated_types", "typing_inspection"),
}
"""The packages that each of them consists of."""


@dataclass(frozen=True)
class Maybe:
    """A field that may be missing or null."""

    shape: Any


@dataclass(frozen=True)
class By:
    """An object with keys that are not known beforehand."""

    shape: Any


@dataclass(frozen=True)
class Asked:
    """A typical request, and the shape of what is read of its answer."""

    method: str
    path: str
    body: Any
    shape: Mapping[str, Any]
    wrong: tuple[str | int, ...]
    """Where a text is replaced by an object, to see how the fault is told."""


TEXT = [{"plain_text": str}]
VALUE = {
    "id": str,
    "type": str,
    "title": Maybe(TEXT),
    "rich_text": Maybe(TEXT),
    "number": Maybe(float),
    "select": Maybe({"id": str, "name": str}),
    "checkbox": Maybe(bool),
    "url": Maybe(str),
}
PAGE = {"id": str, "created_time": str, "last_edited_time": str, "in_trash": bool, "url": str, "properties": By(VALUE)}
PART = {"partId": Maybe(str), "mimeType": str, "filename": str, "body": {"size": int, "attachmentId": Maybe(str)}}
HEADERS = [{"name": str, "value": str}]
CHANNEL = {"id": str, "name": Maybe(str), "is_archived": bool, "is_member": Maybe(bool), "is_private": Maybe(bool)}
OPTION = {"label": str, "value": str, "hidden": bool}
PROPERTY = {"name": str, "label": str, "type": str, "fieldType": str, "options": [OPTION], "calculated": Maybe(bool)}
FIELD = {"id": str, "name": str, "type": str, "options": Maybe({"choices": Maybe([{"id": str, "name": str}])})}
TABLE = {"id": str, "name": str, "primaryFieldId": str, "fields": [FIELD], "views": [{"id": str, "name": str}]}


def asked(room: str, known: Mapping[str, Any]) -> Asked:
    """The typical request of *room*."""
    match room:
        case "notes":
            path, shape = f"/v1/data_sources/{known['data_source_id']}/query", {"results": [PAGE], "has_more": bool}
            return Asked("POST", path, {"page_size": 100}, shape, ("results", 3, "properties", "Name", "id"))
        case "boards":
            nested = "lists=open&list_fields=name,pos&cards=open&card_fields=idList"
            path = f"/1/boards/{known['board_id']}?fields=name&{nested}"
            lists = [{"id": str, "name": str, "pos": float}]
            shape = {"name": str, "lists": lists, "cards": [{"id": str, "idList": str}]}
            return Asked("GET", path, None, shape, ("cards", 3, "idList"))
        case "mail":
            path = f"/gmail/v1/users/me/messages/{known['attachment_message_id']}"
            payload = {**PART, "headers": HEADERS, "parts": Maybe([{**PART, "headers": Maybe(HEADERS)}])}
            shape = {"id": str, "threadId": str, "labelIds": [str], "internalDate": str, "payload": payload}
            return Asked("GET", path, None, shape, ("payload", "headers", 3, "value"))
        case "chat":
            return Asked(
                "GET",
                "/api/conversations.list?limit=200",
                None,
                {"ok": bool, "channels": [CHANNEL]},
                ("channels", 3, "id"),
            )
        case "crm":
            return Asked(
                "GET", "/crm/properties/2026-09/contacts", None, {"results": [PROPERTY]}, ("results", 3, "label")
            )
        case _:
            path = f"/v0/meta/bases/{known['base_id']}/tables"
            return Asked("GET", path, None, {"tables": [TABLE]}, ("tables", 0, "fields", 3, "name"))


def struct(shape: Any, name: str = "Answer") -> Any:
    """*shape* as msgspec has it."""
    match shape:
        case Maybe(inner):
            return struct(inner, name) | None
        case By(inner):
            return GenericAlias(dict, (str, struct(inner, name)))
        case [inner]:
            return GenericAlias(list, (struct(inner, name),))
        case dict():
            fields = [_field(key, value) for key, value in shape.items()]
            return msgspec.defstruct(name, sorted(fields, key=len), frozen=True)
    return shape


def _field(key: str, shape: Any) -> Any:
    made = struct(shape, key.title())
    return (key, made, None) if isinstance(shape, Maybe) else (key, made)


def model(shape: Any, name: str = "Answer") -> Any:
    """*shape* as pydantic has it, as strict as msgspec is."""
    match shape:
        case Maybe(inner):
            return model(inner, name) | None
        case By(inner):
            return GenericAlias(dict, (str, model(inner, name)))
        case [inner]:
            return GenericAlias(list, (model(inner, name),))
        case dict():
            config = pydantic.ConfigDict(frozen=True, strict=True, extra="ignore")
            fields: dict[str, Any] = {
                key: (model(value, key.title()), None if isinstance(value, Maybe) else ...)
                for key, value in shape.items()
            }
            return pydantic.create_model(name, __config__=config, **fields)
    return shape


async def captured() -> Mapping[str, tuple[Asked, bytes]]:
    """The typical request of each room, and what its stand-in answered."""
    sandbox = Sandbox(EMULATORS)
    await sandbox.start()
    try:
        async with aiohttp.ClientSession() as session:
            return {room: await _captured(session, room, emulator) for room, emulator in sandbox.emulators.items()}
    finally:
        await sandbox.stop()


async def _captured(session: aiohttp.ClientSession, room: str, emulator: Emulator) -> tuple[Asked, bytes]:
    request = asked(room, emulator.examples())
    headers = dict(CONNECTORS[room].authorise(emulator.credentials()))
    url = emulator.stage.addresses["base"] + request.path
    async with session.request(request.method, url, json=request.body, headers=headers) as answer:
        answer.raise_for_status()
        return request, await answer.read()


def rows() -> Iterator[tuple[str, str, str, bool]]:
    """What is measured, the figure, the bar, and whether it is reached."""
    for room, (request, body) in asyncio.run(captured()).items():
        yield from _times(room, request, body)
        yield from _places(room, request, body)
    for name, packages in WHOLE.items():
        yield f"size of {name}, installed", f"{sum(map(_kilobytes, packages))} KB", "-", True


def _times(room: str, request: Asked, body: bytes) -> Iterator[tuple[str, str, str, bool]]:
    decoder = msgspec.json.Decoder(struct(request.shape))
    adapter = pydantic.TypeAdapter(model(request.shape))
    plain, fast, slow = _seconds(
        [partial(from_json, body), partial(decoder.decode, body), partial(adapter.validate_json, body)]
    )
    what = f"{room}: {len(body) / 1024:.0f} KB into typed shapes"
    figure = f"{fast / plain:.2f}x ({fast * 1e6:.0f} us / {plain * 1e6:.0f} us)"
    yield f"{what}, msgspec over plain dicts", figure, "<= 1x", fast <= plain
    yield f"{what}, pydantic over msgspec", f"{slow / fast:.1f}x ({slow * 1e6:.0f} us)", "-", True


def _seconds(works: Sequence[Callable[[], object]]) -> list[float]:
    """Seconds that each of *works* takes, the best of many short rounds in turn."""
    best = [float("inf")] * len(works)
    times = [max(1, int(ROUND_SECONDS / _once(work, 1))) for work in works]
    for _ in range(ROUNDS):
        best = [min(known, _once(work, count)) for known, work, count in zip(best, works, times, strict=True)]
    return best


def _once(work: Callable[[], object], times: int) -> float:
    began = time.perf_counter()
    for _ in range(times):
        work()
    return (time.perf_counter() - began) / times


def _places(room: str, request: Asked, body: bytes) -> Iterator[tuple[str, str, str, bool]]:
    """How each of them says where the answer differs."""
    broken = _broken(body, request.wrong)
    try:
        msgspec.json.decode(broken, type=struct(request.shape))
    except msgspec.ValidationError as fault:
        yield f"{room}: the place, msgspec", str(fault), "-", True
    try:
        pydantic.TypeAdapter(model(request.shape)).validate_json(broken)
    except pydantic.ValidationError as fault:
        yield f"{room}: the place, pydantic", f"{fault.errors()[0]['msg']} - {fault.errors()[0]['loc']}", "-", True


def _broken(body: bytes, place: Sequence[str | int]) -> bytes:
    """*body* with an object in place of what stands there."""
    value = from_json(body)
    within = value
    for step in place[:-1]:
        within = within[step]
    within[place[-1]] = {}
    return pydantic_core.to_json(value)


def _kilobytes(package: str) -> int:
    """Kilobytes that a package takes up, without compiled caches."""
    found = [Path(file.locate()) for file in files(package) or [] if file.suffix != ".pyc"]
    return sum(path.stat().st_size for path in found if path.exists()) // 1024
