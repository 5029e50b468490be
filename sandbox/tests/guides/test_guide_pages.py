"""The code examples in the README of the sandbox and its guide pages."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from examples.code_blocks import blocks_of, decoded
from harness.npm_packages import packages_in
from workspace_sandbox import APPLICATIONS
from workspace_sandbox.in_process_sandbox import RunningSandbox, run_sandbox

HERE = Path(__file__).parent
README = "sandbox/README.md"
PAGES = {name: f"docs/guide/sandbox/{name}.md" for name in APPLICATIONS} | {"chat in the README": README}
pytestmark = pytest.mark.filterwarnings(
    "ignore:unclosed <socket:ResourceWarning",  # two vendors' libraries leave their pools to the garbage collector
    "ignore::pytest.PytestUnraisableExceptionWarning",  # the same, seen later
)

OTHER_CLASSES = {
    "notes": {"failing": "UnknownHTTPResponseError"},
    "chat": {"throttled": "WebAPIRateLimitedError", "failing": "WebAPIHTTPError"},
}
"""Error classes of libraries that have more than one."""


@pytest.fixture(scope="module")
def started() -> Iterator[RunningSandbox]:
    with run_sandbox() as started:
        yield started


def block(page: str, language: str) -> str:
    """Return the example of a page in *language*."""
    (text,) = [block.text for block in blocks_of(PAGES[page]) if block.language == language]
    return text


def page_tests(page: str) -> dict[str, Callable[[RunningSandbox], None]]:
    """The tests that a page shows, by name."""
    names: dict[str, Any] = {}
    exec(compile(block(page, "python"), PAGES[page], "exec"), names)  # our own page
    return {name: value for name, value in names.items() if name.startswith("test_")}


TESTS = [(page, name) for page in PAGES for name in page_tests(page)]


@pytest.mark.parametrize(("page", "name"), TESTS)
def test_the_example_tests_of_a_page_pass(started: RunningSandbox, page: str, name: str) -> None:
    started.reset()

    page_tests(page)[name](started)

    assert started[page.split(maxsplit=1)[0]].journal()


def test_the_shell_commands_of_the_readme_work(started: RunningSandbox) -> None:
    lines = "".join(block.text for block in blocks_of(README) if block.language == "sh" and block.not_run is None)
    here = lines.replace("http://127.0.0.1:8081", started.url).replace("http://127.0.0.1:8085", started.chat.url)

    typed = subprocess.run(["bash", "-euc", here], capture_output=True, text=True, check=True)
    chat, fault, clock, reset = decoded(typed.stdout)

    assert (True, "Northwind Labs") == (chat["ok"], chat["team"])
    assert ({"done": True}, True) == (fault, clock["steered"])
    assert [*APPLICATIONS] == reset["reset"]


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the vendors' libraries for JavaScript."""
    return packages_in(tmp_path_factory.mktemp("javascript"), HERE)


@pytest.mark.javascript
@pytest.mark.parametrize("application", APPLICATIONS)
def test_the_program_of_a_page_runs(started: RunningSandbox, packages: Path, application: str) -> None:
    started.reset()
    program = packages / f"{application}.mjs"
    program.write_text(block(application, "js"), encoding="utf-8")
    environment = {**os.environ, "SANDBOX": json.dumps(started._sandbox.describe())}

    ended = subprocess.run(
        ["node", program], cwd=packages, env=environment, capture_output=True, text=True, check=False
    )

    assert (0, "") == (ended.returncode, ended.stderr if ended.returncode else "")
    assert 404 in {exchange.status for exchange in started[application].journal()} or application == "chat"


@pytest.mark.javascript
@pytest.mark.parametrize(
    ("application", "kind", "details"),
    [
        ("notes", "APIResponseError", ["unauthorized", "object_not_found", "rate_limited"]),
        ("boards", "AxiosError", [401, 404, 429]),
        ("mail", "GaxiosError", [401, 404, 403]),
        ("chat", "WebAPIPlatformError", ["invalid_auth", "channel_not_found", 7]),
        ("crm", "ApiException", [401, 404, 429]),
        ("tables", "AirtableError", ["AUTHENTICATION_REQUIRED", "NOT_FOUND", "TOO_MANY_REQUESTS"]),
    ],
)
def test_vendor_errors_raise_the_library_classes(
    started: RunningSandbox, packages: Path, application: str, kind: str, details: list[object]
) -> None:
    started.reset()
    started[application].fault("throttle", seconds=7, token="throttled")
    started[application].fault("status", status=503, body={"ok": False}, token="failing")
    shutil.copy(HERE / "errors.mjs", packages)
    environment = {**os.environ, "SANDBOX": json.dumps(started._sandbox.describe())}

    answered = subprocess.run(
        ["node", "errors.mjs", application], cwd=packages, env=environment, capture_output=True, check=True
    )

    kinds = dict.fromkeys(("dead", "missing", "throttled", "failing"), kind) | OTHER_CLASSES.get(application, {})
    last = {"notes": "notionhq_client_response_error", "tables": "SERVICE_UNAVAILABLE"}.get(application, 503)
    expected = {name: [kinds[name], one] for name, one in zip(kinds, [*details, last], strict=True)}
    assert expected == json.loads(answered.stdout)
