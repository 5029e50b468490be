"""tables: a spreadsheet-style database."""

from connector_gateway.connectors.tables import client, operations
from connector_gateway.connectors.tables.oauth import OAUTH, identify
from connector_gateway.connectors.tables.vendor_errors import ERRORS
from connector_gateway.kit.operation import Connector, SampleCall

UNREAD_FIELDS = frozenset(
    {
        "createdTime",
        "dateDependencySettings",
        "description",
        "details",
        "name",
        "personalForUserId",
        "refresh_expires_in",
        "type",
        "visibleFieldIds",
    }
)
"""The names of documented fields in the vendor models that are not read.

Source: airtable.com/developers/web/api, and pyairtable 3.5.0, read 2026-11.
"""

TABLES = Connector(
    name="tables",
    summary="Bases, tables and records of a spreadsheet-style database.",
    base_urls={"base": client.BASE_URL, "content": client.CONTENT_URL, "consent": client.CONSENT_URL},
    budgets={"base": client.BASE_BUDGET, "account": client.ACCOUNT_BUDGET},
    client=client.TablesClient,
    operations=(
        operations.read_records,
        operations.create_records,
        operations.update_record,
        operations.attach_file,
        operations.list_tables,
    ),
    parse_throttle=client.parse_throttle,
    error_table=ERRORS,
    unread_fields=UNREAD_FIELDS,
    settle_seconds=client.SETTLE_SECONDS,
    oauth=OAUTH,
    identify=identify,
    passthrough=client.PASSTHROUGH,
    sample=SampleCall(
        "two records, one of which names an option that does not exist",
        operations.create_records,
        lambda examples: {
            "base_id": examples["base_id"],
            "table": examples["table"],
            "records": [
                {"Name": "Acme", examples["select_field"]: "Open", "Value": "12.50"},
                {"Name": "Bolt", examples["select_field"]: "Maybe"},
            ],
        },
    ),
    examples=lambda examples: {**examples, "url": examples["file_url"]},
)
