"""Events: a thousand changes through throttling, crashes and disordered deliveries; and how soon a change is seen."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from benchmarks.pacing import Place, addresses_of, furnished, sandboxed
from benchmarks.processes import Server, environment_of, free_port, wait_for

UPDATED, CREATED, SAID = 300, 200, 500
CHANGES = UPDATED + CREATED + SAID
KILLED_AFTER = (250, 500, 750)
PATIENCE_SECONDS = 300.0
TIMED = 20
QUIET_SECONDS = 5.0
WATCH_SECONDS = 5.0
PROPERTY = "Value"
DATABASE, NUMBER = "Everything", "Number"
"""A database with more rows than are changed, and a property of it."""


@dataclass
class Killed:
    """A gateway that is killed and started again, on the same database and port."""

    environment: Mapping[str, str]
    port: int
    process: subprocess.Popen[bytes] | None = field(default=None, init=False)

    def start(self) -> Server:
        """Serve, and return once calls are taken."""
        command = [sys.executable, "-m", "connector_gateway", "serve", "--port", str(self.port)]
        self.process = subprocess.Popen(command, env={**os.environ, **self.environment}, stdout=subprocess.DEVNULL)
        url = f"http://127.0.0.1:{self.port}"
        wait_for(f"{url}/readyz", self.process)
        return Server(self.process.pid, url)

    def kill(self) -> None:
        """End the process without warning."""
        if self.process:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait(10)


@dataclass
class Scene:
    """A sandbox with its deliveries set up, and the gateway that observes it."""

    place: Place
    gateway: Killed

    def control(self, path: str, body: Any) -> Any:
        """Steer the sandbox."""
        answer = httpx.post(f"{self.place.sandbox['sandbox_url']}/_control/{path}", json=body, timeout=30)
        return answer.raise_for_status().json()

    def feed(self, connector: str, **query: Any) -> list[dict[str, Any]]:
        """Every event of a connection."""
        events: list[dict[str, Any]] = []
        cursor: str | None = None
        while True:
            sent = {"connection_id": self.place.connections[connector], "limit": 200, **query}
            url = f"{self.place.gateway.url}/v1/connectors/{connector}/events"
            headers = {"Authorization": f"Bearer {self.place.key}"}
            page = httpx.get(url, params=sent | ({"cursor": cursor} if cursor else {}), headers=headers, timeout=30)
            events += page.raise_for_status().json()["data"]
            cursor = page.json()["next_cursor"]
            if cursor is None:
                return events


def rows() -> Iterator[tuple[str, str, str, bool]]:
    """What is measured, the figure, the bar, and whether it is reached."""
    with _scene(GATEWAY_NOTES_WATCH_SECONDS="600") as scene:
        yield _delay(scene, "chat", "a message, pushed", 1.0)
        yield _delay(scene, "notes", "a change of a page, after a webhook", 2.0)
        yield _thousand(scene)
    polled = {"GATEWAY_NOTES_WATCH_SECONDS": str(WATCH_SECONDS), "GATEWAY_NOTES_BUDGET": "1000/1"}
    with _scene(hooked=False, **polled) as scene:
        yield _delay(scene, "notes", f"a change of a page, looked for every {WATCH_SECONDS:.0f} s", WATCH_SECONDS + 1)


@contextmanager
def _scene(*, hooked: bool = True, **settings: str) -> Iterator[Scene]:
    """Where events happen; without hooks, only looks can find them, and then the third party sets no limits."""
    with ExitStack() as stack:
        described = stack.enter_context(sandboxed())
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        port = free_port()
        environment = environment_of(addresses_of(described) | settings, Path(folder)) | {
            "GATEWAY_WATCH": "on",
            "GATEWAY_CHAT_HOOK_SECRET": described["upstreams"]["chat"]["signing_secret"],
        }
        gateway = Killed(environment, port)
        stack.callback(gateway.kill)
        scene = Scene(furnished(described, [gateway.start()], environment["GATEWAY_OPERATOR_TOKEN"]), gateway)
        if hooked:
            _set_up_deliveries(scene)
        scene.control("notes/knobs", {"limits": hooked})
        _wait_until_watched(scene)
        if hooked:
            _wait_until_quiet(scene)
        yield scene


def _set_up_deliveries(scene: Scene) -> None:
    """What people do once in the settings of the applications."""
    hooks = f"{scene.place.gateway.url}/hooks"
    scene.control("chat/knobs", {"events_url": f"{hooks}/chat"})
    scene.control("notes/act", {"action": "subscribe", "url": f"{hooks}/notes"})
    token = _eventually(lambda: _handed_over(scene), 10)
    scene.control("notes/act", {"action": "verify_webhook", "verification_token": token})


def _handed_over(scene: Scene) -> str | None:
    answer = scene.place.operator.get("/v1/hooks/notes")
    return answer.json()["data"]["verification_token"] if answer.status_code == 200 else None


def _wait_until_watched(scene: Scene) -> None:
    """Change one page until that is seen."""
    examples = scene.place.sandbox["examples"]["notes"]
    for number in range(1000):
        properties = {PROPERTY: 100_000 + number}
        scene.control("notes/act", {"action": "update_page", "page_id": examples["page_id"], "properties": properties})
        time.sleep(0.5)
        if scene.feed("notes"):
            return
    raise RuntimeError("nothing was observed")


def _wait_until_quiet(scene: Scene) -> None:
    """Wait until everything was looked at for the first time, after which only deliveries make looks."""
    journal = f"{scene.place.sandbox['sandbox_url']}/_control/notes/requests"
    seen = -1
    while seen != (seen := len(httpx.get(journal, timeout=30).json())):
        time.sleep(QUIET_SECONDS)


def _delay(scene: Scene, connector: str, what: str, bar: float) -> tuple[str, str, str, bool]:
    """The slowest of several changes, from when it is made to when it can be read."""
    slowest = max(_seen_after(scene, connector, number) for number in range(TIMED if bar < WATCH_SECONDS else 4))
    return f"{connector}: {what}: delay until it can be read", f"{slowest:.2f} s", f"<= {bar:.0f} s", slowest <= bar


def _seen_after(scene: Scene, connector: str, number: int) -> float:
    before = len(scene.feed(connector))
    _change(scene, connector, number)
    began = time.perf_counter()
    _eventually(lambda: len(scene.feed(connector)) > before, 60)
    return time.perf_counter() - began


def _change(scene: Scene, connector: str, number: int) -> None:
    examples = scene.place.sandbox["examples"][connector]
    if connector == "chat":
        scene.control("chat/act", _message(examples, f"timed {number}"))
    else:
        properties = {PROPERTY: 200_000 + number}
        scene.control("notes/act", {"action": "update_page", "page_id": examples["page_id"], "properties": properties})


def _thousand(scene: Scene) -> tuple[str, str, str, bool]:
    """Every change once, whatever happens."""
    before = {connector: len(scene.feed(connector)) for connector in ("notes", "chat")}
    for connector in before:
        scene.control(f"{connector}/knobs", {"deliver_twice": True, "deliver_disordered": True})
    wanted = _make_changes(scene)
    began = time.perf_counter()
    with suppress(TimeoutError):
        _eventually(lambda: wanted.total() <= sum(map(len, _observed(scene, before).values())), PATIENCE_SECONDS)
    took = time.perf_counter() - began
    observed = [event for events in _observed(scene, before).values() for event in events]
    seen = Counter(map(_told, observed))
    missing, doubled = wanted - seen, seen - wanted
    figure = (
        f"{len(observed)} events, {missing.total()} missing, {doubled.total()} too many; {took:.0f} s after the last"
    )
    return (
        f"{CHANGES} changes, 3 kills, throttling, deliveries doubled and disordered: every one once",
        figure,
        "0 missing, 0 too many",
        not missing and not doubled,
    )


def _make_changes(scene: Scene) -> Counter[tuple[str, ...]]:
    """Make the changes in turn, with accidents among them; returns what should be told of them."""
    examples = scene.place.sandbox["examples"]
    pages = _pages(scene)
    wanted: Counter[tuple[str, ...]] = Counter()
    plan = ["update"] * UPDATED + ["create"] * CREATED + ["say"] * SAID
    order = [plan[number * 337 % CHANGES] for number in range(CHANGES)]
    for number, kind in enumerate(order):
        if number in KILLED_AFTER:
            scene.gateway.kill()
        if number - 5 in KILLED_AFTER:
            scene.gateway.start()
        if number % 50 == 0:
            _throttle(scene)
        if kind == "update":
            page_id, value = pages.popitem()
            _act(scene, action="update_page", page_id=page_id, properties={NUMBER: 1_000_000 + number})
            wanted["page.property_updated", page_id, NUMBER, value, str(1_000_000 + number)] += 1
        elif kind == "create":
            made = _act(
                scene,
                action="create_page",
                database_id=examples["notes"]["database_id"],
                properties={"Name": f"made {number}"},
            )
            wanted["page.created", made["page_id"]] += 1
        else:
            scene.control("chat/act", _message(examples["chat"], f"said {number}"))
            wanted["message.posted", f"said {number}"] += 1
    return wanted


def _throttle(scene: Scene) -> None:
    refusal = {"fault": "status", "status": 429, "headers": {"Retry-After": "1"}, "times": 3}
    scene.control("notes/faults", {**refusal, "body": {"object": "error", "status": 429, "code": "rate_limited"}})
    scene.control("chat/faults", {**refusal, "body": {"ok": False, "error": "ratelimited"}})


def _pages(scene: Scene) -> dict[str, str]:
    """Pages of the example database with a property's value as text, as the third party itself tells them."""
    notes = scene.place.sandbox["upstreams"]["notes"]
    headers = {"Authorization": f"Bearer {notes['token']}", "Notion-Version": "2026-03-11"}
    with httpx.Client(base_url=notes["base_url"], headers=headers, timeout=30) as client:
        wanted = {"query": DATABASE, "filter": {"property": "object", "value": "data_source"}}
        (source,) = client.post("/v1/search", json=wanted).raise_for_status().json()["results"]
        found: dict[str, str] = {}
        cursor: str | None = None
        while len(found) < UPDATED:
            body = {"page_size": 100} | ({"start_cursor": cursor} if cursor else {})
            time.sleep(1)
            page = client.post(f"/v1/data_sources/{source['id']}/query", json=body).raise_for_status().json()
            found |= {raw["id"]: _text(raw["properties"][NUMBER]["number"]) for raw in page["results"]}
            cursor = page["next_cursor"]
        return found


def _text(number: float | None) -> str:
    return "" if number is None else f"{number:.10f}".rstrip("0").rstrip(".")


def _act(scene: Scene, **action: Any) -> Any:
    return scene.control("notes/act", action)


def _message(examples: Mapping[str, Any], text: str) -> dict[str, Any]:
    return {"action": "message", "channel_id": examples["channel_id"], "text": text}


def _observed(scene: Scene, before: Mapping[str, int]) -> dict[str, list[dict[str, Any]]]:
    return {connector: scene.feed(connector)[count:] for connector, count in before.items()}


def _told(event: Mapping[str, Any]) -> tuple[str, ...]:
    if event["type"] == "page.created":
        return (event["type"], event["page_id"])
    if event["type"] == "message.posted":
        return (event["type"], event["text"])
    return (event["type"], event["page_id"], event["property"], event["from"], event["to"])


def _eventually(holds: Any, seconds: float) -> Any:
    """What *holds* gives, once that is something."""
    deadline = time.monotonic() + seconds
    while not (found := holds()):
        if time.monotonic() > deadline:
            raise TimeoutError("it did not come true in time")
        time.sleep(0.02)
    return found
