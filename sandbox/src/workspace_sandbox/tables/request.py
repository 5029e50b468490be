"""An authorised request, and the parsing of its body."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from aiohttp import web
from multidict import MultiMapping

from workspace_sandbox.kit.error_responses import require
from workspace_sandbox.kit.strict_json import parse_json
from workspace_sandbox.tables import error_responses
from workspace_sandbox.tables.access import Access
from workspace_sandbox.tables.data import record_queries
from workspace_sandbox.tables.data.cell_values import Reader
from workspace_sandbox.tables.data.record_operations import Workspace, WriteOptions
from workspace_sandbox.tables.data.state import PERMISSIONS, Base, Record, Table, find
from workspace_sandbox.tables.data.webhooks import Webhook


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """An authorised request and the state that it works on."""

    workspace: Workspace
    iterators: record_queries.ListIterators
    access: Access
    path: Mapping[str, str]
    query: MultiMapping[str]
    body: Mapping[str, Any]
    reader: Reader
    """The reader of the records in ``base``."""

    permission: Callable[[Base], str]
    """The function that returns the caller's role in a base."""

    is_put: bool
    """Whether the method is PUT, which clears omitted fields."""

    ping: Callable[[Webhook], None]
    """The function that pings a webhook."""

    @property
    def base(self) -> Base:
        """The base in the path."""
        return self.reader.base

    def table(self) -> Table:
        """Return the table in the path, by id or name."""
        return require(find(self.base.tables, self.path["table"]), error_responses.no_such_model())

    def writable_table(self) -> Table:
        """Return the table in the path. Raises an error if it is read-only."""
        table = self.table()
        if table.synced:
            raise error_responses.forbidden()
        return table

    def path_record(self, table: Table) -> Record:
        """Return the record in the path. Raises an error if it does not belong to *table*."""
        return require(table.records.get(self.path["record"]), error_responses.no_such_record(self.path["record"]))

    def write_options(self) -> WriteOptions:
        """Return the options for writing."""
        creates = PERMISSIONS.index(self.permission(self.base)) >= PERMISSIONS.index("create")
        return WriteOptions(self.access.user, self.flag("typecast"), creates, self.is_put)

    def flag(self, name: str) -> bool:
        """Return a boolean of the body. Absent and null mean False."""
        value = self.body.get(name)
        if value is not None and not isinstance(value, bool):
            raise error_responses.invalid_request()
        return bool(value)

    def record_json(self, table: Table, record: Record) -> dict[str, Any]:
        """Return a written record as the response shows it."""
        return self.reader.record(table, record, by_id=self.flag("returnFieldsByFieldId"))


async def read_body(request: web.Request) -> Mapping[str, Any]:
    """Return the JSON object of a request, empty if the content type is not JSON."""
    content = await request.read()
    if not content or request.content_type != "application/json":
        return {}
    try:
        body = parse_json(content)
    except (ValueError, RecursionError):
        raise error_responses.unparsable() from None
    if not isinstance(body, dict):
        raise error_responses.invalid_request()
    return body
