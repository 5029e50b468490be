"""Settings of a mailbox: kept and shown; filters work on what arrives, the others change nothing else."""

from collections.abc import Callable, Mapping
from typing import Any

from workspace_sandbox.kit.refusals import require
from workspace_sandbox.mail.methods import Answer, Ask, MailServices
from workspace_sandbox.mail.office import ADDRESS
from workspace_sandbox.mail.refusals import invalid, not_found, precondition
from workspace_sandbox.mail.state import Mailbox

Settings = dict[str, Any]
Given = Mapping[str, Any]

FIRST: dict[str, Settings] = {
    "autoForwarding": {"enabled": False},
    "imap": {"enabled": True, "autoExpunge": True, "expungeBehavior": "archive", "maxFolderSize": 0},
    "language": {"displayLanguage": "en"},
    "pop": {"accessWindow": "disabled", "disposition": "leaveInInbox"},
    "vacation": {"enableAutoReply": False, "restrictToContacts": False, "restrictToDomain": False},
}
"""What a mailbox has at first."""

MOST_FILTERS = 1000
TIMES = ("startTime", "endTime")
"""What is a number, and told as text."""


def reading(name: str) -> Callable[[MailServices, Ask], Answer]:
    """The method that shows the settings *name*."""

    def read(_: MailServices, ask: Ask) -> Answer:
        return dict(ask.mailbox.settings.get(name, FIRST[name]))

    return read


def writing(name: str) -> Callable[[MailServices, Ask], Answer]:
    """The method that puts other settings in the place of *name*."""

    def write(_: MailServices, ask: Ask) -> Answer:
        check = CHECKS.get(name)
        if check is not None:
            check(ask.mailbox, ask.body)
        given = {key: str(value) if key in TIMES else value for key, value in ask.body.items()}
        ask.mailbox.settings[name] = {**DEFAULTS.get(name, {}), **given}
        return dict(ask.mailbox.settings[name])

    return write


DEFAULTS: dict[str, Settings] = {"vacation": FIRST["vacation"], "autoForwarding": FIRST["autoForwarding"]}
"""What is told although nobody set it."""


def _vacation(_: Mailbox, given: Given) -> None:
    start, end = given.get("startTime"), given.get("endTime")
    if start is not None and end is not None and int(start) >= int(end):
        raise invalid("Vacation start time must precede end time")


def _forwarding(mailbox: Mailbox, given: Given) -> None:
    if given.get("enabled") or given.get("emailAddress"):
        _require_forwarding(mailbox, str(given.get("emailAddress", "")))


def _language(_: Mailbox, given: Given) -> None:
    if not given.get("displayLanguage"):
        raise invalid("Invalid display language")


CHECKS: dict[str, Callable[[Mailbox, Given], None]] = {
    "autoForwarding": _forwarding,
    "language": _language,
    "vacation": _vacation,
}


def _require_forwarding(mailbox: Mailbox, address: str) -> None:
    if mailbox.forwarding.get(address) != "accepted":
        raise invalid("Unrecognized forwarding address")


# Addresses that mail may be forwarded to


def list_forwarding(_: MailServices, ask: Ask) -> Answer:
    """All of them."""
    found = [_address(address, status) for address, status in ask.mailbox.forwarding.items()]
    return {"forwardingAddresses": found} if found else {}


def get_forwarding(_: MailServices, ask: Ask) -> Answer:
    """One of them."""
    address = ask.ids["forwardingEmail"].lower()
    return _address(address, require(ask.mailbox.forwarding.get(address), not_found()))


def create_forwarding(desk: MailServices, ask: Ask) -> Answer:
    """Another one; it counts at once if it is of this office, and otherwise waits for its owner."""
    address = str(ask.body.get("forwardingEmail", "")).lower()
    if not ADDRESS.fullmatch(address):
        raise invalid("Invalid forwarding address")
    if address in ask.mailbox.forwarding:
        raise precondition("Forwarding address already exists")
    ask.mailbox.forwarding[address] = "accepted" if address in desk.office.mailboxes else "pending"
    return _address(address, ask.mailbox.forwarding[address])


def delete_forwarding(_: MailServices, ask: Ask) -> Answer:
    """Take one away, and end forwarding to it."""
    if ask.mailbox.forwarding.pop(ask.ids["forwardingEmail"].lower(), None) is None:
        raise not_found()
    if ask.mailbox.settings.get("autoForwarding", {}).get("emailAddress") == ask.ids["forwardingEmail"].lower():
        del ask.mailbox.settings["autoForwarding"]
    return None


def _address(address: str, status: str) -> Settings:
    return {"forwardingEmail": address, "verificationStatus": status}


# Filters


def list_filters(_: MailServices, ask: Ask) -> Answer:
    """All of them."""
    found = list(ask.mailbox.filters.values())
    return {"filter": found} if found else {}


def get_filter(_: MailServices, ask: Ask) -> Answer:
    """One of them."""
    return _filter(ask)


def create_filter(desk: MailServices, ask: Ask) -> Answer:
    """Another one, for what arrives from now on."""
    criteria, action = ask.body.get("criteria") or {}, ask.body.get("action") or {}
    if not criteria:
        raise invalid("Filter doesn't have any criteria")
    if not action:
        raise invalid("Filter doesn't have any actions")
    for label_id in (*action.get("addLabelIds", ()), *action.get("removeLabelIds", ())):
        if label_id not in ask.mailbox.labels:
            raise invalid(f"Invalid label: {label_id}")
    if action.get("forward"):
        _require_forwarding(ask.mailbox, str(action["forward"]))
    same = {"criteria": criteria, "action": action}
    if any({**known, "id": ""} == {**same, "id": ""} for known in ask.mailbox.filters.values()):
        raise precondition("Filter already exists")
    if len(ask.mailbox.filters) >= MOST_FILTERS:
        raise precondition("Too many filters")
    made = {"id": f"ANe1Bm{desk.office.random.getrandbits(160):040x}", **same}
    ask.mailbox.filters[str(made["id"])] = made
    return made


def delete_filter(_: MailServices, ask: Ask) -> Answer:
    """Take one away."""
    del ask.mailbox.filters[_filter(ask)["id"]]
    return None


def _filter(ask: Ask) -> Settings:
    return require(ask.mailbox.filters.get(ask.ids["id"]), not_found())


# Addresses that mail is sent from


def list_send_as(_: MailServices, ask: Ask) -> Answer:
    """The addresses the user may send from: only the own one."""
    return {"sendAs": [_own(ask.mailbox)]}


def get_send_as(_: MailServices, ask: Ask) -> Answer:
    """The own address."""
    _require_own(ask)
    return _own(ask.mailbox)


def update_send_as(_: MailServices, ask: Ask) -> Answer:
    """Name, signature and address for answers of the own address; PUT clears what is not given."""
    _require_own(ask)
    kept = {} if ask.method.method == "PUT" else ask.mailbox.settings.get("sendAs", {})
    given = {name: value for name, value in ask.body.items() if name in {"displayName", "replyToAddress", "signature"}}
    ask.mailbox.settings["sendAs"] = {**kept, **given}
    return _own(ask.mailbox)


def _require_own(ask: Ask) -> None:
    if ask.ids["sendAsEmail"].lower() not in {"me", ask.mailbox.address}:
        raise not_found()


def _own(mailbox: Mailbox) -> Settings:
    about = {"displayName": mailbox.name, "replyToAddress": "", "signature": ""}
    about |= mailbox.settings.get("sendAs", {})
    return {"sendAsEmail": mailbox.address, **about, "isPrimary": True, "isDefault": True}
