"""The emulated routes of the vendor, with their handlers and unsupported features."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import unquote

from aiohttp import web

from workspace_sandbox.boards import object_json
from workspace_sandbox.boards.access import Principal
from workspace_sandbox.boards.api import (
    actions,
    attachments,
    batch,
    board_and_list_of_object,
    boards,
    cards,
    checklists,
    custom_fields,
    labels,
    lists,
    members,
    memberships,
    organizations,
    search,
    stickers_and_stars,
    tokens,
    webhooks,
)
from workspace_sandbox.boards.arguments import IDENTIFIER, SHORT_LINK
from workspace_sandbox.boards.computed_fields import ACTION, BOARD, CARD, CHECKLIST, LIST, MEMBER, ORGANIZATION
from workspace_sandbox.boards.consent import TrelloOAuth
from workspace_sandbox.boards.data import custom_field_objects
from workspace_sandbox.boards.error_responses import INVALID_ID, MISSING_SCOPES, ApiError
from workspace_sandbox.boards.request import KINDS, ApiRequest
from workspace_sandbox.kit.routes import PageRoute, Route, page

LOG_ONLY = "only changes that this emulator can make are recorded, in one format"
NONE_THERE = "always empty"
OWN_FIELDS = "fields that this emulator does not return"


@dataclass(frozen=True, kw_only=True)
class ApiRoute(Route[Callable[[ApiRequest], Any]]):
    """A route below ``/1`` of the API, with checks that precede any lookup."""

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Return the pattern of the complete path, with an optional trailing slash."""
        return re.compile(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", self.path) + "/?")

    def check(self, path: Mapping[str, str]) -> None:
        """Raise an error for malformed IDs in *path*."""
        for name, kind in KINDS.items():
            identifier = path.get(name, "0" * 24)
            linked = kind.has_short_link and SHORT_LINK.fullmatch(identifier)
            if not linked and not IDENTIFIER.fullmatch(identifier):
                raise ApiError(400, INVALID_ID)

    def admit(self, principal: Principal) -> None:
        """Raise an error if the user is not allowed to use this method."""
        needed = "read" if self.method == "GET" else "write"
        anonymous_read = principal.token is None and needed == "read"
        if not anonymous_read and (principal.token is None or needed not in principal.token.scopes):
            raise ApiError(401, MISSING_SCOPES)


on = ApiRoute.at("/1")

ROUTES: tuple[ApiRoute | PageRoute, ...] = (
    on("POST /boards", boards.create, "copies of another board, preferences, Power-Ups"),
    on(
        "GET /boards/{board}",
        lambda request: object_json.board(request.board, request.arguments),
        "nested memberships, organization, tags and plugin data",
    ),
    on("PUT /boards/{board}", boards.update, "fields other than name, desc and closed"),
    on("DELETE /boards/{board}", boards.delete),
    on("GET /boards/{board}/lists", boards.read_lists),
    on("POST /boards/{board}/lists", lists.create),
    on("GET /boards/{board}/lists/{filter}", boards.read_lists),
    on("GET /boards/{board}/cards", boards.read_cards),
    on("GET /boards/{board}/cards/{filter}", boards.read_cards),
    on("GET /boards/{board}/labels", lambda request: object_json.labels(request.board, request.arguments)),
    on("POST /boards/{board}/labels", labels.create),
    on("GET /boards/{board}/labels/{label}", boards.read_label),
    on(
        "GET /boards/{board}/actions",
        lambda request: object_json.board_actions(request.board, request.arguments),
        LOG_ONLY,
    ),
    on(
        "GET /boards/{board}/checklists", lambda request: object_json.board_checklists(request.board, request.arguments)
    ),
    on("GET /boards/{board}/members", memberships.read_members),
    on("PUT /boards/{board}/members", memberships.invite, "invited users become members immediately"),
    on("PUT /boards/{board}/members/{member}", memberships.put_member),
    on("DELETE /boards/{board}/members/{member}", memberships.remove_member),
    on("GET /boards/{board}/memberships", memberships.read_memberships),
    on("PUT /boards/{board}/memberships/{membership}", memberships.put_membership),
    on(
        "GET /boards/{board}/customFields",
        lambda request: custom_field_objects.ordered_definitions(request.board.custom_fields.values()),
    ),
    on("GET /boards/{board}/{field}", lambda request: request.field_response(BOARD, request.board), OWN_FIELDS),
    on(
        "PUT /boards/{board}/{field}",
        lambda request: boards.update(request.as_update(boards.PUTTABLE)),
        "fields other than name, desc and closed",
    ),
    on("POST /lists", lists.create, "copies of another list"),
    on("GET /lists/{list}", lambda request: object_json.card_list(request.card_list, request.arguments)),
    on("PUT /lists/{list}", lists.update),
    on("GET /lists/{list}/cards", lambda request: object_json.cards(request.card_list, request.arguments)),
    on("GET /lists/{list}/board", board_and_list_of_object.board),
    on(
        "GET /lists/{list}/actions",
        lambda request: object_json.list_actions(request.card_list, request.arguments),
        LOG_ONLY,
    ),
    on("POST /lists/{list}/archiveAllCards", lists.archive_cards),
    on("POST /lists/{list}/moveAllCards", lists.move_cards),
    on("GET /lists/{list}/{field}", lambda request: request.field_response(LIST, request.card_list)),
    on("PUT /lists/{list}/{field}", lambda request: lists.update(request.as_update(lists.PUTTABLE))),
    on("POST /labels", labels.create),
    on("GET /labels/{label}", lambda request: object_json.label(request.label, request.arguments)),
    on("PUT /labels/{label}", labels.update),
    on("DELETE /labels/{label}", labels.delete),
    on("PUT /labels/{label}/{field}", lambda request: labels.update(request.as_update(labels.PUTTABLE))),
    on("POST /cards", cards.create, "copies of another card, attachments, places on a map"),
    on("GET /cards/{card}", cards.read, "plugin data, which is always empty"),
    on("PUT /cards/{card}", cards.update, "colours of covers, reminders, places on a map"),
    on("DELETE /cards/{card}", cards.delete),
    on("GET /cards/{card}/board", board_and_list_of_object.board),
    on("GET /cards/{card}/list", board_and_list_of_object.card_list),
    on("GET /cards/{card}/members", lambda request: object_json.members(request.card.members, request.arguments)),
    on("POST /cards/{card}/members", cards.add_member),
    on("GET /cards/{card}/membersVoted", cards.voters),
    on("POST /cards/{card}/membersVoted", cards.vote),
    on("DELETE /cards/{card}/membersVoted/{member}", cards.unvote),
    on("GET /cards/{card}/attachments", attachments.read_all),
    on("POST /cards/{card}/attachments", attachments.create, "previews"),
    on("GET /cards/{card}/attachments/{attachment}", attachments.read),
    on("DELETE /cards/{card}/attachments/{attachment}", attachments.delete),
    on("GET /cards/{card}/attachments/{attachment}/download/{name}", attachments.download),
    on("GET /cards/{card}/stickers", lambda request: [one.raw() for one in request.card.stickers.values()]),
    on("POST /cards/{card}/stickers", stickers_and_stars.create, "any image name is accepted"),
    on("GET /cards/{card}/stickers/{sticker}", stickers_and_stars.read),
    on("PUT /cards/{card}/stickers/{sticker}", stickers_and_stars.update),
    on("DELETE /cards/{card}/stickers/{sticker}", stickers_and_stars.delete),
    on("GET /cards/{card}/pluginData", boards.read_nothing, NONE_THERE),
    on(
        "GET /cards/{card}/customFieldItems",
        lambda request: [
            custom_field_objects.item(value, request.card.id) for value in request.card.custom_items.values()
        ],
    ),
    on("PUT /cards/{card}/customFields", custom_fields.set_several),
    on("PUT /cards/{card}/customField/{custom_field}/item", custom_fields.set_one),
    on("PUT /card/{card}/customField/{custom_field}/item", custom_fields.set_one),
    on("POST /customFields", custom_fields.create),
    on("GET /customFields/{custom_field}", lambda request: custom_field_objects.definition(request.custom_field)),
    on("PUT /customFields/{custom_field}", custom_fields.update),
    on("DELETE /customFields/{custom_field}", custom_fields.delete),
    on(
        "GET /customFields/{custom_field}/options",
        lambda request: custom_field_objects.definition(request.custom_field).get("options", []),
    ),
    on("POST /customFields/{custom_field}/options", custom_fields.create_option),
    on("GET /customFields/{custom_field}/options/{option}", custom_fields.read_option),
    on("DELETE /customFields/{custom_field}/options/{option}", custom_fields.delete_option),
    on(
        "GET /cards/{card}/actions", lambda request: object_json.card_actions(request.card, request.arguments), LOG_ONLY
    ),
    on("POST /cards/{card}/actions/comments", actions.comment),
    on("PUT /cards/{card}/actions/{action}/comments", actions.edit_comment),
    on("DELETE /cards/{card}/actions/{action}/comments", actions.delete_comment),
    on("GET /cards/{card}/checklists", lambda request: object_json.checklists(request.card, request.arguments)),
    on("POST /cards/{card}/checklists", checklists.create),
    on("DELETE /cards/{card}/checklists/{checklist}", checklists.delete),
    on("GET /cards/{card}/checkItem/{item}", lambda request: object_json.item(request.item, request.arguments)),
    on("PUT /cards/{card}/checkItem/{item}", checklists.update_item, "members, reminders, moves to another checklist"),
    on("DELETE /cards/{card}/checkItem/{item}", checklists.delete_item),
    on(
        "PUT /cards/{card}/checklist/{checklist}/checkItem/{item}",
        checklists.update_item,
        "members, reminders, moves to another checklist",
    ),
    on("POST /cards/{card}/idLabels", cards.add_label),
    on("DELETE /cards/{card}/idLabels/{label}", cards.remove_label),
    on("POST /cards/{card}/labels", cards.create_label),
    on("POST /cards/{card}/idMembers", cards.add_member),
    on("DELETE /cards/{card}/idMembers/{member}", cards.remove_member),
    on("GET /cards/{card}/{field}", lambda request: request.field_response(CARD, request.card)),
    on("PUT /cards/{card}/{field}", cards.update_field, "cover colours and reminders are accepted but not stored"),
    on("POST /checklists", checklists.create),
    on(
        "GET /checklists/{checklist}",
        lambda request: object_json.checklist(request.checklist, request.arguments),
        "nested cards",
    ),
    on("PUT /checklists/{checklist}", checklists.update),
    on("DELETE /checklists/{checklist}", checklists.delete),
    on(
        "GET /checklists/{checklist}/checkItems",
        lambda request: object_json.items(request.checklist, request.arguments),
    ),
    on("POST /checklists/{checklist}/checkItems", checklists.create_item, "members and reminders"),
    on(
        "GET /checklists/{checklist}/checkItems/{item}",
        lambda request: object_json.item(request.item, request.arguments),
    ),
    on("DELETE /checklists/{checklist}/checkItems/{item}", checklists.delete_item),
    on("GET /checklists/{checklist}/board", board_and_list_of_object.board),
    on(
        "GET /checklists/{checklist}/cards",
        lambda request: [object_json.card(request.checklist.card, request.arguments)],
    ),
    on("GET /checklists/{checklist}/{field}", lambda request: request.field_response(CHECKLIST, request.checklist)),
    on(
        "PUT /checklists/{checklist}/{field}",
        lambda request: checklists.update(request.as_update(frozenset({"name", "pos"}))),
    ),
    on(
        "GET /actions/{action}",
        lambda request: object_json.action(request.action, request.arguments),
        "nested card, list, board and organization",
    ),
    on("PUT /actions/{action}", actions.edit_comment),
    on("DELETE /actions/{action}", actions.delete_comment),
    on("PUT /actions/{action}/text", actions.edit_comment),
    on("GET /actions/{action}/board", board_and_list_of_object.board),
    on("GET /actions/{action}/card", board_and_list_of_object.card),
    on("GET /actions/{action}/list", board_and_list_of_object.card_list),
    on("GET /actions/{action}/member", board_and_list_of_object.member),
    on("GET /actions/{action}/memberCreator", board_and_list_of_object.author),
    on("GET /actions/{action}/organization", board_and_list_of_object.organization),
    on("GET /actions/{action}/{field}", lambda request: request.field_response(ACTION, request.action)),
    on("GET /members/{member}", members.read, "nested resources other than boards"),
    on("GET /members/{member}/boards", members.read_boards, "filters other than all, open, closed and none"),
    on("GET /members/{member}/cards", members.read_cards),
    on("GET /members/{member}/actions", members.read_actions, LOG_ONLY),
    on("GET /members/{member}/organizations", members.read_organizations, "filters"),
    on("GET /members/{member}/tokens", members.read_tokens, "webhooks"),
    on("GET /members/{member}/boardStars", stickers_and_stars.read_stars),
    on("POST /members/{member}/boardStars", stickers_and_stars.create_star),
    on("GET /members/{member}/boardStars/{star}", stickers_and_stars.read_star),
    on("PUT /members/{member}/boardStars/{star}", stickers_and_stars.update_star),
    on("DELETE /members/{member}/boardStars/{star}", stickers_and_stars.delete_star),
    on("GET /members/{member}/{field}", lambda request: request.field_response(MEMBER, request.member), OWN_FIELDS),
    on("POST /organizations", organizations.create),
    on("GET /organizations/{organization}", organizations.read, "nested resources other than boards and members"),
    on("PUT /organizations/{organization}", organizations.update, "preferences"),
    on("DELETE /organizations/{organization}", organizations.delete),
    on("GET /organizations/{organization}/actions", organizations.read_actions, LOG_ONLY),
    on("GET /organizations/{organization}/boards", organizations.read_boards, "filters"),
    on("GET /organizations/{organization}/members", memberships.read_members),
    on("PUT /organizations/{organization}/members", memberships.invite, "invited users become members immediately"),
    on("PUT /organizations/{organization}/members/{member}", memberships.put_member),
    on("DELETE /organizations/{organization}/members/{member}", memberships.remove_member),
    on("GET /organizations/{organization}/memberships", memberships.read_memberships),
    on("GET /organizations/{organization}/memberships/{membership}", memberships.read_membership),
    on(
        "GET /organizations/{organization}/{field}",
        lambda request: request.field_response(ORGANIZATION, request.organization),
        OWN_FIELDS,
    ),
    on("GET /tokens/{token}", tokens.read, "webhooks"),
    on("GET /tokens/{token}/webhooks", webhooks.read_all),
    on("POST /tokens/{token}/webhooks", webhooks.create),
    on("GET /tokens/{token}/webhooks/{webhook}", webhooks.read),
    on("PUT /tokens/{token}/webhooks/{webhook}", webhooks.update),
    on("DELETE /tokens/{token}/webhooks/{webhook}", webhooks.delete),
    on("POST /webhooks", webhooks.create),
    on("GET /webhooks/{webhook}", webhooks.read),
    on("PUT /webhooks/{webhook}", webhooks.update),
    on("DELETE /webhooks/{webhook}", webhooks.delete),
    on("GET /webhooks/{webhook}/{field}", webhooks.read_field),
    on("GET /tokens/{token}/member", tokens.read_member),
    on("DELETE /tokens/{token}", tokens.delete),
    on("GET /search", search.search, "some operators; sort"),
    on("GET /search/members", search.search_members, "members without a common board"),
    on("GET /batch", batch.batch),
    page("* /1/authorize", TrelloOAuth.authorize_key),
    page("* /1/OAuthGetRequestToken", TrelloOAuth.request_token, "signatures are not checked"),
    page("* /1/OAuthAuthorizeToken", TrelloOAuth.authorize_token),
    page("* /1/OAuthGetAccessToken", TrelloOAuth.access_token, "signatures are not checked"),
    page("* /authorize", TrelloOAuth.authorize),
    page("POST /oauth/token", TrelloOAuth.token),
    page("POST /authorize/oauth/token", TrelloOAuth.token),
)
"""All routes. If several match a path, the first one is used."""


def part_of_batch(url: str) -> tuple[ApiRoute, Mapping[str, str]]:
    """Return the route for *url* in a batch, and the values in its path."""
    path = f"/1{url.partition('?')[0]}"
    for route in ROUTES:
        if isinstance(route, ApiRoute) and route.method == "GET" and route.handler is not batch.batch:
            match = route.pattern.fullmatch(path)
            if match:
                return route, {name: unquote(value) for name, value in match.groupdict().items()}
    raise web.HTTPNotFound
