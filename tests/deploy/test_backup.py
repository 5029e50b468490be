"""Backup and restore by the commands of the guide, beside a gateway that serves."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from connector_gateway.connectors.notes import NOTES
from harness.databases import postgres_on
from harness.playing import playing
from harness.postgres import new_database, programs
from harness.serving import Gateway, serving
from workspace_sandbox.notes import NotesEmulator

GUIDE = (Path(__file__).parent.parent.parent / "docs" / "guide" / "operate.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```sh\n(.*?)```", GUIDE.partition("## Backup and restore")[2], re.DOTALL)
ROOMS = {"notes": NOTES}


def run(block: str, **variables: str) -> None:
    """Run one of the guide's blocks in a shell that ends at the first failure, with the server's own programs."""
    # What the gateway's driver is called is nothing to these programs.
    variables = {name: value.replace("+psycopg", "") for name, value in variables.items()}
    path = f"{programs()}{os.pathsep}{os.environ['PATH']}"
    subprocess.run(["sh", "-ec", block], env=os.environ | variables | {"PATH": path}, check=True, timeout=60)


def write(gateway: Gateway, text: str) -> object:
    """Make a page under a key that its title tells."""
    database_id = gateway.get("/notes/databases", limit=1).data[0]["database_id"]
    answer = gateway.post("/notes/pages", database_id=database_id, properties={"Name": text}, idempotency_key=text)
    return answer.data["page_id"]


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_what_is_restored_serves_and_does_no_write_twice(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    server = request.getfixturevalue("postgres_server") if kind == "postgresql" else ""
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    url = postgres_on(server) if server else f"sqlite:///{here}/gateway.db"
    variables = {"DATABASE": str(here / "gateway.db"), "BACKUP": str(tmp_path / "backup"), "DATABASE_URL": url}
    new_url = new_database(server) if server else f"sqlite:///{there}/gateway.db"
    save, restore = BLOCKS[2:4] if server else BLOCKS[0:2]
    with playing(notes=NotesEmulator) as sandbox:
        with serving(sandbox, here, connectors=ROOMS, database_url=url) as before:
            first = write(before, "before")
            run(save, **{**variables, "NEW_URL": new_url})
            write(before, "after")
            history = before.request("GET", "/v1/runs").data
        run(restore, **{**variables, "DATABASE": str(there / "gateway.db"), "NEW_URL": new_url})
        with serving(sandbox, there, connectors=ROOMS, database_url=new_url) as again:
            caller = again.asked_by(before)
            repeated = write(caller, "before")
            kept = caller.request("GET", "/v1/runs").data
            made = caller.journal("notes").count(("POST", "/v1/pages", 200))

    assert first == repeated
    assert {run["run_id"] for run in history} & {run["run_id"] for run in kept}
    assert 2 == made
