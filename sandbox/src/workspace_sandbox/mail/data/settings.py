"""Settings of a mailbox. Filters apply to incoming mail, the other settings are only stored."""

from collections.abc import Callable, Mapping
from typing import Any

from workspace_sandbox.kit.error_responses import require
from workspace_sandbox.mail.data.mail_delivery import ADDRESS
from workspace_sandbox.mail.data.state import Mailbox
from workspace_sandbox.mail.error_responses import invalid, not_found, precondition
from workspace_sandbox.mail.request import ApiRequest, MailServices, ResponseBody

Settings = dict[str, Any]
Fields = Mapping[str, Any]

INITIAL_SETTINGS: dict[str, Settings] = {
    "autoForwarding": {"enabled": False},
    "imap": {"enabled": True, "autoExpunge": True, "expungeBehavior": "archive", "maxFolderSize": 0},
    "language": {"displayLanguage": "en"},
    "pop": {"accessWindow": "disabled", "disposition": "leaveInInbox"},
    "vacation": {"enableAutoReply": False, "restrictToContacts": False, "restrictToDomain": False},
}
"""The initial settings of a mailbox."""

MAX_FILTERS = 1000
TIMES = ("startTime", "endTime")
"""Fields that are numbers internally and strings in responses."""


def create_reader(name: str) -> Callable[[MailServices, ApiRequest], ResponseBody]:
    """Return the method that reads the settings *name*."""

    def read(_: MailServices, request: ApiRequest) -> ResponseBody:
        return dict(request.mailbox.settings.get(name, INITIAL_SETTINGS[name]))

    return read


def create_writer(name: str) -> Callable[[MailServices, ApiRequest], ResponseBody]:
    """Return the method that replaces the settings *name*."""

    def write(_: MailServices, request: ApiRequest) -> ResponseBody:
        check = CHECKS.get(name)
        if check is not None:
            check(request.mailbox, request.body)
        fields = {key: str(value) if key in TIMES else value for key, value in request.body.items()}
        request.mailbox.settings[name] = {**DEFAULTS.get(name, {}), **fields}
        return dict(request.mailbox.settings[name])

    return write


DEFAULTS: dict[str, Settings] = {
    "vacation": INITIAL_SETTINGS["vacation"],
    "autoForwarding": INITIAL_SETTINGS["autoForwarding"],
}
"""Settings that are returned although they were never set."""


def _vacation(_: Mailbox, fields: Fields) -> None:
    start, end = fields.get("startTime"), fields.get("endTime")
    if start is not None and end is not None and int(start) >= int(end):
        raise invalid("Vacation start time must precede end time")


def _forwarding(mailbox: Mailbox, fields: Fields) -> None:
    if fields.get("enabled") or fields.get("emailAddress"):
        _check_forwarding(mailbox, str(fields.get("emailAddress", "")))


def _language(_: Mailbox, fields: Fields) -> None:
    if not fields.get("displayLanguage"):
        raise invalid("Invalid display language")


CHECKS: dict[str, Callable[[Mailbox, Fields], None]] = {
    "autoForwarding": _forwarding,
    "language": _language,
    "vacation": _vacation,
}


def _check_forwarding(mailbox: Mailbox, address: str) -> None:
    if mailbox.forwarding.get(address) != "accepted":
        raise invalid("Unrecognized forwarding address")


# Forwarding addresses


def list_forwarding(_: MailServices, request: ApiRequest) -> ResponseBody:
    """List the forwarding addresses."""
    addresses = [_address(address, status) for address, status in request.mailbox.forwarding.items()]
    return {"forwardingAddresses": addresses} if addresses else {}


def get_forwarding(_: MailServices, request: ApiRequest) -> ResponseBody:
    """Return a forwarding address."""
    address = request.ids["forwardingEmail"].lower()
    return _address(address, require(request.mailbox.forwarding.get(address), not_found()))


