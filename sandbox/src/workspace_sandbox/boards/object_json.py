"""JSON of objects, with filters, pagination, field selection and nested resources."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from workspace_sandbox.boards.arguments import Arguments
from workspace_sandbox.boards.computed_fields import (
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
    select_fields,
)
from workspace_sandbox.boards.data import custom_field_objects
from workspace_sandbox.boards.data.objects import (
    Action,
    Board,
    Card,
    CardList,
    CheckItem,
    Checklist,
    Label,
    Member,
)
from workspace_sandbox.boards.error_responses import limit_exceeded
from workspace_sandbox.kit.clock import format_timestamp

DEFAULT_LIMIT = 50
"""Default limit of labels and actions in a response."""

CARDS_WITH_ACTIONS = 300
"""Maximum number of cards that can be requested together with actions."""

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
    "attachments": lambda model: [select_fields(ATTACHMENT, one) for one in model.attachments.values()],
    "stickers": lambda model: [one.raw() for one in model.stickers.values()],
    "pluginData": lambda _: [],
    "customFieldItems": lambda model: [custom_field_objects.item(one, model.id) for one in model.custom_items.values()],
}
"""Nested collections of a card."""


def board(model: Board, arguments: Arguments) -> dict[str, Any]:
    """Return a board with the requested nested resources."""
    raw = select_fields(BOARD, model, arguments.fields() if "fields" in arguments else BOARD_DEFAULT)
    for name, nested in BOARD_NESTED.items():
        if arguments.is_requested(f"{name}s"):
            raw[f"{name}s"] = nested(model, arguments.nested(name))
    # Trello sends this size limit as a 429 ("Rate limits"), although waiting does not help.
    if arguments.is_requested("cards") and arguments.is_requested("actions"):
        _check_card_count(raw["cards"])
    if arguments.is_requested("customFields"):
        raw["customFields"] = custom_field_objects.ordered_definitions(model.custom_fields.values())
    if arguments.is_requested("organization") and model.organization:
        raw["organization"] = select_fields(ORGANIZATION, model.organization, arguments.fields("organization_fields"))
    return raw


def boards(model: Iterable[Board], arguments: Arguments) -> list[dict[str, Any]]:
    """Return the boards of a member with all fields."""
    is_included = OPENNESS[arguments.choice("filter", OPENNESS, "all")]
    everything = arguments if "fields" in arguments else arguments.with_params(fields="all")
    return [board(one, everything) for one in model if is_included(one)]


def lists(model: Board, arguments: Arguments) -> list[dict[str, Any]]:
    """Return the lists of a board in order."""
    is_included = OPENNESS[arguments.choice("filter", OPENNESS, "open")]
    return [
        card_list(one, arguments) for one in sorted(model.lists.values(), key=lambda one: one.pos) if is_included(one)
    ]


def card_list(model: CardList, arguments: Arguments) -> dict[str, Any]:
    """Return a list with the requested nested resources."""
    raw = select_fields(LIST, model, arguments.fields())
    if arguments.is_requested("cards"):
        raw["cards"] = cards(model, arguments.nested("card"))
    if arguments.is_requested("board"):
        raw["board"] = select_fields(BOARD, model.board, arguments.fields("board_fields"))
    return raw


# A board can have a thousand labels. Without a limit, 50 are returned, with no hint that there are more.
def labels(model: Board, arguments: Arguments) -> list[dict[str, Any]]:
    """Return the labels of a board, at most 50 by default."""
    if arguments.choice("filter", frozenset({"all", "none"}), "all") == "none":
        return []
    limit = arguments.number("limit", DEFAULT_LIMIT)
    return [label(one, arguments) for one in list(model.labels.values())[:limit]]


def label(model: Label, arguments: Arguments) -> dict[str, Any]:
    """Return a label."""
    return select_fields(LABEL, model, arguments.fields())


def cards(model: Board | CardList, arguments: Arguments) -> list[dict[str, Any]]:
    """Return cards in order, limited to the newest ones."""
    is_included = CARD_FILTERS[
        arguments.choice("filter", CARD_FILTERS, "open" if isinstance(model, CardList) else "visible")
    ]
    candidates = model.cards.values() if isinstance(model, CardList) else model.cards()
    chosen = _page_of_cards([one for one in candidates if is_included(one)], arguments)
    if arguments.is_requested("actions"):
        _check_card_count(chosen)
    return [card(one, arguments) for one in chosen]


def _page_of_cards(chosen: list[Card], arguments: Arguments) -> list[Card]:
    since, before = _least_id(arguments.time_or_id("since")), _least_id(arguments.time_or_id("before"))
    chosen = [one for one in chosen if (not since or one.id > since) and (not before or one.id < before)]
    # Trello counts pages from the newest card, independent of the sort order.
    if arguments.has_value("limit"):
        chosen = sorted(chosen, key=lambda one: one.id, reverse=True)[: arguments.number("limit", DEFAULT_LIMIT)]
    if arguments.raw("sort") == "-id":
        return sorted(chosen, key=lambda one: one.id, reverse=True)
    return sorted(chosen, key=lambda one: (one.card_list.pos, one.pos, one.id))


def _least_id(bound: float | str | None) -> str | None:
    return f"{min(max(0, int(bound)), 0xFFFFFFFF):08x}{'0' * 16}" if isinstance(bound, float) else bound


def _check_card_count(model: list[Any]) -> None:
    if len(model) > CARDS_WITH_ACTIONS:
        raise limit_exceeded("API_TOO_MANY_CARDS_REQUESTED", "Requested too many cards")


def card(model: Card, arguments: Arguments) -> dict[str, Any]:
    """Return a card with the requested nested resources."""
    raw = select_fields(CARD, model, arguments.fields())
    if arguments.is_requested("list"):
        raw["list"] = select_fields(LIST, model.card_list, arguments.fields("list_fields"))
    if arguments.is_requested("board"):
        raw["board"] = select_fields(BOARD, model.board, arguments.fields("board_fields"))
    if arguments.is_requested("members"):
        raw["members"] = members(model.members, arguments.nested("member"))
    if arguments.is_requested("checklists"):
        raw["checklists"] = checklists(model, arguments.nested("checklist"))
    if arguments.is_requested("actions"):
        raw["actions"] = card_actions(model, arguments.nested("action"))
    return raw | {name: nested(model) for name, nested in ON_CARDS.items() if arguments.is_requested(name)}


def checklists(model: Card, arguments: Arguments) -> list[dict[str, Any]]:
    """Return the checklists of a card in order."""
    if arguments.choice("filter", frozenset({"all", "none"}), "all") == "none":
        return []
    return [checklist(one, arguments) for one in sorted(model.checklists.values(), key=lambda one: one.pos)]


def board_checklists(model: Board, arguments: Arguments) -> list[dict[str, Any]]:
    """Return the checklists of all cards of a board."""
    return [raw for one in model.cards() for raw in checklists(one, arguments)]


def checklist(model: Checklist, arguments: Arguments) -> dict[str, Any]:
    """Return a checklist, by default with its items."""
    raw = select_fields(CHECKLIST, model, arguments.fields())
    if arguments.choice("checkItems", frozenset({"all", "none"}), "all") == "all":
        raw["checkItems"] = items(model, arguments, "checkItem_fields")
    return raw


def items(model: Checklist, arguments: Arguments, fields: str = "fields") -> list[dict[str, Any]]:
    """Return the items of a checklist in order."""
    selected = arguments.fields(fields)
    return [select_fields(CHECK_ITEM, one, selected) for one in sorted(model.items.values(), key=lambda one: one.pos)]


def item(model: CheckItem, arguments: Arguments) -> dict[str, Any]:
    """Return a checklist item."""
    return select_fields(CHECK_ITEM, model, arguments.fields())


def members(model: Iterable[Member], arguments: Arguments) -> list[dict[str, Any]]:
    """Return members with the default fields of lists."""
    selected = arguments.fields() if "fields" in arguments else list(MEMBER_BRIEF)
    return [select_fields(MEMBER, one, selected) for one in model]


def board_actions(model: Board, arguments: Arguments) -> list[dict[str, Any]]:
    """Return the actions of a board."""
    return actions(model.actions, arguments, "all")


def card_actions(model: Card, arguments: Arguments) -> list[dict[str, Any]]:
    """Return the actions of a card, by default comments and moves."""
    return actions(model.actions, arguments, "commentCard,updateCard:idList")


def list_actions(model: CardList, arguments: Arguments) -> list[dict[str, Any]]:
    """Return the actions of a list."""
    matches = (one for one in model.board.actions if model.id in _lists_of(one))
    return actions(matches, arguments, "commentCard,updateCard:idList")


def _lists_of(model: Action) -> set[str]:
    return {model.data[name]["id"] for name in ("list", "listBefore", "listAfter") if name in model.data}


def actions(model: Iterable[Action], arguments: Arguments, default: str) -> list[dict[str, Any]]:
    """Return a page of actions, newest first."""
    types = set(arguments.words("filter") or default.split(","))
    since, before = arguments.time_or_id("since"), arguments.time_or_id("before")
    limit = arguments.number("limit", DEFAULT_LIMIT)
    first = arguments.number("page", 0, PAGES) * limit
    matches = [
        one
        for one in reversed(list(model))
        if _has_type(one, types)
        and (since is None or not _is_before(one, since))
        and (before is None or _is_before(one, before))
        and one.id not in {since, before}
    ]
    return [action(one, arguments) for one in matches[first : first + limit]]


def _has_type(model: Action, types: set[str]) -> bool:
    kinds = {"all", model.type} | {f"{model.type}:{name}" for name in model.data.get("old", {})}
    return not kinds.isdisjoint(types)


def _is_before(model: Action, bound: float | str) -> bool:
    """Return True if the action is before *bound*, with the millisecond precision of the vendor's dates."""
    return model.id < bound if isinstance(bound, str) else format_timestamp(model.author.at) < format_timestamp(bound)


