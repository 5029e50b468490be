"""A view of the emulator's bases."""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

from harness.gateway_server import Gateway
from workspace_sandbox.tables import TablesEmulator
from workspace_sandbox.tables.data.state import Base, Field, Table, find

LEADS = "Leads"


@dataclass(frozen=True)
class VendorInspector:
    """Reads and changes the emulator's bases directly."""

    emulator: TablesEmulator

    @property
    def sales(self) -> Base:
        """The base with all tables."""
        return self.emulator.workspace.bases[0]

    @property
    def office(self) -> Base:
        """The base where the account may only edit."""
        return self.emulator.workspace.bases[1]

    def table(self, name: str = LEADS, base: Base | None = None) -> Table:
        """Return a table."""
        table = find((base or self.sales).tables, name)
        assert table is not None
        return table

    def field(self, name: str, table: str = LEADS) -> Field:
        """Return a field of a table of the sales base."""
        field = find(self.table(table).fields, name)
        assert field is not None
        return field

    def records(self, table: str = LEADS, base: Base | None = None, **fields: Any) -> list[dict[str, Any]]:
        """Return the records with these values."""
        base = base or self.sales
        reader, listed = self.emulator.reader(base), self.table(table, base)
        matches = [reader.record(listed, record)["fields"] for record in list(listed.records.values())]
        return [record for record in matches if all(record.get(name) == value for name, value in fields.items())]

    def record(self, record_id: str, base: Base | None = None) -> dict[str, Any]:
        """Return the cells of a record."""
        base = base or self.sales
        home = base.find_record(record_id)
        assert home is not None
        fields: dict[str, Any] = self.emulator.reader(base).record(*home)["fields"]
        return fields

    def create_manually(self, *, seconds_ago: float = 0.0, **fields: Any) -> str:
        """Create a lead as a colleague, now or some time ago."""
        action = {"action": "create_record", "base_id": self.sales.id, "table": LEADS, "fields": fields}
        record_id: str = self.emulator.perform(action)["id"]
        self.table().records[record_id].created_at -= seconds_ago
        return record_id

    def hide_authors(self) -> None:
        """Remove the field that names a lead's creator."""
        self.table().fields = [field for field in self.table().fields if field.type != "createdBy"]

    def delete_record(self, record_id: str) -> None:
        """Delete a record."""
        home = self.sales.find_record(record_id)
        assert home is not None
        self.emulator.workspace.delete(self.sales, home[0], [record_id])

    def list_requests(self, method: str) -> list[str]:
        """Return the paths of the vendor requests with *method*."""
        return [seen.path for seen in self.emulator.context.request_log if seen.method == method]


def copy_bases(bases: Sequence[Base]) -> list[Base]:
    """Return a copy of all changeable parts of *bases*, which is much faster than seeding again."""
    return [replace(base, tables=[_copied_table(table) for table in base.tables]) for base in bases]


def _copied_table(table: Table) -> Table:
    records = {key: replace(record, cells=dict(record.cells)) for key, record in table.records.items()}
    return replace(table, fields=deepcopy(table.fields), views=list(table.views), records=records)


def inspect(gateway: Gateway) -> VendorInspector:
    """Return an inspector of the emulator behind *gateway*."""
    emulator = gateway.sandbox.emulators["tables"]
    assert isinstance(emulator, TablesEmulator)
    return VendorInspector(emulator)
