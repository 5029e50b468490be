"""The calls in the reference: one of every operation, made against the emulators."""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from connector_gateway.connectors import CONNECTORS
from connector_gateway.core.calls.passthrough import REQUEST
from connector_gateway.core.public_urls.file_fetcher import PublicFileFetcher
from connector_gateway.http.api.routes import PREFIX
from connector_gateway.management.route_declaration import ManagementRoute
from connector_gateway.management.routes import MANAGEMENT
from harness.all_connectors import UNTHROTTLED
from harness.file_server import scripted_response, serve_files
from harness.gateway_server import OPERATOR, Gateway, run_gateway
from harness.recording_normaliser import Normaliser
from harness.sandbox_server import run_emulators
from harness.wait import wait_until
from workspace_sandbox import EMULATORS

Arguments = Mapping[str, Any]
Recorded = dict[str, dict[str, Any]]

EXAMPLES_FILE = (
    Path(__file__).parents[2] / "gateway" / "src" / "connector_gateway" / "http" / "openapi" / "examples.json"
)

WATCHING: Mapping[str, Any] = {
    "GATEWAY_WATCH": "on",
    "GATEWAY_NOTES_WATCH_SECONDS": "3",
    "GATEWAY_CHAT_WATCH_SECONDS": "3",
    "GATEWAY_AGENT_OAUTH": "on",
}
"""Short enough to see a change soon; with one poll per second they used a fifth of a CPU."""

WITHOUT_EXAMPLE = {"show_hook", "forget_hook"}
"""They return a secret that a vendor has sent."""

MAX_ITEMS = 3
"""The number of array items in an example."""

SECRETS = {
    "connect_url": "http://127.0.0.1:8080/connect/…",
    "key": "cgw_…",
    "agent_code": "7KQ2M-…",
    "ending": "x7Qf",
    "token": "ntn_…",
    "verification_token": "secret_…",
    "secret": "whsec_…",
}
"""The replacement of secrets."""

UNSTABLE = {"watching_progress": None}
"""The replacement of values that depend on the moment: the first reading of a new connection may have begun."""


@contextmanager
def playground(folder: Path) -> Iterator[Gateway]:
    """A gateway in front of every emulator, with observed events in notes and chat."""
    files = PublicFileFetcher(2, 1_000_000, is_reachable=lambda address: address == "127.0.0.1")
    with (
        run_emulators(**EMULATORS) as sandbox,
        run_gateway(sandbox, folder, connectors=UNTHROTTLED, files=files, **WATCHING) as gateway,
    ):
        for connector in EMULATORS:
            gateway.clear(connector)
        changed(gateway)
        wait_until(lambda: observed(gateway))
        yield gateway


def changed(gateway: Gateway) -> None:
    """Perform the observed changes in notes and chat."""
    notes, chat = gateway.examples("notes"), gateway.examples("chat")
    gateway.act("notes", action="create_page", database_id=notes["database_id"], properties={"Name": "Acme"})
    gateway.act("chat", action="message", channel_id=chat["channel_id"], text="The invoice is on its way")


def observed(gateway: Gateway) -> bool:
    """Return True if the changes have been observed."""
    return bool(gateway.get("/notes/events").data and gateway.get("/chat/events").data)


def arguments(gateway: Gateway) -> Mapping[str, Arguments]:
    """The parameters by operationId: the first example of each operation that needs no other server.

    Reads come first, because writes change what they find.
    """
    return {
        f"{name}_{operation.name}": operation.examples[0](connector.examples(gateway.examples(name)))
        for name, connector in CONNECTORS.items()
        for operation in sorted(connector.operations, key=lambda one: one.scope)
        if operation.name != "attach_file"
    }


def managing(gateway: Gateway) -> Iterator[tuple[str, Arguments]]:
    """Yield the parameters of all management routes, in the order in which they depend on each other."""
    ordered = set()
    for name, params in in_order(gateway):
        ordered.add(name)
        yield name, params
    key = {"workspace_id": gateway.workspace_id, **declared("create_key").example}
    key_id = gateway.operator("POST", "/v1/keys", json=key).data["key_id"]
    for route in MANAGEMENT:
        if route.name not in {*ordered, *WITHOUT_EXAMPLE}:
            yield route.name, {**({"key_id": key_id} if "{key_id}" in route.path else {}), **route.example}


def declared(name: str) -> ManagementRoute:
    """Return the management route of that name."""
    (route,) = [one for one in MANAGEMENT if one.name == name]
    return route


