"""Records of every type, from the plain words of a seed."""

from typing import TYPE_CHECKING, Any

from workspace_sandbox.crm.kinds import KINDS
from workspace_sandbox.kit.sowing import SeedValue

if TYPE_CHECKING:
    from workspace_sandbox.crm.emulator import CrmEmulator

MADE = ("companies", "contacts", *(kind.plural for kind in KINDS[2:]))
"""In this order: a new contact may find its company there."""


def sow(hubspot: "CrmEmulator", given: SeedValue) -> dict[str, Any]:
    """Create what *given* tells, records of plain properties; the identifiers in their order."""
    given.object_of(*MADE)
    return {kind: [_record(hubspot, kind, one) for one in given.each(kind)] for kind in MADE}


def _record(hubspot: "CrmEmulator", kind: str, given: SeedValue) -> str:
    properties = {name: _plain(value) for name, value in given.items()}
    with given.locate_errors():
        return str(hubspot.perform({"action": "create", "type": kind, "properties": properties})["id"])


def _plain(given: SeedValue) -> str:
    """Properties are texts on the wire; a seed may say numbers and yes or no."""
    if isinstance(given.value, bool):
        return str(given.value).lower()
    return str(given.value) if isinstance(given.value, int | float) else given.as_text()
