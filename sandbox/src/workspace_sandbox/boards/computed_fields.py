"""The fields of the vendor's objects, with the functions that compute them."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from workspace_sandbox.boards.data.objects import COLORS, Board, Card, Member, Organization
from workspace_sandbox.kit.clock import format_timestamp

Fields = Mapping[str, Callable[[Any], Any]]


def select_fields(fields: Fields, thing: Any, field_names: Iterable[str] | None = None) -> dict[str, Any]:
    """Return the fields *field_names* of *thing*, or all. The ID is always included."""
    names = fields if field_names is None else (name for name in field_names if name in fields)
    return {"id": thing.id, **{name: fields[name](thing) for name in names}}


def format_position(number: float) -> float:
    """Return a position in the vendor's format."""
    return int(number) if number.is_integer() else number


def slug(name: str) -> str:
    """Return a name as part of a URL."""
    words = "".join(letter.lower() if letter.isascii() and letter.isalnum() else " " for letter in name).split()
    return "-".join(words)


def _label_names(board: Board) -> dict[str, str]:
    first = {label.color: label.name for label in reversed(board.labels.values())}
    return {
        f"{color}{shade}": first.get(f"{color}{shade}", "") for shade in ("", "_dark", "_light") for color in COLORS
    }


def _prefs(_: Board) -> dict[str, Any]:
    return {
        "permissionLevel": "private",
        "hideVotes": False,
        "voting": "disabled",
        "comments": "members",
        "invitations": "members",
        "selfJoin": True,
        "cardCovers": True,
        "isTemplate": False,
        "cardAging": "regular",
        "calendarFeedEnabled": False,
        "background": "blue",
        "backgroundColor": "#0079BF",
        "backgroundImage": None,
        "backgroundImageScaled": None,
        "backgroundTile": False,
        "backgroundBrightness": "dark",
        "canBePublic": True,
        "canBeEnterprise": True,
        "canBeOrg": True,
        "canBePrivate": True,
        "canInvite": True,
    }


def membership(group: Board | Organization, member: Member) -> dict[str, Any]:
    """Return the membership of *member* in *group*."""
    identifier = f"{group.id[:8]}{member.id[8:]}"
    raw = {"id": identifier, "idMember": member.id, "memberType": group.role(member)}
    return raw | {"unconfirmed": False, "deactivated": False}


def memberships(group: Board | Organization) -> list[dict[str, Any]]:
    """Return all memberships in *group*."""
    return [membership(group, member) for member in group.members.values()]


BOARD: Fields = {
    "name": lambda board: board.name,
    "desc": lambda board: board.desc,
    "descData": lambda _: None,
    "closed": lambda board: board.closed,
    "idOrganization": lambda board: board.organization.id if board.organization else None,
    "idEnterprise": lambda _: None,
    "pinned": lambda _: False,
    "url": lambda board: f"https://trello.com/b/{board.short_link}/{slug(board.name)}",
    "shortUrl": lambda board: f"https://trello.com/b/{board.short_link}",
    "shortLink": lambda board: board.short_link,
    "prefs": _prefs,
    "labelNames": _label_names,
    "dateLastActivity": lambda board: format_timestamp(board.active_at),
    "starred": lambda _: False,
    "subscribed": lambda _: False,
    "memberships": memberships,
}

BOARD_DEFAULT = tuple(BOARD)[:12]
"""The fields of a board that are returned by default."""

LIST: Fields = {
    "name": lambda card_list: card_list.name,
    "closed": lambda card_list: card_list.closed,
    "color": lambda _: None,
    "idBoard": lambda card_list: card_list.board.id,
    "pos": lambda card_list: format_position(card_list.pos),
    "subscribed": lambda card_list: card_list.subscribed,
    "softLimit": lambda _: None,
    "type": lambda _: None,
    "datasource": lambda _: {"filter": False},
}

LABEL: Fields = {
    "idBoard": lambda label: label.board.id,
    "name": lambda label: label.name,
    "color": lambda label: label.color,
    "uses": lambda label: sum(label in card.labels for card in label.board.cards()),
}

CARD_LABEL: Fields = {name: LABEL[name] for name in ("idBoard", "name", "color")}


def _badges(card: Card) -> dict[str, Any]:
    items = list(card.items())
    return {
        "attachmentsByType": {"trello": {"board": 0, "card": 0}},
        "location": False,
        "votes": len(card.voters),
        "viewingMemberVoted": False,
        "subscribed": card.subscribed,
        "fogbugz": "",
        "checkItems": len(items),
        "checkItemsChecked": sum(item.complete for item in items),
        "checkItemsEarliestDue": min((item.due for item in items if item.due), default=None),
        "comments": sum(action.type == "commentCard" for action in card.actions),
        "attachments": len(card.attachments),
        "description": bool(card.desc),
        "due": card.due,
        "dueComplete": card.due_complete,
        "start": card.start,
    }


