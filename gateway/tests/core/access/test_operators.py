"""Operators, on both databases: named, identified by their tokens, and revoked."""

from collections.abc import AsyncIterator

import pytest
from sqlalchemy import delete, select

from connector_gateway.core.access.operators import BUILT_IN, Operator, Operators
from connector_gateway.core.access.sessions import IDLE_SECONDS, Sessions
from connector_gateway.core.secrets.secret_keys import SecretKeys
from connector_gateway.core.single_flight_cache import CACHE_SECONDS
from connector_gateway.kit.errors import InvalidParameters, OperatorNotFound
from connector_gateway.storage.sql import tables
from connector_gateway.storage.sql.database import Database
from harness.clocks import ManualClock
from harness.requirement import requirement

TOKEN = "the token of the built-in operator"


@pytest.fixture
async def database(common_database_url: str) -> AsyncIterator[Database]:
    async with Database(common_database_url) as opened:
        await opened.write(lambda db: db.execute(delete(tables.operators)).rowcount)
        yield opened


@pytest.fixture
def operators(database: Database, clock: ManualClock) -> Operators:
    return Operators(database, TOKEN, clock)


@pytest.fixture
def sessions(database: Database, clock: ManualClock) -> Sessions:
    return Sessions(database, SecretKeys(["a secret of these tests"]), TOKEN, clock)


async def create_operator(operators: Operators, name: str = "anna") -> Operator:
    """Create a viewer."""
    created = await operators.create(name, "viewer")
    operator = await operators.find(created["token"])
    assert operator is not None
    return operator


@requirement("administration-1")
async def test_an_operator_is_identified_by_the_token(operators: Operators) -> None:
    created = await operators.create("anna", "viewer")

    assert Operator("anna", "viewer", created["operator_id"]) == await operators.find(created["token"])


@requirement("administration-1")
async def test_the_built_in_operator_is_an_admin(operators: Operators) -> None:
    operator = await operators.find(TOKEN)

    assert (BUILT_IN, True) == (operator, BUILT_IN.may_change)


@pytest.mark.parametrize("token", ["", "x", "cgo_", "cgo_" + "A" * 49, "\udc00", TOKEN[:-1]])
async def test_an_unknown_token_has_no_operator(operators: Operators, token: str) -> None:
    assert await operators.find(token) is None


@requirement("administration-1")
async def test_a_token_is_not_stored(operators: Operators, database: Database) -> None:
    created = await operators.create("anna", "viewer")
    row = await database.read(lambda db: db.execute(select(tables.operators)).one())

    assert "token" not in await operators.show("anna")
    assert created["token"].encode() not in row.digest


@requirement("administration-2")
@pytest.mark.parametrize(
    "name", ["", " ", "a b", "x" * 61, "operator", "cli", "system", "key_1", "opr_1", "\u00e4nna", "-anna", "a\n"]
)
async def test_an_ambiguous_operator_name_is_rejected(operators: Operators, name: str) -> None:
    with pytest.raises(InvalidParameters):
        await operators.create(name, "viewer")


@requirement("administration-2")
async def test_an_operator_name_is_not_reused(operators: Operators) -> None:
    await operators.create("anna", "viewer")
    await operators.revoke("anna")

    with pytest.raises(InvalidParameters, match="anna"):
        await operators.create("anna", "admin")


@requirement("administration-5")
async def test_a_revoked_operator_is_rejected_here_immediately_and_elsewhere_soon(
    operators: Operators, database: Database, clock: ManualClock
) -> None:
    elsewhere = Operators(database, TOKEN, clock)
    token = (await operators.create("anna", "admin"))["token"]
    known = await elsewhere.find(token)
    await operators.revoke("anna")
    here = await operators.find(token)
    clock.at += CACHE_SECONDS

    assert (True, None) == (known is not None, here)
    assert await elsewhere.find(token) is None


async def test_revoking_again_retains_the_first_time(operators: Operators, clock: ManualClock) -> None:
    created = await operators.create("anna", "viewer")
    first = await operators.revoke("anna")
    clock.at += 60

    assert first == await operators.revoke(created["operator_id"])


async def test_an_unknown_operator_cannot_be_revoked(operators: Operators) -> None:
    with pytest.raises(OperatorNotFound):
        await operators.revoke("operator")


async def test_operators_are_listed_newest_first(operators: Operators) -> None:
    for name in ("anna", "bert", "cleo"):
        await operators.create(name, "viewer")
    first, before = await operators.page(None, 2)
    second, end = await operators.page(before, 2)

    assert ["cleo", "bert", "anna"] == [one["name"] for one in (*first, *second)]
    assert end is None


@requirement("administration-6")
async def test_a_session_belongs_to_its_operator(operators: Operators, sessions: Sessions) -> None:
    anna = await create_operator(operators)
    session = await sessions.begin(anna)
    match = await sessions.find(session.token)

    assert match is not None
    assert anna == match.operator


@requirement("administration-5")
async def test_sessions_of_a_revoked_operator_end_immediately(operators: Operators, sessions: Sessions) -> None:
    session, other = await sessions.begin(await create_operator(operators)), await sessions.begin(BUILT_IN)
    await operators.revoke("anna")

    assert await sessions.find(session.token) is None
    assert await sessions.find(other.token) is not None


@requirement("administration-6")
async def test_a_session_ends_when_idle_and_lasts_while_it_is_in_use(sessions: Sessions, clock: ManualClock) -> None:
    session = await sessions.begin()
    clock.at += IDLE_SECONDS - 1
    used = await sessions.find(session.token)
    clock.at += IDLE_SECONDS - 1
    lasting = await sessions.find(session.token)
    clock.at += IDLE_SECONDS
    ended = await sessions.find(session.token)

    assert (session, session, None) == (used, lasting, ended)


@requirement("administration-6")
async def test_automatic_page_updates_do_not_extend_a_session(sessions: Sessions, clock: ManualClock) -> None:
    session = await sessions.begin()
    clock.at += IDLE_SECONDS - 1
    refreshed = await sessions.find(session.token, in_use=False)
    clock.at += 1

    assert session == refreshed
    assert await sessions.find(session.token) is None