def create_forwarding(services: MailServices, request: ApiRequest) -> ResponseBody:
    """Create a forwarding address. An address of the sandbox is accepted immediately, others await verification."""
    address = str(request.body.get("forwardingEmail", "")).lower()
    if not ADDRESS.fullmatch(address):
        raise invalid("Invalid forwarding address")
    if address in request.mailbox.forwarding:
        raise precondition("Forwarding address already exists")
    request.mailbox.forwarding[address] = "accepted" if address in services.transport.mailboxes else "pending"
    return _address(address, request.mailbox.forwarding[address])


def delete_forwarding(_: MailServices, request: ApiRequest) -> ResponseBody:
    """Delete a forwarding address, and disable forwarding to it."""
    if request.mailbox.forwarding.pop(request.ids["forwardingEmail"].lower(), None) is None:
        raise not_found()
    if request.mailbox.settings.get("autoForwarding", {}).get("emailAddress") == request.ids["forwardingEmail"].lower():
        del request.mailbox.settings["autoForwarding"]
    return None


def _address(address: str, status: str) -> Settings:
    return {"forwardingEmail": address, "verificationStatus": status}


# Filters


def list_filters(_: MailServices, request: ApiRequest) -> ResponseBody:
    """List the filters."""
    filters = list(request.mailbox.filters.values())
    return {"filter": filters} if filters else {}


def get_filter(_: MailServices, request: ApiRequest) -> ResponseBody:
    """Return a filter."""
    return _filter(request)


def create_filter(services: MailServices, request: ApiRequest) -> ResponseBody:
    """Create a filter for future incoming mail."""
    criteria, action = request.body.get("criteria") or {}, request.body.get("action") or {}
    if not criteria:
        raise invalid("Filter doesn't have any criteria")
    if not action:
        raise invalid("Filter doesn't have any actions")
    for label_id in (*action.get("addLabelIds", ()), *action.get("removeLabelIds", ())):
        if label_id not in request.mailbox.labels:
            raise invalid(f"Invalid label: {label_id}")
    if action.get("forward"):
        _check_forwarding(request.mailbox, str(action["forward"]))
    content = {"criteria": criteria, "action": action}
    if any({**existing, "id": ""} == {**content, "id": ""} for existing in request.mailbox.filters.values()):
        raise precondition("Filter already exists")
    if len(request.mailbox.filters) >= MAX_FILTERS:
        raise precondition("Too many filters")
    new_filter = {"id": f"ANe1Bm{services.transport.random.getrandbits(160):040x}", **content}
    request.mailbox.filters[str(new_filter["id"])] = new_filter
    return new_filter


def delete_filter(_: MailServices, request: ApiRequest) -> ResponseBody:
    """Delete a filter."""
    del request.mailbox.filters[_filter(request)["id"]]
    return None


def _filter(request: ApiRequest) -> Settings:
    return require(request.mailbox.filters.get(request.ids["id"]), not_found())


# Send-as addresses


def list_send_as(_: MailServices, request: ApiRequest) -> ResponseBody:
    """List the send-as addresses: only the user's own one."""
    return {"sendAs": [_own(request.mailbox)]}


def get_send_as(_: MailServices, request: ApiRequest) -> ResponseBody:
    """Return the user's own send-as address."""
    _check_own(request)
    return _own(request.mailbox)


def update_send_as(_: MailServices, request: ApiRequest) -> ResponseBody:
    """Set the name, signature and reply-to address. PUT clears omitted fields."""
    _check_own(request)
    stored = {} if request.method.method == "PUT" else request.mailbox.settings.get("sendAs", {})
    fields = {
        name: value for name, value in request.body.items() if name in {"displayName", "replyToAddress", "signature"}
    }
    request.mailbox.settings["sendAs"] = {**stored, **fields}
    return _own(request.mailbox)


def _check_own(request: ApiRequest) -> None:
    if request.ids["sendAsEmail"].lower() not in {"me", request.mailbox.address}:
        raise not_found()


def _own(mailbox: Mailbox) -> Settings:
    fields = {"displayName": mailbox.name, "replyToAddress": "", "signature": ""}
    fields |= mailbox.settings.get("sendAs", {})
    return {"sendAsEmail": mailbox.address, **fields, "isPrimary": True, "isDefault": True}