def in_order(gateway: Gateway) -> Iterator[tuple[str, Arguments]]:
    """Yield the parameters of management routes, each after the routes that create its objects."""
    workspace_id, connection_id = gateway.workspace_id, gateway.connections["boards"]
    credentials = gateway.sandbox.emulators["notes"].credentials()
    new = {"workspace_id": workspace_id, "connector": "notes", "name": "Nora's notes", "credentials": credentials}
    key = {"workspace_id": workspace_id, **declared("create_key").example}
    new_key = gateway.operator("POST", "/v1/keys", json=key).data
    extra = gateway.operator("POST", "/v1/connections", json=new).data
    yield "create_workspace", declared("create_workspace").example
    yield "list_workspaces", {}
    yield "change_workspace", {"workspace_id": workspace_id, "name": "Acme GmbH"}
    yield "create_key", key
    yield "create_agent_code", {"workspace_id": workspace_id, **declared("create_agent_code").example}
    yield "list_keys", {"workspace_id": workspace_id}
    yield "revoke_key", {"key_id": new_key["key_id"]}
    yield "create_connection", new
    yield "list_connections", {"workspace_id": workspace_id}
    yield "show_connection", {"connection_id": connection_id}
    yield "change_connection", {"connection_id": connection_id, "name": "Launch board"}
    yield "reconnect_connection", {"connection_id": extra["connection_id"]}
    yield "test_connection", {"connection_id": extra["connection_id"]}
    yield "remove_connection", {"connection_id": extra["connection_id"]}
    yield "open_hook", {"connector": "notes"}
    yield "close_hook", {"connector": "notes"}
    # For a connection without events: nothing is sent to foreign URLs.
    target = {"url": "https://example.com/events", "name": "Our product"}
    webhook = {"workspace_id": workspace_id, "connection_id": connection_id} | target
    named = {"webhook_id": gateway.operator("POST", "/v1/webhooks", json=webhook).data["webhook_id"]}
    yield "create_webhook", webhook
    yield "list_webhooks", {"workspace_id": workspace_id}
    yield "show_webhook", named
    yield "change_webhook", named | {"status": "active"}
    yield "rotate_webhook_secret", named | {"overlap_seconds": 3600}
    yield "replay_webhook", named | {"connection_id": connection_id, "since": "2026-11-02T09:30:00Z"}
    yield "remove_webhook", named
    yield "create_operator", declared("create_operator").example
    yield "list_operators", {}
    yield "revoke_operator", {"operator_id": gateway.operator("GET", "/v1/operators").data[0]["operator_id"]}
    yield "list_audit", {"actor": "operator", "act": "revoke_key", "limit": 1}
    yield "show_run", {"run_id": gateway.get("/boards/lists", board_id=board(gateway)).body["run_id"]}
    yield "list_runs", {"connection_id": connection_id, "limit": 1}


def board(gateway: Gateway) -> str:
    """The board of the examples."""
    return str(gateway.examples("boards")["board_id"])


def called(gateway: Gateway, name: str, params: Arguments) -> dict[str, Any]:
    """Make one call of an operation, and return it with its response as an example."""
    connector, _, operation_name = name.partition("_")
    (operation,) = [one for one in CONNECTORS[connector].operations if one.name == operation_name]
    sent = {"connection_id": gateway.connections[connector], **params}
    path = f"{PREFIX}/{connector}{operation.path}"
    return example_of(requested(gateway, operation.method, path, sent, gateway.key), sent)


def passed_through(gateway: Gateway) -> dict[str, Any]:
    """Send a request of the caller's own. Of the vendor's headers, most vary."""
    params = {"connection_id": gateway.connections["boards"], "method": "GET", "path": "/1/members/me"}
    key = gateway.with_key(passthrough=True).key
    answer = requested(gateway, REQUEST.method, REQUEST.path, params, key)
    headers = answer["data"]["headers"]
    answer["data"]["headers"] = {"content-type": headers["content-type"]}
    return example_of(answer, params)


def managed(gateway: Gateway, name: str, params: Arguments) -> dict[str, Any]:
    """Make one management call, and return it with its response as an example."""
    route = declared(name)
    return example_of(requested(gateway, route.method, route.path, params, OPERATOR), params)


def requested(gateway: Gateway, method: str, path: str, params: Arguments, key: str) -> Any:
    names = re.findall(r"{(\w+)}", path)
    rest = {name: value for name, value in params.items() if name not in names}
    carried: dict[str, Any] = {"params": rest} if method in {"GET", "DELETE"} else {"json": rest}
    reply = gateway.request(method, path.format(**params), headers={"Authorization": f"Bearer {key}"}, **carried)
    assert 200 == reply.status, (method, path, reply.body)
    return reply.body


def example_of(answer: Any, params: Arguments) -> dict[str, Any]:
    """Return a call as an example."""
    return {"arguments": _redact(dict(params)), "answer": _redact(answer)}


def _redact(value: Any) -> Any:
    """Return *value* without secrets, with shortened arrays, and with stable URLs."""
    if isinstance(value, dict):
        secrets = SECRETS | ({"token": "cgo_…"} if "operator_id" in value else {})
        redacted = {name: one if one is None else secrets.get(name, _redact(one)) for name, one in value.items()}
        return redacted | {name: UNSTABLE[name] for name in UNSTABLE.keys() & value.keys()}
    if isinstance(value, list):
        return [_redact(one) for one in value[:MAX_ITEMS]]
    return re.sub(r"http://127\.0\.0\.1:\d+", "http://127.0.0.1:8080", value) if isinstance(value, str) else value


def recorded(gateway: Gateway) -> Recorded:
    """Make every call, and return it with fixed values instead of varying ones."""
    normaliser = Normaliser()
    operations = {name: called(gateway, name, params) for name, params in arguments(gateway).items()}
    operations["tables_attach_file"] = attached(gateway)
    operations[REQUEST.name] = passed_through(gateway)
    calls = operations | {name: managed(gateway, name, params) for name, params in managing(gateway)}
    return {name: normaliser.normalised(name, call) for name, call in calls.items()}


def attached(gateway: Gateway) -> dict[str, Any]:
    """Attach a file to a record from a local web site with a public URL."""
    tables = gateway.examples("tables")
    with serve_files({"/brief.txt": scripted_response(b"What they need", "text/plain")}) as site:
        params = {"record_id": tables["record_id"], "field": tables["attachment_field"], "url": f"{site}/brief.txt"}
        example = called(gateway, "tables_attach_file", params)
    return example | {"arguments": example["arguments"] | {"url": "https://example.com/brief.txt"}}


def main() -> None:
    """Make all calls and write them."""
    with TemporaryDirectory() as folder, playground(Path(folder)) as gateway:
        EXAMPLES_FILE.write_text(json.dumps(recorded(gateway), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
