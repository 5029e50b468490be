"""Answers about webhooks: their making, which asks the address first, and what becomes of them."""

from collections.abc import Coroutine
from typing import Any

from workspace_sandbox.boards.ask import ApiRequest
from workspace_sandbox.boards.deliveries import Model, Webhook
from workspace_sandbox.boards.state import Member, Organization
from workspace_sandbox.boards.wire import INVALID_ID, MISSING_SCOPES, NOT_FOUND, Refusal, invalid
from workspace_sandbox.kit.oauth import Token
from workspace_sandbox.kit.refusals import require

THERE_IS_ONE = "A webhook with that callback, model, and token already exists"


def create(ask: ApiRequest) -> Coroutine[Any, Any, Any]:
    """Make a webhook, if its address answers."""
    token, model, url = _token(ask), _model(ask), _url(ask)
    description, active = ask.arguments.text("description"), ask.arguments.flag("active", default=True)

    async def made() -> Any:
        status = await ask.deliverer.accepts(url)
        if status != 200:
            raise Refusal(400, f"URL ({url}) did not return 200 status code, got {status or 'no answer'}")
        _refuse_twin(ask, token, model, url)
        webhook = Webhook(
            id=ask.store.mint(ask.now), token=token, model=model, url=url, description=description, active=active
        )
        ask.store.webhooks[webhook.id] = webhook
        return webhook.raw()

    return made()


def read(ask: ApiRequest) -> Any:
    """One webhook."""
    return _own(ask).raw()


def read_all(ask: ApiRequest) -> Any:
    """The webhooks of a token."""
    token = _token(ask)
    return [webhook.raw() for webhook in ask.store.webhooks.values() if webhook.token is token]


def read_field(ask: ApiRequest) -> Any:
    """One field of a webhook."""
    raw = _own(ask).raw()
    if ask.path["field"] not in raw:
        raise invalid("field")
    return {"_value": raw[ask.path["field"]]}


def update(ask: ApiRequest) -> Any:
    """Change a webhook."""
    webhook = _own(ask)
    if "description" in ask.arguments:
        webhook.description = ask.arguments.text("description")
    if "callbackURL" in ask.arguments:
        webhook.url = _url(ask)
    if "idModel" in ask.arguments:
        webhook.model = _model(ask)
    webhook.active = ask.arguments.flag("active", default=webhook.active)
    return webhook.raw()


def delete(ask: ApiRequest) -> Any:
    """Delete a webhook."""
    del ask.store.webhooks[_own(ask).id]
    return {"_value": None}


def _token(ask: ApiRequest) -> Token:
    """The token that asks, which is that of the path where the path names one."""
    token = require(ask.visitor.token, Refusal(401, MISSING_SCOPES))
    if ask.path.get("token", token.value) != token.value:
        raise Refusal(404, NOT_FOUND)
    return token


def _own(ask: ApiRequest) -> Webhook:
    token = _token(ask)
    webhook: Webhook | None = ask.store.webhooks.get(ask.path["webhook"].lower())
    if webhook is None or webhook.token is not token:
        raise Refusal(404, NOT_FOUND)
    return webhook


def _url(ask: ApiRequest) -> str:
    url = ask.arguments.text("callbackURL")
    if not url.startswith(("http://", "https://")):
        raise invalid("callbackURL")
    return url


def _model(ask: ApiRequest) -> Model:
    identifier = ask.arguments.text("idModel").lower()
    shelves = (ask.store.boards, ask.store.lists, ask.store.cards, ask.store.members, ask.store.organizations)
    found: Model | None = next((shelf[identifier] for shelf in shelves if identifier in shelf), None)
    if found is None:
        raise Refusal(400, INVALID_ID) if len(identifier) != 24 else invalid("idModel")
    match found:
        case Member():
            is_own = found is ask.visitor.member
        case Organization():
            is_own = ask.belongs_to(found)
        case _:
            is_own = ask.sees(found)
    if not is_own:
        raise Refusal(401, MISSING_SCOPES)
    return found


def _refuse_twin(ask: ApiRequest, token: Token, model: Model, url: str) -> None:
    if any((one.token, one.model, one.url) == (token, model, url) for one in ask.store.webhooks.values()):
        raise Refusal(400, THERE_IS_ONE)
