"""Answers about checklists and their items."""

from typing import Any

from workspace_sandbox.boards import views
from workspace_sandbox.boards.arguments import Arguments
from workspace_sandbox.boards.ask import ApiRequest
from workspace_sandbox.boards.fields import CHECK_ITEM, pick
from workspace_sandbox.boards.state import Card, CheckItem, Checklist
from workspace_sandbox.boards.wire import NOT_FOUND, Refusal

DEFAULT_NAME = "Checklist"
STATES = {"complete": True, "incomplete": False}


def create(ask: ApiRequest) -> Any:
    """Create a checklist, on the card of the path or of the body; perhaps a copy of another."""
    card = ask.card if "card" in ask.path else _card_of_body(ask)
    source = _source(ask)
    name = ask.arguments.text("name") or (source.name if source else DEFAULT_NAME)
    checklist = ask.store.add_checklist(ask.author, card, name, ask.arguments.place())
    for item in sorted(source.items.values(), key=lambda one: one.pos) if source else ():
        ask.store.add_item(ask.now, checklist, item.name, item.pos)
    return views.checklist(checklist, Arguments({})) | {"limits": {}}


def _card_of_body(ask: ApiRequest) -> Card:
    card = ask.store.cards.get(ask.arguments.identifier("idCard"))
    # By this route an unknown card is 401, and the text speaks of a board. ``/cards/{id}/checklists`` says 404.
    if card is None or not ask.sees(card):
        raise Refusal(401, "unauthorized board requested")
    return card


def _source(ask: ApiRequest) -> Checklist | None:
    if not ask.arguments.given("idChecklistSource"):
        return None
    return ask.having(checklist=ask.arguments.identifier("idChecklistSource")).checklist


def update(ask: ApiRequest) -> Any:
    """Update the name or the place of a checklist."""
    checklist, arguments = ask.checklist, ask.arguments
    name = arguments.text("name", shortest=1) if "name" in arguments else checklist.name
    place = arguments.place() if "pos" in arguments else checklist.pos
    old = {"name": checklist.name} if name != checklist.name else {"pos": checklist.pos}
    checklist.name, checklist.pos = name, ask.store.place_of(checklist, place)
    ask.store.record(ask.author, "updateChecklist", checklist.card, old=old, **_told(checklist))
    return views.checklist(checklist, Arguments({}))


def delete(ask: ApiRequest) -> Any:
    """Delete a checklist."""
    checklist = ask.checklist
    if "card" in ask.path and checklist.card is not ask.card:
        raise Refusal(404, NOT_FOUND)
    ask.store.delete_checklist(checklist)
    ask.store.record(ask.author, "removeChecklistFromCard", checklist.card, **_told(checklist))
    return {"limits": {}}


# One item for each request: Trello has no route for several, and its ``/batch`` only reads.
def create_item(ask: ApiRequest) -> Any:
    """Create an item of a checklist."""
    checklist, arguments = ask.checklist, ask.arguments
    item = ask.store.add_item(
        ask.now,
        checklist,
        arguments.text("name", shortest=1),
        arguments.place(),
        most=ask.knobs["items_per_checklist"],
        complete=arguments.flag("checked"),
        due=arguments.date("due"),
    )
    _announce(ask, "createCheckItem", item)
    return pick(CHECK_ITEM, item) | {"limits": {}}


def update_item(ask: ApiRequest) -> Any:
    """Update an item."""
    author, item, arguments = ask.author, ask.item, ask.arguments
    name = arguments.text("name", shortest=1) if "name" in arguments else item.name
    due = arguments.date("due") if "due" in arguments else item.due
    place = arguments.place() if "pos" in arguments else item.pos
    complete = _complete(arguments, item)
    item.name, item.due, item.pos = name, due, ask.store.place_of(item, place)
    if ask.arguments.raw("name") is not None or "due" in ask.arguments or "pos" in ask.arguments:
        _announce(ask, "updateCheckItem", item)
    ask.store.tick(author, item, complete=complete)
    return pick(CHECK_ITEM, item)


def _told(checklist: Checklist) -> dict[str, Any]:
    return {"checklist": {"id": checklist.id, "name": checklist.name}}


def _announce(ask: ApiRequest, kind: str, item: CheckItem) -> None:
    state = "complete" if item.complete else "incomplete"
    about = {"id": item.id, "name": item.name, "state": state}
    ask.store.announce(ask.author, kind, item.checklist.card, checkItem=about, **_told(item.checklist))


def _complete(arguments: Arguments, item: CheckItem) -> bool:
    state = arguments.choice("state", frozenset({*STATES, "true", "false"}), "")
    return {**STATES, "true": True, "false": False, "": item.complete}[state]


def delete_item(ask: ApiRequest) -> Any:
    """Delete an item."""
    item = ask.item
    del item.checklist.items[item.id]
    _announce(ask, "deleteCheckItem", item)
    return {"limits": {}}
