"""The state left by a process that crashes during a write: a claim in doubt, with its plan and sent steps."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import asdict
from pydantic_core import to_json
from sqlalchemy import insert

from connector_gateway.connectors import CONNECTORS
from connector_gateway.core.calls.arguments import Arguments, Body
from connector_gateway.core.calls.idempotency_key_format import NormalizedKey
from connector_gateway.core.writes.created_objects_by_write import INSERT_ROW
from connector_gateway.core.writes.idempotency import Claim, ClaimName
from connector_gateway.core.writes.request_digests import RequestDigests, digest_request
from connector_gateway.core.writes.write_journal import JournalEntry, encryption_context
from connector_gateway.kit.identifiers import ConnectionId, RunId, WorkspaceId
from connector_gateway.storage.sql import tables
from harness.gateway_server import Gateway


def planned_step(value: Any) -> JournalEntry:
    """Return the entry of a planned step."""
    return JournalEntry("", value)


def sent_step(
    name: str, intent: Mapping[str, Any], *, at: float, mark: str = "mark", settles_at: float = 0.0
) -> JournalEntry:
    """Return the entry of a step sent *at* a time, whose outcome is unknown."""
    return JournalEntry(name, intent, mark, sent_at=at, settles_at=settles_at)


def interrupted_write(  # noqa: PLR0917  # told in the order of the sentence
    gateway: Gateway,
    connector: str,
    operation: str,
    key: str,
    body: Mapping[str, Any],
    entries: Sequence[JournalEntry],
    *,
    path: Mapping[str, str] | None = None,
    makes: Mapping[str, str] | None = None,
) -> None:
    """Store a claim. *makes* is the kind of object that the steps of a name create."""
    app, connection_id = gateway.app, ConnectionId(gateway.connections[connector])
    name = ClaimName.create(WorkspaceId(gateway.workspace_id), connection_id, operation, NormalizedKey.parse(key))
    claim = Claim(name, RunId("run_of_the_dead"), 1, RequestDigests("", ""))
    rows = []
    for entry in entries:
        if entry.name in (makes or {}):
            row = app._owners.new_row(
                f"{key} {entry.name}"[:40],
                connector,
                (makes or {})[entry.name],
                entry.value,
                claim.run_id,
                keyed=True,
            )
            entry.rows = [row["row_id"]]
            rows.append(row | {"process_id": None})
    arguments = Arguments(dict(path or {}), [], Body(to_json({"connection_id": connection_id, **body})))
    declared = next(one for one in CONNECTORS[connector].operations if one.name == operation)
    target, parameters = digest_request(declared, arguments.read(declared.params))
    whose = gateway.run(app.connections.get(connection_id)).identity
    content = {"arguments": arguments.to_json(), "whose": whose, "entries": [asdict(entry) for entry in entries]}
    row = name.columns | {
        "target": target,
        "parameters": parameters,
        "run_id": claim.run_id,
        "attempt": 1,
        "state": "doubtful",
        "sealed": app._vault.encrypt(content, encryption_context(claim.name)),
        "settle_seconds": 0.0,
        "settles_at": 0.0,
        "expires_at": app.clock.now() + 1000,
    }

    async def leave() -> None:
        def write(db: Any) -> None:
            db.execute(insert(tables.claims), row)
            if rows:
                db.execute(INSERT_ROW, rows)

        await app.database.write(write)

    gateway.run(leave())
