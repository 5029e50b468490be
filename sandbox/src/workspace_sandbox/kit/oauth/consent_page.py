"""The consent page on which a user authorises an OAuth app, and the user's decision."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

from aiohttp import web
from multidict import MultiDict

Fields = Sequence[tuple[str, str]]
"""The query and form parameters of a request in their order. Names can be repeated."""

YES = frozenset({"1", "true", "yes"})
DECISION_FIELDS = frozenset({"decision", "account", "granted", "boxes", "auto_approve"})
"""Parameters that the page adds to those of the OAuth app."""

GRANTED = "granted"
"""The name of a checkbox. For one that belongs to an account, a colon and the account ID follow."""

PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">
<style>
body {{ font: 1rem/1.5 system-ui, sans-serif; margin: 0; overflow-wrap: anywhere; }}
main {{ max-width: 32rem; margin: 0 auto; padding: 1rem; }}
h1 {{ font-size: 1.4rem; line-height: 1.25; }}
fieldset {{ border: 1px solid GrayText; border-radius: .5rem; margin: 1rem 0; min-width: 0; }}
label {{ display: flex; gap: .6rem; padding: .3rem 0; }}
input {{ flex: none; margin: .35rem 0 0; }}
button {{ font: inherit; padding: .6rem 1.4rem; margin: .5rem .5rem 0 0; cursor: pointer; }}
button {{ border: 1px solid GrayText; border-radius: .4rem; background: Canvas; color: CanvasText; }}
button[value=allow] {{ background: #1b5fb3; border-color: #1b5fb3; color: #fff; }}
.account {{ display: grid; grid-template-columns: auto minmax(0, 1fr); gap: 0 .6rem; }}
.account > input {{ margin-top: .65rem; align-self: start; }}
.account > fieldset {{ grid-column: 1 / -1; margin-top: .3rem; }}
.account > input:not(:checked) ~ fieldset {{ display: none; }}
</style></head>
<body><main><p>{vendor}</p><h1>{title}</h1>
{body}
<p><small>The sandbox emulates {vendor}. No real account is connected.</small></p>
</main></body></html>
"""


@dataclass(frozen=True, slots=True)
class Checkbox:
    """A permission that the user can deselect."""

    value: str
    label: str


@dataclass(frozen=True, slots=True)
class ConsentAccount:
    """An account that the user can choose, with checkboxes for its contents if the user can select from them."""

    id: str
    name: str
    boxes: tuple[Checkbox, ...] = ()


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision of the user. ``granted`` is None if there was no selection, which grants everything."""

    allowed: bool
    account: str
    granted: frozenset[str] | None

    def grants(self, value: str) -> bool:
        """Return True if *value* was left selected."""
        return self.granted is None or value in self.granted


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsentForm:
    """The contents of a consent page. *boxes* apply to every account."""

    vendor: str
    app: str
    wants: Sequence[str]
    accounts: Sequence[ConsentAccount]
    boxes: Sequence[Checkbox] = ()

    def page(self, path: str, fields: Fields, chosen: str = "") -> web.Response:
        """Return the page. Its form sends the decision to *path* with all *fields*."""
        wants = "".join(f"<li>{escape(one)}</li>" for one in self.wants)
        # A POST form, so that a browser that prefetches pages never grants access.
        body = (
            f'<form method="post" action="{escape(path)}">{_hidden_inputs(fields)}'
            + (f"<p>It will be able to:</p><ul>{wants}</ul>" if wants else "")
            + (f"<fieldset><legend>Allow it to</legend>{_boxes(self.boxes)}</fieldset>" if self.boxes else "")
            + f"<fieldset><legend>Account</legend>{self._accounts(chosen)}</fieldset>{self._mark()}"
            + '<button name="decision" value="allow">Allow</button>'
            + '<button name="decision" value="deny">Cancel</button></form>'
        )
        return render_page(self.vendor, f"{self.app} requests access to your account", body)

    def _accounts(self, chosen: str) -> str:
        account_ids = [account.id for account in self.accounts]
        first = chosen if chosen in account_ids else account_ids[0]
        return "".join(_account(account, checked=account.id == first) for account in self.accounts)

    def _mark(self) -> str:
        """Return a marker that distinguishes a form with all boxes deselected from one without boxes."""
        has_boxes = self.boxes or any(account.boxes for account in self.accounts)
        return '<input type="hidden" name="boxes" value="1">' if has_boxes else ""


async def read_fields(request: web.Request) -> Fields:
    """Return all query and form parameters of *request*."""
    posted = await request.post() if request.method == "POST" else MultiDict[str]()
    return [*request.query.items(), *((name, value) for name, value in posted.items() if isinstance(value, str))]


def parse_decision(fields: Fields, *, automatic: bool) -> Decision | None:
    """Return the decision in *fields*, or None if the user has not decided yet."""
    values = dict(fields)
    agreed = automatic or values.get("auto_approve", "").casefold() in YES
    if "decision" not in values and not agreed:
        return None
    account = values.get("account", "")
    # Browsers also send the boxes of accounts that are hidden.
    granted = frozenset(value for name, value in fields if name in {GRANTED, _box_name(account)})
    picked = granted if granted or "boxes" in values else None
    return Decision(values.get("decision", "allow") == "allow", account, picked)


def _box_name(account: str) -> str:
    """Return the name of an account's boxes."""
    return f"{GRANTED}:{account}"


def render_page(vendor: str, title: str, body: str, status: int = 200) -> web.Response:
    """Return a page of *vendor* with the HTML *body*."""
    text = PAGE.format(vendor=escape(vendor), title=escape(title), body=body)
    return web.Response(status=status, text=text, content_type="text/html")


def _hidden_inputs(fields: Fields) -> str:
    pairs = ((escape(name), escape(value)) for name, value in fields if not _is_decision(name))
    return "".join(f'<input type="hidden" name="{name}" value="{value}">' for name, value in pairs)


def _is_decision(name: str) -> bool:
    return name in DECISION_FIELDS or name.startswith(f"{GRANTED}:")


def _account(account: ConsentAccount, *, checked: bool) -> str:
    boxes = _boxes(account.boxes, _box_name(account.id))
    inner = f"<fieldset><legend>Share</legend>{boxes}</fieldset>" if boxes else ""
    identifier, mark = escape(account.id), " checked" * checked
    return (
        f'<div class="account"><input type="radio" name="account" id="account-{identifier}" value="{identifier}"{mark}>'
        f'<label for="account-{identifier}">{escape(account.name)}</label>{inner}</div>'
    )


def _boxes(boxes: Iterable[Checkbox], name: str = GRANTED) -> str:
    return "".join(
        f'<label><input type="checkbox" name="{escape(name)}" value="{escape(box.value)}" checked>'
        f"<span>{escape(box.label)}</span></label>"
        for box in boxes
    )
