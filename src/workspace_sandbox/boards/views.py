"""What callers are shown: filters, paging, field selection and nested resources."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from workspace_sandbox.boards import custom
from workspace_sandbox.boards.arguments import Arguments
from workspace_sandbox.boards.fields import (
    ACTION,
    ATTACHMENT,
    BOARD,
    BOARD_DEFAULT,
    CARD,
    CHECK_ITEM,
    CHECKLIST,
    LABEL,
    LIST,
    MEMBER,
    MEMBER_BRIEF,
    ORGANIZATION,
    pick,
)
from workspace_sandbox.boards.state import Action, Board, Card, CardList, CheckItem, Checklist, Label, Member, stamp
from workspace_sandbox.boards.wire import exhausted

DEFAULT_LIMIT = 50
"""Labels and actions in an answer, when no limit is asked for."""

CARDS_WITH_ACTIONS = 300
"""Cards that may be asked for together with actions."""

PAGES = 19
"""The last page of actions."""

CARD_FILTERS: Mapping[str, Callable[[Card], bool]] = {
    "all": lambda _: True,
    "open": lambda card: not card.closed,
    "visible": lambda card: not card.closed and not card.card_list.closed,
    "closed": lambda card: card.closed,
    "none": lambda _: False,
}

OPENNESS: Mapping[str, Callable[[Board | CardList], bool]] = {
    "all": lambda _: True,
    "open": lambda thing: not thing.closed,
    "closed": lambda thing: thing.closed,
    "none": lambda _: False,
}

ON_CARDS: Mapping[str, Callable[[Card], list[Any]]] = {
    "attachments": lambda shown: [pick(ATTACHMENT, one) for one in shown.attachments.values()],
    "stickers": lambda shown: [one.raw() for one in shown.stickers.values()],
    "pluginData": lambda _: [],
    "customFieldItems": lambda shown: [custom.item(one, shown.id) for one in shown.custom_items.values()],
}
"""Nested collections of a card."""


def board(shown: Board, arguments: Arguments) -> dict[str, Any]:
    """A board with the nested resources asked for."""
    raw = pick(BOARD, shown, arguments.fields() if "fields" in arguments else BOARD_DEFAULT)
    for name, nested in BOARD_NESTED.items():
        if arguments.asks_for(f"{name}s"):
            raw[f"{name}s"] = nested(shown, arguments.nested(name))
    # A refusal by size that Trello sends as 429 ("Rate limits"). No waiting helps against it.
    if arguments.asks_for("cards") and arguments.asks_for("actions"):
        _refuse_too_many(raw["cards"])
    if arguments.asks_for("customFields"):
        raw["customFields"] = custom.in_order(shown.custom_fields.values())
    if arguments.asks_for("organization") and shown.organization:
        raw["organization"] = pick(ORGANIZATION, shown.organization, arguments.fields("organization_fields"))
    return raw


def boards(shown: Iterable[Board], arguments: Arguments) -> list[dict[str, Any]]:
    """Boards of a member; they come with all fields."""
    keep = OPENNESS[arguments.choice("filter", OPENNESS, "all")]
    everything = arguments if "fields" in arguments else arguments.having(fields="all")
    return [board(one, everything) for one in shown if keep(one)]


def lists(shown: Board, arguments: Arguments) -> list[dict[str, Any]]:
    """The lists of a board, in their order."""
    keep = OPENNESS[arguments.choice("filter", OPENNESS, "open")]
    return [card_list(one, arguments) for one in sorted(shown.lists.values(), key=lambda one: one.pos) if keep(one)]


def card_list(shown: CardList, arguments: Arguments) -> dict[str, Any]:
    """A list with the nested resources asked for."""
    raw = pick(LIST, shown, arguments.fields())
    if arguments.asks_for("cards"):
        raw["cards"] = cards(shown, arguments.nested("card"))
    if arguments.asks_for("board"):
        raw["board"] = pick(BOARD, shown.board, arguments.fields("board_fields"))
    return raw


# A board may have a thousand labels. Whoever names no limit gets 50, and no hint that there are more.
def labels(shown: Board, arguments: Arguments) -> list[dict[str, Any]]:
    """The labels of a board; 50 of them, if no more are asked for."""
    if arguments.choice("filter", frozenset({"all", "none"}), "all") == "none":
        return []
    limit = arguments.number("limit", DEFAULT_LIMIT)
    return [label(one, arguments) for one in list(shown.labels.values())[:limit]]


def label(shown: Label, arguments: Arguments) -> dict[str, Any]:
    """A label."""
    return pick(LABEL, shown, arguments.fields())


def cards(shown: Board | CardList, arguments: Arguments) -> list[dict[str, Any]]:
    """Cards in their order; with a limit, the newest ones."""
    keep = CARD_FILTERS[arguments.choice("filter", CARD_FILTERS, "open" if isinstance(shown, CardList) else "visible")]
    held = shown.cards.values() if isinstance(shown, CardList) else shown.cards()
    chosen = _page_of_cards([one for one in held if keep(one)], arguments)
    if arguments.asks_for("actions"):
        _refuse_too_many(chosen)
    return [card(one, arguments) for one in chosen]


def _page_of_cards(chosen: list[Card], arguments: Arguments) -> list[Card]:
    since, before = _least_id(arguments.bound("since")), _least_id(arguments.bound("before"))
    chosen = [one for one in chosen if (not since or one.id > since) and (not before or one.id < before)]
    # Trello counts a page from the newest card on, whatever the order in which it is then shown.
    if arguments.given("limit"):
        chosen = sorted(chosen, key=lambda one: one.id, reverse=True)[: arguments.number("limit", DEFAULT_LIMIT)]
    if arguments.raw("sort") == "-id":
        return sorted(chosen, key=lambda one: one.id, reverse=True)
    return sorted(chosen, key=lambda one: (one.card_list.pos, one.pos, one.id))


def _least_id(bound: float | str | None) -> str | None:
    return f"{min(max(0, int(bound)), 0xFFFFFFFF):08x}{'0' * 16}" if isinstance(bound, float) else bound


def _refuse_too_many(shown: list[Any]) -> None:
    if len(shown) > CARDS_WITH_ACTIONS:
        raise exhausted("API_TOO_MANY_CARDS_REQUESTED", "Requested too many cards")


def card(shown: Card, arguments: Arguments) -> dict[str, Any]:
    """A card with the nested resources asked for."""
    raw = pick(CARD, shown, arguments.fields())
    if arguments.asks_for("list"):
        raw["list"] = pick(LIST, shown.card_list, arguments.fields("list_fields"))
    if arguments.asks_for("board"):
        raw["board"] = pick(BOARD, shown.board, arguments.fields("board_fields"))
    if arguments.asks_for("members"):
        raw["members"] = members(shown.members, arguments.nested("member"))
    if arguments.asks_for("checklists"):
        raw["checklists"] = checklists(shown, arguments.nested("checklist"))
    if arguments.asks_for("actions"):
        raw["actions"] = card_actions(shown, arguments.nested("action"))
    return raw | {name: nested(shown) for name, nested in ON_CARDS.items() if arguments.asks_for(name)}


def checklists(shown: Card, arguments: Arguments) -> list[dict[str, Any]]:
    """The checklists of a card, in their order."""
    if arguments.choice("filter", frozenset({"all", "none"}), "all") == "none":
        return []
    return [checklist(one, arguments) for one in sorted(shown.checklists.values(), key=lambda one: one.pos)]


def board_checklists(shown: Board, arguments: Arguments) -> list[dict[str, Any]]:
    """The checklists of all cards of a board."""
    return [raw for one in shown.cards() for raw in checklists(one, arguments)]


def checklist(shown: Checklist, arguments: Arguments) -> dict[str, Any]:
    """A checklist, with its items unless they are not wanted."""
    raw = pick(CHECKLIST, shown, arguments.fields())
    if arguments.choice("checkItems", frozenset({"all", "none"}), "all") == "all":
        raw["checkItems"] = items(shown, arguments, "checkItem_fields")
    return raw


def items(shown: Checklist, arguments: Arguments, fields: str = "fields") -> list[dict[str, Any]]:
    """The items of a checklist, in their order."""
    wanted = arguments.fields(fields)
    return [pick(CHECK_ITEM, one, wanted) for one in sorted(shown.items.values(), key=lambda one: one.pos)]


def item(shown: CheckItem, arguments: Arguments) -> dict[str, Any]:
    """One item."""
    return pick(CHECK_ITEM, shown, arguments.fields())


def members(shown: Iterable[Member], arguments: Arguments) -> list[dict[str, Any]]:
    """Members, with the few fields that lists of them have."""
    wanted = arguments.fields() if "fields" in arguments else list(MEMBER_BRIEF)
    return [pick(MEMBER, one, wanted) for one in shown]


def board_actions(shown: Board, arguments: Arguments) -> list[dict[str, Any]]:
    """What happened on a board."""
    return actions(shown.actions, arguments, "all")


def card_actions(shown: Card, arguments: Arguments) -> list[dict[str, Any]]:
    """What happened to a card; by default comments and moves."""
    return actions(shown.actions, arguments, "commentCard,updateCard:idList")


def list_actions(shown: CardList, arguments: Arguments) -> list[dict[str, Any]]:
    """What happened in a list."""
    told = (one for one in shown.board.actions if shown.id in _lists_of(one))
    return actions(told, arguments, "commentCard,updateCard:idList")


def _lists_of(shown: Action) -> set[str]:
    return {shown.data[name]["id"] for name in ("list", "listBefore", "listAfter") if name in shown.data}


def actions(shown: Iterable[Action], arguments: Arguments, default: str) -> list[dict[str, Any]]:
    """Actions, newest first, a page at a time."""
    wanted = set(arguments.words("filter") or default.split(","))
    since, before = arguments.bound("since"), arguments.bound("before")
    limit = arguments.number("limit", DEFAULT_LIMIT)
    first = arguments.number("page", 0, PAGES) * limit
    found = [
        one
        for one in reversed(list(shown))
        if _is_wanted(one, wanted)
        and (since is None or not _is_before(one, since))
        and (before is None or _is_before(one, before))
        and one.id not in {since, before}
    ]
    return [action(one, arguments) for one in found[first : first + limit]]


def _is_wanted(shown: Action, wanted: set[str]) -> bool:
    kinds = {"all", shown.type} | {f"{shown.type}:{name}" for name in shown.data.get("old", {})}
    return not kinds.isdisjoint(wanted)


def _is_before(shown: Action, bound: float | str) -> bool:
    """Compares as the vendor writes dates, to the millisecond."""
    return shown.id < bound if isinstance(bound, str) else stamp(shown.author.at) < stamp(bound)


def action(shown: Action, arguments: Arguments) -> dict[str, Any]:
    """An action, with its author unless it is not wanted."""
    raw = pick(ACTION, shown, arguments.fields())
    if arguments.flag("memberCreator", default=True):
        fields = arguments.fields("memberCreator_fields") or MEMBER_BRIEF
        raw["memberCreator"] = pick(MEMBER, shown.author.member, fields)
    return raw


def member(
    shown: Member, arguments: Arguments, *, visible: list[Board], organizations: list[str], with_email: bool
) -> dict[str, Any]:
    """A member; the address only for those who may know it."""
    raw = pick(MEMBER, shown, arguments.fields())
    extra = {
        "email": shown.email if with_email else None,
        "idBoards": [one.id for one in visible],
        "idOrganizations": organizations,
    }
    wanted = arguments.fields()
    raw |= {name: value for name, value in extra.items() if wanted is None or name in wanted}
    if arguments.asks_for("boards"):
        raw["boards"] = boards(visible, arguments.nested("board"))
    return raw


BOARD_NESTED: Mapping[str, Callable[[Board, Arguments], list[dict[str, Any]]]] = {
    "list": lists,
    "card": cards,
    "label": labels,
    "checklist": board_checklists,
    "member": lambda shown, arguments: members(shown.members.values(), arguments),
    "action": board_actions,
}
"""What a board may carry, by the singular of its name."""
