"""The tests that run the code of each page."""

from collections import Counter
from collections.abc import Mapping

from examples.code_blocks import WRITTEN, Block, blocks_of

GUIDE = "docs/guide"
SANDBOX = ("sandbox/tests/guides/test_guide_pages.py", {"python": 1, "js": 1})
CONNECTING = "tests/examples/test_connect_guides.py"

RUN_BY: Mapping[str, tuple[str, Mapping[str, int]]] = {
    "README.md": ("tests/examples/test_pages.py", {"sh": 5}),
    "client/README.md": ("client/tests/test_client.py", {"python": 1}),
    f"{GUIDE}/agents.md": ("tests/examples/test_agents_guide.py", {"sh": 1, "json": 2, "python": 1, "text": 1}),
    f"{GUIDE}/command-line.md": ("tests/examples/test_docs.py", {"sh": 5, "json": 1}),
    f"{GUIDE}/connect/README.md": (CONNECTING, {"sh": 6}),
    f"{GUIDE}/connect/boards.md": (CONNECTING, {"sh": 2}),
    f"{GUIDE}/connect/chat.md": (CONNECTING, {"sh": 3}),
    f"{GUIDE}/connect/crm.md": (CONNECTING, {"sh": 2}),
    f"{GUIDE}/connect/first-call.md": (CONNECTING, {"sh": 3}),
    f"{GUIDE}/connect/mail.md": (CONNECTING, {"sh": 2}),
    f"{GUIDE}/connect/notes.md": (CONNECTING, {"sh": 3}),
    f"{GUIDE}/connect/tables.md": (CONNECTING, {"sh": 2}),
    f"{GUIDE}/deliveries.md": ("tests/examples/test_deliveries_guide.py", {"sh": 5, "python": 1, "json": 1}),
    f"{GUIDE}/events.md": (CONNECTING, {"sh": 1}),
    f"{GUIDE}/generated-clients.md": ("gateway/tests/clients/test_generated.py", {"python": 1, "typescript": 1}),
    f"{GUIDE}/operate/backup.md": ("tests/deploy/test_backup.py", {"sh": 5}),
    f"{GUIDE}/operate/first-week.md": ("tests/deploy/test_first_week.py", {"sh": 13}),
    "sandbox/README.md": ("sandbox/tests/guides/test_guide_pages.py", {"sh": 2, "python": 1}),
    f"{GUIDE}/sandbox/boards.md": SANDBOX,
    f"{GUIDE}/sandbox/chat.md": SANDBOX,
    f"{GUIDE}/sandbox/crm.md": SANDBOX,
    f"{GUIDE}/sandbox/mail.md": SANDBOX,
    f"{GUIDE}/sandbox/notes.md": SANDBOX,
    f"{GUIDE}/sandbox/tables.md": SANDBOX,
}
"""Pages with a separate test, and the number of blocks of each language that it runs."""

PAGES = [path for path in WRITTEN if "/decisions/" not in path]


def visible_blocks(page: str) -> list[Block]:
    """Return the blocks of a page that have to be run: those in a language that are not excluded."""
    return [block for block in blocks_of(page) if block.language and block.not_run is None]


def counted(page: str) -> Mapping[str, int]:
    """The number of blocks to run, by language."""
    return Counter(block.language for block in visible_blocks(page))


FOLLOWED = [page for page in PAGES if page not in RUN_BY and visible_blocks(page)]
"""All other pages with code, which are typed from the first block to the last."""
