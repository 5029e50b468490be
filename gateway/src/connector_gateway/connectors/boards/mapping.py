"""Pure functions between the vendor's shapes and ours."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from connector_gateway.connectors.boards import models, vendor_models
from connector_gateway.kit.errors import LabelNotOnBoard, ListNotFound
from connector_gateway.kit.errors.suggestions import nearest_first
from connector_gateway.kit.models import format_timestamp
from connector_gateway.kit.write_steps import Cast, StepInput

StoredData = dict[str, Any]
"""A plan or the result of a step, as JSON in our own format. It is stored until the call has ended."""

POSITION_STEP = 16_384
"""The distance between two neighbours at the vendor."""

MAX_QUOTED_NAMES = 5
"""The maximum number of names in a message. The details contain all."""

MAX_QUOTED = 40
"""The maximum number of characters of a name in a message."""

_IDENTIFIER = re.compile(r"[0-9a-f]{24}")


# Identifiers


def full_identifier(text: str) -> str | None:
    """Return an identifier in the vendor's own form, or None for any other text, such as a card's short link."""
    lower = text.lower()
    return lower if _IDENTIFIER.fullmatch(lower) else None


def list_identifier(text: str) -> str:
    """Return a list's identifier. Raises ``ListNotFound`` for any other text, such as a list's name."""
    identifier = full_identifier(text)
    if identifier is None:
        raise ListNotFound(f"“{text}” is not a list identifier.", {"parameter": "list_id", "value": text})
    return identifier


# Cards


def label_ids(labels: Iterable[vendor_models.Label], names: Sequence[str]) -> list[str]:
    """Return the first label for each of *names*. Raises ``LabelNotOnBoard`` with the names that the board lacks."""
    by_name: dict[str, str] = {}
    for label in labels:
        # The vendor allows equal and empty label names on a board.
        by_name.setdefault(label.name, label.id)
    missing = [(index, name) for index, name in enumerate(names) if name not in by_name]
    if missing:
        raise LabelNotOnBoard(
            f"The board has no label {quote_names(dict.fromkeys(name for _, name in missing))}.",
            *(
                {
                    "code": LabelNotOnBoard.code,
                    "parameter": f"labels.{index}",
                    "value": name,
                    "allowed": nearest_first(name, [label_name for label_name in by_name if label_name]),
                }
                for index, name in missing
            ),
        )
    # Without duplicates, because the vendor has rejected repeated identifiers since spring 2025.
    return list(dict.fromkeys(by_name[name] for name in names))


def quote_names(names: Collection[str]) -> str:
    """Return the first few of *names* for a message, each shortened, and the number of the others."""
    quoted_names = [f"“{name}”" if len(name) <= MAX_QUOTED else f"“{name[: MAX_QUOTED - 1]}…”" for name in names]
    more = f" and {len(quoted_names) - MAX_QUOTED_NAMES} more" if len(quoted_names) > MAX_QUOTED_NAMES else ""
    return ", ".join(quoted_names[:MAX_QUOTED_NAMES]) + more


def label_casts(names: Sequence[str], label_ids: Sequence[str]) -> list[Cast]:
    """Report the identifiers of the labels with these *names*."""
    return [Cast("labels", "label", list(names), list(label_ids))] if names else []


def new_card(list_id: str, params: models.CreateCard, labels: Sequence[str]) -> StoredData:
    """Return the vendor's form of a card to create."""
    optional = {
        "desc": params.desc,
        "due": None if params.due is None else to_timestamp(params.due),
        "idLabels": list(labels) or None,
    }
    fields = {name: value for name, value in optional.items() if value is not None}
    return {"idList": list_id, "name": params.name, "pos": "bottom", **fields}


def stored_card(card: vendor_models.NewCard) -> StoredData:
    """Return the stored form of a created card."""
    due, labels = card.due and to_timestamp(card.due), [label.name for label in card.labels]
    return {"id": card.id, "shortUrl": card.short_url, "idList": card.id_list, "due": due, "labels": labels}


def public_card(stored: StoredData) -> StoredData:
    """Return the part of a created card that is included in the error when a later step fails."""
    return {"card_id": stored["id"]}


def created_card(stored: StoredData, names: Sequence[str]) -> models.CreatedCard:
    """Return the result of creating a card with the labels *names*."""
    return models.CreatedCard(
        card_id=stored["id"],
        short_url=stored["shortUrl"],
        list_id=stored["idList"],
        due=None if stored["due"] is None else parse_timestamp(stored["due"]),
        labels_applied=[name for name in dict.fromkeys(names) if name in stored["labels"]],
    )


def move(card: vendor_models.Card, target: vendor_models.CardList, position: str) -> StoredData:
    """Plan a move."""
    return {
        "card_id": card.id,
        "list_id": target.id,
        "position": position,
        "list_from": card.list.name if card.list else "",
        "list_to": target.name,
        "within": card.id_list == target.id,
    }


def stored_move(card_id: str, moved_at: datetime) -> StoredData:
    """Return the stored form of a moved card."""
    return {"id": card_id, "moved_at": to_timestamp(moved_at)}


def dry_run_move(intent: StepInput) -> StoredData:
    """Return the assumed result of moving a card, for dry runs."""
    return {"id": intent["card_id"], "moved_at": to_timestamp(datetime.fromtimestamp(0, UTC))}


def moved_card(planned: StoredData, stored: StoredData, *, comment_posted: bool) -> models.MovedCard:
    """Return the result of a move."""
    return models.MovedCard(
        card_id=stored["id"],
        list_from=planned["list_from"],
        list_to=planned["list_to"],
        comment_posted=comment_posted,
        moved_at=parse_timestamp(stored["moved_at"]),
    )


