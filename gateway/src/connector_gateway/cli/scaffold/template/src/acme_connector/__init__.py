"""acme: items of an invented vendor, to be replaced by yours."""

from acme_connector import client, operations
from acme_connector.events import EVENTS, read_events  # --events
from acme_connector.oauth import OAUTH  # --oauth
from connector_gateway.kit.operation import Connector, SampleCall

ACME = Connector(
    name="acme",
    kit_version=1,
    summary="Items of a list.",
    base_urls={"base": client.BASE_URL},
    budgets={"account": client.BUDGET},
    client=client.AcmeClient,
    operations=(
        operations.list_items,
        operations.create_item,
        read_events,  # --events
    ),
    error_table=client.ERRORS,
    # Documented, but not read. Other fields are reported as changes of the vendor.
    unread_fields={"external_id"},
    settle_seconds=client.SETTLE_SECONDS,
    identify=client.identify,
    oauth=OAUTH,  # --oauth
    event_source=EVENTS,  # --events
    sample=SampleCall("the first items", operations.list_items, lambda _: {}),
)
