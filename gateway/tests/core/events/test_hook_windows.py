"""Windows in which a vendor can deliver its hook secret."""

from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from connector_gateway.core.events.inbound_hook_secrets import WINDOW_SECONDS, HookVerification
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
def verification(database: Database, clock: ManualClock) -> HookVerification:
    return HookVerification(database, SECRETS, "https://gateway.example", clock)


def get_url(opened: dict[str, str]) -> str:
    return urlsplit(opened["url"]).path.removeprefix("/hooks/notes/")


async def test_a_window_has_its_own_url_and_an_end(verification: HookVerification, clock: ManualClock) -> None:
    opened = verification.open("notes")

    assert opened["url"].startswith("https://gateway.example/hooks/notes/")
    assert utc_datetime(clock.now() + WINDOW_SECONDS) == opened["closes_at"]


@requirement("notes-86")
async def test_a_secret_is_accepted_until_the_window_closes(verification: HookVerification, clock: ManualClock) -> None:
    address = get_url(verification.open("notes"))
    clock.at += WINDOW_SECONDS - 1
    await verification.check_window("notes", address)
    clock.at += 1

    with pytest.raises(InvalidSignature, match="window for the secret is closed"):
        await verification.check_window("notes", address)


@requirement("notes-86")
async def test_a_window_can_be_closed_before_its_time(verification: HookVerification, clock: ManualClock) -> None:
    address = get_url(verification.open("notes"))
    clock.at += 60
    closed = await verification.close("notes")

    assert {"connector": "notes", "closed_at": utc_datetime(clock.now())} == closed
    with pytest.raises(InvalidSignature, match="window for the secret is closed"):
        await verification.check_window("notes", address)


async def test_a_window_opened_after_a_closed_one_accepts_secrets(
    verification: HookVerification, clock: ManualClock
) -> None:
    await verification.close("notes")
    await verification.close("notes")
    clock.at += 1
    await verification.check_window("notes", get_url(verification.open("notes")))

    with pytest.raises(InvalidSignature):
        await verification.check_window("notes", "")


@requirement("notes-86")
@pytest.mark.parametrize("address", ["", "x", "A" * 60, "ä", "../..", "\ud800"])
async def test_a_guessed_url_accepts_no_secret(verification: HookVerification, address: str) -> None:
    with pytest.raises(InvalidSignature, match="No secret is accepted"):
        await verification.check_window("notes", address)


async def test_the_url_of_one_connector_accepts_no_secret_for_another(verification: HookVerification) -> None:
    with pytest.raises(InvalidSignature):
        await verification.check_window("chat", get_url(verification.open("notes")))


async def test_the_url_of_another_installation_accepts_no_secret(
    database: Database, clock: ManualClock, verification: HookVerification
) -> None:
    other = HookVerification(database, SecretKeys(["a secret of another one"]), "https://gateway.example", clock)

    with pytest.raises(InvalidSignature):
        await verification.check_window("notes", get_url(other.open("notes")))
