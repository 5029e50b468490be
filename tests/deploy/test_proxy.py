"""nginx with deploy/balancer.conf: limits, logs, and blocked routes."""

import json
import socket
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
import pytest

from deploy.processes import nginx, nginx_program
from harness.gateway_process import Installation, run_installation
from harness.gateway_server import OPERATOR
from harness.ports import free_port
from harness.requirement import requirement
from harness.sandbox_server import run_emulators
from harness.wait import wait_until
from workspace_sandbox.notes import NotesEmulator

MARK = "MarkedSecret0123456789"
LOGGED = {
    f"/connect/{MARK}": "/connect/…",
    f"//connect/{MARK}": "/connect/…",
    f"/%63onnect/{MARK}": "/connect/…",
    f"/Connect/{MARK}": "other",
    f"/connect/chat/callback?code={MARK}&state={MARK}": "/connect/chat/callback",
    f"/v1/downloads/{MARK}": "/v1/downloads/…",
    f"/v1//downloads/{MARK}": "/v1/downloads/…",
    f"/v1/download/{MARK}": "other",
    f"/hooks/notes/{MARK}": "/hooks/notes",
    f"/v1/connectors/notes/databases?token={MARK}": "/v1/connectors/notes/databases",
    f"/v1/runs?{MARK}": "/v1/runs",
    f"/{MARK}": "other",
}
"""URLs with a secret, and their logged form."""


@pytest.fixture
def program() -> str:
    path = nginx_program()
    if path is None:
        pytest.skip("there is no nginx here; Debian's is enough: apt-get install nginx-light")
    return path


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    folder, settings = tmp_path_factory.mktemp("proxied"), {"GATEWAY_ADMIN_PORT": str(free_port())}
    with run_emulators(notes=NotesEmulator) as sandbox, run_installation(sandbox, folder, **settings) as installation:
        yield installation


def backends(gateway: Installation) -> list[tuple[int, int]]:
    return [(gateway.port, int(gateway.settings["GATEWAY_ADMIN_PORT"]))] * 2


def logged(folder: Path, count: int) -> list[dict[str, Any]]:
    """Wait for *count* lines of the access log, and return them. The readiness check is among them."""
    lines: list[dict[str, Any]] = []

    def enough() -> bool:
        entries = map(json.loads, (folder / "access.log").read_text(encoding="utf-8").splitlines())
        lines[:] = [line for line in entries if line["path"] != "/readyz"]
        return len(lines) >= count

    wait_until(enough)
    return lines


def get_status(port: int, path: str) -> int:
    """Return the status of a request whose *path* is sent unchanged."""
    with socket.create_connection(("127.0.0.1", port), 30) as client:
        client.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        return int(client.makefile("rb").readline().split()[1])


@requirement("deployment-8")
def test_tokens_codes_and_queries_are_not_logged(program: str, gateway: Installation, tmp_path: Path) -> None:
    port = free_port()
    with nginx(backends(gateway), port, tmp_path, program):
        for path in LOGGED:
            get_status(port, path)
        lines = logged(tmp_path, len(LOGGED))

    assert list(LOGGED.values()) == [line["path"] for line in lines]
    assert MARK not in "".join(one.read_text(encoding="utf-8") for one in tmp_path.glob("*.log"))
    assert next(line["run_id"] for line in lines if line["path"] == "/v1/runs").startswith("run_")


@requirement("deployment-8")
def test_tokens_are_not_logged_for_unreachable_gateways_or_rate_limited_requests(program: str, tmp_path: Path) -> None:
    port, no_gateways = free_port(), (free_port(), free_port())
    slow = {"limit_req_zone": "$client zone=requests:10m rate=1r/m", "limit_req": "zone=requests burst=20 nodelay"}
    with nginx([no_gateways, no_gateways], port, tmp_path, program, **slow):
        statuses = [get_status(port, f"/connect/{MARK}?{MARK}") for _ in range(30)]
        logged(tmp_path, 30)

    assert {502, 429} == set(statuses)
    assert MARK not in "".join(one.read_text(encoding="utf-8") for one in tmp_path.glob("*.log"))


