"""Concurrent calls that wait for one look-up, or for the lock of one object."""

from pathlib import Path

from connector_gateway.connectors.notes import NOTES
from harness.gateway_server import Reply, run_gateway
from harness.requirement import requirement
from harness.sandbox_server import run_emulators
from workspace_sandbox.notes import NotesEmulator


def test_calls_waiting_for_a_hanging_lookup_time_out_together(tmp_path: Path) -> None:
    with (
        run_emulators(notes=NotesEmulator) as sandbox,
        run_gateway(sandbox, tmp_path, connectors={"notes": NOTES}, GATEWAY_UPSTREAM_TIMEOUT_SECONDS="1") as gateway,
    ):
        gateway.clear("notes")
        database_id = gateway.examples("notes")["database_id"]
        path = f"/v1/databases/{database_id}"
        gateway.fault("notes", path=path, fault="delay", seconds=2, times=12)

        def search() -> Reply:
            return gateway.post("/notes/pages/search", database_id=database_id, property="Name", value="x")

        replies = gateway.together(*[search] * 12)
        runs = [gateway.request("GET", f"/v1/runs/{reply.body['run_id']}").data for reply in replies]

    assert [(504, "upstream_timeout")] * 12 == [(reply.status, reply.code) for reply in replies]
    assert [path] == [sent["path"] for run in runs for sent in run["upstream"]]


@requirement("common-54")
def test_a_write_waiting_for_a_hanging_write_is_rejected_after_the_timeout(tmp_path: Path) -> None:
    with (
        run_emulators(notes=NotesEmulator) as sandbox,
        run_gateway(sandbox, tmp_path, connectors={"notes": NOTES}, GATEWAY_QUEUE_SECONDS="0.3") as gateway,
    ):
        gateway.clear("notes")
        path = f"/notes/pages/{gateway.examples('notes')['page_id']}"
        gateway.fault("notes", method="PATCH", fault="delay", seconds=0.6, times=1)
        replies = gateway.together(*[lambda: gateway.patch(path, archived=True)] * 2)
        conflicts = [reply for reply in replies if reply.status == 409]

    assert [200, 409] == sorted(reply.status for reply in replies)
    assert [("upstream_conflict", 5)] == [(reply.code, reply.body["retry_after"]) for reply in conflicts]
