"""A page for every code of the catalogue, where the ``docs`` of an error leads, and one that lists them."""

import hashlib
import re
from base64 import b64encode
from collections.abc import Iterable, Sequence
from functools import cache

from jinja2 import Environment, PackageLoader, Template
from markupsafe import Markup, escape
from starlette.responses import HTMLResponse

from connector_gateway.kit.errors import CallerError, GatewayError, UpstreamFailure, catalogue
from connector_gateway.kit.operation import AnyConnector

CODES = {error.code: error for error in catalogue()}
STYLE = "<style>"

Operations = Sequence[tuple[str, str]]
"""Operations as route and title."""


def error_page(code: str, connectors: Iterable[AnyConnector]) -> HTMLResponse:
    """What *code* means, what to do, and which operations end with it."""
    error = CODES[code]
    return _page(errors=[error], title=code, operations=_ending_with(error, connectors))


def errors_page() -> HTMLResponse:
    """Every code, what it means, and what to do."""
    return _page(errors=list(CODES.values()), title="Errors", operations=())


def at_fault(error: type[GatewayError]) -> str:
    """Who can put *error* right."""
    if issubclass(error, CallerError):
        return "The caller can put it right."
    if issubclass(error, UpstreamFailure):
        return "The third-party application refused, failed or fell silent."
    return "This service is at fault, or not able just now."


def text(words: str) -> Markup:
    """*words* with what stands between backquotes as code."""
    return Markup(re.sub(r"``?(.+?)``?", r"<code>\1</code>", str(escape(words))))  # noqa: S704  # escaped just before


def _ending_with(error: type[GatewayError], connectors: Iterable[AnyConnector]) -> Operations:
    return [
        (f"{operation.method} /v1/connectors/{connector.name}{operation.path}", operation.title)
        for connector in connectors
        for operation in connector.operations
        if error in operation.refusals
    ]


def _page(*, errors: Sequence[type[GatewayError]], title: str, operations: Operations) -> HTMLResponse:
    page = _template().render(errors=errors, title=title, operations=operations, at_fault=at_fault, text=text)
    headers = {"content-security-policy": _policy(page), "x-content-type-options": "nosniff"}
    return HTMLResponse(page, headers=headers)


def _policy(page: str) -> str:
    """Nothing is let in but the style that *page* itself has."""
    digests = [b64encode(hashlib.sha256(style.encode()).digest()).decode() for style in _styles(page)]
    styles = " ".join(f"'sha256-{digest}'" for digest in digests)
    return f"default-src 'none'; style-src {styles}; base-uri 'none'; frame-ancestors 'none'"


@cache
def _template() -> Template:
    environment = Environment(
        loader=PackageLoader("connector_gateway.http"), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    return environment.get_template("errors.html")


def _styles(page: str) -> list[str]:
    """What stands between the signs for styles."""
    return [piece.partition("</style>")[0] for piece in page.split(STYLE)[1:]]
