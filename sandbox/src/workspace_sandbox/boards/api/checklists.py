"""Routes of checklists and their items."""

from typing import Any

from workspace_sandbox.boards import object_json
from workspace_sandbox.boards.arguments import Arguments
from workspace_sandbox.boards.computed_fields import CHECK_ITEM, select_fields
from workspace_sandbox.boards.data.objects import Card, CheckItem, Checklist
from workspace_sandbox.boards.error_responses import NOT_FOUND, ApiError
from workspace_sandbox.boards.request import ApiRequest

DEFAULT_NAME = "Checklist"
STATES = {"complete": True, "incomplete": False}


def create(request: ApiRequest) -> Any:
    """Create a checklist on the card in the path or the body, optionally as a copy."""
    card = request.card if "card" in request.path else _card_of_body(request)
    source = _source(request)
    name = request.arguments.text("name") or (source.name if source else DEFAULT_NAME)
    checklist = request.store.add_checklist(request.author, card, name, request.arguments.position())
    for item in sorted(source.items.values(), key=lambda one: one.pos) if source else ():
        request.store.add_item(request.now, checklist, item.name, item.pos)
    return object_json.checklist(checklist, Arguments({})) | {"limits": {}}


def _card_of_body(request: ApiRequest) -> Card:
    card = request.store.cards.get(request.arguments.identifier("idCard"))
    # On this route, an unknown card is a 401 that mentions a board. On ``/cards/{id}/checklists``, it is a 404.
    if card is None or not request.can_see(card):
        raise ApiError(401, "unauthorized board requested")
    return card


def _source(request: ApiRequest) -> Checklist | None:
    if not request.arguments.has_value("idChecklistSource"):
        return None
    return request.with_path(checklist=request.arguments.identifier("idChecklistSource")).checklist


def update(request: ApiRequest) -> Any:
    """Update the name or the position of a checklist."""
    checklist, arguments = request.checklist, request.arguments
    name = arguments.text("name", min_length=1) if "name" in arguments else checklist.name
    position = arguments.position() if "pos" in arguments else checklist.pos
    old = {"name": checklist.name} if name != checklist.name else {"pos": checklist.pos}
    checklist.name, checklist.pos = name, request.store.resolve_position(checklist, position)
    request.store.record(request.author, "updateChecklist", checklist.card, old=old, **_describe(checklist))
    return object_json.checklist(checklist, Arguments({}))


def delete(request: ApiRequest) -> Any:
    """Delete a checklist."""
    checklist = request.checklist
    if "card" in request.path and checklist.card is not request.card:
        raise ApiError(404, NOT_FOUND)
    request.store.delete_checklist(checklist)
    request.store.record(request.author, "removeChecklistFromCard", checklist.card, **_describe(checklist))
    return {"limits": {}}


# One item per request: Trello has no route for several, and ``/batch`` is read-only.
def create_item(request: ApiRequest) -> Any:
    """Create a checklist item."""
    checklist, arguments = request.checklist, request.arguments
    item = request.store.add_item(
        request.now,
        checklist,
        arguments.text("name", min_length=1),
        arguments.position(),
        max_items=request.knobs["items_per_checklist"],
        complete=arguments.flag("checked"),
        due=arguments.date("due"),
    )
    _announce(request, "createCheckItem", item)
    return select_fields(CHECK_ITEM, item) | {"limits": {}}


def update_item(request: ApiRequest) -> Any:
    """Update a checklist item."""
    author, item, arguments = request.author, request.item, request.arguments
    name = arguments.text("name", min_length=1) if "name" in arguments else item.name
    due = arguments.date("due") if "due" in arguments else item.due
    position = arguments.position() if "pos" in arguments else item.pos
    complete = _complete(arguments, item)
    item.name, item.due, item.pos = name, due, request.store.resolve_position(item, position)
    if request.arguments.raw("name") is not None or "due" in request.arguments or "pos" in request.arguments:
        _announce(request, "updateCheckItem", item)
    request.store.set_complete(author, item, complete=complete)
    return select_fields(CHECK_ITEM, item)


def _describe(checklist: Checklist) -> dict[str, Any]:
    return {"checklist": {"id": checklist.id, "name": checklist.name}}


def _announce(request: ApiRequest, kind: str, item: CheckItem) -> None:
    state = "complete" if item.complete else "incomplete"
    item_data = {"id": item.id, "name": item.name, "state": state}
    request.store.announce(request.author, kind, item.checklist.card, checkItem=item_data, **_describe(item.checklist))


def _complete(arguments: Arguments, item: CheckItem) -> bool:
    state = arguments.choice("state", frozenset({*STATES, "true", "false"}), "")
    return {**STATES, "true": True, "false": False, "": item.complete}[state]


def delete_item(request: ApiRequest) -> Any:
    """Delete a checklist item."""
    item = request.item
    del item.checklist.items[item.id]
    _announce(request, "deleteCheckItem", item)
    return {"limits": {}}
