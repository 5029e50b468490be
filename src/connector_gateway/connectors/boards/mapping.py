"""Between the vendor's shapes and ours: pure functions."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from connector_gateway.connectors.boards import models, wire
from connector_gateway.kit.errors import LabelNotOnBoard, ListNotFound
from connector_gateway.kit.errors.suggestions import nearest_first
from connector_gateway.kit.shapes import format_timestamp
from connector_gateway.kit.write_steps import StepInput

Kept = dict[str, Any]
"""A plan, or what a step's answer told, as JSON of our own; stored until the call has ended."""

STEP = 16_384
"""The distance that the vendor leaves between two neighbours."""

MOST_QUOTED = 5
"""Names in one sentence; details have them all."""

MAX_QUOTED = 40
"""Characters of a name in a sentence."""

_IDENTIFIER = re.compile(r"[0-9a-f]{24}")


# Identifiers


def full_identifier(text: str) -> str | None:
    """The identifier in the vendor's own form; None for anything else, such as a card's short link."""
    lower = text.lower()
    return lower if _IDENTIFIER.fullmatch(lower) else None


def list_identifier(text: str) -> str:
    """A list's identifier; ``ListNotFound`` for what cannot be one, such as a list's name."""
    identifier = full_identifier(text)
    if identifier is None:
        raise ListNotFound(f"“{text}” is no identifier of a list.", {"parameter": "list_id", "value": text})
    return identifier


# Cards


def label_ids(labels: Iterable[wire.Label], names: Sequence[str]) -> list[str]:
    """The labels called *names*, the first of each name; ``LabelNotOnBoard`` lists those that the board lacks."""
    by_name: dict[str, str] = {}
    for label in labels:
        # The vendor lets several labels of a board have one name, or none.
        by_name.setdefault(label.name, label.id)
    missing = [(index, name) for index, name in enumerate(names) if name not in by_name]
    if missing:
        raise LabelNotOnBoard(
            f"The board has no label {quoted(dict.fromkeys(name for _, name in missing))}.",
            *(
                {
                    "code": LabelNotOnBoard.code,
                    "parameter": f"labels.{index}",
                    "value": name,
                    "allowed": nearest_first(name, [known for known in by_name if known]),
                }
                for index, name in missing
            ),
        )
    # Each once: the vendor has refused repeated identifiers since spring 2025.
    return list(dict.fromkeys(by_name[name] for name in names))


def quoted(names: Collection[str]) -> str:
    """The first few of *names* for a sentence, each shortened, and how many more there are."""
    shown = [f"“{name}”" if len(name) <= MAX_QUOTED else f"“{name[: MAX_QUOTED - 1]}…”" for name in names]
    more = f" and {len(shown) - MOST_QUOTED} more" if len(shown) > MOST_QUOTED else ""
    return ", ".join(shown[:MOST_QUOTED]) + more


def new_card(list_id: str, wanted: models.CreateCard, labels: Sequence[str]) -> Kept:
    """The vendor's form of a card to be made."""
    optional = {
        "desc": wanted.desc,
        "due": None if wanted.due is None else stamp(wanted.due),
        "idLabels": list(labels) or None,
    }
    given = {name: value for name, value in optional.items() if value is not None}
    return {"idList": list_id, "name": wanted.name, "pos": "bottom", **given}


def stored_card(card: wire.NewCard) -> Kept:
    """What is kept of a card that was made."""
    due, labels = card.due and stamp(card.due), [label.name for label in card.labels]
    return {"id": card.id, "shortUrl": card.short_url, "idList": card.id_list, "due": due, "labels": labels}


def public_card(kept: Kept) -> Kept:
    """What callers are told of a card when something else fails."""
    return {"card_id": kept["id"]}


def created_card(kept: Kept, names: Sequence[str]) -> models.CreatedCard:
    """The result of a creation for which labels called *names* were asked."""
    return models.CreatedCard(
        card_id=kept["id"],
        short_url=kept["shortUrl"],
        list_id=kept["idList"],
        due=None if kept["due"] is None else instant(kept["due"]),
        labels_applied=[name for name in dict.fromkeys(names) if name in kept["labels"]],
    )


def move(card: wire.Card, target: wire.CardList, position: str) -> Kept:
    """A move to be made."""
    return {
        "card_id": card.id,
        "list_id": target.id,
        "position": position,
        "list_from": card.list.name if card.list else "",
        "list_to": target.name,
        "within": card.id_list == target.id,
    }


def kept_move(card_id: str, moved_at: datetime) -> Kept:
    """What is kept of a card that was moved."""
    return {"id": card_id, "moved_at": stamp(moved_at)}


def dry_run_move(intent: StepInput) -> Kept:
    """What a dry run takes for a card that was moved."""
    return {"id": intent["card_id"], "moved_at": stamp(datetime.fromtimestamp(0, UTC))}


def moved_card(planned: Kept, kept: Kept, *, comment_posted: bool) -> models.MovedCard:
    """The result of a move."""
    return models.MovedCard(
        card_id=kept["id"],
        list_from=planned["list_from"],
        list_to=planned["list_to"],
        comment_posted=comment_posted,
        moved_at=instant(kept["moved_at"]),
    )


