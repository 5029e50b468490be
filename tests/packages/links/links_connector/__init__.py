"""links: a list of bookmarks, as an installed package adds it."""

from collections.abc import Sequence
from typing import Any

import msgspec

from connector_gateway.kit.context import OperationContext
from connector_gateway.kit.errors.vendor_error_table import ErrorTable, Reason, VendorRejection
from connector_gateway.kit.models import IdempotencyKey, Page, Params, Result
from connector_gateway.kit.operation import Connector, SampleCall, reads, writes
from connector_gateway.kit.upstream.budget import Budget, Charge
from connector_gateway.kit.upstream.client import UpstreamClient
from connector_gateway.kit.upstream.pool import UpstreamResponse
from connector_gateway.kit.vendor_model import VendorModel
from connector_gateway.kit.write_steps import Match, SentStep, StepInput, StepResult, WriteStep

CHARGE = Charge("account")
PAGE_SIZE = 2


class VendorLink(VendorModel):
    """A bookmark, in the vendor's words."""

    id: str
    href: str
    note: str = ""


class VendorLinks(VendorModel):
    """A page of bookmarks."""

    links: list[VendorLink]
    next: str | None = None


class Failure(VendorModel):
    """An error of the vendor."""

    error: str


def parse_reason(response: UpstreamResponse) -> Reason | None:
    """Return the vendor's reason for an error."""
    failure = None if response.is_success else response.try_decode(Failure)
    return None if failure is None else Reason(failure.error)


ERRORS = ErrorTable(parse_reason, rejections=[VendorRejection({400, 401, 429}, "the emulator")])


class LinksClient:
    """The vendor's requests."""

    def __init__(self, upstream: UpstreamClient) -> None:
        self._upstream = upstream

    async def list_links(self, cursor: str | None, note: str | None = None) -> VendorLinks:
        """Return a page of bookmarks."""
        query = {name: value for name, value in {"after": cursor, "note": note}.items() if value is not None}
        response = await self._upstream.send("GET", "/links", CHARGE, writes=False, query=query)
        return ERRORS.unwrap(response, VendorLinks)

    async def create_link(self, url: str, note: str) -> VendorLink:
        """Create a bookmark with a note that identifies it."""
        body = {"href": url, "note": note}
        return ERRORS.unwrap(await self._upstream.send("POST", "/links", CHARGE, writes=True, json=body), VendorLink)


LinksCall = OperationContext[LinksClient]


class ListLinks(Params):
    """The requested page of links."""

    cursor: str | None = None


class CreateLink(Params):
    """A new link."""

    url: str
    idempotency_key: IdempotencyKey | None = None


class Link(Result):
    """A link."""

    link_id: str
    url: str


async def _create(ctx: LinksCall, intent: StepInput, mark: str) -> StepResult:
    created: StepResult = msgspec.to_builtins(await ctx.upstream.create_link(intent["url"], mark))
    return created


async def _find(ctx: LinksCall, _: StepInput, sent: SentStep) -> Sequence[Match]:
    found = await ctx.upstream.list_links(None, sent.mark)
    return [Match(msgspec.to_builtins(link), link.id) for link in found.links]


CREATE = WriteStep[LinksCall]("create the link", _create, _find)


@reads("GET /links")
async def list_links(ctx: LinksCall, params: ListLinks) -> Page[Link]:
    """List the links, oldest first."""
    del params
    page = await ctx.upstream.list_links(ctx.position["after"] if ctx.position else None)
    links = [Link(link_id=one.id, url=one.href) for one in page.links]
    return Page[Link](items=links, position={"after": page.next} if page.next else None)


@writes("POST /links")
async def create_link(ctx: LinksCall, params: CreateLink) -> Link:
    """Add a link."""
    created: dict[str, Any] = await ctx.step(CREATE, {"url": params.url})
    return Link(link_id=created["id"], url=created["href"])


LINKS = Connector(
    name="links",
    kit_version=1,
    summary="Bookmarks.",
    base_urls={"base": "https://api.linkbase.example"},
    budgets={"account": Budget(100, per_seconds=1)},
    client=LinksClient,
    operations=(list_links, create_link),
    error_table=ERRORS,
    settle_seconds=1.0,
    sample=SampleCall("the first links", list_links, lambda _: {}),
)
