"""A consent page: reads its form, ticks and unticks boxes, and submits it."""

from collections.abc import Collection
from dataclasses import dataclass, field
from html.parser import HTMLParser
from types import TracebackType
from typing import Self
from urllib.parse import parse_qsl, urljoin, urlsplit

import httpx


@dataclass
class Form(HTMLParser):
    """The only form of a page: hidden fields, accounts, check boxes, and buttons."""

    hidden: list[tuple[str, str]] = field(default_factory=list)
    accounts: list[str] = field(default_factory=list)
    account: str = ""
    """The default account."""
    boxes: list[str] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    named: dict[str, str] = field(default_factory=dict)
    """The check boxes by their labels."""
    action: str = ""
    _in_label: bool = False
    _box: str = ""

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        about = {name: value or "" for name, value in attrs}
        match tag, about.get("type"):
            case "form", _:
                self.action = about["action"]
            case "input", "hidden":
                self.hidden.append((about["name"], about["value"]))
            case "input", "radio":
                self.accounts.append(about["value"])
                self.account = about["value"] if "checked" in about else self.account
            case "input", "checkbox":
                self.boxes.append(about["value"])
                self._box = about["value"]
            case "label", _:
                self._in_label, self._box = True, ""

    def handle_endtag(self, tag: str) -> None:
        self._in_label = self._in_label and tag != "label"

    def handle_data(self, data: str) -> None:
        if self._in_label:
            self.labels.append(data)
            self.named |= {data: self._box} if self._box else {}


class Browser:
    """Opens pages and submits their forms; does not follow the redirect to a client."""

    def __init__(self) -> None:
        self._http = httpx.Client(timeout=60)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._http.close()

    def form(self, page: str) -> Form:
        """Return the form of the page at that URL."""
        response = self._http.get(page)
        assert 200 == response.status_code, response.text
        form = Form()
        form.feed(response.text)
        form.action = urljoin(page, form.action)
        return form

    def send(self, form: Form, button: str, *, account: str = "", unticked: Collection[str] = ()) -> httpx.Response:
        """Submit a form with a *button*, some boxes unticked, and an account chosen."""
        ticked = [("granted", box) for box in form.boxes if box not in unticked]
        fields = [*form.hidden, ("account", account or form.account), *ticked, ("decision", button)]
        return self._http.post(form.action, data=_by_name(fields))

    def allow(self, page: str, *, account: str = "", unticked: Collection[str] = ()) -> dict[str, str]:
        """Allow access on the page at that URL, and return the parameters of the redirect."""
        return sent_back(self.send(self.form(page), "allow", account=account, unticked=unticked))

    def cancel(self, page: str) -> dict[str, str]:
        """Deny access on the page at that URL, and return the parameters of the redirect."""
        return sent_back(self.send(self.form(page), "deny"))


def sent_back(answer: httpx.Response) -> dict[str, str]:
    """Return the parameters of the redirect, in its query and its fragment."""
    assert 302 == answer.status_code, answer.text
    back = urlsplit(answer.headers["Location"])
    return dict(parse_qsl(back.query) + parse_qsl(back.fragment))


def _by_name(fields: list[tuple[str, str]]) -> dict[str, list[str]]:
    return {name: [value for other, value in fields if other == name] for name, _ in fields}
