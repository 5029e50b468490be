"""The documentation matches the settings, connectors and commands."""

import json
import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner
from typing_extensions import override

from connector_gateway.cli import main
from connector_gateway.connectors import CONNECTORS
from connector_gateway.settings import Settings
from connector_gateway.settings_reader import SettingsReader

ROOT = Path(__file__).parent.parent.parent
GUIDE = (ROOT / "docs" / "guide" / "settings.md").read_text(encoding="utf-8")
DOCUMENTED = [line.split("`")[1] for line in GUIDE.splitlines() if line.startswith("| `GATEWAY_")]
REQUIRED = {
    "GATEWAY_SECRET_KEYS": "Wq7ZkT2mXv9BnLr4Yc5Hd8sJf1Gp6EaU",
    "GATEWAY_OPERATOR_TOKEN": "op_Zr4kT9wQm2XvB7nLc5Yd8HsJ1fGp6EaU",
}
COMMANDS = (ROOT / "docs" / "guide" / "command-line.md").read_text(encoding="utf-8")
COMMAND_LINES = [line for line in COMMANDS.splitlines() if re.match("connector-gateway (call|runs|conformance) ", line)]
CONNECTOR_READMES = sorted(CONNECTORS)


def test_the_guide_names_every_setting_and_no_other() -> None:
    environment = SettingsReader(REQUIRED)
    Settings.read_from(environment, CONNECTORS)
    connectors = re.compile(rf"GATEWAY_({'|'.join(name.upper() for name in CONNECTORS)})_(?!CONTENT_URL)")
    names = {connectors.sub("GATEWAY_<CONNECTOR>_", name) for name in environment.names}

    assert sorted(names) == sorted({*DOCUMENTED, "GATEWAY_TABLES_CONTENT_URL"})
    assert "`GATEWAY_TABLES_CONTENT_URL`" in GUIDE
    assert len(set(DOCUMENTED)) == len(DOCUMENTED)


class Defaults(SettingsReader):
    """Records the default of every setting."""

    @override
    def text(self, name: str, default: str) -> str:
        self.values[f"GATEWAY_{name}"] = default.removesuffix(".0")
        return super().text(name, default)

    def __init__(self) -> None:
        super().__init__(REQUIRED)
        self.values: dict[str, str] = {}


def test_the_guide_names_the_current_defaults() -> None:
    environment = Defaults()
    Settings.read_from(environment, CONNECTORS)
    documented = dict(re.findall(r"^\| `(GATEWAY_\w+)` \| `([^`]+)` \|", GUIDE, re.MULTILINE))

    assert len(documented) >= 20
    assert documented == {name: environment.values[name] for name in documented}


@pytest.mark.parametrize("connector", CONNECTOR_READMES)
def test_every_connector_has_a_completed_checklist(connector: str) -> None:
    readme = ROOT / "gateway" / "src" / "connector_gateway" / "connectors" / connector / "README.md"
    lines = [line for line in readme.read_text(encoding="utf-8").splitlines() if line.startswith("- [")]

    assert len(lines) >= 20
    assert [] == [line for line in lines if not re.match(r"- \[x\] |- \[ \] exempt: ", line)]


@pytest.mark.parametrize("line", COMMAND_LINES)
def test_every_command_line_of_the_guide_parses(line: str) -> None:
    """No service is running, so that a valid command exits with 1, and an invalid one with 2."""
    no_one = {
        "GATEWAY_URL": "http://127.0.0.1:1",
        "GATEWAY_API_KEY": "cgw_none",
        "GATEWAY_DATABASE_URL": "sqlite:////x/y",
    }

    ended = CliRunner().invoke(
        main,
        [*shlex.split(line.removeprefix("connector-gateway "))],
        env=no_one | {"GATEWAY_SECRET_KEYS": "Wq7ZkT2mXv9BnLr4Yc5Hd8sJf1Gp6EaU"},
    )

    assert "Usage:" not in ended.stderr
    assert 1 == ended.exit_code


def test_the_guide_passes_existing_arguments_of_operations() -> None:
    (text,) = re.findall(r"```json\n(.*?)```", COMMANDS, re.DOTALL)
    known = {
        f"{connector.name}_{operation.name}": {*operation.parameters}
        for connector in CONNECTORS.values()
        for operation in connector.operations
    }

    assert {} == {
        name: [*arguments] for name, arguments in json.loads(text).items() if not {*arguments} <= known.get(name, set())
    }


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_documented_completion_exists_for_every_shell(shell: str) -> None:
    variable, _, command = f"_CONNECTOR_GATEWAY_COMPLETE={shell}_source connector-gateway".partition("=")

    ended = CliRunner().invoke(main, [], prog_name="connector-gateway", env={variable: command.split()[0]})

    assert f"{shell}_source" in COMMANDS
    assert f"{variable}={shell}_complete" in ended.stdout


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        ("connector-gateway run", "runs"),
        ("connector-gateway call no", "notes"),
        ("connector-gateway call notes cr", "create-page"),
        ("connector-gateway call notes create-page --database", "--database-id"),
        ("connector-gateway runs list --status par", "partial"),
    ],
)
def test_commands_and_options_are_completed(words: str, completed: str) -> None:
    variables = {"COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}

    ended = CliRunner().invoke(
        main, [], prog_name="connector-gateway", env={"_CONNECTOR_GATEWAY_COMPLETE": "bash_complete", **variables}
    )

    assert f"plain,{completed}\n" == ended.stdout