@requirement("deployment-7")
def test_rate_limited_clients_get_an_error_of_the_gateway(program: str, gateway: Installation, tmp_path: Path) -> None:
    port = free_port()
    slow = {"limit_req_zone": "$client zone=requests:10m rate=1r/m", "limit_req": "zone=requests burst=4 nodelay"}
    with nginx(backends(gateway), port, tmp_path, program, **slow):
        responses = [httpx.get(f"http://127.0.0.1:{port}/healthz") for _ in range(6)]
    rejection = responses[-1]

    assert (429, "rate_limited", "1") == (
        rejection.status_code,
        rejection.json()["error"]["code"],
        rejection.headers["Retry-After"],
    )


@requirement("deployment-7")
def test_clients_with_too_many_connections_are_rejected(program: str, gateway: Installation, tmp_path: Path) -> None:
    port = free_port()
    half = b"POST /v1/connectors/notes/pages HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{"
    with nginx(backends(gateway), port, tmp_path, program, limit_conn="connections 2"):
        open_connections = [socket.create_connection(("127.0.0.1", port)) for _ in range(2)]
        for client in open_connections:
            client.sendall(half)
        wait_until(lambda: get_status(port, "/healthz") == 429)
        for client in open_connections:
            client.close()
        wait_until(lambda: get_status(port, "/healthz") == 200)


@requirement("deployment-7")
@pytest.mark.parametrize(
    ("directive", "sent"),
    [
        ("client_header_timeout", b"GET / HTTP/1.1\r\nHost:"),
        ("client_body_timeout", b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{"),
    ],
)
def test_slow_clients_are_disconnected(directive: str, sent: bytes, program: str, tmp_path: Path) -> None:
    port, no_gateways = free_port(), (free_port(), free_port())
    with (
        nginx([no_gateways, no_gateways], port, tmp_path, program, **{directive: "1s"}),
        socket.create_connection(("127.0.0.1", port), 8) as client,
    ):
        client.sendall(sent)
        with pytest.raises(ConnectionResetError):
            client.recv(1)


@requirement("deployment-9")
def test_operators_have_a_separate_listener(program: str, gateway: Installation, tmp_path: Path) -> None:
    port = free_port()
    paths = ("/console/sign-in", "/v1/workspaces", "/v1/keys", "/metrics")
    with (
        nginx(backends(gateway), port, tmp_path, program) as admin_port,
        httpx.Client(headers={"Authorization": f"Bearer {OPERATOR}"}) as http,
    ):
        public, admin = (
            [http.get(f"http://127.0.0.1:{one}{path}").status_code for path in paths] for one in (port, admin_port)
        )

    assert [404] * 4 == public
    assert [200, 200, 200, 404] == admin


class Echo(BaseHTTPRequestHandler):
    """Responds with the headers of the request."""

    def do_GET(self) -> None:
        body = json.dumps(self.headers.items()).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the class's own name
        """Log nothing."""


@requirement("deployment-7")
def test_forwarding_headers_of_clients_are_not_passed_on(program: str, tmp_path: Path) -> None:
    port, server = free_port(), HTTPServer(("127.0.0.1", 0), Echo)
    forged = {"X-Forwarded-For": "192.0.2.1", "Forwarded": "for=192.0.2.1"}
    thread = Thread(target=server.serve_forever)
    thread.start()
    with closing(server.socket):
        with nginx([(server.server_port, server.server_port)] * 2, port, tmp_path, program) as admin_port:
            seen = [httpx.get(f"http://127.0.0.1:{one}/", headers=forged).json() for one in (port, admin_port)]
        server.shutdown()
        thread.join()

    forwarded = [[(name, value) for name, value in one if "orwarded" in name] for one in seen]
    assert [[("X-Forwarded-For", "127.0.0.1")]] * 2 == forwarded
