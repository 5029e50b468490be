"""The vendor's routes that are played, what serves each, and what of it is not played."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import unquote

from aiohttp import web

from workspace_sandbox.boards import (
    actions,
    attachments,
    batch,
    boards,
    cards,
    checklists,
    custom_fields,
    labels,
    lists,
    members,
    memberships,
    organizations,
    relations,
    search,
    stickers,
    tokens,
    webhooks,
)
from workspace_sandbox.boards.access import Visitor
from workspace_sandbox.boards.arguments import IDENTIFIER, SHORT_LINK
from workspace_sandbox.boards.ask import KINDS, Ask
from workspace_sandbox.boards.consent import Consent
from workspace_sandbox.boards.wire import INVALID_ID, MISSING_SCOPES, Refusal
from workspace_sandbox.kit.routes import Page, Route

LOG_ONLY = "what nothing here does is never in the log, and it has the one format"
NONE_THERE = "always empty"
OWN_FIELDS = "fields that this stand-in does not show"


@dataclass(frozen=True, kw_only=True)
class ApiRoute(Route[Callable[[Ask], Any]]):
    """A route below ``/1`` for applications, with its checks before anything is looked for."""

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """What a whole path must look like; a slash at its end makes no difference."""
        return re.compile(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", self.path) + "/?")

    def check(self, path: Mapping[str, str]) -> None:
        """Refuse malformed ids in *path*."""
        for name, kind in KINDS.items():
            identifier = path.get(name, "0" * 24)
            linked = kind.linked and SHORT_LINK.fullmatch(identifier)
            if not linked and not IDENTIFIER.fullmatch(identifier):
                raise Refusal(400, INVALID_ID)

    def admit(self, visitor: Visitor) -> None:
        """Refuse a visitor who may not use this method."""
        needed = "read" if self.method == "GET" else "write"
        anonymous_read = visitor.token is None and needed == "read"
        if not anonymous_read and (visitor.token is None or needed not in visitor.token.scopes):
            raise Refusal(401, MISSING_SCOPES)


def _get(path: str, handler: Callable[[Ask], Any], lacks: str = "") -> ApiRoute:
    return ApiRoute(method="GET", path=f"/1{path}", handler=handler, lacks=lacks)


def _put(path: str, handler: Callable[[Ask], Any], lacks: str = "") -> ApiRoute:
    return ApiRoute(method="PUT", path=f"/1{path}", handler=handler, lacks=lacks)


def _post(path: str, handler: Callable[[Ask], Any], lacks: str = "") -> ApiRoute:
    return ApiRoute(method="POST", path=f"/1{path}", handler=handler, lacks=lacks)


def _delete(path: str, handler: Callable[[Ask], Any]) -> ApiRoute:
    return ApiRoute(method="DELETE", path=f"/1{path}", handler=handler)


ROUTES: tuple[ApiRoute | Page, ...] = (
    _post("/boards", boards.create, "copies of another board, preferences, Power-Ups"),
    _get("/boards/{board}", boards.read, "nested memberships, organization, tags and plugin data"),
    _put("/boards/{board}", boards.update, "fields other than name, desc and closed"),
    _delete("/boards/{board}", boards.delete),
    _get("/boards/{board}/lists", boards.read_lists),
    _post("/boards/{board}/lists", lists.create),
    _get("/boards/{board}/lists/{filter}", boards.read_lists),
    _get("/boards/{board}/cards", boards.read_cards),
    _get("/boards/{board}/cards/{filter}", boards.read_cards),
    _get("/boards/{board}/labels", boards.read_labels),
    _post("/boards/{board}/labels", labels.create),
    _get("/boards/{board}/labels/{label}", boards.read_label),
    _get("/boards/{board}/actions", boards.read_actions, LOG_ONLY),
    _get("/boards/{board}/checklists", boards.read_checklists),
    _get("/boards/{board}/members", memberships.read_members),
    _put("/boards/{board}/members", memberships.invite, "whom it invites is a member at once"),
    _put("/boards/{board}/members/{member}", memberships.put_member),
    _delete("/boards/{board}/members/{member}", memberships.remove_member),
    _get("/boards/{board}/memberships", memberships.read_memberships),
    _put("/boards/{board}/memberships/{membership}", memberships.put_membership),
    _get("/boards/{board}/customFields", custom_fields.read_of_board),
    _get("/boards/{board}/{field}", boards.read_field, OWN_FIELDS),
    _put("/boards/{board}/{field}", boards.update_field, "fields other than name, desc and closed"),
    _post("/lists", lists.create, "copies of another list"),
    _get("/lists/{list}", lists.read),
    _put("/lists/{list}", lists.update),
    _get("/lists/{list}/cards", lists.read_cards),
    _get("/lists/{list}/board", relations.board),
    _get("/lists/{list}/actions", lists.read_actions, LOG_ONLY),
    _post("/lists/{list}/archiveAllCards", lists.archive_cards),
    _post("/lists/{list}/moveAllCards", lists.move_cards),
    _get("/lists/{list}/{field}", lists.read_field),
    _put("/lists/{list}/{field}", lists.update_field),
    _post("/labels", labels.create),
    _get("/labels/{label}", labels.read),
    _put("/labels/{label}", labels.update),
    _delete("/labels/{label}", labels.delete),
    _put("/labels/{label}/{field}", labels.update_field),
    _post("/cards", cards.create, "copies of another card, attachments, places on a map"),
    _get("/cards/{card}", cards.read, "plugin data, which is always empty"),
    _put("/cards/{card}", cards.update, "colours of covers, reminders, places on a map"),
    _delete("/cards/{card}", cards.delete),
    _get("/cards/{card}/board", relations.board),
    _get("/cards/{card}/list", relations.card_list),
    _get("/cards/{card}/members", cards.read_members),
    _post("/cards/{card}/members", cards.add_member),
    _get("/cards/{card}/membersVoted", relations.voters),
    _post("/cards/{card}/membersVoted", relations.vote),
    _delete("/cards/{card}/membersVoted/{member}", relations.unvote),
    _get("/cards/{card}/attachments", attachments.read_all),
    _post("/cards/{card}/attachments", attachments.create, "previews"),
    _get("/cards/{card}/attachments/{attachment}", attachments.read),
    _delete("/cards/{card}/attachments/{attachment}", attachments.delete),
    _get("/cards/{card}/attachments/{attachment}/download/{name}", attachments.download),
    _get("/cards/{card}/stickers", stickers.read_all),
    _post("/cards/{card}/stickers", stickers.create, "pictures: any name is taken"),
    _get("/cards/{card}/stickers/{sticker}", stickers.read),
    _put("/cards/{card}/stickers/{sticker}", stickers.update),
    _delete("/cards/{card}/stickers/{sticker}", stickers.delete),
    _get("/cards/{card}/pluginData", boards.read_nothing, NONE_THERE),
    _get("/cards/{card}/customFieldItems", custom_fields.read_of_card),
    _put("/cards/{card}/customFields", custom_fields.set_several),
    _put("/cards/{card}/customField/{custom_field}/item", custom_fields.set_one),
    _put("/card/{card}/customField/{custom_field}/item", custom_fields.set_one),
    _post("/customFields", custom_fields.create),
    _get("/customFields/{custom_field}", custom_fields.read),
    _put("/customFields/{custom_field}", custom_fields.update),
    _delete("/customFields/{custom_field}", custom_fields.delete),
    _get("/customFields/{custom_field}/options", custom_fields.read_options),
    _post("/customFields/{custom_field}/options", custom_fields.create_option),
    _get("/customFields/{custom_field}/options/{option}", custom_fields.read_option),
    _delete("/customFields/{custom_field}/options/{option}", custom_fields.delete_option),
    _get("/cards/{card}/actions", actions.read_of_card, LOG_ONLY),
    _post("/cards/{card}/actions/comments", actions.comment),
    _put("/cards/{card}/actions/{action}/comments", actions.edit_comment),
    _delete("/cards/{card}/actions/{action}/comments", actions.delete_comment),
    _get("/cards/{card}/checklists", checklists.read_of_card),
    _post("/cards/{card}/checklists", checklists.create),
    _delete("/cards/{card}/checklists/{checklist}", checklists.delete),
    _get("/cards/{card}/checkItem/{item}", checklists.read_item),
    _put("/cards/{card}/checkItem/{item}", checklists.update_item, "members, reminders, moves to another checklist"),
    _delete("/cards/{card}/checkItem/{item}", checklists.delete_item),
    _put(
        "/cards/{card}/checklist/{checklist}/checkItem/{item}",
        checklists.update_item,
        "members, reminders, moves to another checklist",
    ),
    _post("/cards/{card}/idLabels", cards.add_label),
    _delete("/cards/{card}/idLabels/{label}", cards.remove_label),
    _post("/cards/{card}/labels", cards.create_label),
    _post("/cards/{card}/idMembers", cards.add_member),
    _delete("/cards/{card}/idMembers/{member}", cards.remove_member),
    _get("/cards/{card}/{field}", cards.read_field),
    _put("/cards/{card}/{field}", cards.update_field, "colours of covers and reminders, which are taken and not kept"),
    _post("/checklists", checklists.create),
    _get("/checklists/{checklist}", checklists.read, "nested cards"),
    _put("/checklists/{checklist}", checklists.update),
    _delete("/checklists/{checklist}", checklists.delete),
    _get("/checklists/{checklist}/checkItems", checklists.read_items),
    _post("/checklists/{checklist}/checkItems", checklists.create_item, "members and reminders"),
    _get("/checklists/{checklist}/checkItems/{item}", checklists.read_item),
    _delete("/checklists/{checklist}/checkItems/{item}", checklists.delete_item),
    _get("/checklists/{checklist}/board", relations.board),
    _get("/checklists/{checklist}/cards", relations.cards),
    _get("/checklists/{checklist}/{field}", relations.checklist_field),
    _put("/checklists/{checklist}/{field}", checklists.update_field),
    _get("/actions/{action}", actions.read, "nested card, list, board and organization"),
    _put("/actions/{action}", actions.edit_comment),
    _delete("/actions/{action}", actions.delete_comment),
    _put("/actions/{action}/text", actions.edit_comment),
    _get("/actions/{action}/board", relations.board),
    _get("/actions/{action}/card", relations.card),
    _get("/actions/{action}/list", relations.card_list),
    _get("/actions/{action}/member", relations.member),
    _get("/actions/{action}/memberCreator", relations.author),
    _get("/actions/{action}/organization", relations.organization),
    _get("/actions/{action}/{field}", relations.action_field),
    _get("/members/{member}", members.read, "nested resources other than boards"),
    _get("/members/{member}/boards", members.read_boards, "filters other than all, open, closed and none"),
    _get("/members/{member}/cards", members.read_cards),
    _get("/members/{member}/actions", members.read_actions, LOG_ONLY),
    _get("/members/{member}/organizations", members.read_organizations, "filters"),
    _get("/members/{member}/tokens", members.read_tokens, "webhooks"),
    _get("/members/{member}/boardStars", stickers.read_stars),
    _post("/members/{member}/boardStars", stickers.create_star),
    _get("/members/{member}/boardStars/{star}", stickers.read_star),
    _put("/members/{member}/boardStars/{star}", stickers.update_star),
    _delete("/members/{member}/boardStars/{star}", stickers.delete_star),
    _get("/members/{member}/{field}", members.read_field, OWN_FIELDS),
    _post("/organizations", organizations.create),
    _get("/organizations/{organization}", organizations.read, "nested resources other than boards and members"),
    _put("/organizations/{organization}", organizations.update, "preferences"),
    _delete("/organizations/{organization}", organizations.delete),
    _get("/organizations/{organization}/actions", organizations.read_actions, LOG_ONLY),
    _get("/organizations/{organization}/boards", organizations.read_boards, "filters"),
    _get("/organizations/{organization}/members", memberships.read_members),
    _put("/organizations/{organization}/members", memberships.invite, "whom it invites is a member at once"),
    _put("/organizations/{organization}/members/{member}", memberships.put_member),
    _delete("/organizations/{organization}/members/{member}", memberships.remove_member),
    _get("/organizations/{organization}/memberships", memberships.read_memberships),
    _get("/organizations/{organization}/memberships/{membership}", memberships.read_membership),
    _get("/organizations/{organization}/{field}", organizations.read_field, OWN_FIELDS),
    _get("/tokens/{token}", tokens.read, "webhooks"),
    _get("/tokens/{token}/webhooks", webhooks.read_all),
    _post("/tokens/{token}/webhooks", webhooks.create),
    _get("/tokens/{token}/webhooks/{webhook}", webhooks.read),
    _put("/tokens/{token}/webhooks/{webhook}", webhooks.update),
    _delete("/tokens/{token}/webhooks/{webhook}", webhooks.delete),
    _post("/webhooks", webhooks.create),
    _get("/webhooks/{webhook}", webhooks.read),
    _put("/webhooks/{webhook}", webhooks.update),
    _delete("/webhooks/{webhook}", webhooks.delete),
    _get("/webhooks/{webhook}/{field}", webhooks.read_field),
    _get("/tokens/{token}/member", tokens.read_member),
    _delete("/tokens/{token}", tokens.delete),
    _get("/search", search.search, "some operators; sort"),
    _get("/search/members", search.search_members, "who shares nothing with the visitor"),
    _get("/batch", batch.batch),
    Page(method="*", path="/1/authorize", handler=Consent.authorize_key),
    Page(method="*", path="/1/OAuthGetRequestToken", handler=Consent.request_token, lacks="signatures are not checked"),
    Page(method="*", path="/1/OAuthAuthorizeToken", handler=Consent.authorize_token),
    Page(method="*", path="/1/OAuthGetAccessToken", handler=Consent.access_token, lacks="signatures are not checked"),
    Page(method="*", path="/authorize", handler=Consent.authorize),
    Page(method="POST", path="/oauth/token", handler=Consent.token),
    Page(method="POST", path="/authorize/oauth/token", handler=Consent.token),
)
"""Every route; of several that fit a path the first one serves."""


def part_of_batch(url: str) -> tuple[ApiRoute, Mapping[str, str]]:
    """The route of a part of a batch, and the names in its path."""
    path = f"/1{url.partition('?')[0]}"
    for route in ROUTES:
        if isinstance(route, ApiRoute) and route.method == "GET" and route.handler is not batch.batch:
            found = route.pattern.fullmatch(path)
            if found:
                return route, {name: unquote(value) for name, value in found.groupdict().items()}
    raise web.HTTPNotFound
