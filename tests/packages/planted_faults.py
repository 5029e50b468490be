"""The template's connector with an update, and variants of it with one fault each."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import structlog
from aiohttp import web

from acme_connector import ACME
from acme_connector import operations as acme
from acme_connector.client import CHARGE, ERRORS, AcmeClient, VendorItem
from acme_connector.emulator import AcmeEmulator
from acme_connector.emulator.errors import AcmeError
from acme_connector.operations import CREATE, AcmeContext, AcmeItem, CreateAcmeItem, ListAcmeItems
from connector_gateway.kit.errors.vendor_error_table import ErrorTable, VendorRejection
from connector_gateway.kit.models import IdempotencyKey, Page, Params
from connector_gateway.kit.operation import AnyConnector, ExampleArguments, writes
from connector_gateway.kit.upstream.budget import Budget
from connector_gateway.kit.upstream.client import UpstreamClient, create_bearer_header
from connector_gateway.kit.write_steps import Match, SentStep, StepInput, StepResult, WriteStep
from workspace_sandbox.kit.routes import Route

Connector = AnyConnector


# The update


def rename(emulator: AcmeEmulator, request: web.Request, body: Any) -> web.Response:
    item = next((one for one in emulator.items if one["id"] == request.match_info["id"]), None)
    if item is None:
        raise AcmeError(404, "unknown_item")
    item["title"] = str(body["title"])
    return web.json_response(item)


Emulator: Any = type(
    "Emulator",
    (AcmeEmulator,),
    {"routes": (*AcmeEmulator.routes, Route(method="PATCH", path="/items/{id}", handler=rename))},
)
"""The template's emulator, whose items can be renamed."""

Emulator.coverage = AcmeEmulator.coverage


class Client(AcmeClient):
    """The template's client, which can rename items."""

    def __init__(self, upstream: UpstreamClient) -> None:
        super().__init__(upstream)
        self.requests = upstream

    async def rename_item(self, item_id: str, title: str) -> VendorItem:
        response = await self.requests.send("PATCH", f"/items/{item_id}", CHARGE, writes=True, json={"title": title})
        return ERRORS.unwrap(response, VendorItem)


class RenameAcmeItem(Params):
    """The new title of an item."""

    item_id: str
    title: str
    idempotency_key: IdempotencyKey | None = None


async def send_rename(ctx: Any, intent: StepInput, _: str) -> StepResult:
    item = await ctx.upstream.rename_item(intent["item_id"], intent["title"])
    return {"id": item.id, "title": item.title}


async def find_renamed(ctx: Any, intent: StepInput, _: SentStep) -> Sequence[Match]:
    items = (await ctx.upstream.list_items(limit=100, page=None)).items
    intended = (intent["item_id"], intent["title"])
    return [Match({"id": one.id, "title": one.title}, one.id) for one in items if (one.id, one.title) == intended]


RENAME = WriteStep[AcmeContext](
    "rename the item", send_rename, find_renamed, changes=lambda intent: [str(intent["item_id"])]
)


@writes(
    "PATCH /items/{item_id}",
    examples=[
        lambda one: {"item_id": one["item_id"], "title": "Renamed"},
        lambda one: {"item_id": one["item_id"], "title": "Renamed again"},
    ],
)
async def rename_item(ctx: AcmeContext, params: RenameAcmeItem) -> AcmeItem:
    """Rename an item."""
    return await renamed(ctx, params, RENAME)


async def renamed(ctx: AcmeContext, params: RenameAcmeItem, step: WriteStep[AcmeContext]) -> AcmeItem:
    result = await ctx.step(step, {"item_id": params.item_id, "title": params.title})
    return AcmeItem(item_id=result["id"], title=result["title"])


BASE: Connector = replace(ACME, client=Client, operations=(*ACME.operations, rename_item))


def variant(perform: Any = None, **changes: Any) -> Connector:
    """Return the connector with another function for the operation of the same name, and with other declarations."""
    operations = [
        replace(one, handler=perform) if perform and one.name == perform.__name__ else one for one in BASE.operations
    ]
    return replace(BASE, operations=tuple(operations), sample=None, **changes)


# The faults


async def create_with(ctx: AcmeContext, params: CreateAcmeItem, step: WriteStep[AcmeContext]) -> AcmeItem:
    created = await ctx.step(step, {"title": params.title})
    return AcmeItem(item_id=created["id"], title=created["title"])


async def find_by_title(ctx: AcmeContext, intent: StepInput, _: SentStep) -> Sequence[Match]:
    found = [one for one in await list_all(ctx) if one.title == intent["title"]]
    return [Match({"id": one.id, "title": one.title}, one.id) for one in found]


async def find_nothing(_: AcmeContext, __: StepInput, ___: SentStep) -> Sequence[Match]:
    return []


def adopts_strangers() -> Connector:
    async def create_item(ctx: AcmeContext, params: CreateAcmeItem) -> AcmeItem:
        return await create_with(ctx, params, replace(CREATE, find=find_by_title))

    return variant(create_item)


