"""Trello on HTTP: its routes, and how every request to them is let in, throttled and answered."""

import json
import logging
from collections.abc import Callable, Mapping
from email.utils import formatdate
from typing import Any, ClassVar, TypeVar
from urllib.parse import parse_qsl, unquote

from aiohttp import web
from aiohttp.typedefs import Handler

from workspace_sandbox.boards import accounts, boards, cards, checklists
from workspace_sandbox.boards.access import Credentials, credentials_of
from workspace_sandbox.boards.arguments import Arguments, arguments_of
from workspace_sandbox.boards.asking import Ask, Route, Support
from workspace_sandbox.boards.consent import Consent
from workspace_sandbox.boards.refusals import NoSuchRoute, Refusal
from workspace_sandbox.boards.seed import plant
from workspace_sandbox.boards.state import Author
from workspace_sandbox.boards.throttle import MEMBER_ROUTES, Spender, Throttle
from workspace_sandbox.kit.server import MAX_REQUEST_BYTES
from workspace_sandbox.kit.stage import Stage

FULLY: Support = "fully"
PARTLY: Support = "partly"

LONGEST_LINE = 8192
"""Bytes of a request line; a longer one is answered with 414."""

TOO_LONG = "<html><head><title>414 Request-URI Too Large</title></head><body></body></html>"

