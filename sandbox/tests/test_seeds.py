"""Seed files with additional data for applications."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner

from harness.sandbox_server import create_emulator
from workspace_sandbox import APPLICATIONS, EMULATORS, Sandbox
from workspace_sandbox.boards import BoardsEmulator
from workspace_sandbox.cli import sandbox as command
from workspace_sandbox.in_process_sandbox import run_sandbox
from workspace_sandbox.kit.state.pickling import InitialState
from workspace_sandbox.kit.state.seed_file_values import InvalidSeed
from workspace_sandbox.seed_file import SeedFile, UnreadableSeed

EXAMPLE = Path(__file__).parents[2] / "sandbox" / "examples" / "seed.yaml"


def seeded_sandbox(seeds: dict[str, Any]) -> Sandbox:
    return Sandbox({name: EMULATORS[name] for name in seeds}, seeds=seeds)


def seed_error(path: Path) -> str:
    """Return the error for an invalid seed file."""
    seed = SeedFile(path, APPLICATIONS)
    with pytest.raises(InvalidSeed) as error:
        seeded_sandbox(dict(seed.data))
    return str(seed.with_location(error.value)).removeprefix(f"{path.parent}/")


def test_the_example_seeds_every_application() -> None:
    seeds = SeedFile(EXAMPLE, APPLICATIONS).data

    seeded = seeded_sandbox(dict(seeds)).describe()["seeded"]

    assert set(APPLICATIONS) == set(seeded)
    assert ["Roadmap"] == list(seeded["notes"]["databases"])
    assert ["To do"] == list(seeded["boards"]["boards"]["Launch"]["lists"])
    assert [1, 1, 1] == [len(seeded["crm"][kind]) for kind in ("companies", "contacts", "deals")]


def test_seeded_data_survives_a_reset() -> None:
    seeds = {"chat": {"channels": [{"name": "launch", "bot": True, "messages": ["We ship", {"text": "Fine"}]}]}}
    with run_sandbox("chat", seeds=seeds) as sandbox:
        chat, channel = sandbox.chat, sandbox.seeded["chat"]["channels"]["launch"]["channel_id"]

        def texts() -> list[str]:
            url, token = f"{chat.url}/api/conversations.history", {"Authorization": f"Bearer {chat.token}"}
            history = httpx.get(url, params={"channel": channel}, headers=token).json()["messages"]
            return [message["text"] for message in history if "subtype" not in message]

        first = texts()
        sandbox.reset()
        again = texts()

    assert ["Fine", "We ship"] == first == again


def test_seeding_sends_no_deliveries() -> None:
    seeds = {"chat": {"channels": [{"name": "general", "messages": ["By a seed"]}]}}
    sandbox = Sandbox({"chat": EMULATORS["chat"]}, seeds=seeds, hooks_url="http://127.0.0.1:9")

    assert [] == sandbox.emulators["chat"].perform({"action": "deliveries"})["deliveries"]
    assert "http://127.0.0.1:9/chat" == sandbox.emulators["chat"].context.knobs["events_url"]


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        (
            "seed.yaml",
            "notes:\n  databases:\n    - title: A\n      colour: red\n",
            "seed.yaml:4: notes.databases.0.colour: Unknown field 'colour'; allowed: title, properties, rows.",
        ),
        (
            "seed.yaml",
            "notes:\n  databases:\n    - title: A\n      properties:\n        Stage: chosen\n",
            "seed.yaml:5: notes.databases.0.properties.Stage: Unknown property type; allowed: title, ",
        ),
        (
            "seed.yaml",
            "notes:\n  databases:\n    - title: A\n      rows:\n        - {Name: x}\n        - {Nmae: y}\n",
            "seed.yaml:6: notes.databases.0.rows.1: unknown property 'Nmae'; allowed: ['Name'].",
        ),
        (
            "seed.json",
            '{"boards": {"boards": [\n {"name": "A, \\"[{", "lists": [\n  {"name": "B",\n   "cards": [3]}]}]}}',
            "seed.json:4: boards.boards.0.lists.0.cards.0: An object is required here.",
        ),
        (
            "seed.json",
            '{"boards": {"boards": [{"name": "A", "labels": [\n{"name": "x", "color": "rde"}]}]}}',
            "seed.json:2: boards.boards.0.labels.0: Unknown color 'rde'; did you mean red? ",
        ),
        (
            "seed.json",
            '{"mail": {"messages": [{"from": "a@b.test", "subject": "x", "body_html": ""},\n{"subject": "x"}]}}',
            "seed.json:2: mail.messages.1: from is required.",
        ),
        (
            "seed.json",
            '{"chat": {"channels": [{"is_private": true}]}}',
            "seed.json:1: chat.channels.0: name is required here.",
        ),
        (
            "seed.json",
            '{"chat": {"channels": [\n{"name": "a", "is_private": "yes"}]}}',
            "seed.json:2: chat.channels.0.is_private: is_private must be true or false.",
        ),
        (
            "seed.json",
            '{"crm": {"contacts": [{"email": "a@b.test"},\n {"shoe_size": 43}]}}',
            "seed.json:2: crm.contacts.1: ",
        ),
        (
            "seed.json",
            '{"tables": {"bases": [{"name": "A", "tables": [{"name": "T",\n "fields": {"Name": "text"}}]}]}}',
            "seed.json:2: tables.bases.0.tables.0.fields.Name: Unknown field type; allowed: singleLineText, ",
        ),
        (
            "seed.json",
            '{"tables": {"bases": [{"name": "A", "tables": [{"name": "T", "records": [\n {"Name": 3.5, "No": 1}]}]}]}}',
            "seed.json:2: tables.bases.0.tables.0.records.0: ",
        ),
    ],
)
def test_an_invalid_seed_is_reported_with_file_and_line(tmp_path: Path, name: str, content: str, expected: str) -> None:
    path = tmp_path / name
    path.write_text(content)

    assert seed_error(path).startswith(expected)


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("seed.json", '{\n"notse": {}}', "seed.json:2: notse: Unknown emulator 'notse'; did you mean notes? "),
        ("seed.json", '{\n"notes": ]', "seed.json:2: Expecting value."),
        ("seed.json", "[" * 100_000, "seed.json:1: This is nested too deeply."),
        ("seed.json", "[]", "seed.json:1: A seed must be an object with a key per emulator."),
        ("seed.yaml", "notes:\n  - [", "seed.yaml:2: "),
        ("seed.yaml", "notes: !!python/object:os.system {}", "seed.yaml:1: could not determine a constructor"),
    ],
)
def test_an_unreadable_seed_file_is_rejected(tmp_path: Path, name: str, content: str, expected: str) -> None:
    path = tmp_path / name
    path.write_text(content)

    with pytest.raises(UnreadableSeed) as error:
        SeedFile(path, APPLICATIONS)

    assert expected in str(error.value)


def test_the_command_exits_with_the_error_of_a_seed(tmp_path: Path) -> None:
    path = tmp_path / "seed.json"
    path.write_text(json.dumps({"chat": {"chanels": []}}))

    done = CliRunner().invoke(command, ["--only", "chat", "--port", "0", "--seed", str(path)])

    assert 1 == done.exit_code
    assert f"Error: {path}:1: chat.chanels: Unknown field 'chanels'; did you mean channels?" in done.output


def test_the_initial_state_contains_the_seeded_data() -> None:
    sandbox = seeded_sandbox({"boards": {"boards": [{"name": "Sown"}]}})
    boards = create_emulator(sandbox, BoardsEmulator)
    initial_state: InitialState = next(iter(sandbox._initial_states.values()))
    boards.context.change_count += 1

    initial_state.restore()

    assert 1 == [board.name for board in boards.store.boards.values()].count("Sown")
