"""Companies, contacts and deals, from the plain words of a seed."""

from typing import Any

from workspace_sandbox.crm import acts
from workspace_sandbox.crm.state import Portal
from workspace_sandbox.kit.sowing import Plot

MADE = {"companies": "create_company", "contacts": "create_contact", "deals": "create_deal", "notes": "create_note"}


def sow(portal: Portal, plot: Plot) -> dict[str, Any]:
    """Make what *plot* tells, records of plain properties; the identifiers in their order."""
    plot.object_of(*MADE)
    return {kind: [_record(portal, action, one) for one in plot.each(kind)] for kind, action in MADE.items()}


def _record(portal: Portal, action: str, plot: Plot) -> str:
    properties = {name: _plain(value) for name, value in plot.items()}
    with plot.doing():
        return str(acts.act(portal, {"action": action, "properties": properties})["id"])


def _plain(plot: Plot) -> str:
    """Properties are texts on the wire; a seed may say numbers and yes or no."""
    if isinstance(plot.value, bool):
        return str(plot.value).lower()
    return str(plot.value) if isinstance(plot.value, int | float) else plot.as_text()
