"""The methods of labels, and the vendor's rules for user labels."""

from collections.abc import Mapping
from typing import Any

from workspace_sandbox.kit.error_responses import require
from workspace_sandbox.mail.data.state import SHOWN, SYSTEM, Label
from workspace_sandbox.mail.error_responses import conflict, invalid, not_found
from workspace_sandbox.mail.request import ApiRequest, MailServices, ResponseBody

RESERVED = frozenset(
    {name.casefold() for name in SYSTEM}
    | {"all mail", "archive", "bin", "draft", "drafts", "important", "muted", "read", "scheduled", "sent mail"}
    | {"snoozed", "starred", "trash", "unread"}
)
MAX_LABELS = 10_000
MAX_NAME_LENGTH = 225
PALETTE = (
    "000000 434343 666666 999999 cccccc efefef f3f3f3 ffffff fb4c2f ffad47 fad165 16a766 43d692 4a86e8 a479e2 "
    "f691b3 f6c5be ffe6c7 fef1d1 b9e4d0 c6f3de c9daf8 e4d7f5 fcdee8 efa093 ffd6a2 fce8b3 89d3b2 a0eac9 a4c2f4 "
    "d0bcf1 fbc8d9 e66550 ffbc6b fcda83 44b984 68dfa9 6d9eeb b694e8 f7a7c0 cc3a21 eaa041 f2c960 149e60 3dc789 "
    "3c78d8 8e63ce e07798 ac2b16 cf8933 d5ae49 0b804b 2a9c68 285bac 653e9b b65775 822111 a46a21 aa8831 076239 "
    "1a764d 1c4587 41236d 83334c 464646 e7e7e7 0d3472 b6cff5 0d3b44 98d7e4 3d188e e3d7ff 711a36 fbd3e0 8a1c0a "
    "f2b2a8 7a2e0b ffc8af 7a4706 ffdeb5 594c05 fbe983 684e07 fdedc1 0b4f30 b3efd3 04502e a2dcc1 c2c2c2 4986e7 "
    "2da2bb b99aff 994a64 f691b2 ff7537 ffad46 662e37 ebdbde cca6ac 094228 42d692 16a765 757575 1e53b8 007286 "
    "7858c3 c2185b d93025 54240e 633e04 521d28 202124 083018"
)
"""The allowed label colours, separated by spaces."""


def list_labels(_: MailServices, request: ApiRequest) -> ResponseBody:
    """List all labels."""
    return {"labels": [label.resource for label in request.mailbox.labels.values()]}


def get_label(_: MailServices, request: ApiRequest) -> ResponseBody:
    """Return a label with its message and thread counts."""
    label = _label(request)
    carrying = [message for message in request.mailbox.messages.values() if message.has_label(label.id)]
    unread = [message for message in carrying if message.has_label("UNREAD")]
    counts = {
        "messagesTotal": len(carrying),
        "messagesUnread": len(unread),
        "threadsTotal": len({message.thread_id for message in carrying}),
        "threadsUnread": len({message.thread_id for message in unread}),
    }
    return label.resource | counts


def create_label(services: MailServices, request: ApiRequest) -> ResponseBody:
    """Create a user label."""
    if len(request.mailbox.labels) >= MAX_LABELS:
        raise invalid("Exceeded the maximum number of labels")
    name = check_name(request.body.get("name", ""), request.mailbox.labels)
    label = Label(services.transport.new_label_id(request.mailbox), name, "user", dict(SHOWN))
    apply_changes(label, request.body, request.mailbox.labels)
    request.mailbox.labels[label.id] = label
    return label.resource


def update_label(_: MailServices, request: ApiRequest) -> ResponseBody:
    """Change a user label."""
    label = _label(request)
    if label.type == "system":
        raise invalid("Invalid update request")
    # PUT replaces the label and so requires a name. PATCH does not.
    if request.method.method == "PUT" and not request.body.get("name"):
        raise invalid("Invalid label name")
    apply_changes(label, request.body, request.mailbox.labels)
    return label.resource


def delete_label(_: MailServices, request: ApiRequest) -> ResponseBody:
    """Delete a user label and remove it from every message."""
    label = _label(request)
    if label.type == "system":
        raise invalid("Invalid delete request")
    request.mailbox.delete_label(label.id)
    return None


def _label(request: ApiRequest) -> Label:
    return require(request.mailbox.labels.get(request.ids["id"]), not_found())


def check_name(name: str, others: Mapping[str, Label]) -> str:
    """Return *name* as it is stored. Raises an error if it is invalid or conflicts with *others*."""
    stored = name.strip()
    malformed = not stored or len(stored) > MAX_NAME_LENGTH or stored.startswith("/") or stored.endswith("/")
    if malformed or stored.casefold() in RESERVED or not stored.isprintable():
        raise invalid("Invalid label name")
    # Names are unique regardless of case, so a client that compares exactly may not find the label that conflicts.
    if any(label.name.casefold() == stored.casefold() for label in others.values()):
        raise conflict("Label name exists or conflicts")
    return stored


def check_color(color: Mapping[str, str]) -> dict[str, str]:
    """Return *color* if it has both colours and the palette contains them."""
    for name in ("textColor", "backgroundColor"):
        value = color.get(name, "")
        if not value.startswith("#") or value[1:].lower() not in PALETTE.split():
            raise invalid(f"Label color {value} is not on the allowed color palette")
    return dict(color)


def apply_changes(label: Label, changes: Mapping[str, Any], labels: Mapping[str, Label]) -> None:
    """Set the name, visibility and colour of *label* that are in *changes*."""
    others = {label_id: other for label_id, other in labels.items() if other is not label}
    name = check_name(changes["name"], others) if "name" in changes else label.name
    color = check_color(changes["color"]) if changes.get("color") else label.color
    label.name, label.color = name, color
    label.visibility = label.visibility | {key: changes[key] for key in SHOWN if key in changes}
