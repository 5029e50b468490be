"""notes: a notes and database workspace."""

from connector_gateway.connectors.notes import events, operations
from connector_gateway.connectors.notes.client import (
    ADDRESS,
    BUDGET,
    SETTLE_SECONDS,
    NotesClient,
    authorise,
    throttled,
)
from connector_gateway.connectors.notes.oauth import OAUTH, identify
from connector_gateway.connectors.notes.refusals import ERRORS
from connector_gateway.kit.observing import Observing
from connector_gateway.kit.operation import Connector, SampleCall

NOTES = Connector(
    name="notes",
    summary="Databases and pages of a notes workspace.",
    addresses={"base": ADDRESS},
    budgets={"integration": BUDGET},
    authorise=authorise,
    client=NotesClient,
    operations=(
        operations.list_databases,
        operations.create_page,
        operations.update_page,
        operations.search_pages,
        operations.read_events,
    ),
    throttled=throttled,
    error_table=ERRORS,
    settle_seconds=SETTLE_SECONDS,
    observing=Observing(
        poll=events.polls.poll,
        every_seconds=60.0,
        signed_with="verification_token",
        hands_over=True,
        receive=events.deliveries.receive,
        addressed=events.deliveries.addressed,
    ),
    oauth=OAUTH,
    identify=identify,
    sample=SampleCall("the first databases", operations.list_databases, lambda _: {"limit": 1}),
)