def stored_comment(action: vendor_models.Action, card_id: str) -> StoredData:
    """Return the stored form of a comment."""
    return {"id": action.id, "card_id": card_id, "date": to_timestamp(action.date)}


def public_comment(stored: StoredData) -> StoredData:
    """Return the part of a comment that is included in the error when a later step fails."""
    return {"comment_id": stored["id"]}


def comment(stored: StoredData) -> models.Comment:
    """Return the posted comment."""
    return models.Comment(card_id=stored["card_id"], comment_id=stored["id"], posted_at=parse_timestamp(stored["date"]))


# Boards


def board(board: vendor_models.Board, cards: Iterable[vendor_models.CardLocation]) -> models.BoardDescription:
    """Return the description of a board with these open *cards*, with labels if they were read."""
    counts = Counter(card.id_list for card in cards)
    return models.BoardDescription(
        board_name=board.name,
        lists=[
            models.BoardList(list_id=item.id, name=item.name, card_count=counts[item.id])
            for item in sorted(board.lists, key=lambda item: item.pos)
        ],
        labels=None
        if board.labels is None
        else list(dict.fromkeys(label.name for label in board.labels if label.name)),
    )


# Checklists


def named(name: str, checklists: Iterable[vendor_models.Checklist]) -> list[vendor_models.Checklist]:
    """Return the checklists of that name."""
    return [checklist for checklist in checklists if same_text(checklist.name, name)]


def stored_checklist(checklist: vendor_models.Checklist) -> StoredData:
    """Return the stored form of a checklist: its id and its items."""
    items = [{"name": item.name, "pos": item.pos} for item in sorted_items(checklist)]
    return {"id": checklist.id, "name": checklist.name, "checkItems": items}


def dry_run_checklist(intent: StepInput) -> StoredData:
    """Return the assumed result of creating a checklist, for dry runs."""
    return {"id": "new-checklist", "name": intent["name"], "checkItems": []}


def public_checklist(stored: StoredData) -> StoredData:
    """Return the part of a checklist that is included in the error when a later step fails."""
    return {"checklist_id": stored["id"]}


def checklist(stored: StoredData, card_id: str, items_added: int, *, skipped: bool = False) -> models.Checklist:
    """Return the result of attaching a checklist."""
    return models.Checklist(
        card_id=card_id, checklist_id=stored["id"], name=stored["name"], items_added=items_added, skipped=skipped
    )


def positions(count: int) -> list[int]:
    """Return the positions for the items of a checklist of *count* items.

    Each distance is the vendor's plus *count*, so an unfinished checklist reveals its intended length.
    """
    return [(POSITION_STEP + count) * (index + 1) for index in range(count)]


def sorted_items(checklist: vendor_models.Checklist) -> list[vendor_models.CheckItem]:
    """Return the items of a checklist in order."""
    return sorted(checklist.check_items, key=lambda item: item.pos)


def is_prefix(checklist: vendor_models.Checklist, expected: Sequence[str]) -> bool:
    """Return True if a checklist contains the first items of *expected*, or all of them."""
    existing = [(item.name.strip(), item.pos) for item in sorted_items(checklist)]
    complete = [
        (name.strip(), item_position) for name, item_position in zip(expected, positions(len(expected)), strict=True)
    ]
    return existing == complete[: len(existing)]


def is_unfinished(checklist: vendor_models.Checklist, expected: Sequence[str]) -> bool:
    """Return True if a checklist contains only the first items of *expected*."""
    return len(checklist.check_items) < len(expected) and is_prefix(checklist, expected)


def missing_items(stored: StoredData, expected: Sequence[str]) -> list[tuple[int, str, int]]:
    """Return index, name and position of the items of *expected* that a checklist lacks. Equal names count each."""
    existing = Counter(item["name"].strip() for item in stored["checkItems"])
    missing = []
    for index, (name, item_position) in enumerate(zip(expected, positions(len(expected)), strict=True)):
        if existing[name.strip()]:
            existing[name.strip()] -= 1
        else:
            missing.append((index, name, item_position))
    return missing


# Recognition of the results of writes


def created_by(action: vendor_models.Action, member_id: str, app_id: str | None) -> bool:
    """Return True if the member acted through our app, or through any app if ours is not known, and not by hand."""
    app = action.app_creator
    # Comments and cards have no field for a marker, so their creator is the only evidence.
    return action.id_member_creator == member_id and app is not None and app_id in {None, app.id}


def same_text(one: str, other: str) -> bool:
    """Return True if two texts are equal to the vendor, which trims blanks."""
    return one.strip() == other.strip()


def is_card(card: vendor_models.Card, expected: StepInput) -> bool:
    """Return True if a card is exactly that of *expected*. Fields that were not requested must be empty."""
    due = card.due and to_timestamp(card.due)
    return (
        same_text(card.name, expected["name"])
        and same_text(card.desc, expected.get("desc", ""))
        and due == expected.get("due")
        and {label.id for label in card.labels} == set(expected.get("idLabels", ()))
    )


def is_item(item: vendor_models.CheckItem, expected: StepInput) -> bool:
    """Return True if an item of a checklist has the name and position of *expected*."""
    return same_text(item.name, expected["name"]) and bool(item.pos == expected["place"])


# Time


def parse_timestamp(text: str) -> datetime:
    """Parse the result of ``to_timestamp``."""
    return datetime.fromisoformat(text)


def to_timestamp(moment: datetime) -> str:
    """Format a datetime as the vendor does: UTC, with milliseconds."""
    return format_timestamp(moment)
