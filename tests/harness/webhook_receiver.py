"""A webhook endpoint, served from separate threads."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import Queue
from threading import Thread
from typing import Any

Answer = tuple[int, dict[str, str], bytes]


@dataclass
class Inbox:
    """Received deliveries. ``answers`` are sent in order, then 200; a body of ``repeat`` echoes the challenge."""

    address: str = ""
    arrived: Queue[tuple[dict[str, str], bytes]] = field(default_factory=Queue)
    is_there: bool = True
    """Whether HEAD requests succeed."""

    answers: list[Answer] = field(default_factory=list)

    def take(self) -> tuple[dict[str, str], bytes]:
        """Return headers and body of the next delivery."""
        return self.arrived.get(timeout=60)

    def next(self) -> dict[str, Any]:
        """Return the next delivery's envelope."""
        return dict(json.loads(self.take()[1]))

    def answer(self, body: bytes) -> Answer:
        status, headers, content = self.answers.pop(0) if self.answers else (200, {}, b"")
        content = json.loads(body).get("challenge", "").encode() if content == b"repeat" else content
        return status, {"Content-Length": str(len(content))} | headers, content


@contextmanager
def run_receiver() -> Iterator[Inbox]:
    """Run a receiver."""
    inbox = Inbox()

    class Taker(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_HEAD(self) -> None:
            self.send_response(200 if inbox.is_there else 404)
            self.end_headers()

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            inbox.arrived.put((dict(self.headers), body))
            status, headers, content = inbox.answer(body)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Taker)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    inbox.address = f"http://127.0.0.1:{server.server_address[1]}/events"
    try:
        yield inbox
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