def kept_comment(action: wire.Action, card_id: str) -> Kept:
    """What is kept of a comment."""
    return {"id": action.id, "card_id": card_id, "date": stamp(action.date)}


def told_comment(kept: Kept) -> Kept:
    """What callers are told of a comment when something else fails."""
    return {"comment_id": kept["id"]}


def comment(kept: Kept) -> models.Comment:
    """The comment that was posted."""
    return models.Comment(card_id=kept["card_id"], comment_id=kept["id"], posted_at=instant(kept["date"]))


# Boards


def board(
    board: wire.Board, lists: Iterable[wire.BoardList], cards: Iterable[wire.CardLocation]
) -> models.BoardDescription:
    """The description of a board with these open *lists* and *cards*; with labels if they were asked for."""
    counts = Counter(card.id_list for card in cards)
    return models.BoardDescription(
        board_name=board.name,
        lists=[
            models.BoardList(list_id=item.id, name=item.name, card_count=counts[item.id])
            for item in sorted(lists, key=lambda item: item.pos)
        ],
        labels=None
        if board.labels is None
        else list(dict.fromkeys(label.name for label in board.labels if label.name)),
    )


# Checklists


def named(name: str, checklists: Iterable[wire.Checklist]) -> list[wire.Checklist]:
    """The checklists of that name."""
    return [checklist for checklist in checklists if same_text(checklist.name, name)]


def kept_checklist(checklist: wire.Checklist) -> Kept:
    """What is kept of a checklist: that it is there, and the items it has."""
    items = [{"name": item.name, "pos": item.pos} for item in items_of(checklist)]
    return {"id": checklist.id, "name": checklist.name, "checkItems": items}


def assumed_checklist(intent: StepInput) -> Kept:
    """What a dry run takes for a checklist that was made."""
    return {"id": "new-checklist", "name": intent["name"], "checkItems": []}


def told_checklist(kept: Kept) -> Kept:
    """What callers are told of a checklist when something else fails."""
    return {"checklist_id": kept["id"]}


def checklist(kept: Kept, card_id: str, items_added: int, *, skipped: bool = False) -> models.Checklist:
    """What is told of a checklist."""
    return models.Checklist(
        card_id=card_id, checklist_id=kept["id"], name=kept["name"], items_added=items_added, skipped=skipped
    )


def positions(count: int) -> list[int]:
    """The positions for the items of a checklist of *count* items.

    They are further apart than the vendor's own by *count*, so that an unfinished checklist still shows how long it was
    to become.
    """
    return [(STEP + count) * (index + 1) for index in range(count)]


def items_of(checklist: wire.Checklist) -> list[wire.CheckItem]:
    """The items of a checklist, in their order."""
    return sorted(checklist.check_items, key=lambda item: item.pos)


def is_begun(checklist: wire.Checklist, wanted: Sequence[str]) -> bool:
    """Whether a checklist is the beginning of one with the items *wanted*, or the whole of it."""
    there = [(item.name.strip(), item.pos) for item in items_of(checklist)]
    whole = [(name.strip(), place) for name, place in zip(wanted, positions(len(wanted)), strict=True)]
    return there == whole[: len(there)]


def is_unfinished(checklist: wire.Checklist, wanted: Sequence[str]) -> bool:
    """Whether a checklist is an unfinished beginning of one with the items *wanted*."""
    return len(checklist.check_items) < len(wanted) and is_begun(checklist, wanted)


def missing_items(kept: Kept, wanted: Sequence[str]) -> list[tuple[int, str, int]]:
    """Index, name and place of each item of *wanted* that a checklist lacks; equal names count as often as given."""
    there = Counter(item["name"].strip() for item in kept["checkItems"])
    missing = []
    for index, (name, place) in enumerate(zip(wanted, positions(len(wanted)), strict=True)):
        if there[name.strip()]:
            there[name.strip()] -= 1
        else:
            missing.append((index, name, place))
    return missing


# Recognising what a write has made


def created_by(action: wire.Action, member_id: str, app_id: str | None) -> bool:
    """Whether the member acted through an application, and through ours if its identifier is known; not by hand."""
    app = action.app_creator
    # Comments and cards have no place for a mark, so who made them is the only evidence (decision 20).
    return action.id_member_creator == member_id and app is not None and app_id in {None, app.id}


def same_text(one: str, other: str) -> bool:
    """Whether two texts are the same to the vendor, who trims blanks."""
    return one.strip() == other.strip()


def is_card(card: wire.Card, wanted: StepInput) -> bool:
    """Whether a card is exactly what was *wanted*; everything that was not asked for must be empty."""
    due = card.due and stamp(card.due)
    return (
        same_text(card.name, wanted["name"])
        and same_text(card.desc, wanted.get("desc", ""))
        and due == wanted.get("due")
        and {label.id for label in card.labels} == set(wanted.get("idLabels", ()))
    )


def is_item(item: wire.CheckItem, wanted: StepInput) -> bool:
    """Whether an item of a checklist is the one that was *wanted* at its place."""
    return same_text(item.name, wanted["name"]) and bool(item.pos == wanted["place"])


# Time


def instant(text: str) -> datetime:
    """The instant of a ``stamp``."""
    return datetime.fromisoformat(text)


def stamp(moment: datetime) -> str:
    """An instant as the vendor writes it: UTC, to the millisecond."""
    return format_timestamp(moment)
