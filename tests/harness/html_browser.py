"""A browser without scripts: opens pages, follows links, submits forms, and stores cookies."""

from dataclasses import dataclass, field
from urllib.parse import urljoin

import httpx
from bs4 import BeautifulSoup, Tag

from harness.gateway_server import OPERATOR, Gateway


@dataclass(frozen=True)
class HtmlPage:
    """A received page."""

    response: httpx.Response = field(repr=False)

    @property
    def status(self) -> int:
        return self.response.status_code

    @property
    def path(self) -> str:
        """The current path, with the query."""
        return self.response.url.raw_path.decode()

    @property
    def html(self) -> BeautifulSoup:
        return BeautifulSoup(self.response.text, "html.parser")

    @property
    def text(self) -> str:
        """The visible text, in one line."""
        return " ".join(self.html.get_text(" ").split())

    @property
    def heading(self) -> str:
        """The heading of the page."""
        return self.one("h1").get_text(" ", strip=True)

    @property
    def alert(self) -> str:
        """The error message of the page."""
        return " ".join(self.one("[role=alert]").get_text(" ").split())

    def one(self, selector: str) -> Tag:
        """Return the only element that *selector* matches."""
        (matches,) = self.html.select(selector)
        return matches

    def rows(self, selector: str = "table") -> list[list[str]]:
        """Return the cells of a table, row by row."""
        matches = self.html.select(f"{selector} tbody tr")
        return [[" ".join(cell.get_text(" ").split()) for cell in row.select("td")] for row in matches]

    def link(self, words: str) -> str:
        """Return the target of the first link with the text *words*."""
        matches = [str(link["href"]) for link in self.html.select("a[href]") if words == link.get_text(" ", strip=True)]
        return urljoin(str(self.response.url), matches[0])

    def form(self, button: str) -> Tag:
        """Return the form that has a button of that name."""
        (form,) = [form for form in self.html.select("form") if button in [one.text for one in form.select("button")]]
        return form


class Browser:
    """A browser that runs no scripts."""

    def __init__(self, gateway: Gateway) -> None:
        self.http = httpx.Client(base_url=gateway.base_url, follow_redirects=True, timeout=60)
        # A leaked socket would be reported in a later test.
        gateway.opened.callback(self.http.close)

    def open(self, address: str, **query: str) -> HtmlPage:
        """Open a URL."""
        return HtmlPage(self.http.get(address, params=query or None))

    def submit(self, page: HtmlPage, button: str, **fields: str) -> HtmlPage:
        """Fill in the form of *page* that has this button, and submit it."""
        form = page.form(button)
        values = {
            str(one["name"]): str(one.get("value", ""))
            for one in form.select("input[name]:not([type=checkbox]), input[type=checkbox][checked]")
        }
        chosen = {str(one["name"]): _chosen(one) for one in form.select("select[name]")}
        texts = {str(one["name"]): one.text for one in form.select("textarea[name]")}
        address = urljoin(str(page.response.url), str(form.get("action", "")))
        return HtmlPage(self.http.post(address, data={**values, **chosen, **texts, **fields}))

    def sign_in(self, token: str = OPERATOR, at: str = "/console") -> HtmlPage:
        """Enter the operator token if the page at this URL asks for it."""
        return self.submit(self.open(at), "Sign in", operator_token=token)


def _chosen(select: Tag) -> str:
    option = select.select_one("option[selected]") or select.select_one("option")
    return "" if option is None else str(option.get("value", option.text))
