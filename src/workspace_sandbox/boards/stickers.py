"""Answers about stickers on cards, and about boards that members keep at hand."""

from typing import Any

from workspace_sandbox.boards.ask import ApiRequest
from workspace_sandbox.boards.state import Star, Sticker, placed
from workspace_sandbox.boards.wire import HIDDEN, NOT_FOUND, Refusal, invalid
from workspace_sandbox.kit.refusals import require

MOST_OFFSET = 100.0
WITHIN = {"top": MOST_OFFSET, "left": MOST_OFFSET, "zIndex": 10_000.0, "rotate": 360.0}
NEEDED = ("top", "left", "zIndex")


def read(ask: ApiRequest) -> Any:
    """One sticker."""
    return _sticker(ask).raw()


def create(ask: ApiRequest) -> Any:
    """Put a sticker on a card."""
    card, image = ask.card, ask.arguments.text("image", shortest=1)
    where = {name: _number(ask, name) for name in NEEDED} | {"rotate": _number(ask, "rotate", 0.0)}
    made = Sticker(ask.store.mint(ask.now), image, where)
    card.stickers[made.id] = made
    return made.raw()


def update(ask: ApiRequest) -> Any:
    """Move a sticker."""
    found = _sticker(ask)
    found.where = {name: _number(ask, name, old) for name, old in found.where.items()}
    return found.raw()


def delete(ask: ApiRequest) -> Any:
    """Take a sticker off a card."""
    del ask.card.stickers[_sticker(ask).id]
    return {"stickers": [one.raw() for one in ask.card.stickers.values()]}


def _number(ask: ApiRequest, name: str, default: float | None = None) -> float:
    raw = ask.arguments.raw(name)
    try:
        number = default if raw is None else float(raw)
    except (TypeError, ValueError):
        number = None
    if number is None or not -MOST_OFFSET <= number <= WITHIN[name]:
        raise invalid(name)
    return number


def _sticker(ask: ApiRequest) -> Sticker:
    return require(ask.card.stickers.get(ask.path["sticker"].lower()), Refusal(404, NOT_FOUND))


def read_stars(ask: ApiRequest) -> Any:
    """The boards that a member keeps at hand."""
    return [one.raw() for one in _stars(ask).values()]


def read_star(ask: ApiRequest) -> Any:
    """One of them."""
    return _star(ask).raw()


def create_star(ask: ApiRequest) -> Any:
    """Keep a board at hand."""
    stars, board = _stars(ask), ask.having(board=ask.arguments.identifier("idBoard")).board
    if any(one.board_id == board.id for one in stars.values()):
        raise Refusal(400, "board is already starred")
    pos = placed([one.pos for one in stars.values()], ask.arguments.place())
    made = Star(ask.store.mint(ask.now), board.id, pos)
    stars[made.id] = made
    return made.raw()


def update_star(ask: ApiRequest) -> Any:
    """Give one of them another place."""
    found = _star(ask)
    found.pos = placed([one.pos for one in _stars(ask).values() if one is not found], ask.arguments.place())
    return found.raw()


def delete_star(ask: ApiRequest) -> Any:
    """Keep a board at hand no longer."""
    del _stars(ask)[_star(ask).id]
    return {"limits": {}}


def _stars(ask: ApiRequest) -> dict[str, Star]:
    if ask.member is not ask.visitor.member:
        raise Refusal(401, HIDDEN)
    return ask.member.stars


def _star(ask: ApiRequest) -> Star:
    return require(_stars(ask).get(ask.path["star"].lower()), Refusal(404, NOT_FOUND))
