"""Sessions of the console, on both databases."""

import asyncio
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import AsyncIterator

import pytest
from sqlalchemy import delete, func, insert, select

from connector_gateway.core.access.sessions import LINK_SECONDS, SESSION_SECONDS, Session, Sessions
from connector_gateway.core.background_jobs import PURGE_STEP
from connector_gateway.core.secrets.secret_keys import SecretKeys
from connector_gateway.storage.sql import tables
from connector_gateway.storage.sql.database import Database
from harness.clocks import ManualClock
from harness.requirement import requirement

SECRETS = ["the first secret of tests", "the second secret of tests"]


@pytest.fixture
async def database(common_database_url: str) -> AsyncIterator[Database]:
    async with Database(common_database_url) as opened:
        yield opened


@pytest.fixture
def sessions(database: Database, clock: ManualClock) -> Sessions:
    return Sessions(database, SecretKeys(SECRETS[:1]), "operator", clock)


def flip_bit(token: str, position: int) -> str:
    """Return *token* with one bit inverted."""
    raw = bytearray(urlsafe_b64decode(token + "=" * (-len(token) % 4)))
    raw[position] ^= 1
    return urlsafe_b64encode(bytes(raw)).decode().rstrip("=")


async def use_until(sessions: Sessions, session: Session, clock: ManualClock, seconds: float) -> None:
    """Let time pass with occasional requests."""
    for _ in range(100):
        clock.at += seconds / 100
        await sessions.find(session.token)


async def test_a_session_is_found_by_its_cookie(sessions: Sessions) -> None:
    session = await sessions.begin()

    assert session == await sessions.find(session.token)


async def test_no_two_sessions_are_the_same(sessions: Sessions) -> None:
    one, other = await sessions.begin(), await sessions.begin()

    assert (True, True) == (one.token != other.token, one.form_token != other.form_token)


@pytest.mark.parametrize("position", [0, 31, 32, 63])
async def test_an_altered_token_has_no_session(sessions: Sessions, position: int) -> None:
    session = await sessions.begin()

    assert await sessions.find(flip_bit(session.token, position)) is None


@pytest.mark.parametrize("token", ["", "x", "\u00e9", "=" * 86, "A" * 86, "a b"])
async def test_other_tokens_have_no_session(sessions: Sessions, token: str) -> None:
    assert await sessions.find(token) is None


async def test_an_ended_session_is_invalid(sessions: Sessions) -> None:
    session = await sessions.begin()
    await sessions.end(session)

    assert await sessions.find(session.token) is None


async def test_a_visitor_can_sign_out(sessions: Sessions) -> None:
    await sessions.end(sessions.visitor())

    assert await sessions.find(sessions.visitor().token) is None


async def test_a_session_expires_and_is_deleted(sessions: Sessions, database: Database, clock: ManualClock) -> None:
    session = await sessions.begin()
    await use_until(sessions, session, clock, SESSION_SECONDS - 1)
    lasting = await sessions.find(session.token)
    clock.at += 2
    ended = await sessions.find(session.token)
    deleted = await sessions.purge()
    count = select(func.count()).select_from(tables.console_sessions)

    assert (session, None) == (lasting, ended)
    assert deleted >= 1
    assert 0 == await database.read(lambda db: db.execute(count).scalar())


async def test_expired_sessions_are_purged_in_steps(sessions: Sessions, database: Database, clock: ManualClock) -> None:
    row = {"expires_at": clock.now()}
    rows = [row | {"digest": number.to_bytes(32, "big")} for number in range(PURGE_STEP + 1)]
    await database.write(lambda db: db.execute(insert(tables.console_sessions), rows).rowcount)

    assert [PURGE_STEP, 1, 0] == [await sessions.purge(), await sessions.purge(), await sessions.purge()]


async def test_stored_session_data_grants_no_access(sessions: Sessions, database: Database) -> None:
    await database.write(lambda db: db.execute(delete(tables.console_sessions)))
    session = await sessions.begin()
    rows = await database.read(lambda db: db.execute(select(tables.console_sessions)).all())

    assert 1 == len(rows)
    assert [] == [row for row in rows if urlsafe_b64encode(row.digest).decode().rstrip("=") in session.token]


async def test_a_new_operator_token_ends_sessions(sessions: Sessions, database: Database, clock: ManualClock) -> None:
    session = await sessions.begin()
    changed = Sessions(database, SecretKeys(SECRETS[:1]), "another", clock)

    assert await changed.find(session.token) is None


async def test_sessions_remain_valid_until_the_old_secret_key_is_removed(
    sessions: Sessions, database: Database, clock: ManualClock
) -> None:
    session = await sessions.begin()
    rotated = await Sessions(database, SecretKeys(SECRETS[::-1]), "operator", clock).find(session.token)
    replaced = await Sessions(database, SecretKeys(SECRETS[1:]), "operator", clock).find(session.token)

    assert (True, None) == (rotated is not None, replaced)


def test_a_returning_visitor_gets_the_same_form(sessions: Sessions) -> None:
    first = sessions.visitor()

    assert first == sessions.visitor(first.token)


@pytest.mark.parametrize("planted", ["", "short", "x" * 44, "x" * 42 + "\n", "\u00e9" * 43])
def test_a_visitor_cannot_choose_any_token(sessions: Sessions, planted: str) -> None:
    assert planted != sessions.visitor(planted).token


def test_a_session_has_no_revealing_repr() -> None:
    assert "Session()" == repr(Session("held", "carried"))


@requirement("administration-21")
async def test_a_link_begins_one_session_despite_concurrent_uses(sessions: Sessions, database: Database) -> None:
    link = await sessions.create_link()
    elsewhere = Sessions(database, SecretKeys(SECRETS[:1]), "operator", sessions._clock)
    together = await asyncio.gather(*(one.begin_by_link(link) for one in [sessions, elsewhere] * 3))
    begun = [session for session in together if session is not None]

    assert 1 == len(begun)
    assert begun[0] == await elsewhere.find(begun[0].token)
    assert await sessions.begin_by_link(link) is None


@requirement("administration-21")
async def test_a_link_works_for_ten_minutes(sessions: Sessions, clock: ManualClock) -> None:
    links = [await sessions.create_link() for _ in range(2)]
    clock.at += LINK_SECONDS - 1
    in_time = await sessions.begin_by_link(links[0])
    await sessions.purge()
    clock.at += 1

    assert in_time is not None
    assert await sessions.begin_by_link(links[1]) is None


@requirement("administration-21")
async def test_a_link_is_no_session_and_a_session_is_no_link(sessions: Sessions) -> None:
    session, link = await sessions.begin(), await sessions.create_link()

    assert [None, None] == [await sessions.find(link), await sessions.begin_by_link(session.token)]
