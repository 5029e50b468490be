"""Labels: their requests, and what the vendor allows users to make."""

from collections.abc import Mapping
from typing import Any

from workspace_sandbox.kit.refusals import require
from workspace_sandbox.mail.methods import Answer, Ask, MailServices
from workspace_sandbox.mail.refusals import conflict, invalid, not_found
from workspace_sandbox.mail.state import SHOWN, SYSTEM, Label

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
"""The colours that labels may have, with blanks between."""


def list_labels(_: MailServices, ask: Ask) -> Answer:
    """All labels."""
    return {"labels": [label.resource for label in ask.mailbox.labels.values()]}


def get_label(_: MailServices, ask: Ask) -> Answer:
    """One label, with what carries it counted."""
    label = _label(ask)
    carrying = [message for message in ask.mailbox.messages.values() if message.has(label.id)]
    unread = [message for message in carrying if message.has("UNREAD")]
    counts = {
        "messagesTotal": len(carrying),
        "messagesUnread": len(unread),
        "threadsTotal": len({message.thread_id for message in carrying}),
        "threadsUnread": len({message.thread_id for message in unread}),
    }
    return label.resource | counts


def create_label(desk: MailServices, ask: Ask) -> Answer:
    """A new label of the user's own."""
    if len(ask.mailbox.labels) >= MAX_LABELS:
        raise invalid("Exceeded the maximum number of labels")
    name = checked_name(ask.body.get("name", ""), ask.mailbox.labels)
    label = Label(desk.office.new_label_id(ask.mailbox), name, "user", dict(SHOWN))
    changed(label, ask.body, ask.mailbox.labels)
    ask.mailbox.labels[label.id] = label
    return label.resource


def update_label(_: MailServices, ask: Ask) -> Answer:
    """Change a label of the user's own."""
    label = _label(ask)
    if label.type == "system":
        raise invalid("Invalid update request")
    # PUT replaces the label and so needs a name. PATCH does not.
    if ask.method.method == "PUT" and not ask.body.get("name"):
        raise invalid("Invalid label name")
    changed(label, ask.body, ask.mailbox.labels)
    return label.resource


def delete_label(_: MailServices, ask: Ask) -> Answer:
    """Delete a label of the user's own and take it off every message."""
    label = _label(ask)
    if label.type == "system":
        raise invalid("Invalid delete request")
    ask.mailbox.forget_label(label.id)
    return None


def _label(ask: Ask) -> Label:
    return require(ask.mailbox.labels.get(ask.ids["id"]), not_found())


def checked_name(name: str, others: Mapping[str, Label]) -> str:
    """*name* as it is kept, if a label may have it beside *others*."""
    kept = name.strip()
    malformed = not kept or len(kept) > MAX_NAME_LENGTH or kept.startswith("/") or kept.endswith("/")
    if malformed or kept.casefold() in RESERVED or not kept.isprintable():
        raise invalid("Invalid label name")
    # Two labels may not differ in case alone, so a client that looks exactly may not find what it cannot make.
    if any(label.name.casefold() == kept.casefold() for label in others.values()):
        raise conflict("Label name exists or conflicts")
    return kept


def checked_color(color: Mapping[str, str]) -> dict[str, str]:
    """*color*, if it names both colours and the palette has them."""
    for name in ("textColor", "backgroundColor"):
        shown = color.get(name, "")
        if not shown.startswith("#") or shown[1:].lower() not in PALETTE.split():
            raise invalid(f"Label color {shown} is not on the allowed color palette")
    return dict(color)


def changed(label: Label, given: Mapping[str, Any], labels: Mapping[str, Label]) -> None:
    """Give *label* the name, visibility and colour that are *given*."""
    others = {label_id: other for label_id, other in labels.items() if other is not label}
    name = checked_name(given["name"], others) if "name" in given else label.name
    color = checked_color(given["color"]) if given.get("color") else label.color
    label.name, label.color = name, color
    label.visibility = label.visibility | {key: given[key] for key in SHOWN if key in given}
