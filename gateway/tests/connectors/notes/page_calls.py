"""Calls that write pages, and look-ups of these pages in the emulator."""

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


def count_pages(gateway: Gateway, database_id: str, name: str) -> int:
    """Return the number of pages of that name, as a search reports it."""
    gateway.clear("notes")
    reply = gateway.post("/notes/pages/search", database_id=database_id, property="Name", value=name)
    return int(reply.data["match_count"])


def get_workspace(gateway: Gateway) -> Workspace:
    """Return the emulator's workspace."""
    emulator = gateway.sandbox.emulators["notes"]
    assert isinstance(emulator, NotesEmulator)
    return emulator.workspace


def get_block_texts(gateway: Gateway, page_id: str) -> list[str]:
    """Return the texts of a page's blocks, in order."""
    workspace = get_workspace(gateway)
    blocks = [workspace.blocks[uid] for uid in workspace.pages[page_id].children]
    return ["".join(part["plain_text"] for part in block.content["rich_text"]) for block in blocks]


def list_writes(gateway: Gateway) -> list[tuple[str, str]]:
    """Return method and path of the successful writes that reached the emulator."""
    return [
        (method, path)
        for method, path, status in gateway.journal("notes")
        if method in {"POST", "PATCH"} and not path.endswith(("/query", "/search")) and status in {200, 503, None}
    ]


def update(gateway: Gateway, page_id: str, **body: Any) -> Reply:
    """Update a page."""
    return gateway.patch(f"/notes/pages/{page_id}", **body)


def inject_status(gateway: Gateway, method: str, path: str, status: int, times: int = 1, **more: Any) -> None:
    """Make the emulator respond with a status, and do nothing else."""
    gateway.fault("notes", method=method, path=path, fault="status", status=status, times=times, **more)
