"""Output in terminals of several widths, and untrusted text in it."""

import json
import sqlite3
from contextlib import closing

import pytest
from click.testing import CliRunner

from connector_gateway.cli import main
from connector_gateway.cli.control_char_escaping import escape_control_chars, printable_json
from connector_gateway.cli.text_tables import count_visible_columns, format_block, format_cell, format_rows
from harness.terminals import type_in_terminal

COLUMNS = ["page_id", "title", "state"]
NAME = "see [/docs] \x1b[31m\u202e"


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("terminal")
    return {
        "GATEWAY_DATABASE_URL": f"sqlite:///{folder / 'gateway.db'}",
        "GATEWAY_SECRET_KEYS": "Wq7ZkT2mXv9BnLr4Yc5Hd8sJf1Gp6EaU",
    }


@pytest.fixture(scope="module")
def workspace_id(environment: dict[str, str]) -> str:
    """A workspace whose name has control characters, like texts of vendors."""
    _, lines = type_in_terminal(80, "workspaces", "create", "Acme", "--json", environment=environment)
    created: str = json.loads("\n".join(lines))["workspace_id"]
    with closing(sqlite3.connect(environment["GATEWAY_DATABASE_URL"].removeprefix("sqlite:///"))) as database:
        database.execute("UPDATE workspaces SET name = ?", (NAME,))
        database.commit()
    return created


def test_terminal_output_escapes_invisible_characters(environment: dict[str, str], workspace_id: str) -> None:
    ended, lines = type_in_terminal(100, "workspaces", "list", environment=environment)

    assert 0 == ended
    assert lines[1].startswith(rf"{workspace_id}  see [/docs] \x1b[31m\u202e  free")


def test_a_narrow_terminal_hides_columns_and_lists_them(environment: dict[str, str], workspace_id: str) -> None:
    ended, lines = type_in_terminal(40, "workspaces", "list", environment=environment)

    assert 0 == ended
    assert workspace_id == lines[1].rstrip()
    assert "hidden columns: name, plan, created_at" in "".join(lines[2:])


def test_a_single_object_is_printed_without_line_breaks(environment: dict[str, str], workspace_id: str) -> None:
    ended, lines = type_in_terminal(40, "keys", "create", workspace_id, environment=environment)

    key = next(line for line in lines if line.startswith("key ")).split()[1]
    assert 0 == ended
    assert ("cgw_", 53) == (key[:4], len(key))


@pytest.mark.parametrize(
    ("width", "dropped"), [(200, []), (61, []), (60, ["state"]), (54, ["state"]), (53, ["title", "state"])]
)
def test_texts_and_columns_are_shortened_before_identifiers(width: int, dropped: list[str]) -> None:
    lines, hidden = format_rows([{"page_id": "p" * 36, "title": "word " * 30, "state": "open"}], COLUMNS, width)

    assert dropped == hidden
    assert [] == [line for line in lines if len(line) > width]
    assert lines[1].startswith("p" * 36)


def test_rows_with_objects_are_blocks_with_a_line_for_each_field() -> None:
    record = {
        "record_id": "rec1",
        "fields": {"Name": "word " * 9, "Tags": ["b2b", "日本"], "Owner": {"id": "usr1"}, "Files": [{"id": "att1"}]},
        "created_at": None,
    }

    lines, dropped = format_rows(
        [record, {"record_id": "rec2", "fields": {}}], ["record_id", "fields", "created_at"], 40
    )

    assert [] == dropped
    assert [
        "record_id   rec1",
        "fields",
        "  Name  word word word word word word w…",
        "  Tags  b2b, 日本",
        "  Owner",
        "    id  usr1",
        "  Files",
        "    id",
        "    att1",
        "created_at",
        "",
        "record_id   rec2",
        "fields",
        "created_at",
    ] == lines


def test_a_single_object_is_printed_in_full() -> None:
    assert ["key   " + "k" * 53, "name  Ours"] == list(format_block({"key": "k" * 53, "name": "Ours"}, 20, full=True))


@pytest.mark.parametrize(("width", "columns"), [(100, 3), (24, 3), (23, 2), (17, 2), (10, 1), (1, 1)], ids=str)
def test_only_columns_that_fit_are_printed(width: int, columns: int) -> None:
    assert columns == count_visible_columns([10, 5, 5], width)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain, äöü, 漢字, 👩‍👩‍👧 and שלום", "plain, äöü, 漢字, 👩‍👩‍👧 and שלום"),
        ("a\nb\tc\rd", r"a\nb\tc\rd"),
        ("\x1b]0;title\x07", r"\x1b]0;title\x07"),
        ("\x9b2J\x7f", r"\x9b2J\x7f"),
        ("\u202eexe.fdp\u2069", r"\u202eexe.fdp\u2069"),
        ("\ud800", r"\ud800"),
        ("[bold]:smile:[/]", "[bold]:smile:[/]"),
    ],
)
def test_invisible_characters_are_escaped(text: str, expected: str) -> None:
    assert expected == escape_control_chars(text)


def test_json_with_escapes_has_the_same_value() -> None:
    text = json.dumps({"name": "a\u202eb\x9b\n"}, ensure_ascii=False, indent=1)

    expected = printable_json(text)

    assert '{\n "name": "a\\u202eb\\u009b\\n"\n}' == expected
    assert json.loads(text) == json.loads(expected)


@pytest.mark.parametrize(
    ("value", "expected"),
    [(None, ""), (True, "true"), (1.5, "1.5"), (["a", {"b": None}], '["a",{"b":null}]'), ("", "")],
)
def test_a_cell_is_one_line_of_text(value: object, expected: str) -> None:
    assert expected == format_cell(value)


def test_piped_output_has_all_columns_in_full(environment: dict[str, str], workspace_id: str) -> None:
    expected = CliRunner().invoke(main, ["workspaces", "list"], env={**environment, "COLUMNS": "20"}).stdout

    header, row = expected.splitlines()
    assert ["workspace_id", "name", "plan", "created_at"] == header.split("\t")
    assert [workspace_id, r"see [/docs] \x1b[31m\u202e", "free"] == row.split("\t")[:3]


# Prompts


def test_credentials_are_prompted_for_without_an_echo(environment: dict[str, str], workspace_id: str) -> None:
    command = ["connections", "create", workspace_id, "boards", "--no-verify", "--json"]
    ended, lines = type_in_terminal(80, *command, environment=environment, answers=["the key", "the token"])

    assert 0 == ended, lines
    assert ["key (hidden): ", "token (hidden): "] == lines[:2]
    assert "boards" == json.loads("\n".join(lines[2:]))["connector"]


@pytest.mark.parametrize(
    ("answers", "options", "status"), [(["n"], [], 1), (["y"], [], 0), ([], ["--yes"], 0)], ids=["no", "yes", "--yes"]
)
def test_irreversible_actions_require_confirmation(
    environment: dict[str, str], workspace_id: str, answers: list[str], options: list[str], status: int
) -> None:
    _, created = type_in_terminal(80, "keys", "create", workspace_id, "--json", environment=environment)
    key_id = json.loads("\n".join(created))["key_id"]

    ended, lines = type_in_terminal(80, "keys", "revoke", key_id, *options, environment=environment, answers=answers)

    listed = CliRunner().invoke(main, ["keys", "list", "--json"], env=environment).stdout
    key = next(key for key in json.loads(listed) if key["key_id"] == key_id)
    assert status == ended
    assert bool(answers) == ("A revoked key cannot be restored." in "".join(lines))
    assert (status == 0) == (key["revoked_at"] is not None)
