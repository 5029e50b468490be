"""Routes of webhooks. Creating one sends a request to its URL."""

from collections.abc import Coroutine
from typing import Any

from workspace_sandbox.boards.data.objects import Member, Organization
from workspace_sandbox.boards.deliveries import Model, Webhook
from workspace_sandbox.boards.error_responses import INVALID_ID, MISSING_SCOPES, NOT_FOUND, ApiError, invalid
from workspace_sandbox.boards.request import ApiRequest
from workspace_sandbox.kit.error_responses import require
from workspace_sandbox.kit.oauth.server import Token

THERE_IS_ONE = "A webhook with that callback, model, and token already exists"


def create(request: ApiRequest) -> Coroutine[Any, Any, Any]:
    """Create a webhook if its URL responds."""
    token, model, url = _token(request), _model(request), _url(request)
    description, active = request.arguments.text("description"), request.arguments.flag("active", default=True)

    async def check_and_create() -> Any:
        status = await request.deliverer.probe(url)
        if status != 200:
            raise ApiError(400, f"URL ({url}) did not return 200 status code, got {status or 'no answer'}")
        _check_unique(request, token, model, url)
        webhook = Webhook(
            id=request.store.new_id(request.now),
            token=token,
            model=model,
            url=url,
            description=description,
            active=active,
        )
        request.store.webhooks[webhook.id] = webhook
        return webhook.raw()

    return check_and_create()


def read(request: ApiRequest) -> Any:
    """Return a webhook."""
    return _own(request).raw()


def read_all(request: ApiRequest) -> Any:
    """Return the webhooks of a token."""
    token = _token(request)
    return [webhook.raw() for webhook in request.store.webhooks.values() if webhook.token is token]


def read_field(request: ApiRequest) -> Any:
    """Return a field of a webhook."""
    raw = _own(request).raw()
    if request.path["field"] not in raw:
        raise invalid("field")
    return {"_value": raw[request.path["field"]]}


def update(request: ApiRequest) -> Any:
    """Update a webhook."""
    webhook = _own(request)
    if "description" in request.arguments:
        webhook.description = request.arguments.text("description")
    if "callbackURL" in request.arguments:
        webhook.url = _url(request)
    if "idModel" in request.arguments:
        webhook.model = _model(request)
    webhook.active = request.arguments.flag("active", default=webhook.active)
    return webhook.raw()


def delete(request: ApiRequest) -> Any:
    """Delete a webhook."""
    del request.store.webhooks[_own(request).id]
    return {"_value": None}


def _token(request: ApiRequest) -> Token:
    """Return the token of the request, which must be the token in the path if there is one."""
    token = require(request.principal.token, ApiError(401, MISSING_SCOPES))
    if request.path.get("token", token.value) != token.value:
        raise ApiError(404, NOT_FOUND)
    return token


def _own(request: ApiRequest) -> Webhook:
    token = _token(request)
    webhook: Webhook | None = request.store.webhooks.get(request.path["webhook"].lower())
    if webhook is None or webhook.token is not token:
        raise ApiError(404, NOT_FOUND)
    return webhook


def _url(request: ApiRequest) -> str:
    url = request.arguments.text("callbackURL")
    if not url.startswith(("http://", "https://")):
        raise invalid("callbackURL")
    return url


def _model(request: ApiRequest) -> Model:
    identifier = request.arguments.text("idModel").lower()
    collections = (
        request.store.boards,
        request.store.lists,
        request.store.cards,
        request.store.members,
        request.store.organizations,
    )
    match: Model | None = next((collection[identifier] for collection in collections if identifier in collection), None)
    if match is None:
        raise ApiError(400, INVALID_ID) if len(identifier) != 24 else invalid("idModel")
    match match:
        case Member():
            is_own = match is request.principal.member
        case Organization():
            is_own = request.belongs_to(match)
        case _:
            is_own = request.can_see(match)
    if not is_own:
        raise ApiError(401, MISSING_SCOPES)
    return match


def _check_unique(request: ApiRequest, token: Token, model: Model, url: str) -> None:
    if any((one.token, one.model, one.url) == (token, model, url) for one in request.store.webhooks.values()):
        raise ApiError(400, THERE_IS_ONE)
