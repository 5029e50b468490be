"""The operations: their parameters and results, and the steps of writes."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from acme_connector.client import AcmeClient, VendorItem
from connector_gateway.kit.context import OperationContext
from connector_gateway.kit.models import Cursor, IdempotencyKey, Page, Params, Result
from connector_gateway.kit.operation import reads, writes
from connector_gateway.kit.write_steps import Match, SentStep, StepInput, StepResult, WriteStep

AcmeContext = OperationContext[AcmeClient]


class ListAcmeItems(Params):
    """The requested page of items."""

    limit: Annotated[int, Field(ge=1, le=100)] = 50
    """The maximum number of items."""

    cursor: Cursor | None = None


class CreateAcmeItem(Params):
    """A new item."""

    title: Annotated[str, Field(min_length=1)]
    idempotency_key: IdempotencyKey | None = None


class AcmeItem(Result):
    """An item."""

    item_id: str
    title: str


def _to_result(item: VendorItem) -> StepResult:
    return {"id": item.id, "title": item.title}


async def _create(ctx: AcmeContext, intent: StepInput, mark: str) -> StepResult:
    return _to_result(await ctx.upstream.create_item(intent["title"], mark))


async def _find(ctx: AcmeContext, _: StepInput, sent: SentStep) -> Sequence[Match]:
    found = await ctx.upstream.find_items(sent.mark)
    return [Match(_to_result(item), item.id) for item in found.items]


# The mark is the same for every attempt, so an item that has it proves that this write was carried out.
CREATE = WriteStep[AcmeContext]("create the item", _create, _find)


@reads("GET /items", examples=[lambda _: {"limit": 2}])
async def list_items(ctx: AcmeContext, params: ListAcmeItems) -> Page[AcmeItem]:
    """List the items, oldest first."""
    page = await ctx.upstream.list_items(limit=params.limit, page=ctx.position["page"] if ctx.position else None)
    items = [AcmeItem(item_id=item.id, title=item.title) for item in page.items]
    return Page[AcmeItem](items=items, position={"page": page.next_page} if page.next_page else None)


@writes("POST /items", examples=[lambda _: {"title": "Once"}])
async def create_item(ctx: AcmeContext, params: CreateAcmeItem) -> AcmeItem:
    """Create an item."""
    created = await ctx.step(CREATE, {"title": params.title})
    return AcmeItem(item_id=created["id"], title=created["title"])
