"""Traces: a span for each response and each vendor request, within the caller's trace."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from connector_gateway.connectors.notes import NOTES
from harness.gateway_server import run_gateway
from harness.requirement import requirement
from harness.sandbox_server import run_emulators
from harness.webhook_receiver import Inbox, run_receiver
from workspace_sandbox.notes import NotesEmulator

TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = "b7ad6b7169203331"


@pytest.fixture
def collector() -> Iterator[Inbox]:
    with run_receiver() as inbox:
        yield inbox


def spans(collector: Inbox) -> dict[int, Span]:
    """Return the spans of one call by kind."""
    _, body = collector.take()
    sent = ExportTraceServiceRequest.FromString(body)
    return {span.kind: span for span in sent.resource_spans[0].scope_spans[0].spans}


@requirement("common-135")
def test_a_call_and_its_vendor_request_join_the_trace_of_the_caller(collector: Inbox, tmp_path: Path) -> None:
    with (
        run_emulators(notes=NotesEmulator) as sandbox,
        run_gateway(
            sandbox, tmp_path, connectors={"notes": NOTES}, GATEWAY_TRACES_URL=f"{collector.address}/v1/traces"
        ) as gateway,
    ):
        response = gateway.request(
            "GET",
            "/v1/connectors/notes/databases",
            params={"connection_id": gateway.connections["notes"], "limit": 1},
            headers={"traceparent": f"00-{TRACE}-{PARENT}-01"},
        )
    recorded = spans(collector)
    server, client = recorded[Span.SPAN_KIND_SERVER], recorded[Span.SPAN_KIND_CLIENT]

    assert [TRACE] * 2 == [span.trace_id.hex() for span in (server, client)]
    assert PARENT == server.parent_span_id.hex()
    assert server.span_id == client.parent_span_id
    assert response.body["run_id"] in {attribute.value.string_value for attribute in server.attributes}
