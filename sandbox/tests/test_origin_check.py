"""Programs may use the control routes; pages in a browser may not."""

from collections.abc import Iterator

import httpx
import pytest

from harness.sandbox_server import run_emulators
from workspace_sandbox import EMULATORS, Sandbox

PAGE = "https://page.example"


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with run_emulators(notes=EMULATORS["notes"]) as sandbox:
        yield sandbox


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": PAGE}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Host": "rebound.example:8081"}, 403),
        ({"Content-Type": "text/plain"}, 415),
        ({"Content-Type": "multipart/form-data; boundary=x"}, 415),
    ],
    ids=str,
)
def test_a_browser_page_cannot_use_the_control_routes(sandbox: Sandbox, headers: dict[str, str], status: int) -> None:
    reply = httpx.post(f"{sandbox.address}/_control/notes/knobs", content=b'{"limits": false}', headers=headers)

    assert status == reply.status_code
    assert sandbox.emulators["notes"].context.knobs["limits"]


def test_a_preflight_request_is_rejected(sandbox: Sandbox) -> None:
    reply = httpx.options(f"{sandbox.address}/_control/reset", headers={"Origin": PAGE})

    assert 403 == reply.status_code
    assert "Access-Control-Allow-Origin" not in reply.headers


@pytest.mark.parametrize(
    "headers",
    [
        {"Content-Type": "application/json"},
        {"Content-Type": "application/x-www-form-urlencoded"},
        {"Host": "localhost:1"},
        {"Host": "[::1]:8081"},
        {"Sec-Fetch-Site": "none"},
    ],
    ids=str,
)
def test_a_program_can_use_the_control_routes(sandbox: Sandbox, headers: dict[str, str]) -> None:
    reply = httpx.post(f"{sandbox.address}/_control/notes/knobs", content=b'{"row_cap": 9999}', headers=headers)

    assert 200 == reply.status_code
