"""Answers about custom fields: their definitions, their options, and what cards have in them."""

from collections.abc import Mapping
from typing import Any

from workspace_sandbox.boards import custom
from workspace_sandbox.boards.arguments import Arguments
from workspace_sandbox.boards.ask import ApiRequest
from workspace_sandbox.boards.custom import KINDS, VALUE_KEYS, Choice, CustomField, FieldValue
from workspace_sandbox.boards.state import COLORS, Card, placed
from workspace_sandbox.boards.wire import NOT_FOUND, Refusal, invalid
from workspace_sandbox.kit.refusals import require

MOST = 50
"""Custom fields of a board."""


def create(ask: ApiRequest) -> Any:
    """Make a custom field of a board, with its options if it is a list."""
    arguments = ask.arguments
    if arguments.raw("modelType") not in {None, "board"}:
        raise invalid("modelType")
    board = ask.having(board=arguments.identifier("idModel")).board
    name, kind = arguments.text("name", shortest=1), arguments.choice("type", frozenset(KINDS), "")
    options = arguments.raw("options") or []
    if not kind or not isinstance(options, list) or (options and kind != "list"):
        raise invalid("options" if kind else "type")
    if len(board.custom_fields) >= MOST:
        raise Refusal(403, {"message": "Custom field limit exceeded", "error": "LIMIT_EXCEEDED"})
    place = placed([one.pos for one in board.custom_fields.values()], arguments.place())
    front = arguments.flag("display_cardFront", default=True)
    texts = [_choice_of(Arguments(one if isinstance(one, dict) else {})) for one in options]
    made = CustomField(ask.store.mint(ask.now), board, name, kind, place, front)
    for text, color in texts:
        _add(ask, made, text, color, "bottom")
    board.custom_fields[made.id] = ask.store.custom_fields[made.id] = made
    ask.store.record(ask.author, "createCustomField", board, customField=_told(made))
    return custom.definition(made)


def update(ask: ApiRequest) -> Any:
    """Change the name or the place of a custom field, or whether cards show it."""
    found, arguments = ask.custom_field, ask.arguments
    name = arguments.text("name", shortest=1) if "name" in arguments else found.name
    place = arguments.place() if "pos" in arguments else found.pos
    front = arguments.flag("display/cardFront", default=found.on_front)
    old = {"name": found.name} if name != found.name else {}
    found.name, found.on_front = name, front
    found.pos = placed([one.pos for one in found.beside() if one is not found], place)
    ask.store.record(ask.author, "updateCustomField", found.board, customField=_told(found), old=old)
    return custom.definition(found)


def delete(ask: ApiRequest) -> Any:
    """Delete a custom field, and what cards have in it."""
    found = ask.custom_field
    for card in found.board.cards():
        card.custom_items.pop(found.id, None)
    del ask.store.custom_fields[found.id], found.board.custom_fields[found.id]
    ask.store.record(ask.author, "deleteCustomField", found.board, customField=_told(found))
    return {"limits": {}}


def read_option(ask: ApiRequest) -> Any:
    """One option of a list."""
    return custom.choice(_option(ask), ask.custom_field.id)


def create_option(ask: ApiRequest) -> Any:
    """Add an option to a list."""
    found = ask.custom_field
    if found.type != "list":
        raise invalid("type")
    text, color = _choice_of(ask.arguments)
    return custom.choice(_add(ask, found, text, color, ask.arguments.place()), found.id)


def delete_option(ask: ApiRequest) -> Any:
    """Delete an option; cards that had it have nothing in the field."""
    found, option = ask.custom_field, _option(ask)
    for card in found.board.cards():
        held = card.custom_items.get(found.id)
        if held is not None and held.choice_id == option.id:
            del card.custom_items[found.id]
    del found.choices[option.id]
    return {"limits": {}}


def set_one(ask: ApiRequest) -> Any:
    """Put a value into one custom field of a card, or take it out."""
    card, found = ask.card, ask.custom_field
    if found.board is not card.board:
        raise Refusal(404, NOT_FOUND)
    return _set(ask, card, found, ask.arguments)


def set_several(ask: ApiRequest) -> Any:
    """Put values into several custom fields of a card; all of them or none."""
    card, items = ask.card, ask.arguments.raw("customFieldItems")
    if not isinstance(items, list) or not all(isinstance(one, dict) for one in items):
        raise invalid("customFieldItems")
    known = card.board.custom_fields
    wanted = [(known.get(str(one.get("idCustomField"))), Arguments(one)) for one in items]
    for found, given in wanted:
        if found is None:
            raise invalid("idCustomField")
        _value(found, given)
    return [_set(ask, card, found, given) for found, given in wanted if found is not None]


def _set(ask: ApiRequest, card: Card, found: CustomField, given: Arguments) -> dict[str, Any]:
    value, choice_id = _value(found, given)
    before = card.custom_items.get(found.id)
    held = FieldValue(before.id if before else ask.store.mint(ask.now), found.id, value, choice_id)
    if value is None and choice_id is None:
        card.custom_items.pop(found.id, None)
    else:
        card.custom_items[found.id] = held
    shown = custom.item(held, card.id)
    old = {"value": before and before.value, "idValue": before and before.choice_id}
    told = {"id": held.id, "value": held.value, "idValue": held.choice_id, "idCustomField": found.id}
    ask.store.record(ask.author, "updateCustomFieldItem", card, customField=_told(found), customFieldItem=told, old=old)
    return shown


def _value(found: CustomField, given: Arguments) -> tuple[Mapping[str, str] | None, str | None]:
    """The value and the option that are given; none of both takes out what is there."""
    if found.type == "list":
        if not given.given("idValue"):
            return None, None
        if given.raw("idValue") not in found.choices:
            raise Refusal(400, {"message": "Invalid custom field item value.", "error": "ERROR"})
        return None, str(given.raw("idValue"))
    raw = given.raw("value")
    if raw in (None, ""):
        return None, None
    key = VALUE_KEYS[found.type]
    if not isinstance(raw, dict) or key not in raw:
        raise Refusal(400, {"message": "Invalid custom field item value.", "error": "ERROR"})
    return {key: _text(found.type, Arguments(raw, "value"), key)}, None


def _text(kind: str, given: Arguments, key: str) -> str:
    """A value as the vendor keeps it, which is text whatever its type."""
    if kind == "checkbox":
        return str(given.flag(key)).lower()
    if kind == "date":
        return given.date(key) or ""
    if kind == "number":
        try:
            float(given.raw(key))
        except (TypeError, ValueError):
            raise Refusal(400, {"message": "Invalid custom field item value.", "error": "ERROR"}) from None
        return str(given.raw(key))
    return given.text(key)


def _choice_of(given: Arguments) -> tuple[str, str]:
    raw = given.raw("value")
    text = raw.get("text") if isinstance(raw, dict) else raw
    if not isinstance(text, str) or not text:
        raise invalid("value")
    return text, given.choice("color", frozenset({*COLORS, "none"}), "none")


def _add(ask: ApiRequest, found: CustomField, text: str, color: str, place: Any) -> Choice:
    made = Choice(ask.store.mint(ask.now), text, color, placed([one.pos for one in found.choices.values()], place))
    found.choices[made.id] = made
    return made


def _option(ask: ApiRequest) -> Choice:
    return require(ask.custom_field.choices.get(ask.path["option"].lower()), Refusal(404, NOT_FOUND))


def _told(found: CustomField) -> dict[str, Any]:
    return {"id": found.id, "name": found.name, "type": found.type}
