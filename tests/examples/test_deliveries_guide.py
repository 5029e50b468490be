"""The guide for deliveries, followed literally with messages of people; and the documented loop over a feed."""

import json
import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import islice
from pathlib import Path
from queue import Queue
from threading import Thread
from types import SimpleNamespace
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from connector_gateway_client import Gateway as Client
from connector_gateway_client import webhooks
from gateway.tests.connectors.chat.event_feed import (
    change_settings,
    confirm_app,
    connect,
    post_message,
    run_watching_gateway,
)
from gateway.tests.connectors.chat.vendor_view import GENERAL, RANDOM
from harness.gateway_server import OPERATOR, Gateway
from harness.requirement import requirement

GUIDE = (Path(__file__).parents[2] / "docs" / "guide" / "deliveries.md").read_text(encoding="utf-8")
CREATE, RUNS, ENABLE, REPLAY, ROTATE = re.findall(r"```sh\n(.*?)```", GUIDE, re.DOTALL)
(DOCUMENTED,) = [json.loads(text) for text in re.findall(r"```json\n(.*?)```", GUIDE, re.DOTALL)]
ENDPOINT = "http://127.0.0.1:8000/events"


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    with run_watching_gateway(tmp_path_factory.mktemp("deliveries"), GATEWAY_PRIVATE_WEBHOOKS="on") as gateway:
        gateway.clear("chat")
        gateway.knob("chat", events_url=f"{gateway.base_url}/hooks/chat")
        yield gateway


@dataclass
class Product:
    """The program of the guide, on a free port."""

    server: ThreadingHTTPServer
    printed: Queue[tuple[Any, ...]] = field(default_factory=Queue)
    bodies: list[Any] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}/events"

    def receive(self, secret: str) -> None:
        """Run the guide's receiver without its last line, which would listen on another port."""
        (text,) = re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)
        names: dict[str, Any] = {"print": lambda *words: self.printed.put(words)}
        os.environ["WEBHOOK_SECRET"] = secret
        exec(text.rpartition("\n\n\n")[0], names)
        names["webhooks"] = SimpleNamespace(verify=self.verify, SignatureMismatch=webhooks.SignatureMismatch)
        names["Receiver"].log_message = lambda *_: None
        self.server.RequestHandlerClass = names["Receiver"]

    def verify(self, headers: dict[str, str], body: bytes, secret: str) -> Any:
        """The delivery with its complete body."""
        delivery = webhooks.verify(headers, body, secret)
        self.bodies.append(json.loads(body))
        return delivery

    def next(self) -> tuple[str, str]:
        """Return type and text of the next event."""
        kind, data = self.printed.get(timeout=30)
        return kind, data["text"]


@contextmanager
def product() -> Iterator[Product]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield Product(server)
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)


def typed(gateway: Gateway, lines: str, **variables: str) -> Any:
    """Type *lines* of the guide, and return the response."""
    settings = {"GATEWAY_URL": gateway.base_url, "GATEWAY_OPERATOR_TOKEN": OPERATOR, "PATH": os.environ["PATH"]}
    done = subprocess.run(
        ["bash", "-euc", lines], env=settings | variables, capture_output=True, text=True, check=True, timeout=60
    )
    return json.loads(done.stdout)["data"]


def schema_violations(gateway: Gateway, bodies: list[Any]) -> list[str]:
    """Return violations of the documented schema of deliveries."""
    document = gateway.request("GET", "/openapi.json").body
    event_schema = document["webhooks"]["chat_event"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    checked = Draft202012Validator(event_schema | {"components": document["components"]})
    return [violation.message for body in bodies for violation in checked.iter_errors(body)]


@requirement("deliveries-1", "deliveries-3", "deliveries-4", "deliveries-7", "deliveries-11")
def test_the_documented_receiver_accepts_deliveries_and_replays(gateway: Gateway) -> None:
    connection = gateway.connections["chat"]
    confirm_app(gateway, connection)
    change_settings(gateway, connection, channels=[GENERAL], keywords=["deploy"])
    with product() as receiver:
        lines = CREATE.replace(ENDPOINT, receiver.url)
        webhook = typed(gateway, lines, WORKSPACE_ID=gateway.workspace_id)
        receiver.receive(webhook["secret"])
        names = {"WEBHOOK_ID": webhook["webhook_id"], "CONNECTION_ID": connection}
        post_message(gateway, GENERAL, "deploy it")
        first = receiver.next()
        again = typed(gateway, REPLAY, **names)
        second = receiver.next()
        rotated = typed(gateway, ROTATE, **names)
        post_message(gateway, GENERAL, "deploy more")
        third = receiver.next()
        active = typed(gateway, ENABLE, **names)
        gateway.operator("DELETE", f"/v1/webhooks/{webhook['webhook_id']}")

    assert [("message.keyword", text) for text in ("deploy it", "deploy it", "deploy more")] == [first, second, third]
    assert (1, "active", []) == (again["events"], active["status"], typed(gateway, RUNS))
    assert webhook["secret"] != rotated["secret"]
    assert (3, []) == (len(receiver.bodies), schema_violations(gateway, receiver.bodies))
    assert (DOCUMENTED.keys(), DOCUMENTED["data"].keys()) == (
        receiver.bodies[0].keys(),
        receiver.bodies[0]["data"].keys(),
    )


def test_the_documented_loop_reads_new_events(gateway: Gateway) -> None:
    connection = connect(gateway, channels=[RANDOM])
    post_message(gateway, RANDOM, "one")
    with Client(gateway.base_url, gateway.key) as client:
        feed = iter(client.chat.follow_events(connection_id=connection, poll_seconds=0.05))
        first = [event["text"] for event in islice(feed, 1)]
        post_message(gateway, RANDOM, "two")
        post_message(gateway, RANDOM, "three")
        further = [event["text"] for event in islice(feed, 2)]

    assert (["one"], ["two", "three"]) == (first, further)
