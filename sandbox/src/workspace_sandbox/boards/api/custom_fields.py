"""Routes of custom fields, their options and their values on cards."""

from collections.abc import Mapping
from typing import Any

from workspace_sandbox.boards.arguments import Arguments
from workspace_sandbox.boards.data import custom_field_objects
from workspace_sandbox.boards.data.custom_field_objects import KINDS, VALUE_KEYS, Choice, CustomField, FieldValue
from workspace_sandbox.boards.data.objects import COLORS, Card, resolve_position
from workspace_sandbox.boards.error_responses import NOT_FOUND, ApiError, invalid
from workspace_sandbox.boards.request import ApiRequest
from workspace_sandbox.kit.error_responses import require

MAX_CUSTOM_FIELDS = 50
"""Maximum number of custom fields of a board."""


def create(request: ApiRequest) -> Any:
    """Create a custom field on a board, with its options if it is a list."""
    arguments = request.arguments
    if arguments.raw("modelType") not in {None, "board"}:
        raise invalid("modelType")
    board = request.with_path(board=arguments.identifier("idModel")).board
    name, kind = arguments.text("name", min_length=1), arguments.choice("type", frozenset(KINDS), "")
    options = arguments.raw("options") or []
    if not kind or not isinstance(options, list) or (options and kind != "list"):
        raise invalid("options" if kind else "type")
    if len(board.custom_fields) >= MAX_CUSTOM_FIELDS:
        raise ApiError(403, {"message": "Custom field limit exceeded", "error": "LIMIT_EXCEEDED"})
    position = resolve_position([one.pos for one in board.custom_fields.values()], arguments.position())
    front = arguments.flag("display_cardFront", default=True)
    texts = [_parse_choice(Arguments(one if isinstance(one, dict) else {})) for one in options]
    created = CustomField(request.store.new_id(request.now), board, name, kind, position, front)
    for text, color in texts:
        _add(request, created, text, color, "bottom")
    board.custom_fields[created.id] = request.store.custom_fields[created.id] = created
    request.store.record(request.author, "createCustomField", board, customField=_describe(created))
    return custom_field_objects.definition(created)


def update(request: ApiRequest) -> Any:
    """Update the name, the position or the visibility of a custom field."""
    custom_field, arguments = request.custom_field, request.arguments
    name = arguments.text("name", min_length=1) if "name" in arguments else custom_field.name
    position = arguments.position() if "pos" in arguments else custom_field.pos
    front = arguments.flag("display/cardFront", default=custom_field.on_front)
    old = {"name": custom_field.name} if name != custom_field.name else {}
    custom_field.name, custom_field.on_front = name, front
    custom_field.pos = resolve_position(
        [one.pos for one in custom_field.neighbours() if one is not custom_field], position
    )
    request.store.record(
        request.author, "updateCustomField", custom_field.board, customField=_describe(custom_field), old=old
    )
    return custom_field_objects.definition(custom_field)


def delete(request: ApiRequest) -> Any:
    """Delete a custom field and its values."""
    custom_field = request.custom_field
    for card in custom_field.board.cards():
        card.custom_items.pop(custom_field.id, None)
    del request.store.custom_fields[custom_field.id], custom_field.board.custom_fields[custom_field.id]
    request.store.record(request.author, "deleteCustomField", custom_field.board, customField=_describe(custom_field))
    return {"limits": {}}


def read_option(request: ApiRequest) -> Any:
    """Return an option of a list field."""
    return custom_field_objects.choice(_option(request), request.custom_field.id)


def create_option(request: ApiRequest) -> Any:
    """Add an option to a list field."""
    custom_field = request.custom_field
    if custom_field.type != "list":
        raise invalid("type")
    text, color = _parse_choice(request.arguments)
    return custom_field_objects.choice(
        _add(request, custom_field, text, color, request.arguments.position()), custom_field.id
    )


def delete_option(request: ApiRequest) -> Any:
    """Delete an option and the values that use it."""
    custom_field, option = request.custom_field, _option(request)
    for card in custom_field.board.cards():
        value = card.custom_items.get(custom_field.id)
        if value is not None and value.choice_id == option.id:
            del card.custom_items[custom_field.id]
    del custom_field.choices[option.id]
    return {"limits": {}}


