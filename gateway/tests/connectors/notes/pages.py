"""Pages made through the gateway, and what there is of them in the application."""

from typing import Any
from uuid import uuid4

from harness.gateway_server import Gateway, Reply
from workspace_sandbox.notes import NotesEmulator
from workspace_sandbox.notes.data.state import Workspace

PAGES = "/v1/pages"
BLOCKS = "/v1/blocks"


def new_name() -> str:
    return f"Fault {uuid4()}"


def create(gateway: Gateway, database_id: str, name: str, **more: Any) -> Reply:
    return gateway.post("/notes/pages", database_id=database_id, properties={"Name": name}, **more)


def found(gateway: Gateway, database_id: str, name: str) -> int:
    """How many pages of that name there are."""
    gateway.clear("notes")
    reply = gateway.post("/notes/pages/search", database_id=database_id, property="Name", value=name)
    return int(reply.data["match_count"])


def workspace_of(gateway: Gateway) -> Workspace:
    """What the application holds."""
    emulator = gateway.sandbox.emulators["notes"]
    assert isinstance(emulator, NotesEmulator)
    return emulator.workspace


def body_of(gateway: Gateway, page_id: str) -> list[str]:
    """The texts of a page's blocks, in order."""
    workspace = workspace_of(gateway)
    blocks = [workspace.blocks[uid] for uid in workspace.pages[page_id].children]
    return ["".join(part["plain_text"] for part in block.content["rich_text"]) for block in blocks]


def writes(gateway: Gateway) -> list[tuple[str, str]]:
    """What was written at the vendor."""
    return [
        (method, path)
        for method, path, status in gateway.journal("notes")
        if method in {"POST", "PATCH"} and not path.endswith(("/query", "/search")) and status in {200, 503, None}
    ]


def update(gateway: Gateway, page_id: str, **body: Any) -> Reply:
    """Change a page."""
    return gateway.patch(f"/notes/pages/{page_id}", **body)


def answers(gateway: Gateway, method: str, path: str, status: int, times: int = 1, **more: Any) -> None:
    """Let the application answer with a status, and do nothing."""
    gateway.fault("notes", method=method, path=path, fault="status", status=status, times=times, **more)