ROUTES: tuple[Route, ...] = (
    Route("POST", "/1/boards", PARTLY, boards.create_board),
    Route("GET", "/1/boards/{board}", PARTLY, boards.read_board),
    Route("PUT", "/1/boards/{board}", PARTLY, boards.update_board),
    Route("DELETE", "/1/boards/{board}", FULLY, boards.delete_board),
    Route("GET", "/1/boards/{board}/lists", FULLY, boards.read_board_lists),
    Route("POST", "/1/boards/{board}/lists", FULLY, boards.create_list),
    Route("GET", "/1/boards/{board}/lists/{filter}", FULLY, boards.read_board_lists),
    Route("GET", "/1/boards/{board}/cards", FULLY, boards.read_board_cards),
    Route("GET", "/1/boards/{board}/cards/{filter}", FULLY, boards.read_board_cards),
    Route("GET", "/1/boards/{board}/labels", FULLY, boards.read_board_labels),
    Route("POST", "/1/boards/{board}/labels", FULLY, boards.create_label),
    Route("GET", "/1/boards/{board}/labels/{label}", FULLY, boards.read_board_label),
    Route("GET", "/1/boards/{board}/actions", PARTLY, boards.read_board_actions),
    Route("GET", "/1/boards/{board}/checklists", FULLY, boards.read_board_checklists),
    Route("GET", "/1/boards/{board}/members", PARTLY, boards.read_board_members),
    Route("GET", "/1/boards/{board}/customFields", PARTLY, boards.read_nothing),
    Route("GET", "/1/boards/{board}/{field}", PARTLY, boards.read_board_field),
    Route("PUT", "/1/boards/{board}/{field}", PARTLY, boards.update_board_field),
    Route("POST", "/1/lists", PARTLY, boards.create_list),
    Route("GET", "/1/lists/{list}", FULLY, boards.read_list),
    Route("PUT", "/1/lists/{list}", FULLY, boards.update_list),
    Route("GET", "/1/lists/{list}/cards", FULLY, boards.read_list_cards),
    Route("GET", "/1/lists/{list}/board", PARTLY, boards.read_list_board),
    Route("GET", "/1/lists/{list}/actions", PARTLY, boards.read_list_actions),
    Route("POST", "/1/lists/{list}/archiveAllCards", FULLY, boards.archive_cards),
    Route("POST", "/1/lists/{list}/moveAllCards", FULLY, boards.move_cards),
    Route("GET", "/1/lists/{list}/{field}", FULLY, boards.read_list_field),
    Route("PUT", "/1/lists/{list}/{field}", FULLY, boards.update_list_field),
    Route("POST", "/1/labels", FULLY, boards.create_label),
    Route("GET", "/1/labels/{label}", FULLY, boards.read_label),
    Route("PUT", "/1/labels/{label}", FULLY, boards.update_label),
    Route("DELETE", "/1/labels/{label}", FULLY, boards.delete_label),
    Route("PUT", "/1/labels/{label}/{field}", FULLY, boards.update_label_field),
    Route("POST", "/1/cards", PARTLY, cards.create),
    Route("GET", "/1/cards/{card}", PARTLY, cards.read),
    Route("PUT", "/1/cards/{card}", PARTLY, cards.update),
    Route("DELETE", "/1/cards/{card}", FULLY, cards.delete),
    Route("GET", "/1/cards/{card}/list", FULLY, cards.read_list),
    Route("GET", "/1/cards/{card}/board", PARTLY, cards.read_board),
    Route("GET", "/1/cards/{card}/members", FULLY, cards.read_members),
    Route("GET", "/1/cards/{card}/checkItemStates", FULLY, cards.read_check_item_states),
    Route("GET", "/1/cards/{card}/attachments", PARTLY, boards.read_nothing),
    Route("GET", "/1/cards/{card}/pluginData", PARTLY, boards.read_nothing),
    Route("GET", "/1/cards/{card}/customFieldItems", PARTLY, boards.read_nothing),
    Route("GET", "/1/cards/{card}/actions", PARTLY, cards.read_actions),
    Route("POST", "/1/cards/{card}/actions/comments", FULLY, cards.comment),
    Route("PUT", "/1/cards/{card}/actions/{action}/comments", FULLY, cards.edit_comment),
    Route("DELETE", "/1/cards/{card}/actions/{action}/comments", FULLY, cards.delete_comment),
    Route("GET", "/1/cards/{card}/checklists", FULLY, checklists.read_of_card),
    Route("POST", "/1/cards/{card}/checklists", FULLY, checklists.create),
    Route("DELETE", "/1/cards/{card}/checklists/{checklist}", FULLY, checklists.delete),
    Route("GET", "/1/cards/{card}/checkItem/{item}", FULLY, checklists.read_item),
    Route("PUT", "/1/cards/{card}/checkItem/{item}", PARTLY, checklists.update_item),
    Route("DELETE", "/1/cards/{card}/checkItem/{item}", FULLY, checklists.delete_item),
    Route("PUT", "/1/cards/{card}/checklist/{checklist}/checkItem/{item}", PARTLY, checklists.update_item),
    Route("POST", "/1/cards/{card}/idLabels", FULLY, cards.add_label),
    Route("DELETE", "/1/cards/{card}/idLabels/{label}", FULLY, cards.remove_label),
    Route("POST", "/1/cards/{card}/labels", FULLY, cards.create_label),
    Route("POST", "/1/cards/{card}/idMembers", FULLY, cards.add_member),
    Route("DELETE", "/1/cards/{card}/idMembers/{member}", FULLY, cards.remove_member),
    Route("GET", "/1/cards/{card}/{field}", FULLY, cards.read_field),
    Route("PUT", "/1/cards/{card}/{field}", PARTLY, cards.update_field),
    Route("POST", "/1/checklists", FULLY, checklists.create),
    Route("GET", "/1/checklists/{checklist}", PARTLY, checklists.read),
    Route("PUT", "/1/checklists/{checklist}", FULLY, checklists.update),
    Route("DELETE", "/1/checklists/{checklist}", FULLY, checklists.delete),
    Route("GET", "/1/checklists/{checklist}/board", PARTLY, checklists.read_board),
    Route("GET", "/1/checklists/{checklist}/cards", PARTLY, checklists.read_cards),
    Route("GET", "/1/checklists/{checklist}/checkItems", FULLY, checklists.read_items),
    Route("POST", "/1/checklists/{checklist}/checkItems", PARTLY, checklists.create_item),
    Route("GET", "/1/checklists/{checklist}/checkItems/{item}", FULLY, checklists.read_item),
    Route("DELETE", "/1/checklists/{checklist}/checkItems/{item}", FULLY, checklists.delete_item),
    Route("GET", "/1/checklists/{checklist}/{field}", FULLY, checklists.read_field),
    Route("PUT", "/1/checklists/{checklist}/{field}", FULLY, checklists.update_field),
    Route("GET", "/1/actions/{action}", PARTLY, cards.read_action),
    Route("PUT", "/1/actions/{action}", FULLY, cards.edit_comment),
    Route("DELETE", "/1/actions/{action}", FULLY, cards.delete_comment),
    Route("GET", "/1/actions/{action}/board", PARTLY, cards.read_action_board),
    Route("GET", "/1/actions/{action}/card", FULLY, cards.read_action_card),
    Route("GET", "/1/actions/{action}/list", FULLY, cards.read_action_list),
    Route("GET", "/1/actions/{action}/memberCreator", FULLY, cards.read_action_creator),
    Route("GET", "/1/actions/{action}/{field}", FULLY, cards.read_action_field),
    Route("PUT", "/1/actions/{action}/{field}", FULLY, cards.edit_comment_field),
    Route("GET", "/1/members/{member}", PARTLY, accounts.read_member),
    Route("GET", "/1/members/{member}/boards", PARTLY, accounts.read_member_boards),
    Route("GET", "/1/members/{member}/cards", FULLY, accounts.read_member_cards),
    Route("GET", "/1/members/{member}/actions", PARTLY, accounts.read_member_actions),
    Route("GET", "/1/members/{member}/organizations", PARTLY, accounts.read_member_organizations),
    Route("GET", "/1/members/{member}/tokens", PARTLY, accounts.read_member_tokens),
    Route("GET", "/1/members/{member}/{field}", PARTLY, accounts.read_member_field),
    Route("GET", "/1/organizations/{organization}", PARTLY, accounts.read_organization),
    Route("GET", "/1/organizations/{organization}/boards", PARTLY, accounts.read_organization_boards),
    Route("GET", "/1/tokens/{token}", PARTLY, accounts.read_token),
    Route("GET", "/1/tokens/{token}/member", FULLY, accounts.read_token_member),
    Route("DELETE", "/1/tokens/{token}", FULLY, accounts.delete_token),
    Route("GET", "/1/search", PARTLY, accounts.search),
    Route("GET", "/1/batch", FULLY, accounts.batch),
)
"""The vendor's routes, how far each is supported, and what answers it; ``PAGES`` are beside them."""