def set_one(request: ApiRequest) -> Any:
    """Set or clear the value of a custom field on a card."""
    card, custom_field = request.card, request.custom_field
    if custom_field.board is not card.board:
        raise ApiError(404, NOT_FOUND)
    return _set(request, card, custom_field, request.arguments)


def set_several(request: ApiRequest) -> Any:
    """Set the values of several custom fields on a card, atomically."""
    card, items = request.card, request.arguments.raw("customFieldItems")
    if not isinstance(items, list) or not all(isinstance(one, dict) for one in items):
        raise invalid("customFieldItems")
    definitions = card.board.custom_fields
    changes = [(definitions.get(str(one.get("idCustomField"))), Arguments(one)) for one in items]
    for custom_field, params in changes:
        if custom_field is None:
            raise invalid("idCustomField")
        _parse_value(custom_field, params)
    return [_set(request, card, custom_field, params) for custom_field, params in changes if custom_field is not None]


def _set(request: ApiRequest, card: Card, custom_field: CustomField, params: Arguments) -> dict[str, Any]:
    value, choice_id = _parse_value(custom_field, params)
    before = card.custom_items.get(custom_field.id)
    new_value = FieldValue(
        before.id if before else request.store.new_id(request.now), custom_field.id, value, choice_id
    )
    if value is None and choice_id is None:
        card.custom_items.pop(custom_field.id, None)
    else:
        card.custom_items[custom_field.id] = new_value
    response = custom_field_objects.item(new_value, card.id)
    old = {"value": before and before.value, "idValue": before and before.choice_id}
    item_data = {
        "id": new_value.id,
        "value": new_value.value,
        "idValue": new_value.choice_id,
        "idCustomField": custom_field.id,
    }
    request.store.record(
        request.author,
        "updateCustomFieldItem",
        card,
        customField=_describe(custom_field),
        customFieldItem=item_data,
        old=old,
    )
    return response


def _parse_value(custom_field: CustomField, params: Arguments) -> tuple[Mapping[str, str] | None, str | None]:
    """Return the requested value and option. Both are None to clear the field."""
    if custom_field.type == "list":
        if not params.has_value("idValue"):
            return None, None
        if params.raw("idValue") not in custom_field.choices:
            raise ApiError(400, {"message": "Invalid custom field item value.", "error": "ERROR"})
        return None, str(params.raw("idValue"))
    raw = params.raw("value")
    if raw in (None, ""):
        return None, None
    key = VALUE_KEYS[custom_field.type]
    if not isinstance(raw, dict) or key not in raw:
        raise ApiError(400, {"message": "Invalid custom field item value.", "error": "ERROR"})
    return {key: _parse_text(custom_field.type, Arguments(raw, "value"), key)}, None


def _parse_text(kind: str, params: Arguments, key: str) -> str:
    """Return a value as text, which is how the vendor stores all types."""
    if kind == "checkbox":
        return str(params.flag(key)).lower()
    if kind == "date":
        return params.date(key) or ""
    if kind == "number":
        try:
            float(params.raw(key))
        except (TypeError, ValueError):
            raise ApiError(400, {"message": "Invalid custom field item value.", "error": "ERROR"}) from None
        return str(params.raw(key))
    return params.text(key)


def _parse_choice(params: Arguments) -> tuple[str, str]:
    raw = params.raw("value")
    text = raw.get("text") if isinstance(raw, dict) else raw
    if not isinstance(text, str) or not text:
        raise invalid("value")
    return text, params.choice("color", frozenset({*COLORS, "none"}), "none")


def _add(request: ApiRequest, custom_field: CustomField, text: str, color: str, position: Any) -> Choice:
    choice = Choice(
        request.store.new_id(request.now),
        text,
        color,
        resolve_position([one.pos for one in custom_field.choices.values()], position),
    )
    custom_field.choices[choice.id] = choice
    return choice


def _option(request: ApiRequest) -> Choice:
    return require(request.custom_field.choices.get(request.path["option"].lower()), ApiError(404, NOT_FOUND))


def _describe(custom_field: CustomField) -> dict[str, Any]:
    return {"id": custom_field.id, "name": custom_field.name, "type": custom_field.type}
