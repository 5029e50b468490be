"""The guides of connecting accounts: a common structure, correct tables, and command lines that work."""

import json
import re
import secrets
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from connector_gateway.cli import main
from connector_gateway.connectors import CONNECTORS
from connector_gateway.kit.errors import all_errors
from examples.dev_shell import PATHS, Shell, first_line, shell, typed_in

__all__ = ["shell"]

ROOT = Path(__file__).parent.parent.parent
GUIDES = ROOT / "docs" / "guide" / "connect"
HEADINGS = [
    "Register the app",
    "Scopes",
    "URLs and settings",
    "What the user sees",
    "Pasted tokens",
    "Troubleshooting",
    "Webhooks from the vendor",
    "Not verified",
]
GUIDED = sorted(CONNECTORS)
PAGES = [*sorted(GUIDES.glob("*.md")), GUIDES.parent / "events.md"]
TEXTS = {path.stem: path.read_text(encoding="utf-8") for path in PAGES}
ACCOUNTS = {"README": "notes", "events": "chat"} | {connector: connector for connector in GUIDED}
"""The account with which the command lines of a guide are run."""


def lines_of(name: str) -> list[str]:
    """Return the command lines of a guide."""
    typed = "".join(re.findall(r"```sh\n(.*?)```", TEXTS[name], re.DOTALL))
    return [line for line in typed.splitlines() if "connector-gateway " in line]


LINES = [(name, line) for name in ACCOUNTS for line in lines_of(name) if " hooks " not in line]


@pytest.mark.parametrize("connector", GUIDED)
def test_every_guide_has_the_same_headings(connector: str) -> None:
    assert HEADINGS == re.findall(r"^## (.*)$", TEXTS[connector], re.MULTILINE)


def test_the_index_links_to_every_guide() -> None:
    links = re.findall(r"\]\((\w[\w-]*)\.md\)", TEXTS["README"])

    assert {*GUIDED, "first-call"} == set(links)


@pytest.mark.parametrize("connector", GUIDED)
def test_the_codes_in_the_troubleshooting_tables_exist(connector: str) -> None:
    codes = {error.code for error in all_errors()} | {"withdrawn", "refresh_interrupted"}
    rows = TEXTS[connector].partition("## Troubleshooting\n")[2].partition("\n## ")[0].splitlines()[3:]
    named = {code for row in rows for code in re.findall(r"`([a-z_]+)`", row.split("|")[1:2][0] if "|" in row else "")}

    assert {"redirect_uri_mismatch"} | codes >= named
    assert "connection_revoked" in named


@pytest.fixture(scope="module")
def installation_file(shell: Shell) -> Mapping[str, Any]:
    """The file of the installation that ``dev`` created."""
    return shell.described


def typed(shell: Shell, line: str, credentials: Mapping[str, str]) -> Any:
    """Run a command line in the installation of *shell*, and return its output. *credentials* replace echoed input."""
    echoed, _, command = line.rpartition(" | ")
    words = [*shlex.split(command)[1:], "--data", str(shell.folder / ".data"), "--json"]
    ended = CliRunner().invoke(main, words, input=json.dumps(credentials) if echoed else None)
    assert 0 == ended.exit_code, ended.output
    return json.loads(ended.stdout)


@pytest.fixture(scope="module")
def returning(shell: Shell, installation_file: Mapping[str, Any]) -> None:
    """Allow the return URL of the guide, which is rejected otherwise."""
    url = "https://app.example.com/connected"
    typed(shell, f"connector-gateway workspaces change {installation_file['workspace_id']} --return-url {url}", {})


