"""Windows in which a vendor can deliver its hook secret."""

from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from connector_gateway.core.events.hook_verification import WINDOW_SECONDS, HookVerification
from connector_gateway.core.secrets.secret_keys import SecretKeys
from connector_gateway.kit.clock import utc_datetime
from connector_gateway.kit.errors import InvalidSignature
from connector_gateway.storage.sql.database import Database
from harness.clocks import ManualClock
from harness.databases import sqlite_in
from harness.requirement import requirement

SECRETS = SecretKeys(["a secret of this installation"])


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    async with Database(sqlite_in(tmp_path)) as opened:
        yield opened


@pytest.fixture
def handover(database: Database, clock: ManualClock) -> HookVerification:
    return HookVerification(database, SECRETS, "https://gateway.example", clock)


def address_in(opened: dict[str, str]) -> str:
    return urlsplit(opened["url"]).path.removeprefix("/hooks/notes/")


async def test_a_window_has_its_own_url_and_an_end(handover: HookVerification, clock: ManualClock) -> None:
    opened = handover.open("notes")

    assert opened["url"].startswith("https://gateway.example/hooks/notes/")
    assert utc_datetime(clock.now() + WINDOW_SECONDS) == opened["closes_at"]


@requirement("notes-86")
async def test_a_secret_is_accepted_until_the_window_closes(handover: HookVerification, clock: ManualClock) -> None:
    address = address_in(handover.open("notes"))
    clock.at += WINDOW_SECONDS - 1
    await handover.check_window("notes", address)
    clock.at += 1

    with pytest.raises(InvalidSignature, match="window for the secret is closed"):
        await handover.check_window("notes", address)


@requirement("notes-86")
async def test_a_window_can_be_closed_before_its_time(handover: HookVerification, clock: ManualClock) -> None:
    address = address_in(handover.open("notes"))
    clock.at += 60
    closed = await handover.close("notes")

    assert {"connector": "notes", "closed_at": utc_datetime(clock.now())} == closed
    with pytest.raises(InvalidSignature, match="window for the secret is closed"):
        await handover.check_window("notes", address)


async def test_a_window_opened_after_a_closed_one_accepts_secrets(
    handover: HookVerification, clock: ManualClock
) -> None:
    await handover.close("notes")
    await handover.close("notes")
    clock.at += 1
    await handover.check_window("notes", address_in(handover.open("notes")))

    with pytest.raises(InvalidSignature):
        await handover.check_window("notes", "")


@requirement("notes-86")
@pytest.mark.parametrize("address", ["", "x", "A" * 60, "ä", "../..", "\ud800"])
async def test_a_guessed_url_accepts_no_secret(handover: HookVerification, address: str) -> None:
    with pytest.raises(InvalidSignature, match="No secret is accepted"):
        await handover.check_window("notes", address)


async def test_the_url_of_one_connector_accepts_no_secret_for_another(handover: HookVerification) -> None:
    with pytest.raises(InvalidSignature):
        await handover.check_window("chat", address_in(handover.open("notes")))


async def test_the_url_of_another_installation_accepts_no_secret(
    database: Database, clock: ManualClock, handover: HookVerification
) -> None:
    other = HookVerification(database, SecretKeys(["a secret of another one"]), "https://gateway.example", clock)

    with pytest.raises(InvalidSignature):
        await handover.check_window("notes", address_in(other.open("notes")))