Listing = Callable[[AcmeContext], Awaitable[Sequence[VendorItem]]]


async def list_first_page(ctx: AcmeContext) -> Sequence[VendorItem]:
    return (await ctx.upstream.list_items(limit=100, page=None)).items


async def list_all(ctx: AcmeContext) -> Sequence[VendorItem]:
    items, page = list[VendorItem](), None
    while True:
        found = await ctx.upstream.list_items(limit=100, page=page)
        items += found.items
        page = found.next_page
        if page is None:
            return items


def finds_by_content(listing: Listing = list_all, is_match: Callable[[str, str], bool] = str.__eq__) -> Connector:
    """Return the connector without marks. By default it has no fault."""

    async def send(ctx: AcmeContext, intent: StepInput, _: str) -> StepResult:
        item = await ctx.upstream.create_item(intent["title"], "")
        return {"id": item.id, "title": item.title}

    async def find(ctx: AcmeContext, intent: StepInput, _: SentStep) -> Sequence[Match]:
        new = [one for one in await listing(ctx) if one.id not in intent["before"]]
        return [
            Match({"id": one.id, "title": one.title}, one.id) for one in new if is_match(one.title, intent["title"])
        ]

    async def list_ids(ctx: AcmeContext) -> list[str]:
        return [one.id for one in await list_all(ctx)]

    step = WriteStep[AcmeContext](
        "create the item", send, find, object_kind="item", content_keys=lambda intent: [intent["title"]]
    )

    async def create_item(ctx: AcmeContext, params: CreateAcmeItem) -> AcmeItem:
        intent = {"title": params.title, "before": await ctx.plan(partial(list_ids, ctx))}
        created = await ctx.step(step, intent)
        return AcmeItem(item_id=created["id"], title=created["title"])

    return variant(create_item)


def compares_too_little() -> Connector:
    return finds_by_content(is_match=str.startswith)


def searches_one_page() -> Connector:
    return finds_by_content(list_first_page)


def writes_twice() -> Connector:
    async def create_item(ctx: AcmeContext, params: CreateAcmeItem) -> AcmeItem:
        return await create_with(ctx, params, replace(CREATE, find=find_nothing))

    return variant(create_item)


def ends_early() -> Connector:
    async def list_items(ctx: AcmeContext, params: ListAcmeItems) -> Page[AcmeItem]:
        page = await acme.list_items.handler(ctx, params)
        return page.model_copy(update={"position": None}) if ctx.position else page

    return variant(list_items)


def never_ends() -> Connector:
    async def list_items(ctx: AcmeContext, params: ListAcmeItems) -> Page[AcmeItem]:
        page = await acme.list_items.handler(ctx, params)
        return page.model_copy(update={"position": page.position or {"page": "0"}})

    return variant(list_items)


def repeats_items() -> Connector:
    async def list_items(ctx: AcmeContext, params: ListAcmeItems) -> Page[AcmeItem]:
        page = await acme.list_items.handler(ctx, params)
        if page.position is None or ctx.position:
            return page
        return page.model_copy(update={"position": {"page": "0"}})

    return variant(list_items)


def exceeds_budget() -> Connector:
    return variant(budgets={"account": Budget(20, per_seconds=1)})


def logs_token() -> Connector:
    def authorise(credentials: Mapping[str, str]) -> Mapping[str, str]:
        structlog.get_logger().warning("authorising", headers=create_bearer_header(credentials))
        return create_bearer_header(credentials)

    return variant(auth_headers=authorise)


def releases_keys() -> Connector:
    rejections = [VendorRejection({400, 401, 429, 500}, "https://acme.example/docs/errors")]
    return variant(error_table=ErrorTable(ERRORS.parse_reason, rejections=rejections))


def overwrites_changes() -> Connector:
    async def rename_item(ctx: AcmeContext, params: RenameAcmeItem) -> AcmeItem:
        return await renamed(ctx, params, replace(RENAME, changes=lambda _: ()))

    return variant(rename_item)


def accepts_any_shape() -> Connector:
    class Lenient(Client):
        async def create_item(self, title: str, external_id: str) -> VendorItem:
            body = {"title": title, "external_id": external_id}
            response = await self.requests.send("POST", "/items", CHARGE, writes=True, json=body)
            if not response.is_success:
                return ERRORS.unwrap(response, VendorItem)
            created = response.raw if isinstance(response.raw, dict) else {}
            return VendorItem(id=created.get("id", ""), title=created.get("title", title))

    return variant(client=Lenient)


def with_example(name: str, example: ExampleArguments) -> Connector:
    operations = [replace(one, examples=(example, example)) if one.name == name else one for one in BASE.operations]
    return replace(BASE, operations=tuple(operations), sample=None)


def has_invalid_example() -> Connector:
    return with_example("create_item", lambda _: {"name": "Once"})


def has_unknown_example() -> Connector:
    return with_example("rename_item", lambda one: {"item_id": one["nothing"]})
