"""The vendor's API: one method per request, version 1.

Sources of methods are below developer.atlassian.com/cloud/trello/rest/, read 2026-11.
"""

from __future__ import annotations  # annotations of nested functions are not evaluated in each call

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from typing import Any, TypeVar
from urllib.parse import quote

from connector_gateway.connectors.boards import vendor_models
from connector_gateway.connectors.boards.vendor_errors import ERRORS, MissingTarget, to_gateway_error, unwrap
from connector_gateway.kit import errors
from connector_gateway.kit.pagination import iter_items, with_smaller_pages
from connector_gateway.kit.passthrough import CustomRequest, Passthrough
from connector_gateway.kit.upstream.budget import Budget, Charge, Requests
from connector_gateway.kit.upstream.client import ThrottleDelay, UpstreamClient, parse_retry_after
from connector_gateway.kit.upstream.pool import UpstreamResponse

BASE_URL = "https://api.trello.com"
CONSENT_URL = "https://auth.atlassian.com"
SITE_URL = "https://trello.com"

TOKEN_BUDGET = Budget(100, per_seconds=10)
"""Requests per token. Fact boards.token-and-key-limits."""

KEY_BUDGET = Budget(300, per_seconds=10)
"""Requests per API key, over all its tokens. Fact boards.token-and-key-limits."""

MEMBER_BUDGET = Budget(100, per_seconds=900)
"""Requests to ``/1/members`` per token, in addition to the others. Fact boards.token-and-key-limits."""

SETTLE_SECONDS = 60.0
"""Seconds during which a write may still take effect: twice those of boards.reads-end-after-30-seconds."""

CHARGES = (Charge("token"), Charge("key", scope_key="application"))
REQUEST: Requests = (CHARGES,)
"""The budgets of every request. An installation has one API key, so its budget needs no further scope."""

MEMBER_CHARGES = (*CHARGES, Charge("members"))


def charge_request(request: CustomRequest) -> Sequence[Charge]:
    """Return the charges of a request that a caller has written."""
    return MEMBER_CHARGES if request.path.startswith("/1/members") else CHARGES


PASSTHROUGH = Passthrough(charges=charge_request)

MAX_LABELS = 1000
"""The limit of labels to request. The default is 50, and a board has no more than this."""

MAX_CARDS = 1000
"""The maximum number of cards in a response with a limit."""

GRANT_PATH = "/1/tokens/{token}"
"""The path template that is logged, because the vendor's path contains the token."""

MAX_PAGES = 100
"""Upstream pages after which a listing is considered endless."""

MAX_ACTIONS = 1000
"""The maximum number of actions in a response."""

CARD_FIELDS = "name,desc,due,idBoard,idList,labels,shortUrl,dateLastActivity"


WINDOWS: Mapping[str, tuple[str, float]] = {
    "API_KEY_LIMIT_EXCEEDED": ("key", KEY_BUDGET.per_seconds),
    "API_TOKEN_LIMIT_EXCEEDED": ("token", TOKEN_BUDGET.per_seconds),
    "API_TOKEN_DB_LIMIT_EXCEEDED": ("token", TOKEN_BUDGET.per_seconds),
}
"""The exhausted budget by error code, and its window in seconds. The vendor does not name a retry time."""

TOO_MUCH = "API_TOO_MANY_CARDS_REQUESTED"
ME = {"fields": "fullName,username"}
TOKEN_FIELDS = {"fields": "dateExpires,permissions"}
MEMBER_ROUTES = "/1/member"


W = TypeVar("W")


def authorise(credentials: Mapping[str, str]) -> Mapping[str, str]:
    """Return the headers of every request. Credentials in URLs would end up in logs."""
    if "key" not in credentials:
        return {"Authorization": f"Bearer {credentials['token']}", "Accept": "application/json"}
    key, token = (quote(credentials[name], safe="") for name in ("key", "token"))
    return {"Authorization": f'OAuth oauth_consumer_key="{key}", oauth_token="{token}"', "Accept": "application/json"}


def parse_throttle(response: UpstreamResponse) -> ThrottleDelay | None:
    """Return the exhausted budget and the delay. A 429 for too large a request is not throttling."""
    if response.status != 429:
        return None
    error = ERRORS.reason(response)
    if error.code == TOO_MUCH:
        return None
    # The length of the window is the best estimate: boards.no-retry-after.
    budget, seconds = WINDOWS.get(error.code, WINDOWS["API_TOKEN_LIMIT_EXCEEDED"])
    if MEMBER_ROUTES in str(error.message):
        budget, seconds = "members", MEMBER_BUDGET.per_seconds
    return ThrottleDelay(parse_retry_after(response, seconds), {budget})


