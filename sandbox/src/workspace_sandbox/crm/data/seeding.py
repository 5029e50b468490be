"""Records of all types, created from a seed."""

from typing import TYPE_CHECKING, Any

from workspace_sandbox.crm.data.object_types import KINDS
from workspace_sandbox.kit.state.seed_file_values import SeedValue

if TYPE_CHECKING:
    from workspace_sandbox.crm.emulator import CrmEmulator

CREATION_ORDER = ("companies", "contacts", *(kind.plural for kind in KINDS[2:]))
"""The order of creation. Companies are first, so that new contacts can be associated with them."""


def apply_seed(hubspot: "CrmEmulator", data: SeedValue) -> dict[str, Any]:
    """Create the records in *data*. Returns their identifiers in order."""
    data.check_object(*CREATION_ORDER)
    return {kind: [_record(hubspot, kind, one) for one in data.list_items(kind)] for kind in CREATION_ORDER}


def _record(hubspot: "CrmEmulator", kind: str, entry: SeedValue) -> str:
    properties = {name: _to_text(value) for name, value in entry.items()}
    with entry.locate_errors():
        return str(hubspot.perform({"action": "create", "type": kind, "properties": properties})["id"])


def _to_text(entry: SeedValue) -> str:
    """Return a property as a string. Seeds can also contain numbers and booleans."""
    if isinstance(entry.value, bool):
        return str(entry.value).lower()
    return str(entry.value) if isinstance(entry.value, int | float) else entry.as_text()