def action(model: Action, arguments: Arguments) -> dict[str, Any]:
    """Return an action, by default with its author."""
    raw = select_fields(ACTION, model, arguments.fields())
    if arguments.flag("memberCreator", default=True):
        fields = arguments.fields("memberCreator_fields") or MEMBER_BRIEF
        raw["memberCreator"] = select_fields(MEMBER, model.author.member, fields)
    return raw


def member(
    model: Member, arguments: Arguments, *, visible: list[Board], organizations: list[str], with_email: bool
) -> dict[str, Any]:
    """Return a member, with the email address if *with_email* is set."""
    raw = select_fields(MEMBER, model, arguments.fields())
    extra = {
        "email": model.email if with_email else None,
        "idBoards": [one.id for one in visible],
        "idOrganizations": organizations,
    }
    selected = arguments.fields()
    raw |= {name: value for name, value in extra.items() if selected is None or name in selected}
    if arguments.is_requested("boards"):
        raw["boards"] = boards(visible, arguments.nested("board"))
    return raw


BOARD_NESTED: Mapping[str, Callable[[Board, Arguments], list[dict[str, Any]]]] = {
    "list": lists,
    "card": cards,
    "label": labels,
    "checklist": board_checklists,
    "member": lambda model, arguments: members(model.members.values(), arguments),
    "action": board_actions,
}
"""Nested collections of a board by the singular of their names."""