@pytest.mark.usefixtures("returning")
@pytest.mark.parametrize(("name", "line"), LINES)
def test_every_command_line_of_a_guide_prints_the_documented_output(
    shell: Shell, installation_file: Mapping[str, Any], name: str, line: str
) -> None:
    connector = ACCOUNTS[name]
    credentials = {name: installation_file["upstreams"][connector][name] for name in CONNECTORS[connector].credentials}
    filled = line.replace("ws_…", installation_file["workspace_id"]).replace(
        "conn_…", installation_file["connections"][connector]
    )
    response = typed(shell, filled, credentials)

    assert output_of(filled) <= set(response if isinstance(response, dict) else response[0])


OUTPUTS = {
    " connect ": {"connect_url", "expires_at", "status"},
    " reconnect ": {"connect_url", "expires_at", "status"},
    " create ": {"account_name", "account_id", "status"},
    " test ": {"missing_scopes", "account_name"},
    " watch ": {"settings"},
    " list": {"connection_id", "connector"},
    " show ": {"status", "reason"},
    " change ": {"return_urls"},
}
"""The output of a command, by its word."""


def test_the_guide_opens_a_window_for_the_verification_token(tmp_path: Path) -> None:
    """The sandbox of ``dev`` has sent its token at startup, so that no window can be opened there."""
    environment = {
        "GATEWAY_DATABASE_URL": f"sqlite:///{tmp_path / 'gateway.db'}",
        "GATEWAY_SECRET_KEYS": secrets.token_urlsafe(32),
    }
    (line,) = [line for line in lines_of("notes") if " hooks " in line]

    ended = CliRunner().invoke(main, [*shlex.split(line)[1:], "--json"], env=environment)

    assert {"url", "closes_at"} <= json.loads(ended.stdout).keys()


def output_of(line: str) -> set[str]:
    """Return the documented output of *line*."""
    return next(output for word, output in OUTPUTS.items() if word in line)


# The first call


STEPS = re.findall(r"```sh\n(.*?)```", TEXTS["first-call"], re.DOTALL)
PORT = secrets.choice(range(30_000, 32_000, 2))


@pytest.fixture
def installation(installation_file: Mapping[str, Any], tmp_path: Path) -> Iterator[Path]:
    """The folder of a running installation, created as in the guide, with the sandbox instead of Notion."""
    (tmp_path / "checkout").mkdir()
    (tmp_path / "checkout" / ".venv").symlink_to(sys.prefix)
    lines = STEPS[0].replace("connector-gateway serve", f"exec connector-gateway serve --port {PORT}")
    sandbox = {"GATEWAY_NOTES_BASE_URL": installation_file["upstreams"]["notes"]["base_url"]}
    with subprocess.Popen(
        ["bash", "-euc", lines],
        cwd=tmp_path / "checkout",
        env=PATHS | sandbox,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stderr is not None
            assert "reference" in first_line(process.stderr, "reference")
            with (tmp_path / "gateway" / ".env").open("a") as settings:
                settings.write(f"GATEWAY_NOTES_BASE_URL={sandbox['GATEWAY_NOTES_BASE_URL']}\n")
            yield tmp_path / "gateway"
        finally:
            process.terminate()


def test_the_documented_first_call_succeeds(installation: Path, installation_file: Mapping[str, Any]) -> None:
    workspace, key, connection = STEPS[1].splitlines()
    workspace_row = typed_in(installation, f"{workspace} --json")
    key_row = typed_in(installation, f"{key.replace('ws_…', workspace_row['workspace_id'])} --json")
    pasted = connection.replace("ws_…", workspace_row["workspace_id"]).replace(
        "…", installation_file["upstreams"]["notes"]["token"]
    )
    connected = typed_in(installation, f"{pasted} --json")
    call = STEPS[2].replace("cgw_…", key_row["key"]).replace("conn_…", connected["connection_id"])
    envelope = typed_in(installation, f"{call.rstrip()} --json".replace(":8080", f":{PORT}"))

    assert (3, 3) == (len(STEPS), len(STEPS[1].splitlines()))
    assert connected["account_name"]
    assert ("ok", True) == (envelope["status"], len(envelope["data"]) > 0)
