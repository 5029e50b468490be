"""Companies, contacts and deals, from the plain words of a seed."""

from typing import Any

from workspace_sandbox.crm import acts
from workspace_sandbox.crm.state import Portal
from workspace_sandbox.kit.sowing import SeedValue

MADE = {"companies": "create_company", "contacts": "create_contact", "deals": "create_deal", "notes": "create_note"}


def sow(portal: Portal, given: SeedValue) -> dict[str, Any]:
    """Make what *given* tells, records of plain properties; the identifiers in their order."""
    given.object_of(*MADE)
    return {kind: [_record(portal, action, one) for one in given.each(kind)] for kind, action in MADE.items()}


def _record(portal: Portal, action: str, given: SeedValue) -> str:
    properties = {name: _plain(value) for name, value in given.items()}
    with given.doing():
        return str(acts.perform(portal, {"action": action, "properties": properties})["id"])


def _plain(given: SeedValue) -> str:
    """Properties are texts on the wire; a seed may say numbers and yes or no."""
    if isinstance(given.value, bool):
        return str(given.value).lower()
    return str(given.value) if isinstance(given.value, int | float) else given.as_text()
