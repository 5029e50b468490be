"""``make documents``: hold what the tests of the sandbox exchange with it against the vendors' documents.

The answers of all tests are checked, and of those that run the vendors' libraries the requests as well.
It fails if a finding is not explained by the application's FIDELITY.md, or a row there explains nothing.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from sandbox.tests.documents.checking import Finding, checked
from sandbox.tests.documents.exchange import Exchange, recording
from sandbox.tests.documents.explained import Explanation, page_of, read
from sandbox.tests.documents.published import FILES, Document, documents

TESTS = str(Path(__file__).parents[1])


def main() -> int:
    """Run the tests, check what was recorded, and tell."""
    parser = argparse.ArgumentParser(prog="python -m documents", description=__doc__)
    parser.add_argument(
        "folder", type=Path, help=f"has {', '.join(name for files in FILES.values() for name, _ in files)}"
    )
    parser.add_argument("tests", nargs="*", default=[TESTS])
    given = parser.parse_args()
    published = documents(given.folder)
    if not published:
        parser.error(f"there are no documents in {given.folder}")
    with recording() as seen:
        ended = pytest.main(["-q", "-p", "no:cacheprovider", "-p", "no:randomly", *given.tests])
    told = [_told(name, seen, of_vendor) for name, of_vendor in published.items()]
    return int(ended) or int(any(told))


def _told(application: str, seen: Iterable[Exchange], published: Sequence[Document]) -> int:
    """How many findings of *application* nobody explains, which are shown."""
    counts, found = checked([one for one in seen if one.application == application], published)
    rows = list(read(page_of(application)))
    open_ones = [one for one in found if not any(row.explains(one) for row in rows)]
    idle = [row for row in rows if not any(row.explains(one) for one in found)]
    _show(application, counts, len(found), open_ones, idle)
    return len(open_ones) + len(idle)


def _show(
    application: str, counts: Counter[str], kinds: int, open_ones: Iterable[Finding], idle: Iterable[Explanation]
) -> None:
    print(
        f"{application}: {counts['requests']} requests and {counts['answers']} answers checked, "
        f"{counts['outside']} exchanges outside the documents, {kinds} kinds of findings"
    )
    for one in open_ones:
        print(f"  not explained: {one.endpoint} | {one.place} | {one.says} | {one.sample}")
    for row in idle:
        print(f"  explains nothing: {row.endpoints} | {row.places} | {row.rules}")


if __name__ == "__main__":
    sys.exit(main())
