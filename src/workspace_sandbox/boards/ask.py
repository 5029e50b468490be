"""One request as the handlers see it, and how the objects in its path are found."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from aiohttp import web

from workspace_sandbox.boards.access import Principal
from workspace_sandbox.boards.arguments import Arguments
from workspace_sandbox.boards.consent import Consent
from workspace_sandbox.boards.custom import CustomField
from workspace_sandbox.boards.deliveries import Deliverer
from workspace_sandbox.boards.fields import Fields
from workspace_sandbox.boards.state import (
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
from workspace_sandbox.boards.store import Store
from workspace_sandbox.boards.wire import HIDDEN, HIDDEN_CARD, LIST_NOT_FOUND, NOT_FOUND, Refusal
from workspace_sandbox.kit.refusals import require

Thing = TypeVar("Thing", Board, CardList, Card, Label, Checklist, Action, CustomField)


@dataclass(frozen=True, slots=True)
class Kind:
    """How the vendor speaks of one kind of object: where it is kept, and the texts when it is out of reach."""

    shelf: str
    hidden: str = HIDDEN
    missing: str = NOT_FOUND
    linked: bool = False


KINDS = {
    "board": Kind("boards", linked=True),
    "list": Kind("lists", missing=LIST_NOT_FOUND),
    "card": Kind("cards", hidden=HIDDEN_CARD, linked=True),
    "label": Kind("labels"),
    "checklist": Kind("checklists"),
    "action": Kind("actions"),
    "item": Kind("items"),
    "webhook": Kind("webhooks"),
    "custom_field": Kind("custom_fields"),
    **{name: Kind("") for name in ("attachment", "membership", "option", "star", "sticker")},
}
"""The kinds of objects with a 24-character id, by the name they have in the paths of routes."""


class Named(Generic[Thing]):
    """An object that the path of a request names, such as its card."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, ask: "ApiRequest", _: type["ApiRequest"]) -> Thing:
        """Return the object; refuse one that is missing or hidden from the visitor."""
        kind, identifier = KINDS[self._name], ask.path[self._name]
        # Paths also take the eight letters of a short link (API introduction); fields of a body do not.
        identifier = ask.store.links.get(identifier, identifier.lower())
        found: Thing | None = getattr(ask.store, kind.shelf).get(identifier)
        # Trello answers a stranger's board with 401 or with 404, and does not say when which. The knob plays both.
        if ask.visitor.member is None or (found and not ask.sees(found) and not ask.knobs["hidden_is_missing"]):
            raise Refusal(401, kind.hidden)
        if found is None or not ask.sees(found):
            raise Refusal(404, kind.missing)
        return found


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """What somebody wants, with the objects that the path names at hand; ``get`` performs another route for them."""

    store: Store
    oauth: Consent
    knobs: Mapping[str, Any]
    visitor: Principal
    path: Mapping[str, str]
    arguments: Arguments
    now: float
    deliverer: Deliverer
    get: Callable[[str], Any]
    base: str = ""
    """Where the vendor is reached."""

    @property
    def author(self) -> Author:
        """The visitor as the author of a change."""
        return self.visitor.author(self.now)

    board = Named[Board]("board")
    card_list = Named[CardList]("list")
    card = Named[Card]("card")
    label = Named[Label]("label")
    checklist = Named[Checklist]("checklist")
    action = Named[Action]("action")
    custom_field = Named[CustomField]("custom_field")

    @property
    def organization(self) -> Organization:
        """The organization of the path, by id or name."""
        name = self.path["organization"]
        for found in self.store.organizations.values():
            if name in {found.id, found.name} and self.belongs_to(found):
                return found
        raise Refusal(404, NOT_FOUND)

    def belongs_to(self, organization: Organization) -> bool:
        """Whether the visitor is a member of it."""
        return self.visitor.member is not None and self.visitor.member.id in organization.members

    @property
    def item(self) -> CheckItem:
        """The check item of the path, on the checklist or card of the path."""
        held = self.checklist.items.values() if "card" not in self.path else self.card.items()
        for item in held:
            if item.id == self.path["item"].lower():
                return item
        raise Refusal(404, NOT_FOUND)

    @property
    def member(self) -> Member:
        """The member of the path; ``me`` is whoever asks."""
        if self.visitor.member is None:
            raise Refusal(401, HIDDEN)
        name = self.path["member"]
        return require(self.visitor.member if name == "me" else self.store.member(name), Refusal(404, NOT_FOUND))

    def sees(self, thing: Any) -> bool:
        """Whether the visitor is a member of the board of *thing*."""
        return self.visitor.member is not None and self.visitor.member.id in thing.board.members

    def visible_boards(self) -> list[Board]:
        """The boards that the visitor is a member of."""
        return [board for board in self.store.boards.values() if self.sees(board)]

    def having(self, **path: str) -> "ApiRequest":
        """The same, with other names in the path."""
        return replace(self, path={**self.path, **path})

    def field_of(self, fields: Fields, thing: Any) -> dict[str, Any]:
        """The field of *thing* that the path names, in the vendor's wrapping."""
        if self.path["field"] not in fields:
            raise web.HTTPNotFound
        return {"_value": fields[self.path["field"]](thing)}

    def as_update(self, allowed: frozenset[str]) -> "ApiRequest":
        """``PUT …/{field}`` with a ``value``, as if it had been ``PUT …`` with that field."""
        name = self.path["field"]
        if name not in allowed:
            raise web.HTTPNotFound
        if "value" not in self.arguments:
            raise self.arguments.refusal("value")
        return replace(self, arguments=self.arguments.renamed("value", name))
