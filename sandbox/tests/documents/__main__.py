"""``make documents``: compare the exchanges of the sandbox's tests with the vendors' documents.

Responses are checked in all tests, requests only in tests of the vendors' SDKs. The command fails if
FIDELITY.md of the application does not explain a finding, or has a row that explains none.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from sandbox.tests.documents.comparison import Finding, check_exchanges
from sandbox.tests.documents.exchange import Exchange, record_exchanges
from sandbox.tests.documents.finding_explanations import Explanation, fidelity_page, read
from sandbox.tests.documents.vendor_documents import FILES, Document, documents

TESTS = str(Path(__file__).parents[1])


def main() -> int:
    """Run the tests, check the recorded exchanges and print the findings."""
    parser = argparse.ArgumentParser(prog="python -m documents", description=__doc__)
    parser.add_argument(
        "folder", type=Path, help=f"has {', '.join(name for files in FILES.values() for name, _ in files)}"
    )
    parser.add_argument("tests", nargs="*", default=[TESTS])
    args = parser.parse_args()
    documents_by_app = documents(args.folder)
    if not documents_by_app:
        parser.error(f"there are no documents in {args.folder}")
    with record_exchanges() as exchanges:
        ended = pytest.main(["-q", "-p", "no:cacheprovider", "-p", "no:randomly", *args.tests])
    counts = [_report(name, exchanges, vendor_documents) for name, vendor_documents in documents_by_app.items()]
    return int(ended) or int(any(counts))


def _report(application: str, exchanges: Iterable[Exchange], documents_by_app: Sequence[Document]) -> int:
    """Print and count the unexplained findings and unused explanations of *application*."""
    counts, findings = check_exchanges([one for one in exchanges if one.application == application], documents_by_app)
    rows = list(read(fidelity_page(application)))
    unexplained = [one for one in findings if not any(row.explains(one) for row in rows)]
    unused_rows = [row for row in rows if not any(row.explains(one) for one in findings)]
    _show(application, counts, len(findings), unexplained, unused_rows)
    return len(unexplained) + len(unused_rows)


def _show(
    application: str,
    counts: Counter[str],
    kinds: int,
    unexplained: Iterable[Finding],
    unused_rows: Iterable[Explanation],
) -> None:
    print(
        f"{application}: {counts['requests']} requests and {counts['answers']} responses checked, "
        f"{counts['outside']} exchanges outside the documents, {kinds} kinds of findings"
    )
    for one in unexplained:
        print(f"  not explained: {one.endpoint} | {one.location} | {one.rule} | {one.sample}")
    for row in unused_rows:
        print(f"  explains nothing: {row.endpoints} | {row.locations} | {row.rules}")


if __name__ == "__main__":
    sys.exit(main())
