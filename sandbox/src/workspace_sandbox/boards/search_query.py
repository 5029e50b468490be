"""The query language of searches, with words and operators such as ``label:bug`` or ``-is:archived``."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from workspace_sandbox.boards.data.objects import Card, Checklist, Member

PART = re.compile(r'(-?)(?:(\w+):)?(?:"([^"]*)"|(\S+))')
DAYS = {"day": 1, "week": 7, "month": 30}
A_DAY = 86_400.0

Test = Callable[[Card], bool]


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """The words and tests of a query."""

    words: tuple[str, ...]
    tests: tuple[Test, ...]
    modifiers: tuple[dict[str, Any], ...]
    shows_archived: bool

    @property
    def to_json(self) -> dict[str, Any]:
        """The interpretation of the query in the vendor's format."""
        return {"terms": [{"text": word} for word in self.words], "modifiers": list(self.modifiers)}

    def contains_words(self, text: str) -> bool:
        """Return True if *text* contains all words."""
        return all(word in text.lower() for word in self.words)

    def matches(self, card: Card) -> bool:
        """Return True if a card matches by its name, description, comments or checklists."""
        if (card.closed or card.card_list.closed) and not self.shows_archived:
            return False
        return all(test(card) for test in self.tests) and (
            not self.words or self.contains_words(_searchable_text(card))
        )


def parse_query(query: str, me: Member | None, now: float) -> SearchQuery:
    """Parse *query*. Unknown operators are treated as words."""
    words: list[str] = []
    tests: list[Test] = []
    modifiers: list[dict[str, Any]] = []
    shows_archived = False
    for minus, name, quoted, plain in PART.findall(query):
        value = (quoted or plain).lower()
        build = OPERATORS.get(name)
        if name and build is None:
            words.append(f"{name}:{value}".lower())
        elif build is None and value.startswith(("@", "#")):
            at = OPERATORS["member" if value[0] == "@" else "label"]
            tests.append(_negate_if(at(value[1:], me, now), minus))
        elif build is None and minus:
            tests.append(_negate_if(_mentions(value), minus))
        elif build is None:
            words.append(value)
        else:
            tests.append(_negate_if(build(value, me, now), minus))
            modifiers.append({"text": f"{minus}{name}:{value}"})
            shows_archived = shows_archived or (name, value) == ("is", "archived")
    return SearchQuery(tuple(words), tuple(tests), tuple(modifiers), shows_archived)


def _negate_if(test: Test, minus: str) -> Test:
    return (lambda card: not test(card)) if minus else test


def _searchable_text(card: Card) -> str:
    comments = [str(action.data.get("text", "")) for action in card.actions if action.type == "commentCard"]
    return " ".join([card.name, card.desc, *comments, *_checklist_texts(card)]).lower()


def _checklist_texts(card: Card) -> list[str]:
    return [name.lower() for one in card.checklists.values() for name in (one.name, *_items(one))]


def _items(checklist: Checklist) -> list[str]:
    return [item.name for item in checklist.items.values()]


def _mentions(word: str) -> Test:
    return lambda card: word in _searchable_text(card)


def _of_member(value: str, me: Member | None, _: float) -> Test:
    if value == "me":
        return lambda card: me in card.members
    return lambda card: any(value in {one.username, one.full_name.lower()} for one in card.members)


def _of_label(value: str, _: Member | None, __: float) -> Test:
    return lambda card: any(value == one.color or value in one.name.lower() for one in card.labels)


def _is(value: str, me: Member | None, _: float) -> Test:
    states: Mapping[str, Test] = {
        "open": lambda card: not card.closed and not card.card_list.closed,
        "archived": lambda card: card.closed or card.card_list.closed,
        "starred": lambda card: me is not None and any(card.board.id == star.board_id for star in me.stars.values()),
    }
    return states.get(value, lambda _: False)


def _has(value: str, _: Member | None, __: float) -> Test:
    things: Mapping[str, Test] = {
        "attachments": lambda card: bool(card.attachments),
        "description": lambda card: bool(card.desc),
        "members": lambda card: bool(card.members),
        "stickers": lambda card: bool(card.stickers),
        "cover": lambda card: card.cover_id is not None,
    }
    return things.get(value, lambda _: False)


def _due(value: str, _: Member | None, now: float) -> Test:
    def at(card: Card) -> float:
        return datetime.fromisoformat(card.due).timestamp() if card.due else -1.0

    days = DAYS.get(value, int(value) if value.isdecimal() else None)
    if days is not None:
        return lambda card: card.due is not None and now <= at(card) <= now + days * A_DAY
    states: Mapping[str, Test] = {
        "complete": lambda card: card.due_complete,
        "incomplete": lambda card: card.due is not None and not card.due_complete,
        "overdue": lambda card: card.due is not None and not card.due_complete and at(card) < now,
    }
    return states.get(value, lambda _: False)


def _created(value: str, _: Member | None, now: float) -> Test:
    days = DAYS.get(value, int(value) if value.isdecimal() else 0)
    return lambda card: int(card.id[:8], 16) >= now - days * A_DAY


def _edited(value: str, _: Member | None, now: float) -> Test:
    days = DAYS.get(value, int(value) if value.isdecimal() else 0)
    return lambda card: card.active_at >= now - days * A_DAY


OPERATORS: Mapping[str, Callable[[str, Member | None, float], Test]] = {
    "board": lambda value, _, __: (
        lambda card: value in {card.board.id, card.board.short_link.lower()} or value in card.board.name.lower()
    ),
    "list": lambda value, _, __: lambda card: value in card.card_list.name.lower(),
    "member": _of_member,
    "label": _of_label,
    "is": _is,
    "has": _has,
    "due": _due,
    "created": _created,
    "edited": _edited,
    "name": lambda value, _, __: lambda card: value in card.name.lower(),
    "description": lambda value, _, __: lambda card: value in card.desc.lower(),
    "checklist": lambda value, _, __: lambda card: any(value in name for name in _checklist_texts(card)),
    "comment": lambda value, _, __: (
        lambda card: any(
            value in str(one.data.get("text", "")).lower() for one in card.actions if one.type == "commentCard"
        )
    ),
}
"""The operators, each with a function that creates its test."""
