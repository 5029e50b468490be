"""The command ``conformance`` against services that violate the contract."""

from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from xml.etree.ElementTree import parse

import pytest
from click.testing import CliRunner, Result

from connector_gateway.cli import main
from connector_gateway.conformance.checks import OPERATION_CHECKS, SERVICE_CHECKS
from harness.ports import free_port
from requirements.contract import PAGES, clauses


def run_checks(url: str, key: str, read_key: str, *more: str) -> Result:
    return CliRunner().invoke(main, ["conformance", "--url", url, "--key", key, "--read-key", read_key, *more])


def test_another_service_is_reported_check_by_check(tmp_path: Path) -> None:
    class AlwaysOk(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.send_response(200)
            self.send_header("Content-Length", "11")
            self.end_headers()
            self.wfile.write(b'{"data":[]}')

        def do_POST(self) -> None:
            self.do_GET()

        def do_PATCH(self) -> None:
            self.do_GET()

        def do_DELETE(self) -> None:
            self.do_GET()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), AlwaysOk)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    file, options = tmp_path / "junit.xml", tmp_path / "arguments.json"
    options.write_text('{"boards_create_card": {"list_id": "1", "name": "x"}}', encoding="utf-8")
    more = ["--junit", str(file), "--connection", "boards=conn_1", "--arguments", str(options), "--write"]
    ended = run_checks(f"http://127.0.0.1:{server.server_address[1]}", "k", "r", *more)
    server.shutdown()
    server.server_close()
    thread.join(5)
    failures = {case.get("name") for case in parse(file).getroot() if case.find("failure") is not None}
    undetected = {"rejects unknown cursor", "responds to health checks"}

    assert 1 == ended.exit_code
    assert "notes create_page, rejects write with read key (common-61, common-43)" in ended.stderr
    assert {check.name for check in (*OPERATION_CHECKS, *SERVICE_CHECKS)} - undetected == failures


def test_an_unreachable_url_is_reported() -> None:
    ended = run_checks(f"http://127.0.0.1:{free_port()}", "k", "r")

    assert (1, True) == (ended.exit_code, "Cannot check http" in ended.stderr)


def test_a_connection_is_named_by_its_connector() -> None:
    ended = run_checks("http://127.0.0.1:1", "k", "r", "--connection", "conn_1")

    assert (2, True) == (ended.exit_code, "CONNECTOR=CONNECTION_ID" in ended.stderr)


@pytest.mark.parametrize(
    ("options", "more", "message"),
    [
        ("[]", [], "a JSON object of objects"),
        ('{"notes_create_pages": {}}', [], "Did you mean notes_create_page?"),
        ("{}", ["--write"], "It requires --arguments."),
    ],
)
def test_unusable_arguments_are_reported(tmp_path: Path, options: str, more: list[str], message: str) -> None:
    file = tmp_path / "arguments.json"
    file.write_text(options, encoding="utf-8")
    ended = run_checks("http://127.0.0.1:1", "k", "r", "--arguments", str(file), *more)

    assert (2, True) == (ended.exit_code, message in " ".join(ended.stderr.split()))


def test_the_checks_cite_existing_clauses() -> None:
    standing = {clause.name for page in PAGES for clause in clauses(page) if not clause.withdrawn}
    cited = {clause for check in (*OPERATION_CHECKS, *SERVICE_CHECKS) for clause in check.clauses}

    assert set() == cited - standing
