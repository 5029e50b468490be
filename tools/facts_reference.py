"""The reference page of vendor facts, and the places that cite them."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from connector_gateway.connectors import CONNECTORS
from connector_gateway.verify.facts import load_facts
from connector_gateway.verify.runner import load_checks

PROJECT = Path(__file__).parent.parent
CITATION = re.compile(rf"\b(?:{'|'.join(CONNECTORS)})\.[a-z0-9]+(?:-[a-z0-9]+)+\b")
"""The identifier of a fact. It has a hyphen, unlike a module."""

CITING = ("gateway/src/**/*.py", "gateway/src/**/*.md", "sandbox/src/**/*.py", "sandbox/src/**/*.md", "docs/*/*.md")
PAGE = Path("docs/reference/vendor-facts.md")


HOW = {True: "write", False: "read"}
"""The kind of check, by whether it writes."""


def citations() -> Mapping[str, Sequence[str]]:
    """Return the files that cite each fact."""
    found = defaultdict(list)
    for path in sorted(path for pattern in CITING for path in PROJECT.glob(pattern)):
        name = path.relative_to(PROJECT)
        if name != PAGE and "verify" not in name.parts:
            for fact in set(CITATION.findall(path.read_text(encoding="utf-8"))):
                found[fact].append(str(name))
    return found


def facts_reference() -> str:
    """Return the page."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    cited = citations()
    yield "# Facts about the vendors"
    yield ""
    yield "What the gateway and the emulators assume about each vendor. `connector-gateway verify` checks them with an"
    yield "account. Confidence is `documented`, `recorded` (in traffic or a vendor's library), `reported` (by users)"
    yield "or `assumed`."
    for name, connector in CONNECTORS.items():
        checks = load_checks(name)
        writes = {check.fact: check.writes for check in checks.all} if checks else {}
        if facts := load_facts(name):
            yield from ("", f"## {name}: {connector.vendor}", "")
            yield "| Fact | Statement | Source | Confidence | Check | Used by |"
            yield "|---|---|---|---|---|---|"
        for fact_name, fact in facts.items():
            how = fact.not_checkable or HOW[writes[fact_name]]
            users = ", ".join(f"`{_short(path)}`" for path in cited.get(f"{name}.{fact_name}", ()))
            source = f"{fact.source}, read {fact.read}"
            yield f"| `{name}.{fact_name}` | {fact.says} | {source} | {fact.confidence} | {how} | {users} |"


def _short(path: str) -> str:
    return path.replace("gateway/src/connector_gateway/", "").replace("sandbox/src/workspace_sandbox/", "sandbox/")
