"""A request that was let in."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from multidict import MultiMapping

from workspace_sandbox.kit.refusals import require
from workspace_sandbox.tables import queries, wire
from workspace_sandbox.tables.access import Access
from workspace_sandbox.tables.state import PERMISSIONS, Base, Record, Table, find
from workspace_sandbox.tables.values import Reader
from workspace_sandbox.tables.webhooks import Webhook
from workspace_sandbox.tables.workspace import Workspace, WriteOptions


@dataclass(frozen=True, slots=True)
class Call:
    """A request that was let in."""

    workspace: Workspace
    iterators: queries.Iterators
    access: Access
    path: Mapping[str, str]
    query: MultiMapping[str]
    body: Mapping[str, Any]
    reader: Reader
    """Shows what is in ``base``."""

    permission: Callable[[Base], str]
    """What the caller may do in a base."""

    replaces: bool
    """Whether it is a PUT."""

    ping: Callable[[Webhook], None]
    """Pings a webhook."""

    @property
    def base(self) -> Base:
        """The base of the path."""
        return self.reader.base

    def table(self) -> Table:
        """The table of the path, by id or name."""
        return require(find(self.base.tables, self.path["table"]), wire.no_such_model())

    def written_table(self) -> Table:
        """The table of the path, if it takes writes."""
        table = self.table()
        if table.synced:
            raise wire.forbidden()
        return table

    def own_record(self, table: Table) -> Record:
        """The record of the path, which must be one of *table*."""
        return require(table.records.get(self.path["record"]), wire.no_such_record(self.path["record"]))

    def manner(self) -> WriteOptions:
        """How it is to be written."""
        creates = PERMISSIONS.index(self.permission(self.base)) >= PERMISSIONS.index("create")
        return WriteOptions(self.access.user, self.flag("typecast"), creates, self.replaces)

    def flag(self, name: str) -> bool:
        """A yes or no of the body; absent and null are no."""
        value = self.body.get(name)
        if value is not None and not isinstance(value, bool):
            raise wire.invalid_request()
        return bool(value)

    def shown(self, table: Table, record: Record) -> dict[str, Any]:
        """A record that was written."""
        return self.reader.record(table, record, by_id=self.flag("returnFieldsByFieldId"))
