"""Create, list and revoke operators."""

from typing import Annotated

from pydantic import Field

from connector_gateway.core.access.operators import Role
from connector_gateway.kit.errors import OperatorNotFound
from connector_gateway.kit.models import Identifier, Page, Params, Result, UtcDatetime
from connector_gateway.management.list_parameters import ListParams
from connector_gateway.management.request import ManagementRequest, position_before
from connector_gateway.management.route_declaration import Resource

RESOURCE = Resource("operators", columns=("name", "role", "operator_id", "revoked_at", "created_at"))


class CreateOperator(Params):
    """A new operator."""

    name: Annotated[str, Field(min_length=1, max_length=60)]
    """The name in the audit trail: letters, digits and ``. _ @ + -``. A name cannot be used again."""

    role: Role = "viewer"
    """``viewer`` sees everything and changes nothing; ``admin`` may change everything."""


class ListOperators(ListParams):
    """The requested page of operators."""


class RevokeOperator(Params):
    """The operator to revoke."""

    operator_id: Identifier
    """The operator's identifier or name."""


class OperatorRecord(Result):
    """An operator, without the token."""

    operator_id: str
    name: str
    role: Role
    created_at: UtcDatetime
    revoked_at: UtcDatetime | None


class CreatedOperator(OperatorRecord):
    """A new operator, the only time with the token itself."""

    token: str = Field(repr=False)
    """To be sent as ``Authorization: Bearer``, or entered in the console. It is not stored, and never shown again."""


@RESOURCE.route("POST /v1/operators", "create NAME", example={"name": "anna", "role": "admin"})
async def create_operator(request: ManagementRequest, params: CreateOperator) -> CreatedOperator:
    """Create an operator, whose token is shown only once."""
    return CreatedOperator(**await request.management.operators.create(params.name, params.role))


@RESOURCE.route("GET /v1/operators", "list")
async def list_operators(request: ManagementRequest, params: ListOperators) -> Page[OperatorRecord]:
    """List operators, newest first, without the built-in one, whose token is a setting."""
    rows, before = await request.management.operators.page(request.before, params.limit)
    return Page(items=[OperatorRecord(**row) for row in rows], position=position_before(before))


@RESOURCE.route(
    "DELETE /v1/operators/{operator_id}",
    "revoke OPERATOR_ID",
    errors=[OperatorNotFound],
    confirmation="The token stops working, and sessions in the console end. The name cannot be used again.",
    done="The operator is revoked.",
)
async def revoke_operator(request: ManagementRequest, params: RevokeOperator) -> OperatorRecord:
    """Revoke the token of an operator, and end their sessions in the console."""
    return OperatorRecord(**await request.management.operators.revoke(params.operator_id))
