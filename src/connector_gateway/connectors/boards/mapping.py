"""Between the vendor's JSON and our shapes: pure functions."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from connector_gateway.connectors.boards.models import (
    BoardDescription,
    BoardList,
    Checklist,
    Comment,
    CreateCard,
    CreatedCard,
    MovedCard,
)
from connector_gateway.kit.errors import LabelNotOnBoard, ListNotFound

Raw = Mapping[str, Any]

STEP = 16_384
"""Between two neighbours, where the vendor places them itself."""

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
        raise ListNotFound(f"{text!r} is no identifier of a list.", {"parameter": "list_id", "value": text})
    return identifier


# Cards


def label_ids(labels: Iterable[Raw], names: Sequence[str]) -> list[str]:
    """The labels called *names*, each once; of several with one name the first.

    ``LabelNotOnBoard`` lists every name that the board lacks.
    """
    by_name: dict[str, str] = {}
    for raw in labels:
        by_name.setdefault(raw["name"], raw["id"])
    missing = [(index, name) for index, name in enumerate(names) if name not in by_name]
    if missing:
        raise LabelNotOnBoard(
            f"The board has no label {', '.join(repr(name) for _, name in missing)}.",
            *({"parameter": f"labels.{index}", "value": name} for index, name in missing),
        )
    return list(dict.fromkeys(by_name[name] for name in names))


def new_card(list_id: str, wanted: CreateCard, labels: Sequence[str]) -> dict[str, Any]:
    """The vendor's form of a card to be made."""
    optional = {
        "desc": wanted.desc,
        "due": None if wanted.due is None else stamp(wanted.due),
        "idLabels": list(labels) or None,
    }
    given = {name: value for name, value in optional.items() if value is not None}
    return {"idList": list_id, "name": wanted.name, "pos": "bottom", **given}


def created_card(raw: Raw, names: Sequence[str]) -> CreatedCard:
    """The result of a creation for which labels called *names* were asked."""
    worn = {label["name"] for label in raw["labels"]}
    return CreatedCard(
        card_id=raw["id"],
        short_url=raw["shortUrl"],
        list_id=raw["idList"],
        due=None if raw["due"] is None else instant(raw["due"]),
        labels_applied=[name for name in dict.fromkeys(names) if name in worn],
    )


def moved_card(raw: Raw, list_from: str, list_to: str) -> MovedCard:
    """The result of a move, before anything is said about a comment."""
    return MovedCard(
        card_id=raw["id"],
        list_from=list_from,
        list_to=list_to,
        comment_posted=False,
        moved_at=instant(raw["dateLastActivity"]),
    )


def commented(moved: MovedCard, *, posted: bool) -> MovedCard:
    """The result of a move of which it is known whether the comment was posted."""
    return moved.model_copy(update={"comment_posted": posted})


def comment(raw: Raw) -> Comment:
    """The comment of an action."""
    return Comment(card_id=raw["data"]["card"]["id"], comment_id=raw["id"], posted_at=instant(raw["date"]))


# Boards


def board(raw: Raw, cards: Iterable[Raw]) -> BoardDescription:
    """The description of a board with these open *cards*; with labels if *raw* has them."""
    counts = Counter(card["idList"] for card in cards)
    names = dict.fromkeys(label["name"] for label in raw.get("labels", ()))
    return BoardDescription(
        board_name=raw["name"],
        lists=[
            BoardList(list_id=item["id"], name=item["name"], card_count=counts[item["id"]])
            for item in sorted(raw["lists"], key=lambda item: float(item["pos"]))
        ],
        labels=[name for name in names if name] if "labels" in raw else None,
    )


# Checklists


def checklist(raw: Raw, card_id: str, items_added: int, *, skipped: bool = False) -> Checklist:
    """What is told of a checklist."""
    return Checklist(
        card_id=card_id, checklist_id=raw["id"], name=raw["name"], items_added=items_added, skipped=skipped
    )


def positions(count: int) -> list[int]:
    """Where the items of a checklist of *count* are put.

    They stand a little further apart than the vendor would place them, by their number, so that a checklist that was
    left unfinished still tells how long it was to become.
    """
    return [(STEP + count) * (index + 1) for index in range(count)]


def items_of(raw: Raw) -> list[Raw]:
    """The items of a checklist, in their order."""
    return sorted(raw.get("checkItems", ()), key=lambda item: float(item["pos"]))


def is_unfinished(raw: Raw, wanted: Sequence[str]) -> bool:
    """Whether a checklist looks like the beginning, and no more, of one that was to hold *wanted*."""
    there = [(item["name"].strip(), item["pos"]) for item in items_of(raw)]
    whole = [(name.strip(), place) for name, place in zip(wanted, positions(len(wanted)), strict=True)]
    return len(there) < len(whole) and there == whole[: len(there)]


def missing_items(raw: Raw, wanted: Sequence[str]) -> list[tuple[int, str, int]]:
    """Index, name and place of each item of *wanted* that a checklist lacks; equal names count as often as given."""
    there = Counter(item["name"].strip() for item in items_of(raw))
    missing = []
    for index, (name, place) in enumerate(zip(wanted, positions(len(wanted)), strict=True)):
        if there[name.strip()]:
            there[name.strip()] -= 1
        else:
            missing.append((index, name, place))
    return missing


# Recognising what a write has made


def is_by(raw: Raw, member_id: str, app_id: str | None) -> bool:
    """Whether an action is the member's, by the application if that is known."""
    app = (raw.get("appCreator") or {}).get("id")
    return bool(raw["idMemberCreator"] == member_id) and app_id in {None, app}


def same_text(one: str, other: str) -> bool:
    """Whether two texts are the same to the vendor, who trims."""
    return one.strip() == other.strip()


def bears(raw: Raw, wanted: CreateCard) -> bool:
    """Whether a card is what was *wanted*."""
    due = None if raw["due"] is None else stamp(instant(raw["due"]))
    return (
        same_text(raw["name"], wanted.name)
        and same_text(raw["desc"], wanted.desc or "")
        and due == (None if wanted.due is None else stamp(wanted.due))
        and set(wanted.labels) <= {label["name"] for label in raw["labels"]}
    )


# Time


def instant(text: str) -> datetime:
    """The instant of a vendor's timestamp."""
    return datetime.fromisoformat(text)


def stamp(moment: datetime) -> str:
    """An instant as the vendor writes it: UTC, to the millisecond."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