PAGES: tuple[tuple[str, str, str], ...] = (
    ("*", "/1/authorize", "authorize"),
    ("*", "/1/OAuthGetRequestToken", "request_token"),
    ("*", "/1/OAuthAuthorizeToken", "authorize_token"),
    ("*", "/1/OAuthGetAccessToken", "access_token"),
    ("*", "/authorize", "oauth2_authorize"),
    ("POST", "/oauth/token", "oauth2_token"),
    ("POST", "/authorize/oauth/token", "oauth2_token"),
)
"""Consent and token routes, with the method of ``Consent`` that serves them."""

Known = TypeVar("Known")

SPENDER = web.RequestKey("spender", Spender)
"""Where a request keeps whose budgets it spent, once that is known."""

LOG = logging.getLogger(__name__)


class BoardsEmulator:
    """Trello, with an account of three boards and one board that the account does not see.

    Knobs beside ``limits``: ``auto_approve`` says yes on every consent page; ``allowed_origins`` are where those pages
    may send people; ``write_status`` is answered to accepted writes (202 was seen in 2025); ``invalid_token`` is the
    text for a dead token; ``hidden_is_missing`` answers 404 instead of 401 for what the account may not see;
    ``items_per_checklist`` is the most a checklist holds.
    """

    knobs: ClassVar[Mapping[str, Any]] = {
        "auto_approve": False,
        "allowed_origins": ["http://127.0.0.1", "http://localhost"],
        "write_status": 200,
        "invalid_token": "invalid token",
        "hidden_is_missing": False,
        "items_per_checklist": 200,
    }

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.reset()

    def applications(self) -> dict[str, web.Application]:
        """One application; the vendor's two hosts and its OAuth 2 host share it.

        Built without ``kit.emulation.application``, whose request lines end before this vendor's do.
        """

        @web.middleware
        async def speak(request: web.Request, handler: Handler) -> web.StreamResponse:
            answer = await self._answer(request, handler)
            answer.headers.update(self._told(request))
            return answer

        base = web.Application(
            middlewares=[speak],
            client_max_size=MAX_REQUEST_BYTES,
            handler_args={"max_line_size": LONGEST_LINE * 64},
        )
        base.add_routes(web.route(route.method, f"{route.path}{{_:/?}}", self._served(route)) for route in ROUTES)
        base.add_routes(web.route(method, path, self._shown(page)) for method, path, page in PAGES)
        return {"base": base}

    def reset(self) -> None:
        """Return to the seed, with nothing revoked and nothing spent."""
        self.seed = plant()
        self.store, self.access = self.seed.store, self.seed.access
        self.store.random = self.stage.random
        self.throttle = Throttle()
        self.consent = Consent(self.stage, self.access, self.seed.token.member)

    def credentials(self) -> dict[str, str]:
        """The key of the application and the token of the account."""
        return {"key": self.seed.token.app.key, "token": self.seed.token.value}

    def examples(self) -> dict[str, Any]:
        """Boards, lists, cards and labels worth trying, some of them out of reach."""
        return self.seed.examples

    def revoke(self) -> None:
        """Withdraw the token, as the user would in the account settings."""
        self.access.tokens.pop(self.seed.token.value, None)

    def authorise(self) -> None:
        """Let the same token in again."""
        self.access.keep(self.seed.token)

    def act(self, action: Mapping[str, Any]) -> dict[str, Any]:
        """A colleague does ``create_card``, ``move_card``, ``comment`` or ``archive_list``."""
        acts: Mapping[Any, Callable[[Author, Mapping[str, Any]], dict[str, Any]]] = {
            "create_card": self._create_card,
            "move_card": self._move_card,
            "comment": self._comment,
            "archive_list": self._archive_list,
        }
        act = acts.get(action.get("action"))
        if act is None:
            raise ValueError(f"no action {action.get('action')!r}; there are {', '.join(acts)}")
        return act(Author(self.seed.colleague, None, self.stage.clock.now()), action)

    def _create_card(self, author: Author, action: Mapping[str, Any]) -> dict[str, Any]:
        card_list = _known(self.store.lists, action, "list_id")
        return {"card_id": self.store.add_card(author, card_list, _text(action, "name")).id}

    def _move_card(self, author: Author, action: Mapping[str, Any]) -> dict[str, Any]:
        card = _known(self.store.cards, action, "card_id")
        self.store.move_card(author, card, _known(self.store.lists, action, "list_id"))
        return {"card_id": card.id}

    def _comment(self, author: Author, action: Mapping[str, Any]) -> dict[str, Any]:
        card = _known(self.store.cards, action, "card_id")
        return {"comment_id": self.store.comment(author, card, _text(action, "text")).id}

    def _archive_list(self, author: Author, action: Mapping[str, Any]) -> dict[str, Any]:
        card_list = _known(self.store.lists, action, "list_id")
        self.store.update_list(author, card_list, {"closed": True})
        return {"list_id": card_list.id}

    async def _answer(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        if len(f"{request.method} {request.raw_path} HTTP/1.1") > LONGEST_LINE:
            return web.Response(status=414, text=TOO_LONG, content_type="text/html")
        try:
            return await handler(request)
        except Refusal as refusal:
            return _rendered(refusal.status, refusal.body)
        except (NoSuchRoute, web.HTTPNotFound, web.HTTPMethodNotAllowed):
            return _rendered(404, f"Cannot {request.method} {request.raw_path}")
        except web.HTTPException:
            raise
        except Exception:
            LOG.exception("%s %s", request.method, request.path)
            return _rendered(500, "Internal Server Error")

    def _told(self, request: web.Request) -> dict[str, str]:
        now = self.stage.clock.now()
        told = self.throttle.headers(request.get(SPENDER, Spender(None, None)), now)
        return {"Date": formatdate(now, usegmt=True), "Access-Control-Expose-Headers": ", ".join(told), **told}

    def _served(self, route: Route) -> Handler:
        async def serve(request: web.Request) -> web.StreamResponse:
            arguments = await arguments_of(request)
            presented = credentials_of(request.headers.get("Authorization", ""), arguments)
            request[SPENDER] = spender = self._spender(presented, request.path, arguments)
            if self.stage.knobs["limits"]:
                self.throttle.spend(spender, self.stage.clock.now())
            answer = self._perform(route, request.match_info, presented, arguments)
            return _rendered(200 if route.method == "GET" else self.stage.knobs["write_status"], answer)

        return serve

    def _shown(self, page: str) -> Handler:
        async def show(request: web.Request) -> web.StreamResponse:
            shown: web.StreamResponse = await getattr(self.consent, page)(request)
            return shown

        return show

    def _spender(self, presented: Credentials, path: str, arguments: Arguments) -> Spender:
        """Whose budgets are spent; each part of a batch counts as a request of its own."""
        paths = [f"/1{url}" for url in accounts.urls(arguments)] if path.rstrip("/") == "/1/batch" else [path]
        to_members = sum(part.startswith(MEMBER_ROUTES) for part in paths)
        return Spender(self.access.key_of(presented), presented.token, len(paths), to_members)

    def _perform(self, route: Route, path: Mapping[str, str], presented: Credentials, arguments: Arguments) -> Any:
        """What *route* answers; an id is looked at first, then who asks, then what may be seen, then what is there."""
        now = self.stage.clock.now()
        route.check(path)
        visitor = self.access.visitor(presented, now, invalid_token=self.stage.knobs["invalid_token"])
        route.admit(visitor)

        def get(url: str) -> Any:
            found, part = _route_of(url), url.partition("?")
            asked = Arguments(dict(parse_qsl(part[2], keep_blank_values=True)))
            return self._perform(*found, presented, asked)

        return route.answer(Ask(self.store, self.access, self.stage.knobs, visitor, path, arguments, now, get))


def _route_of(url: str) -> tuple[Route, Mapping[str, str]]:
    """The GET route of a part of a batch, and the names in its path."""
    path = f"/1{url.partition('?')[0]}"
    for route in ROUTES:
        found = route.pattern.fullmatch(path) if route.method == "GET" and route.answer is not accounts.batch else None
        if found:
            return route, {name: unquote(value) for name, value in found.groupdict().items()}
    raise NoSuchRoute


def _rendered(status: int, body: Any) -> web.Response:
    if isinstance(body, str):
        return web.Response(status=status, text=body)
    return web.json_response(body, status=status, dumps=_dumps)


def _dumps(raw: Any) -> str:
    return json.dumps(raw, ensure_ascii=False, separators=(",", ":"))


def _known(shelf: Mapping[str, Known], action: Mapping[str, Any], name: str) -> Known:
    found = shelf.get(str(action.get(name)))
    if found is None:
        raise ValueError(f"no such {name}: {action.get(name)!r}")
    return found


def _text(action: Mapping[str, Any], name: str) -> str:
    text = action.get(name)
    if not isinstance(text, str) or not text:
        raise ValueError(f"{name} must be a text")
    return text
