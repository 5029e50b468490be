"""Places: how many requests of one account are under way at the same time."""

import pytest

from connector_gateway.core.concurrency import PlacesByAccount
from connector_gateway.kit.errors import UpstreamRateLimited


async def test_whoever_finds_no_place_in_time_is_refused_and_holds_none() -> None:
    places = PlacesByAccount(1).of("nora")
    async with places.one(1):
        with pytest.raises(UpstreamRateLimited):
            async with places.one(0):
                pass

    async with places.one(0):
        pass


async def test_accounts_have_places_of_their_own_which_all_their_calls_share() -> None:
    places = PlacesByAccount(1)
    nora, again, ben = places.of("nora"), places.of("nora"), places.of("ben")

    assert nora is again
    assert nora is not ben