def check_item_states(card: Card) -> list[dict[str, str]]:
    """Return the completed items of a card."""
    return [{"idCheckItem": item.id, "state": "complete"} for item in card.items() if item.complete]


CARD: Fields = {
    "badges": _badges,
    "checkItemStates": check_item_states,
    "closed": lambda card: card.closed,
    "dueComplete": lambda card: card.due_complete,
    "dateLastActivity": lambda card: format_timestamp(card.active_at),
    "desc": lambda card: card.desc,
    "descData": lambda _: {"emoji": {}},
    "due": lambda card: card.due,
    "dueReminder": lambda _: None,
    "email": lambda _: None,
    "idBoard": lambda card: card.board.id,
    "idChecklists": lambda card: list(card.checklists),
    "idList": lambda card: card.card_list.id,
    "idMembers": lambda card: [member.id for member in card.members],
    "idMembersVoted": lambda card: [member.id for member in card.voters],
    "idShort": lambda card: card.number,
    "idAttachmentCover": lambda card: card.cover_id,
    "labels": lambda card: [select_fields(CARD_LABEL, label) for label in card.labels],
    "idLabels": lambda card: [label.id for label in card.labels],
    "manualCoverAttachment": lambda card: card.cover_id is not None,
    "name": lambda card: card.name,
    "pinned": lambda _: False,
    "pos": lambda card: format_position(card.pos),
    "shortLink": lambda card: card.short_link,
    "shortUrl": lambda card: f"https://trello.com/c/{card.short_link}",
    "start": lambda card: card.start,
    "subscribed": lambda card: card.subscribed,
    "url": lambda card: f"https://trello.com/c/{card.short_link}/{card.number}-{slug(card.name)}".rstrip("-"),
    "cover": lambda card: {
        "idAttachment": card.cover_id,
        "color": None,
        "idUploadedBackground": None,
        "size": "normal",
        "brightness": "dark",
        "idPlugin": None,
    },
    "isTemplate": lambda _: False,
    "cardRole": lambda _: None,
    "mirrorSourceId": lambda _: None,
}


ATTACHMENT: Fields = {
    "bytes": lambda attachment: None if attachment.content is None else len(attachment.content),
    "date": lambda attachment: format_timestamp(attachment.author.at),
    "edgeColor": lambda _: None,
    "idMember": lambda attachment: attachment.author.member.id,
    "isUpload": lambda attachment: attachment.content is not None,
    "mimeType": lambda attachment: attachment.mime,
    "name": lambda attachment: attachment.name,
    "previews": lambda _: [],
    "url": lambda attachment: attachment.url,
    "pos": lambda attachment: format_position(attachment.pos),
    "fileName": lambda attachment: None if attachment.content is None else attachment.name,
}

ORGANIZATION: Fields = {
    "name": lambda organization: organization.name,
    "displayName": lambda organization: organization.display_name,
    "desc": lambda organization: organization.desc,
    "url": lambda organization: f"https://trello.com/w/{organization.name}",
    "website": lambda organization: organization.website,
    "teamType": lambda _: "engineering-it",
    "memberships": memberships,
}

CHECKLIST: Fields = {
    "name": lambda checklist: checklist.name,
    "idBoard": lambda checklist: checklist.board.id,
    "idCard": lambda checklist: checklist.card.id,
    "pos": lambda checklist: format_position(checklist.pos),
}

CHECK_ITEM: Fields = {
    "name": lambda item: item.name,
    "nameData": lambda _: {"emoji": {}},
    "pos": lambda item: format_position(item.pos),
    "state": lambda item: "complete" if item.complete else "incomplete",
    "due": lambda item: item.due,
    "dueReminder": lambda _: None,
    "idMember": lambda _: None,
    "idChecklist": lambda item: item.checklist.id,
}

MEMBER: Fields = {
    "activityBlocked": lambda _: False,
    "avatarHash": lambda _: None,
    "avatarUrl": lambda _: None,
    "bio": lambda member: member.bio,
    "confirmed": lambda _: True,
    "fullName": lambda member: member.full_name,
    "idMemberReferrer": lambda _: None,
    "initials": lambda member: "".join(word[0] for word in member.full_name.split()).upper(),
    "memberType": lambda _: "normal",
    "nonPublic": lambda _: {},
    "nonPublicAvailable": lambda _: False,
    "status": lambda _: "disconnected",
    "url": lambda member: f"https://trello.com/{member.username}",
    "username": lambda member: member.username,
}

MEMBER_BRIEF = (
    "activityBlocked",
    "avatarHash",
    "avatarUrl",
    "fullName",
    "idMemberReferrer",
    "initials",
    "nonPublic",
    "nonPublicAvailable",
    "username",
)
"""The fields of an action's author."""

ACTION: Fields = {
    "idMemberCreator": lambda action: action.author.member.id,
    "data": lambda action: action.data,
    "appCreator": lambda action: action.author.app and {"id": action.author.app},
    "type": lambda action: action.type,
    "date": lambda action: format_timestamp(action.author.at),
    "limits": lambda _: {},
}
