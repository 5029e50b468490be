"""Every command line of the README and other pages works in a real shell."""

import re
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from examples.code_blocks import ROOT
from examples.dev_shell import EXPORTS, LONGEST_SECONDS, Shell, shell
from examples.page_coverage import FOLLOWED
from examples.page_reader import Reader
from harness.wait import wait_until

__all__ = ["shell"]

README = (ROOT / "README.md").read_text(encoding="utf-8")
SCREEN = 24
"""The number of lines of a terminal."""


def section(title: str) -> str:
    """Return the text under a heading of the README."""
    return README.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def blocks(title: str) -> list[str]:
    """Return the commands of a section."""
    return re.findall(r"```sh\n(.*?)```", section(title), re.DOTALL)


TRIED = blocks("Try it")
COMMANDS = blocks("The command line")


def test_the_readme_has_the_first_envelope_within_one_screen() -> None:
    way = section("Try it").partition(TRIED[1])[0] + TRIED[1]

    assert "make run\n" == TRIED[0]
    assert SCREEN > len(way.splitlines())


def test_blocks_use_only_portable_shell_syntax() -> None:
    typed = "".join(re.findall(r"```sh\n(.*?)```", README, re.DOTALL))

    assert [] == re.findall(r"curl[^\n]* --json|python3 -c", typed)


def test_the_first_call_returns_an_envelope(shell: Shell) -> None:
    (envelope,) = shell.answers(TRIED[1].removeprefix(EXPORTS))

    assert ("ok", "notes") == (envelope["status"], envelope["connector"])
    assert [] != envelope["data"]


def test_a_repeated_write_creates_one_page(shell: Shell) -> None:
    first, again = shell.answers(TRIED[2] + TRIED[2])

    assert ("ok", first["data"]) == (again["status"], again["data"])


def is_watching(shell: Shell) -> bool:
    """Return True if changes of notes are observed. Asks the service, since a command takes a second of CPU."""
    installation = shell.described
    url = f"{installation['base_url']}/v1/connections/{installation['connections']['notes']}"
    response = httpx.get(url, headers={"Authorization": f"Bearer {installation['operator_token']}"}, timeout=30)
    return response.json()["data"]["watching_since"] is not None


def test_the_command_line_makes_the_same_calls_and_explains_runs(shell: Shell) -> None:
    (envelope,) = shell.answers(TRIED[1].removeprefix(EXPORTS))
    typed = COMMANDS[0].replace("run_…", envelope["run_id"])
    output = shell.type(typed)

    assert (1, 3) == (len(COMMANDS), len(typed.splitlines()))
    assert "chat post_message" in output
    assert envelope["run_id"] in output


def test_the_exports_contain_a_read_key_and_on_request_the_operator_token(shell: Shell) -> None:
    read = shell.type(".venv/bin/connector-gateway env --key read --operator")
    installation = shell.described
    named = {"GATEWAY_OPERATOR_TOKEN": installation["operator_token"], "WORKSPACE_ID": installation["workspace_id"]}

    assert f"export GATEWAY_API_KEY={installation['keys']['read']}\n" in read
    assert installation["keys"]["write"] not in read
    assert [True, True] == [f"export {name}={value}\n" in read for name, value in named.items()]


def test_exports_without_an_installation_name_the_start_command(tmp_path: Path) -> None:
    command = [f"{sys.prefix}/bin/connector-gateway", "env"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=LONGEST_SECONDS)

    assert (1, "") == (done.returncode, done.stdout)
    assert "make run" in done.stderr


@pytest.mark.parametrize("page", FOLLOWED)
def test_typed_pages_print_the_documented_output(shell: Shell, page: str) -> None:
    wait_until(lambda: is_watching(shell), LONGEST_SECONDS)

    assert [] == Reader(shell).follow(page)
