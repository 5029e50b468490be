"""Backup and restore with the commands of the guide, while a gateway is serving."""

import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from time import time

import pytest

from connector_gateway.connectors.boards import BOARDS
from connector_gateway.connectors.chat import CHAT
from connector_gateway.connectors.mail import MAIL
from connector_gateway.connectors.notes import NOTES
from connector_gateway.core.writes.backup_restore_detection import LostPeriod
from connector_gateway.kit.operation import AnyConnector
from harness.databases import postgres_on, sqlite_in
from harness.gateway_server import SETTLE_SECONDS, Gateway, run_gateway
from harness.postgres import new_database, programs
from harness.requirement import requirement
from harness.sandbox_server import run_emulators
from harness.wait import wait_until
from workspace_sandbox import EMULATORS

GUIDE = (Path(__file__).parent.parent.parent / "docs" / "guide" / "operate" / "backup.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```sh\n(.*?)```", GUIDE, re.DOTALL)
BACKED_UP: Mapping[str, AnyConnector] = {"notes": NOTES, "boards": BOARDS, "mail": MAIL, "chat": CHAT}
MAKES = re.compile(r"/(pages|cards|comments|chat.postMessage|drafts|drafts/send)$")
SECRET = "a secret that only tests know"


def run(block: str, **variables: str) -> None:
    """Run a block of the guide in a shell that stops at the first failure, with the programs of the server."""
    # These programs do not know the name of the gateway's driver.
    variables = {name: value.replace("+psycopg", "") for name, value in variables.items()}
    path = os.pathsep.join([str(programs()), str(Path(sys.executable).parent), os.environ["PATH"]])
    subprocess.run(["sh", "-ec", block], env=os.environ | variables | {"PATH": path}, check=True, timeout=60)


def declare(url: str, backup_at: str) -> None:
    """Declare the restore to the gateway, as in the guide."""
    secret = {"GATEWAY_SECRET_KEYS": SECRET, "GATEWAY_DATABASE_URL": url}
    run(BLOCKS[4], BACKUP_AT=backup_at, **secret)


def write(gateway: Gateway, text: str) -> list[object]:
    """Create a page, a card with a comment, a message and a mail under a key that is in their texts."""
    database_id = gateway.get("/notes/databases", limit=1).data[0]["database_id"]
    list_id = gateway.examples("boards")["list_ids"][0]
    key = {"Idempotency-Key": text}
    page = gateway.post("/notes/pages", database_id=database_id, properties={"Name": text}, idempotency_key=text)
    card = gateway.post("/boards/cards", headers=key, list_id=list_id, name=text)
    comment = gateway.post(f"/boards/cards/{card.data['card_id']}/comments", headers=key, text=text)
    message = gateway.post("/chat/messages", channel="general", text=text, headers=key)
    mail = gateway.post("/mail/messages", to=["ada@example.com"], subject=text, body_html=text, headers=key)
    ids = (page.data["page_id"], card.data["card_id"], comment.data["comment_id"])
    return [*ids, message.data["message_ts"], mail.data["message_id"]]


def count_created(gateway: Gateway) -> Counter[str]:
    """Return the number of requests that created something, by connector."""
    return Counter(
        connector
        for connector in BACKED_UP
        for method, path, status in gateway.journal(connector)
        if method == "POST" and status == 200 and MAKES.search(path)
    )


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
@requirement("keys-11")
def test_a_restored_installation_repeats_no_write(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    server = request.getfixturevalue("postgres_server") if kind == "postgresql" else ""
    url = postgres_on(server) if server else sqlite_in(tmp_path)
    new_url = new_database(server) if server else url
    variables = {
        "DATABASE": str(tmp_path / "gateway.db"),
        "BACKUP": str(tmp_path / "backup"),
        "DATABASE_URL": url,
        "NEW_URL": new_url,
    }
    save, restore = BLOCKS[1:4:2] if server else BLOCKS[0:3:2]
    with run_emulators(**{name: EMULATORS[name] for name in BACKED_UP}) as sandbox:
        with run_gateway(sandbox, tmp_path, connectors=BACKED_UP, database_url=url) as before:
            first = write(before, "before")
            run(save, **variables)
            backup_at = datetime.now(UTC).isoformat()
            lost = write(before, "after")
            history = before.request("GET", "/v1/runs").data
            sent = count_created(before)
        run(restore, **variables)
        declare(new_url, backup_at)
        with run_gateway(sandbox, tmp_path, connectors=BACKED_UP, database_url=new_url) as again:
            caller = again.for_caller_of(before)
            wait_until(lambda: time() > (again.app.restores.lost or LostPeriod(0, 0)).until + float(SETTLE_SECONDS))
            repeated = [write(caller, "before"), write(caller, "after"), write(caller, "after")]
            restored_runs = caller.request("GET", "/v1/runs", params={"limit": 200}).data
            resent = count_created(caller)

    assert [first, lost, lost] == repeated
    assert {run["run_id"] for run in history} & {run["run_id"] for run in restored_runs}
    assert sent == resent


def test_an_in_place_restore_is_detected_without_a_declaration(tmp_path: Path) -> None:
    url = sqlite_in(tmp_path)
    variables = {"DATABASE": str(tmp_path / "gateway.db"), "BACKUP": str(tmp_path / "backup")}
    with run_emulators(**{name: EMULATORS[name] for name in BACKED_UP}) as sandbox:
        with run_gateway(sandbox, tmp_path, connectors=BACKED_UP, database_url=url) as before:
            run(BLOCKS[0], **variables)
            lost = write(before, "after")
        run(BLOCKS[2], **variables)
        with run_gateway(sandbox, tmp_path, connectors=BACKED_UP, database_url=url) as again:
            wait_until(lambda: time() > (again.app.restores.lost or LostPeriod(0, 0)).until + float(SETTLE_SECONDS))
            repeated = write(again.for_caller_of(before), "after")

    assert lost == repeated
