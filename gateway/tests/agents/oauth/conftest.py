"""A gateway that authorises the clients of agents, in front of two emulators."""

import json
from collections.abc import Iterator
from dataclasses import dataclass

import httpx
import pytest

from connector_gateway.connectors.boards import BOARDS
from connector_gateway.connectors.notes import NOTES
from connector_gateway.kit.operation import AnyConnector
from harness.agent_oauth import REDIRECT_URI, HostedDocuments, OAuthAgent
from harness.file_server import ScriptedResponse, redirect_to, scripted_response, serve_files
from harness.gateway_server import Gateway, run_gateway
from harness.ports import free_port
from harness.sandbox_server import run_emulators
from workspace_sandbox.boards import BoardsEmulator
from workspace_sandbox.notes import NotesEmulator

DOCUMENT = {
    "client_id": "https://client.example/agent.json",
    "client_name": "Hosted agent",
    "redirect_uris": ["https://client.example/back", REDIRECT_URI],
    "token_endpoint_auth_method": "none",
}


@dataclass
class LongDocument:
    """A document of 10 MB without a declared length, which counts requests and the bytes that were sent."""

    requests: int = 0
    sent_bytes: int = 0

    def __iter__(self) -> Iterator[bytes]:
        self.requests += 1
        for piece in [b" " * 10_000] * 1_000:
            yield piece
            self.sent_bytes += len(piece)


@pytest.fixture(scope="module")
def long_document() -> LongDocument:
    return LongDocument()


@pytest.fixture(scope="module")
def site(long_document: LongDocument) -> Iterator[str]:
    documents = {
        "/agent.json": DOCUMENT,
        "/other.json": DOCUMENT,
        "/secret.json": DOCUMENT
        | {"client_id": "https://client.example/secret.json", "token_endpoint_auth_method": "client_secret_post"},
        "/script.json": DOCUMENT
        | {"client_id": "https://client.example/script.json", "redirect_uris": ["javascript:alert(1)"]},
    }
    pages = {path: scripted_response(json.dumps(body).encode(), "application/json") for path, body in documents.items()}
    pages |= {
        "/text.json": scripted_response(b"[", "application/json"),
        "/large.json": scripted_response(b" " * 10_000_000, "application/json"),
        "/streamed.json": ScriptedResponse(long_document, headers={"Content-Type": "application/json"}),
        "/moved.json": redirect_to("/agent.json"),
        "/private.json": redirect_to("http://169.254.169.254/latest/meta-data"),
    }
    with serve_files(pages) as address:
        yield address


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory, site: str) -> Iterator[Gateway]:
    connectors: dict[str, AnyConnector] = {"notes": NOTES, "boards": BOARDS}
    files = HostedDocuments(30, 1_000_000, trusted=[site], site=site)
    with (
        run_emulators(notes=NotesEmulator, boards=BoardsEmulator) as sandbox,
        run_gateway(
            sandbox,
            tmp_path_factory.mktemp("oauth"),
            connectors=connectors,
            files=files,
            port=free_port(),
            GATEWAY_AGENT_OAUTH="on",
        ) as gateway,
    ):
        yield gateway


@pytest.fixture
def agent(gateway: Gateway) -> Iterator[OAuthAgent]:
    with httpx.Client(timeout=30) as http:
        yield OAuthAgent(gateway, http)


@pytest.fixture(scope="module")
def switched_off(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    with (
        run_emulators(notes=NotesEmulator) as sandbox,
        run_gateway(sandbox, tmp_path_factory.mktemp("off"), connectors={"notes": NOTES}) as gateway,
    ):
        yield gateway
