"""Error responses: each set of errors of one status is one component, and each error has one example."""

from collections.abc import Sequence
from itertools import groupby

from connector_gateway.core.calls.response_envelope import DOCS
from connector_gateway.core.error_serialization import public_details
from connector_gateway.http.openapi.header_schemas import error_headers
from connector_gateway.http.openapi.schemas import Schema, inline_schema, object_schema, reference
from connector_gateway.kit.errors import (
    AdminRoleRequired,
    ConfirmationRequired,
    GatewayError,
    IdempotencyInProgress,
    IdempotencyKeyReused,
    InvalidCursor,
    InvalidJson,
    OutcomeUnknown,
    WriteScopeRequired,
)
from connector_gateway.kit.errors.remedy_placeholders import general_remedy, resolve_remedy
from connector_gateway.kit.models import DryRunResult
from connector_gateway.kit.operation import AnyConnector

EXAMPLE_RUN = "run_01KAJ5T6M0Q7Z3X9V2B8N4C1DF"

Errors = Sequence[type[GatewayError]]

REASONS = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    408: "RequestTimeout",
    409: "Conflict",
    413: "ContentTooLarge",
    415: "UnsupportedMedia",
    422: "Unprocessable",
    429: "TooManyRequests",
    431: "HeadersTooLarge",
    500: "InternalServer",
    502: "BadGateway",
    503: "ServiceUnavailable",
    504: "GatewayTimeout",
}
"""Names of statuses. Python's own phrases differ between its versions."""

DETAIL: Schema = {
    "type": "object",
    "description": "One violation, or a step that took effect. Other fields depend on the code.",
    "properties": {
        "code": {"type": "string", "description": "The code of this violation; in a 4xx always."},
        "parameter": {"type": "string", "description": "The parameter, with a path into it."},
        "property": {"type": "string", "description": "The property of the object."},
        "header": {"type": "string", "description": "The header of the request."},
        "place": {
            "type": "string",
            "description": "`request` for all of it, or a JSON path in the vendor's response.",
        },
        "field": {"type": ["string", "null"], "description": "The field of the record."},
        "index": {"type": "integer", "description": "The position of the item, from 0."},
        "message": {"type": "string", "description": "The reason."},
        "value": {"description": "The value that was sent, cut if it is long."},
        "allowed": {"type": "array", "items": {}, "description": "The values that are accepted."},
        "did_you_mean": {"type": "string", "description": "The nearest accepted value."},
        "done": {"type": "string", "description": "A step of the call that took effect."},
        "more": {"type": "integer", "description": "The number of violations that are not listed."},
    },
    "additionalProperties": True,
}


class ErrorSchemas:
    """The error responses of all routes, with their schemas and examples, as components.

    A response that many routes share has a general name, such as ``UnauthorizedError``. A response with codes that
    only one operation has is named after the operation, such as ``CreatePageConflictError``.
    """

    def __init__(self, connectors: Sequence[AnyConnector]) -> None:
        self._connectors = connectors
        self.schemas: dict[str, Schema] = {"Detail": DETAIL}
        self.responses: dict[str, Schema] = {}
        self.examples: dict[str, Schema] = {}
        self._shared: dict[tuple[type[GatewayError], ...], str] = {}

    def route_responses(
        self, name: str, errors: Errors, own: Errors, *, kind: str = "", connector: AnyConnector | None
    ) -> Schema:
        """Return references to the errors of the route *name*, by status. *own* are specific to the route."""
        by_status = groupby(sorted(errors, key=lambda error: error.status), key=lambda error: error.status)
        return {str(status): self._response(name, list(group), own, kind, connector) for status, group in by_status}

    def _response(self, name: str, errors: Errors, own: Errors, kind: str, connector: AnyConnector | None) -> Schema:
        component = self._name(name, errors, own, kind)
        if component not in self.responses:
            self.schemas[component] = self._schema(errors)
            self.responses[component] = {
                "description": "\n".join(
                    f"- `{error.code}`: {_meaning(error)} {general_remedy(error, self._connectors)}" for error in errors
                ),
                "headers": error_headers(errors[0].status),
                "content": {
                    "application/json": {
                        "schema": reference(component),
                        "examples": {error.code: self._example(error, kind, connector) for error in errors},
                    }
                },
            }
        return {"$ref": f"#/components/responses/{component}"}

    def _name(self, name: str, errors: Errors, own: Errors, kind: str) -> str:
        reason = f"{REASONS[errors[0].status]}Error"
        # Otherwise two routes whose errors differ would give one name to two schemas.
        if set(errors) & set(own):
            return name + reason
        return self._shared.setdefault(tuple(errors), f"{kind}{_kind(errors)}{reason}")

    def _schema(self, errors: Errors) -> Schema:
        for error in errors:
            self.schemas.setdefault(error.__name__, _error(error))
        fields: Schema = {
            "run_id": {"type": "string", "description": "Identifies the call, and finds it in the history."},
            "connector": {"type": ["string", "null"], "description": "Null if the route has none."},
            "error": _one_of(errors),
            "retry_after": {"type": "integer", "minimum": 1, "description": "Seconds to wait before a retry."},
        }
        if ConfirmationRequired in errors:
            fields["dry_run"] = inline_schema(DryRunResult)
        return object_schema(fields) | {"required": ["run_id", "connector", "error"]}

    def _example(self, error: type[GatewayError], kind: str, connector: AnyConnector | None) -> Schema:
        component = kind + error.__name__
        self.examples.setdefault(component, {"summary": _meaning(error), "value": _body(error, connector)})
        return {"$ref": f"#/components/examples/{component}"}


def _kind(errors: Errors) -> str:
    """Return the word that distinguishes *errors* from those that every operation has with the same status."""
    writes = {AdminRoleRequired, WriteScopeRequired, IdempotencyInProgress, IdempotencyKeyReused, OutcomeUnknown}
    if writes & set(errors):
        return "Write"
    if ConfirmationRequired in errors:
        return "Confirmed"
    if InvalidJson in errors:
        return "Body"
    return "Page" if InvalidCursor in errors else ""


def _one_of(errors: Errors) -> Schema:
    if len(errors) == 1:
        return reference(errors[0].__name__)
    references = [reference(error.__name__) for error in errors]
    mapping = {error.code: one["$ref"] for error, one in zip(errors, references, strict=True)}
    return {"oneOf": references, "discriminator": {"propertyName": "code", "mapping": mapping}}


def _error(error: type[GatewayError]) -> Schema:
    fields: Schema = {
        "code": {"type": "string", "const": error.code},
        "message": {"type": "string", "description": "The cause, for people."},
        "remedy": {"type": "string", "description": "The next step."},
        "details": {"type": "array", "items": reference("Detail")},
        "docs": {"type": "string", "description": "The page that explains the code, below the served address."},
    }
    return object_schema(fields, description=_meaning(error))


def _meaning(error: type[GatewayError]) -> str:
    return (error.__doc__ or "").strip()


def _body(error: type[GatewayError], connector: AnyConnector | None) -> Schema:
    body: Schema = {
        "run_id": EXAMPLE_RUN,
        "connector": connector.name if connector else None,
        "error": {
            "code": error.code,
            "message": _meaning(error),
            "remedy": resolve_remedy(error, "http", [connector] if connector else ()),
            "details": public_details(error("")),
            "docs": DOCS + error.code,
        },
    }
    return body | ({"retry_after": 12} if error.status == 429 else {})
