"""The generated parts of the pages of applications: what can be done there, and at what pace."""

from collections.abc import Iterable

from connector_gateway.http.api.routes import PREFIX
from connector_gateway.kit.operation import AnyConnector, AnyOperation
from connector_gateway.kit.upstream.budget import Budget

SPANS = {1: "second", 60: "minute", 15 * 60: "15 minutes", 24 * 60 * 60: "day"}


def operation_rows(connector: AnyConnector) -> list[str]:
    """The operations of a connector, each with a link to its reference."""
    rows = [operation_row(connector, operation) for operation in connector.operations]
    return [f"| Operation | Effect | Route below `{PREFIX}/{connector.name}` |", "|---|---|---|", *rows]


def operation_row(connector: AnyConnector, operation: AnyOperation) -> str:
    """One operation: its name, what it does and its route."""
    anchor = operation.title.lower().replace(" ", "-")
    does = operation.description.splitlines()[0]
    return (
        f"| [{operation.title}](../reference/{connector.name}.md#{anchor}) | {does} "
        f"| `{operation.method} {operation.path}` |"
    )


def limit_rows(connector: AnyConnector) -> list[str]:
    """The budgets of a connector, and how long a request of it may be in doubt."""
    rows = [f"| Rate limit `{name}` | {pace(budget)} |" for name, budget in connector.budgets.items()]
    settled = f"| Settle time of in-doubt writes | {connector.settle_seconds:.0f} seconds |"
    return ["| Limit | Size |", "|---|---|", *rows, settled]


def pace(budget: Budget) -> str:
    """A budget in words; what is counted are requests, or the vendor's units."""
    span = SPANS.get(int(budget.per_seconds), f"{budget.per_seconds:.0f} seconds")
    return f"{budget.limit:,.0f} per {span}"


def application_rows(connectors: Iterable[AnyConnector]) -> list[str]:
    """All applications, each with a link to its page."""
    rows = [
        f"| [{connector.oauth.application if connector.oauth else connector.name}]({connector.name}.md) "
        f"| `{connector.name}` | {connector.summary} | {'yes' if connector.event_source else 'no'} |"
        for connector in connectors
    ]
    return ["| Vendor | Connector | Objects | Events |", "|---|---|---|---|", *rows]
