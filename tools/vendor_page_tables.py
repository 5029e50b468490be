"""The generated parts of the vendor pages: operations and budgets."""

from collections.abc import Iterable

from connector_gateway.kit.operation import AnyConnector, AnyOperation
from connector_gateway.kit.upstream.budget import Budget

SPANS = {1: "second", 60: "minute", 15 * 60: "15 minutes", 24 * 60 * 60: "day"}


def operation_rows(connector: AnyConnector) -> list[str]:
    """Return the operations of a connector, each with a link to its reference."""
    return [operation_row(connector, operation) for operation in connector.operations]


def operation_row(connector: AnyConnector, operation: AnyOperation) -> str:
    """Return one operation: name and summary."""
    anchor = operation.title.lower().replace(" ", "-")
    does = operation.description.splitlines()[0]
    return f"- [{operation.title}](../reference/{connector.name}.md#{anchor}): {does}"


def limit_rows(connector: AnyConnector) -> list[str]:
    """Return the budgets of a connector, and the settle time of its writes."""
    rows = [f"- Rate limit `{name}`: {pace(budget)}" for name, budget in connector.budgets.items()]
    return [*rows, f"- Settle time of in-doubt writes: {connector.settle_seconds:.0f} seconds"]


def pace(budget: Budget) -> str:
    """Return a budget in words; the unit is requests, or the vendor's units."""
    span = SPANS.get(int(budget.per_seconds), f"{budget.per_seconds:.0f} seconds")
    return f"{budget.limit:,.0f} per {span}"


def application_rows(connectors: Iterable[AnyConnector]) -> list[str]:
    """Return all vendors, each with a link to its page."""
    rows = [
        f"| [{connector.oauth.vendor if connector.oauth else connector.name}]({connector.name}.md) "
        f"| `{connector.name}` | {connector.summary} | {'yes' if connector.event_source else 'no'} |"
        for connector in connectors
    ]
    return ["| Vendor | Connector | Objects | Events |", "|---|---|---|---|", *rows]
