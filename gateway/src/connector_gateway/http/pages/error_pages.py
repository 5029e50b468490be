"""A page for every error code, to which the ``docs`` of errors link, and a page that lists all codes."""

from collections.abc import Iterable, Sequence

from starlette.responses import HTMLResponse

from connector_gateway.http.pages import Pages
from connector_gateway.kit.errors import GatewayError, all_errors
from connector_gateway.kit.errors.remedy_placeholders import general_remedy
from connector_gateway.kit.operation import AnyConnector

CODES = {error.code: error for error in all_errors()}

Operations = Sequence[tuple[str, str]]
"""Operations as pairs of route and title."""


def error_page(pages: Pages, code: str, connectors: Iterable[AnyConnector]) -> HTMLResponse:
    """Return the page of *code*: its meaning, its remedy, and the operations that raise it."""
    error = CODES[code]
    connectors = list(connectors)
    operations = _operations_raising(error, connectors)
    return _page(pages, errors=[error], title=code, operations=operations, connectors=connectors)


def errors_page(pages: Pages, connectors: Iterable[AnyConnector]) -> HTMLResponse:
    """Return a page with the meaning and the remedy of every code."""
    return _page(pages, errors=list(CODES.values()), title="Errors", operations=(), connectors=list(connectors))


def _operations_raising(error: type[GatewayError], connectors: Iterable[AnyConnector]) -> Operations:
    return [
        (f"{operation.method} /v1/connectors/{connector.name}{operation.path}", operation.title)
        for connector in connectors
        for operation in connector.operations
        if error in operation.all_errors
    ]


def _page(
    pages: Pages,
    *,
    errors: Sequence[type[GatewayError]],
    title: str,
    operations: Operations,
    connectors: Sequence[AnyConnector],
) -> HTMLResponse:
    remedies = {error.code: general_remedy(error, connectors) for error in errors}
    return pages.show("errors.html", errors=errors, remedies=remedies, title=title, operations=operations)
