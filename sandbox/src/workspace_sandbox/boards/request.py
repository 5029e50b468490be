"""A request as seen by handlers, with the objects in its path."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from aiohttp import web

from workspace_sandbox.boards.access import Principal
from workspace_sandbox.boards.arguments import Arguments
from workspace_sandbox.boards.computed_fields import Fields
from workspace_sandbox.boards.consent import TrelloOAuth
from workspace_sandbox.boards.data.custom_field_objects import CustomField
from workspace_sandbox.boards.data.objects import (
    Action,
    Author,
    Board,
    Card,
    CardList,
    CheckItem,
    Checklist,
    Label,
    Member,
    Organization,
)
from workspace_sandbox.boards.data.state import Store
from workspace_sandbox.boards.deliveries import WebhookSender
from workspace_sandbox.boards.error_responses import HIDDEN, HIDDEN_CARD, LIST_NOT_FOUND, NOT_FOUND, ApiError
from workspace_sandbox.kit.error_responses import require

Thing = TypeVar("Thing", Board, CardList, Card, Label, Checklist, Action, CustomField)


@dataclass(frozen=True, slots=True)
class PathKind:
    """A kind of object, with the name of its collection and the error texts for hidden and missing objects."""

    collection: str
    hidden: str = HIDDEN
    missing: str = NOT_FOUND
    has_short_link: bool = False


KINDS = {
    "board": PathKind("boards", has_short_link=True),
    "list": PathKind("lists", missing=LIST_NOT_FOUND),
    "card": PathKind("cards", hidden=HIDDEN_CARD, has_short_link=True),
    "label": PathKind("labels"),
    "checklist": PathKind("checklists"),
    "action": PathKind("actions"),
    "item": PathKind("items"),
    "webhook": PathKind("webhooks"),
    "custom_field": PathKind("custom_fields"),
    **{name: PathKind("") for name in ("attachment", "membership", "option", "star", "sticker")},
}
"""The kinds of objects with a 24-character ID, by their names in the paths of routes."""


class PathObject(Generic[Thing]):
    """A descriptor for the object that the path of a request identifies, such as its card."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, request: "ApiRequest", _: type["ApiRequest"]) -> Thing:
        """Return the object. Raises an error if it is missing or hidden from the user."""
        kind, identifier = KINDS[self._name], request.path[self._name]
        # Paths also accept 8-character short links (API introduction). Fields of a body do not.
        identifier = request.store.links.get(identifier, identifier.lower())
        match: Thing | None = getattr(request.store, kind.collection).get(identifier)
        # Trello responds to requests for other users' boards with 401 or 404, without documenting which. The knob
        # selects one.
        if request.principal.member is None or (
            match and not request.can_see(match) and not request.knobs["hidden_is_missing"]
        ):
            raise ApiError(401, kind.hidden)
        if match is None or not request.can_see(match):
            raise ApiError(404, kind.missing)
        return match


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """A request and the objects in its path. ``get`` performs a request to another route with the same credentials."""

    store: Store
    oauth: TrelloOAuth
    knobs: Mapping[str, Any]
    principal: Principal
    path: Mapping[str, str]
    arguments: Arguments
    now: float
    deliverer: WebhookSender
    get: Callable[[str], Any]
    base: str = ""
    """The base URL of the API."""

    @property
    def author(self) -> Author:
        """The user as the author of a change."""
        return self.principal.author(self.now)

    board = PathObject[Board]("board")
    card_list = PathObject[CardList]("list")
    card = PathObject[Card]("card")
    label = PathObject[Label]("label")
    checklist = PathObject[Checklist]("checklist")
    action = PathObject[Action]("action")
    custom_field = PathObject[CustomField]("custom_field")

    @property
    def organization(self) -> Organization:
        """The organization in the path, by ID or name."""
        name = self.path["organization"]
        for match in self.store.organizations.values():
            if name in {match.id, match.name} and self.belongs_to(match):
                return match
        raise ApiError(404, NOT_FOUND)

    def belongs_to(self, organization: Organization) -> bool:
        """Return True if the user is a member of *organization*."""
        return self.principal.member is not None and self.principal.member.id in organization.members

    @property
    def item(self) -> CheckItem:
        """The check item in the path, on the checklist or card in the path."""
        items = self.checklist.items.values() if "card" not in self.path else self.card.items()
        for item in items:
            if item.id == self.path["item"].lower():
                return item
        raise ApiError(404, NOT_FOUND)

    @property
    def member(self) -> Member:
        """The member in the path. ``me`` is the user."""
        if self.principal.member is None:
            raise ApiError(401, HIDDEN)
        name = self.path["member"]
        return require(self.principal.member if name == "me" else self.store.member(name), ApiError(404, NOT_FOUND))

    def can_see(self, thing: Any) -> bool:
        """Return True if the user is a member of the board of *thing*."""
        return self.principal.member is not None and self.principal.member.id in thing.board.members

    def visible_boards(self) -> list[Board]:
        """Return the boards that the user is a member of."""
        return [board for board in self.store.boards.values() if self.can_see(board)]

    def with_path(self, **path: str) -> "ApiRequest":
        """Return a copy with other values in the path."""
        return replace(self, path={**self.path, **path})

    def field_response(self, fields: Fields, thing: Any) -> dict[str, Any]:
        """Return the field of *thing* in the path, in the vendor's wrapper."""
        if self.path["field"] not in fields:
            raise web.HTTPNotFound
        return {"_value": fields[self.path["field"]](thing)}

    def as_update(self, allowed: frozenset[str]) -> "ApiRequest":
        """Return the request ``PUT …/{field}`` with a ``value`` as the equivalent ``PUT …`` with that field."""
        name = self.path["field"]
        if name not in allowed:
            raise web.HTTPNotFound
        if "value" not in self.arguments:
            raise self.arguments.error("value")
        return replace(self, arguments=self.arguments.renamed("value", name))
