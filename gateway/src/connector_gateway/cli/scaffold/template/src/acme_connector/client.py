"""The vendor's requests, with its names for fields, its budget and its errors."""

from connector_gateway.kit.errors.vendor_error_table import ErrorTable, Reason, VendorRejection
from connector_gateway.kit.oauth import Account
from connector_gateway.kit.upstream.budget import Budget, Charge
from connector_gateway.kit.upstream.client import UpstreamClient
from connector_gateway.kit.upstream.pool import UpstreamResponse
from connector_gateway.kit.vendor_model import VendorModel

BASE_URL = "https://api.acme.example"

BUDGET = Budget(10, per_seconds=1)
"""Source: https://acme.example/docs/limits."""

SETTLE_SECONDS = 5.0
"""The vendor cancels a request after five seconds. Source: https://acme.example/docs/limits."""

CHARGE = Charge("account")


class VendorAccount(VendorModel):
    """The account of a token."""

    id: str
    name: str


class VendorItem(VendorModel):
    """An item."""

    id: str
    title: str


class VendorItems(VendorModel):
    """A page of items."""

    items: list[VendorItem]
    next_page: str | None = None


# begin --events
class VendorChange(VendorModel):
    """A change of an item."""

    id: str
    kind: str
    item_id: str


class VendorChanges(VendorModel):
    """The changes after a position in the feed."""

    changes: list[VendorChange]
    position: str
    has_more: bool


# end --events
class VendorError(VendorModel):
    """An error."""

    error: str


def parse_reason(response: UpstreamResponse) -> Reason | None:
    """Return the vendor's code for an error, or None if the response is not an error in the vendor's form."""
    error = None if response.is_success else response.try_decode(VendorError)
    return Reason(error.error) if error else None


ERRORS = ErrorTable(
    parse_reason,
    # Only these responses prove that a write was not carried out. After any other, the gateway searches for its result.
    rejections=[VendorRejection({400, 401, 429}, "https://acme.example/docs/errors")],
)


class AcmeClient:
    """The vendor's requests, one method each."""

    def __init__(self, upstream: UpstreamClient) -> None:
        self._upstream = upstream

    async def get_account(self) -> VendorAccount:
        """Request the account of the token. Source: https://acme.example/docs/account."""
        response = await self._upstream.send("GET", "/account", CHARGE, writes=False)
        return ERRORS.unwrap(response, VendorAccount)

    # begin --events
    async def list_changes(self, position: str | None) -> VendorChanges:
        """Request the changes after a position, or the current position. Source: https://acme.example/docs/feed."""
        query = {"after": position} if position else {}
        response = await self._upstream.send("GET", "/changes", CHARGE, writes=False, query=query)
        return ERRORS.unwrap(response, VendorChanges)

    # end --events
    async def list_items(self, *, limit: int, page: str | None) -> VendorItems:
        """Request a page of items, oldest first. Source: https://acme.example/docs/items#list."""
        query = {"limit": limit, **({"page": page} if page else {})}
        response = await self._upstream.send("GET", "/items", CHARGE, writes=False, query=query)
        return ERRORS.unwrap(response, VendorItems)

    async def find_items(self, external_id: str) -> VendorItems:
        """Request the items with an external identifier. Source: https://acme.example/docs/items#list."""
        query = {"external_id": external_id}
        response = await self._upstream.send("GET", "/items", CHARGE, writes=False, query=query)
        return ERRORS.unwrap(response, VendorItems)

    async def create_item(self, title: str, external_id: str) -> VendorItem:
        """Create an item. Source: https://acme.example/docs/items#create."""
        body = {"title": title, "external_id": external_id}
        return ERRORS.unwrap(await self._upstream.send("POST", "/items", CHARGE, writes=True, json=body), VendorItem)


async def identify(client: AcmeClient) -> Account:
    """Return the account, after which a connection is named. Its identifier must not change when it is renamed."""
    account = await client.get_account()
    return Account(account.id, account.name)
