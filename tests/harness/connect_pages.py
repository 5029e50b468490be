"""A user with a browser and a connect link."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from html import unescape
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import httpx

from harness.consent_pages import Browser
from harness.gateway_server import Gateway


@dataclass
class BrowserUser:
    """A browser with its cookies, in front of a gateway and its emulators."""

    gateway: Gateway
    http: httpx.Client

    def open(self, url: str) -> httpx.Response:
        """Return the page at a URL of the gateway, without following redirects."""
        return self.http.get(self._here(url))

    def press(self, url: str, headers: Mapping[str, str] | None = None) -> httpx.Response:
        """Press the button of the connect link *url*, and return the page."""
        return self.http.post(self._here(url), headers=headers)

    def depart(self, url: str) -> str:
        """Return the URL of the consent page to which the connect link *url* leads."""
        page = self.press(url)
        assert 200 == page.status_code, page.text
        return page.headers["refresh"].removeprefix("0; url=")

    def allow(self, url: str, **decided: Any) -> httpx.Response:
        """Follow *url*, allow access, and return the final page."""
        consent = self.depart(url)
        with Browser() as browser:
            return self.come_back(consent, browser.allow(consent, **decided))

    def cancel(self, url: str) -> httpx.Response:
        """Follow *url*, deny access, and return the final page."""
        consent = self.depart(url)
        with Browser() as browser:
            return self.come_back(consent, browser.cancel(consent))

    def come_back(self, consent: str, answer: Mapping[str, str]) -> httpx.Response:
        """Return the page to which the vendor redirects with its *answer*."""
        callback = dict(parse_qsl(urlsplit(consent).query))["redirect_uri"]
        return self.http.get(f"{self._here(callback)}?{urlencode(answer)}")

    def _here(self, url: str) -> str:
        parts = urlsplit(url)
        return f"{self.gateway.base_url}{parts.path}{'?' if parts.query else ''}{parts.query}"


@contextmanager
def user(gateway: Gateway) -> Iterator[BrowserUser]:
    """Run a user with a new browser."""
    with httpx.Client(timeout=30) as http:
        yield BrowserUser(gateway, http)


def heading(page: httpx.Response) -> str:
    """Return the heading of a page."""
    match = re.search("<h1>(.*?)</h1>", page.text)
    assert match is not None, page.text
    return unescape(match[1])


def open_link(gateway: Gateway, **more: Any) -> dict[str, Any]:
    """Create a pending connection, and return it with its link."""
    body = {"workspace_id": gateway.workspace_id, "connector": "notes"} | more
    data: dict[str, Any] = gateway.operator("POST", "/v1/connections", json=body).data
    return data


def connected(browser_user: BrowserUser) -> str:
    """Create a connection, and connect an account as *browser_user*."""
    invitation = open_link(browser_user.gateway)
    assert 200 == browser_user.allow(invitation["connect_url"]).status_code
    return str(invitation["connection_id"])


def reconnecting(gateway: Gateway, connection_id: str, **more: Any) -> str:
    """Return a reconnect link."""
    return str(gateway.operator("POST", f"/v1/connections/{connection_id}/reconnect", json=more).data["connect_url"])


def page_texts(gateway: Gateway, connection_id: str) -> dict[str, Any]:
    """Return a connection in its current state."""
    data: dict[str, Any] = gateway.operator("GET", f"/v1/connections/{connection_id}").data
    return data
