"""More concurrent calls than the service accepts."""

from pathlib import Path

from connector_gateway.connectors.notes import NOTES
from harness.gateway_server import run_gateway
from harness.requirement import requirement
from harness.sandbox_server import run_emulators
from workspace_sandbox.notes import NotesEmulator


@requirement("common-78")
def test_an_excess_call_is_rejected_immediately_and_recorded(tmp_path: Path) -> None:
    with (
        run_emulators(notes=NotesEmulator) as sandbox,
        run_gateway(sandbox, tmp_path, connectors={"notes": NOTES}, GATEWAY_MAX_CALLS="1") as gateway,
    ):
        gateway.clear("notes")
        gateway.fault("notes", path="/v1/search", fault="delay", seconds=0.5, times=1)
        replies = gateway.together(*[lambda: gateway.get("/notes/databases", limit=1)] * 3)
        rejected = [reply for reply in replies if reply.status == 503]
        run = gateway.request("GET", f"/v1/runs/{rejected[0].body['run_id']}").data

    assert [200, 503, 503] == sorted(reply.status for reply in replies)
    assert {("overloaded", "1")} == {(reply.code, reply.headers["retry-after"]) for reply in rejected}
    assert ("error", "overloaded") == (run["status"], run["code"])
