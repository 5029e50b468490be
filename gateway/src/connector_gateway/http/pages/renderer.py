"""Renders pages from templates, all with the same layout and security headers."""

from collections.abc import Mapping
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from starlette.responses import HTMLResponse

from connector_gateway.http.pages.assets import version
from connector_gateway.http.pages.template_filters import (
    bidi_isolate,
    console_path,
    duration,
    format_datetime,
    render_code_spans,
    visible,
)
from connector_gateway.kit.errors import all_errors

if TYPE_CHECKING:
    from jinja2 import Environment, Template

POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)

HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": POLICY,
    # Not no-referrer: browsers would then omit the origin of forms too, which is checked.
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}


class Pages:
    """Renders the pages of an installation at *base_url*."""

    def __init__(self, base_url: str) -> None:
        parts = urlsplit(base_url)
        self.root = parts.path.rstrip("/")
        """The path prefix that a reverse proxy removes."""

        self.secure = parts.scheme == "https"

    @cached_property
    def _environment(self) -> "Environment":
        from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415  # slow, and few commands need it

        environment = Environment(
            loader=PackageLoader("connector_gateway.http"),
            autoescape=True,
            trim_blocks=True,
            lstrip_blocks=True,
            undefined=StrictUndefined,
            finalize=visible,
        )
        environment.filters |= {
            "duration": duration,
            "isolated": bidi_isolate,
            "moment": format_datetime,
            "with_code": render_code_spans,
            "page_of": console_path,
        }
        # Polls and deliveries have special codes, which have no page.
        explained = frozenset(error.code for error in all_errors())
        environment.globals |= {"root": self.root, "asset": self._asset, "explained": explained}
        return environment

    def show(
        self,
        template: str,
        *,
        status: int = 200,
        headers: Mapping[str, str] = MappingProxyType({}),
        **values: Any,
    ) -> HTMLResponse:
        """Return the page of *template*, which extends ``layout.html``, with *values*."""
        return HTMLResponse(self.template(template).render(values), status, HEADERS | dict(headers))

    def template(self, name: str) -> "Template":
        """Return the template *name*."""
        return self._environment.get_template(name)

    def _asset(self, name: str) -> str:
        return f"{self.root}/assets/{name}?version={version(name)}"


def is_own_form(site: str | None) -> bool:
    """Return True unless ``Sec-Fetch-Site`` reports another origin. Old browsers do not send the header."""
    return site in {None, "same-origin"}
