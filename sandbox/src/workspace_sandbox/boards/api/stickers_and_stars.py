"""Routes of stickers on cards, and of starred boards."""

from typing import Any

from workspace_sandbox.boards.data.objects import Star, Sticker, resolve_position
from workspace_sandbox.boards.error_responses import HIDDEN, NOT_FOUND, ApiError, invalid
from workspace_sandbox.boards.request import ApiRequest
from workspace_sandbox.kit.error_responses import require

MOST_OFFSET = 100.0
WITHIN = {"top": MOST_OFFSET, "left": MOST_OFFSET, "zIndex": 10_000.0, "rotate": 360.0}
NEEDED = ("top", "left", "zIndex")


def read(request: ApiRequest) -> Any:
    """Return a sticker."""
    return _sticker(request).raw()


def create(request: ApiRequest) -> Any:
    """Add a sticker to a card."""
    card, image = request.card, request.arguments.text("image", min_length=1)
    where = {name: _number(request, name) for name in NEEDED} | {"rotate": _number(request, "rotate", 0.0)}
    sticker = Sticker(request.store.new_id(request.now), image, where)
    card.stickers[sticker.id] = sticker
    return sticker.raw()


def update(request: ApiRequest) -> Any:
    """Move a sticker."""
    sticker = _sticker(request)
    sticker.where = {name: _number(request, name, old) for name, old in sticker.where.items()}
    return sticker.raw()


def delete(request: ApiRequest) -> Any:
    """Remove a sticker from a card."""
    del request.card.stickers[_sticker(request).id]
    return {"stickers": [one.raw() for one in request.card.stickers.values()]}


def _number(request: ApiRequest, name: str, default: float | None = None) -> float:
    raw = request.arguments.raw(name)
    try:
        number = default if raw is None else float(raw)
    except (TypeError, ValueError):
        number = None
    if number is None or not -MOST_OFFSET <= number <= WITHIN[name]:
        raise invalid(name)
    return number


def _sticker(request: ApiRequest) -> Sticker:
    return require(request.card.stickers.get(request.path["sticker"].lower()), ApiError(404, NOT_FOUND))


def read_stars(request: ApiRequest) -> Any:
    """Return the starred boards of a member."""
    return [one.raw() for one in _stars(request).values()]


def read_star(request: ApiRequest) -> Any:
    """Return a starred board."""
    return _star(request).raw()


def create_star(request: ApiRequest) -> Any:
    """Star a board."""
    stars, board = _stars(request), request.with_path(board=request.arguments.identifier("idBoard")).board
    if any(one.board_id == board.id for one in stars.values()):
        raise ApiError(400, "board is already starred")
    pos = resolve_position([one.pos for one in stars.values()], request.arguments.position())
    star = Star(request.store.new_id(request.now), board.id, pos)
    stars[star.id] = star
    return star.raw()


def update_star(request: ApiRequest) -> Any:
    """Change the position of a starred board."""
    star = _star(request)
    star.pos = resolve_position(
        [one.pos for one in _stars(request).values() if one is not star], request.arguments.position()
    )
    return star.raw()


def delete_star(request: ApiRequest) -> Any:
    """Remove the star from a board."""
    del _stars(request)[_star(request).id]
    return {"limits": {}}


def _stars(request: ApiRequest) -> dict[str, Star]:
    if request.member is not request.principal.member:
        raise ApiError(401, HIDDEN)
    return request.member.stars


def _star(request: ApiRequest) -> Star:
    return require(_stars(request).get(request.path["star"].lower()), ApiError(404, NOT_FOUND))
