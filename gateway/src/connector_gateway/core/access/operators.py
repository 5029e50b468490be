"""Operators, the administrators of an installation, with a name, a role and a token."""

import hmac
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from sqlalchemy import Connection, func, insert, or_, select, update

from connector_gateway.core.access.keys import generate_key, is_well_formed
from connector_gateway.core.audited_actions import with_audit_entry
from connector_gateway.core.error_serialization import truncate
from connector_gateway.core.secrets.secret_keys import token_digest
from connector_gateway.core.single_flight_cache import CACHE_SECONDS, MAX_ROWS, SingleFlight
from connector_gateway.kit.clock import Clock, utc_datetime
from connector_gateway.kit.errors import AdminRoleRequired, InvalidParameters, OperatorNotFound
from connector_gateway.kit.identifiers import ulid
from connector_gateway.storage.sql import tables
from connector_gateway.storage.sql.database import Database

Role = Literal["admin", "viewer"]

PREFIX = "cgo_"
"""The prefix of operator tokens, which secret scanners recognise and which API keys do not have."""

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]{0,59}")
RESERVED = ("operator", "system", "cli", "anonymous", "connect_link", "application")
"""Names of other actors in the audit trail."""

IDENTIFIER = re.compile("(key|opr)_.*")

_operators = tables.operators.c


@dataclass(frozen=True, slots=True)
class Operator:
    """An administrator of the installation."""

    name: str
    role: Role
    operator_id: str | None
    """None for the built-in operator, whose token is a setting."""

    @property
    def may_change(self) -> bool:
        """Whether the role allows changes."""
        return self.role == "admin"

    def require_admin(self) -> None:
        """Raise ``AdminRoleRequired`` if the operator is only allowed to read."""
        if not self.may_change:
            raise AdminRoleRequired(f"The operator {self.name} is only allowed to read.")


BUILT_IN = Operator("operator", "admin", None)
"""The operator whose token is the setting ``GATEWAY_OPERATOR_TOKEN``."""


class Operators:
    """Creates, authenticates and revokes operators. Look-ups are cached for seconds of the *steady* clock."""

    def __init__(self, database: Database, operator_token: str, clock: Clock, steady: Clock | None = None) -> None:
        self._database = database
        self._operator_token = operator_token.encode()
        self._clock = clock
        self._cache: SingleFlight[bytes, Operator | None] = SingleFlight(steady or clock, MAX_ROWS, from_start=True)

    async def find(self, token: str) -> Operator | None:
        """Return the operator with *token*, or None if it is unknown or revoked."""
        if hmac.compare_digest(token.encode(errors="replace"), self._operator_token):
            return BUILT_IN
        if not is_well_formed(token, PREFIX):
            return None
        digest = token_digest(token)
        return await self._cache.get(digest, partial(self._look_up, digest), CACHE_SECONDS)

    async def create(self, name: str, role: Role) -> dict[str, Any]:
        """Create an operator. Only this result contains its ``token``."""
        _check_name(name)
        token = generate_key(PREFIX)
        row = {
            "operator_id": f"opr_{ulid()}",
            "name": name,
            "role": role,
            "digest": token_digest(token),
            "created_at": self._clock.now(),
            "revoked_at": None,
        }

        def create(db: Connection) -> str:
            if db.execute(select(_operators.name).where(_operators.name == name)).first():
                raise _invalid_name(name, "Is or was the name of another operator")
            db.execute(insert(tables.operators), row)
            return name

        await self._database.write(
            with_audit_entry(create, "create_operator", str(row["operator_id"]), operator=name, role=role)
        )
        return {"token": token} | _public(row)

    async def page(self, before: str | None, limit: int) -> tuple[Sequence[dict[str, Any]], str | None]:
        """Return operators, newest first, and the next *before* or None."""
        query = select(tables.operators).order_by(_operators.operator_id.desc()).limit(limit + 1)
        query = query if before is None else query.where(_operators.operator_id < before)
        rows = await self._database.read(lambda db: db.execute(query).mappings().all())
        operators = [_public(row) for row in rows[:limit]]
        return operators, operators[-1]["operator_id"] if len(rows) > limit else None

    async def show(self, name: str) -> dict[str, Any]:
        """Return one operator, by identifier or name."""
        query = select(tables.operators).where(or_(_operators.operator_id == name, _operators.name == name))
        row = await self._database.read(lambda db: db.execute(query).mappings().first())
        if row is None:
            raise _not_found(name)
        return _public(row)

    async def revoke(self, name: str) -> dict[str, Any]:
        """Revoke the token of an operator, by identifier or name.

        It takes effect immediately in this process, and within seconds in others. Console sessions end immediately in
        all processes.
        """
        operator = await self.show(name)
        revoke = (
            update(tables.operators)
            .where(_operators.operator_id == operator["operator_id"])
            # A repeated revocation retains the time of the first one.
            .values(revoked_at=func.coalesce(_operators.revoked_at, self._clock.now()))
            .returning(*_operators)
        )

        def update_row(db: Connection) -> Mapping[Any, Any] | None:
            return db.execute(revoke).mappings().first()

        row = await self._database.write(
            with_audit_entry(update_row, "revoke_operator", operator["operator_id"], operator=operator["name"])
        )
        if row is None:
            raise _not_found(name)
        self._cache.forget(row["digest"])
        return _public(row)

    async def _look_up(self, digest: bytes) -> Operator | None:
        query = select(tables.operators).where(_operators.digest == digest, _operators.revoked_at.is_(None))
        row = await self._database.read(lambda db: db.execute(query).first())
        return None if row is None else Operator(row.name, row.role, row.operator_id)


def _check_name(name: str) -> None:
    """Raise ``InvalidParameters`` for a name that is malformed or used by other actors of the audit trail."""
    if not NAME.fullmatch(name):
        raise _invalid_name(name, "Should be 1 to 60 letters, digits and . _ @ + -, beginning with a letter or digit")
    if name in RESERVED or IDENTIFIER.fullmatch(name):
        raise _invalid_name(name, "Is reserved for other actors of the audit trail")


def _invalid_name(name: str, why: str) -> InvalidParameters:
    return InvalidParameters(
        f"{truncate(name)} is not a valid operator name.",
        {"parameter": "name", "value": truncate(name), "message": why},
    )


def _not_found(name: str) -> OperatorNotFound:
    return OperatorNotFound(
        f"There is no operator {truncate(name)}.", {"parameter": "operator_id", "value": truncate(name)}
    )


def _public(row: Mapping[Any, Any]) -> dict[str, Any]:
    return {name: row[name] for name in ("operator_id", "name", "role")} | {
        name: None if row[name] is None else utc_datetime(row[name]) for name in ("created_at", "revoked_at")
    }
