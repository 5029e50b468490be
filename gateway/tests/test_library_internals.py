"""The undocumented parts of libraries that the gateway uses. An upgrade that removes one fails here, by its name."""

import inspect

import aiohttp
import pytest
from sqlalchemy.sql.compiler import SQLCompiler
from sse_starlette.sse import AppStatus
from uvicorn import Server
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

PARTS = [
    ("kit/upstream/pool.py", aiohttp.ClientSession, "_retry_connection"),
    ("kit/upstream/http_origin.py", aiohttp.BaseConnector, "connect"),
    ("storage/sql/compiled_statements.py", SQLCompiler, "positiontup"),
    ("storage/sql/compiled_statements.py", SQLCompiler, "bind_names"),
    ("mcp/server.py", AppStatus, "enable_automatic_graceful_drain"),
    *(("cli/serve/server.py", Server, name) for name in ("startup", "on_tick", "shutdown", "handle_exit")),
    *(("cli/serve/server.py", Server, name) for name in ("capture_signals", "servers", "server_state", "force_exit")),
    *(
        ("http/server/http11.py", HttpToolsProtocol, name)
        for name in (
            *("_start_asgi_task", "on_message_begin", "on_headers_complete", "on_body", "on_message_complete"),
            *("on_response_complete", "server_state", "cycle", "flow", "parser", "pipeline", "scope"),
        )
    ),
    *(
        ("http/server/response_writer.py", RequestResponseCycle, name)
        for name in (
            *("access_log", "chunked_encoding", "default_headers", "disconnected", "expected_content_length", "flow"),
            *("keep_alive", "message_event", "response_complete", "response_started", "waiting_for_100_continue"),
        )
    ),
]
"""The module that uses it, the class, and the name of the method or attribute."""


@pytest.mark.parametrize(
    ("module", "owner", "name"), PARTS, ids=[f"{owner.__name__}.{name}" for _, owner, name in PARTS]
)
def test_the_library_still_has_the_part(module: str, owner: type, name: str) -> None:
    assert hasattr(owner, name) or f"self.{name}" in inspect.getsource(owner), f"{module} uses {owner.__name__}.{name}"
