"""A reader that types every block of a page, and compares the actual with the documented output."""

import json
import re
from typing import Any

from examples.code_blocks import Block, decoded, has_lines, matches
from examples.dev_shell import EXPORTS, LONGEST_SECONDS, Shell
from examples.page_coverage import visible_blocks
from harness.wait import wait_until

BEGUN = {"make run\n", EXPORTS}
"""Lines that are typed before any page."""


class Reader:
    """Follows pages in one shell."""

    def __init__(self, shell: Shell) -> None:
        self._shell = shell
        self._typed = self._printed = ""
        self._run_id = "run_…"

    def follow(self, page: str) -> list[str]:
        """Deviations from *page*."""
        return [block.text for block in visible_blocks(page) if not getattr(self, f"_{block.language}")(block)]

    def _sh(self, block: Block) -> bool:
        if block.text not in BEGUN:
            self._typed = self._here(block.text)
            self._take(self._shell.type(self._typed))
        return True

    def _json(self, block: Block) -> bool:
        expected = json.loads(block.text)
        if "/events?" in self._typed:
            # They come from other processes; each poll starts a process as well.
            wait_until(lambda: matches(expected, self._once_more()), LONGEST_SECONDS, pause=0.25)
        return matches(expected, self._answer())

    def _text(self, block: Block) -> bool:
        return has_lines(block.text, self._printed)

    def _take(self, printed: str) -> None:
        self._printed = printed
        self._run_id = (re.findall(r'"run_id": *"(run_\w+)"', printed) or [self._run_id])[-1]

    def _answer(self) -> Any:
        """Return the last printed JSON value, or None."""
        values = list(decoded(self._printed)) if self._printed.lstrip()[:1] in {"{", "["} else [None]
        return values[-1]

    def _once_more(self) -> Any:
        """Repeat the last command with an empty line before it, and return the response."""
        self._take(self._shell.type(self._typed.rpartition("\n\n")[2]))
        return self._answer()

    def _here(self, text: str) -> str:
        """Return *text* with the values of this installation and of the last response."""
        installation = self._shell.described
        first = int(installation["sandbox_url"].rpartition(":")[2])
        replacements = {f"127.0.0.1:{8081 + number}": f"127.0.0.1:{first + number}" for number in range(8)} | {
            "http://127.0.0.1:8080": installation["base_url"],
            "run_…": self._run_id,
            "ws_…": installation["workspace_id"],
            "conn_…": installation["connections"]["chat"],
        }
        for placeholder, value in replacements.items():
            text = text.replace(placeholder, value)
        return text