def is_token_expired(response: UpstreamResponse) -> bool:
    """Return True if a response means an invalid token. Most 401 are for boards that the account cannot see."""
    return response.status == 401 and to_gateway_error(response, None) is errors.ConnectionRevoked


class BoardsClient:
    """The vendor's requests used by the operations."""

    def __init__(self, upstream: UpstreamClient) -> None:
        self._upstream = upstream

    async def get_list(self, list_id: str) -> vendor_models.CardList:
        """Return a list. Source: api-group-lists."""
        query = {"fields": "name,closed,idBoard"}
        return await self._read(f"/1/lists/{list_id}", _list(list_id), vendor_models.CardList, **query)

    async def get_list_actions(self, list_id: str, kind: str, since: float) -> list[vendor_models.Action]:
        """Return the actions of a list. Source: api-group-lists."""
        return await self._actions(f"/1/lists/{list_id}/actions", _list(list_id), kind, since)

    async def get_board(self, board_id: str, *, labels: bool) -> vendor_models.Board:
        """Return a board with its open lists, and with its labels if *labels* is true. Source: api-group-boards."""
        query = {"fields": "name", "lists": "open", "list_fields": "name,pos"}
        nested = {"labels": "all", "label_fields": "name", "labels_limit": str(MAX_LABELS)} if labels else {}
        return await self._read(f"/1/boards/{board_id}", _board(board_id), vendor_models.Board, **query, **nested)

    async def get_board_cards(self, board_id: str) -> list[vendor_models.CardLocation]:
        """Return the open cards of a board, each once, over all upstream pages. Source: api-group-boards."""
        path = f"/1/boards/{board_id}/cards"
        query = {"fields": "idList", "sort": "-id"}

        async def request_page(cursor: str | None, size: int) -> list[vendor_models.CardLocation]:
            sized = {"limit": str(size), **query, **_page_query(cursor)}
            return await self._read(path, _board(board_id), list[vendor_models.CardLocation], **sized)

        async def fetch(cursor: str | None) -> tuple[list[vendor_models.CardLocation], str | None]:
            # Read until an empty page, because a short one is not documented to be the last.
            page = await with_smaller_pages(partial(request_page, cursor), MAX_CARDS)
            return page, min([card.id for card in page], default=None)

        # A card that is created or moved between two pages would be listed twice.
        return list({card.id: card async for card in iter_items(fetch, max_pages=MAX_PAGES)}.values())

    async def get_board_labels(self, board_id: str) -> list[vendor_models.Label]:
        """Return the labels of a board. Source: api-group-boards."""
        path = f"/1/boards/{board_id}/labels"
        return await self._read(path, _board(board_id), list[vendor_models.Label], fields="name", limit=str(MAX_LABELS))

    async def create_card(self, body: Mapping[str, Any]) -> vendor_models.NewCard:
        """Create a card. Source: api-group-cards."""
        return await self._write("POST", "/1/cards", _list(body["idList"]), vendor_models.NewCard, body)

    async def get_card(self, card_id: str) -> vendor_models.Card:
        """Return a card with its list. Source: api-group-cards."""
        more = {"list": "true", "list_fields": "name"}
        return await self._read(f"/1/cards/{card_id}", _card(card_id), vendor_models.Card, fields=CARD_FIELDS, **more)

    async def move_card(self, card_id: str, body: Mapping[str, Any]) -> tuple[str, datetime]:
        """Move a card. Returns its identifier and the time of the move by the vendor's clock.

        A move within one list is not activity, so the time is the response's date, or without one the last activity.
        Source: api-group-cards.
        """
        response = await self._upstream.send("PUT", f"/1/cards/{card_id}", *CHARGES, writes=True, json=body)
        moved = await self._accept(response, _card(card_id), vendor_models.MovedCard)
        return moved.id, response.date or moved.date_last_activity

    async def get_card_actions(self, card_id: str, kind: str, since: float) -> list[vendor_models.Action]:
        """Return the actions of a card. Source: api-group-cards."""
        return await self._actions(f"/1/cards/{card_id}/actions", _card(card_id), kind, since)

    async def add_comment(self, card_id: str, text: str) -> vendor_models.Action:
        """Add a comment. Source: api-group-cards."""
        path = f"/1/cards/{card_id}/actions/comments"
        # In the body, because the vendor rejects URLs beyond about 8 kB with 414, which a long comment reaches.
        return await self._write("POST", path, _card(card_id), vendor_models.Action, {"text": text})

    async def get_card_checklists(self, card_id: str) -> list[vendor_models.Checklist]:
        """Return the checklists of a card, with their items. Source: api-group-cards."""
        more = {"checkItems": "all", "checkItem_fields": "name,pos"}
        path = f"/1/cards/{card_id}/checklists"
        return await self._read(path, _card(card_id), list[vendor_models.Checklist], fields="name", **more)

    async def create_checklist(self, card_id: str, name: str) -> vendor_models.Checklist:
        """Create a checklist at the end of its card. Source: api-group-cards."""
        body = {"name": name, "pos": "bottom"}
        return await self._write(
            "POST", f"/1/cards/{card_id}/checklists", _card(card_id), vendor_models.Checklist, body
        )

    async def create_check_item(self, card_id: str, checklist_id: str, name: str, pos: int) -> vendor_models.CheckItem:
        """Create an item of a card's checklist. Source: api-group-checklists."""
        body = {"name": name, "pos": pos}
        path = f"/1/checklists/{checklist_id}/checkItems"
        return await self._write("POST", path, _card(card_id), vendor_models.CheckItem, body)

    async def get_me(self) -> vendor_models.Me:
        """Return the account itself. Source: api-group-members."""
        return unwrap(await self._request_me(), vendor_models.Me)

    async def get_token(self) -> vendor_models.Token | None:
        """Return the token of an API key, or None for other tokens, which the vendor does not describe.

        Source: api-group-tokens.
        """
        if not await self._has_key():
            return None
        response = await self._upstream.send("GET", GRANT_PATH, *CHARGES, writes=False, query=TOKEN_FIELDS)
        return response.decode(vendor_models.Token) if response.is_success else None

    async def delete_token(self) -> bool:
        """Revoke the token of an API key. Returns whether the vendor did. Source: api-group-tokens."""
        if not await self._has_key():
            return False
        return (await self._upstream.send("DELETE", GRANT_PATH, *CHARGES, writes=True)).is_success

    async def _has_key(self) -> bool:
        return "key" in await self._upstream.credential_source.credentials()

    async def _actions(self, path: str, target: MissingTarget, kind: str, since: float) -> list[vendor_models.Action]:
        """Return actions of one kind since a time of the vendor's clock, newest first."""
        earliest = datetime.fromtimestamp(since, UTC).isoformat(timespec="milliseconds")
        query = {"filter": kind, "since": earliest, "memberCreator": "false"}

        async def request_page(cursor: str | None, size: int) -> tuple[list[vendor_models.Action], str | None]:
            sized = {"limit": str(size), **query, **_page_query(cursor)}
            page = await self._read(path, target, list[vendor_models.Action], **sized)
            return page, page[-1].id if len(page) >= size else None

        async def fetch(cursor: str | None) -> tuple[list[vendor_models.Action], str | None]:
            return await with_smaller_pages(partial(request_page, cursor), MAX_ACTIONS)

        return [action async for action in iter_items(fetch, max_pages=MAX_PAGES)]

    async def _read(self, path: str, target: MissingTarget, shape: type[W], **query: str) -> W:
        response = await self._upstream.send("GET", path, *CHARGES, writes=False, query=query)
        return await self._accept(response, target, shape)

    async def _write(self, method: str, path: str, target: MissingTarget, shape: type[W], body: Mapping[str, Any]) -> W:
        response = await self._upstream.send(method, path, *CHARGES, writes=True, json=body)
        return await self._accept(response, target, shape)

    async def _accept(self, response: UpstreamResponse, target: MissingTarget, shape: type[W]) -> W:
        """Return the body of a successful response, or raise its error.

        Before the error of an invalid token is raised, another request checks that the token is invalid.
        """
        # Users report that the texts of a 401 are unreliable. One cheap request decides before the connection is
        # revoked.
        unclear = response.status == 401 and to_gateway_error(response, target) is errors.BoardNotAuthorised
        if unclear and not await self._is_known():
            raise ERRORS.create_error(response, errors.ConnectionRevoked)
        return unwrap(response, shape, target)

    async def _is_known(self) -> bool:
        """Return True if the token is still valid, also if this check is throttled."""
        with suppress(errors.UpstreamRateLimited):
            return (await self._request_me()).status != 401
        return True

    async def _request_me(self) -> UpstreamResponse:
        return await self._upstream.send("GET", "/1/members/me", *MEMBER_CHARGES, writes=False, query=ME)


def _list(list_id: str) -> MissingTarget:
    return MissingTarget(errors.ListNotFound, "list_id", list_id)


def _board(board_id: str) -> MissingTarget:
    return MissingTarget(errors.BoardNotAuthorised, "board_id", board_id)


def _card(card_id: str) -> MissingTarget:
    return MissingTarget(errors.CardNotFound, "card_id", card_id)


def _page_query(cursor: str | None) -> dict[str, str]:
    """Return the query for the page after *cursor*."""
    return {"before": cursor} if cursor else {}
