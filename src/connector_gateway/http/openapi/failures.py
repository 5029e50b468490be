"""The answers to calls that fail: for each status the errors that can be behind it, told apart by their code."""

from collections.abc import Iterable, Sequence
from itertools import groupby

from connector_gateway.core.envelope import DOCS
from connector_gateway.http.openapi.shapes import Schema, object_of, reference
from connector_gateway.kit.errors import (
    GatewayError,
    IdempotencyInProgress,
    InvalidCursor,
    InvalidJson,
    OutcomeUnknown,
    WriteScopeRequired,
)

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
"""What statuses are called; Python's own phrases change between its versions."""

DETAIL: Schema = {
    "type": "object",
    "description": "One fault, or a step that stands. Other fields depend on the code.",
    "properties": {
        "parameter": {"type": "string", "description": "Which parameter, with a path into it."},
        "property": {"type": "string", "description": "Which property of the object."},
        "field": {"type": ["string", "null"], "description": "Which field of the record."},
        "index": {"type": "integer", "description": "Which item, from 0."},
        "message": {"type": "string", "description": "What is wrong."},
        "value": {"description": "What was sent, cut where it is long."},
        "allowed": {"type": "array", "items": {}, "description": "What would be taken instead."},
        "did_you_mean": {"type": "string", "description": "What was probably meant."},
        "done": {"type": "string", "description": "A step of the call that stands all the same."},
        "more": {"type": "integer", "description": "How many faults there are that are not listed."},
    },
    "additionalProperties": True,
}


class Failures:
    """The schemas of failures, as they are met.

    Whatever many routes share has a name of its own, such as ``UnauthorizedError``; a failure with codes that only one
    operation has is named for it, as ``CreatePageConflictError``.
    """

    def __init__(self) -> None:
        self.definitions: dict[str, Schema] = {"Detail": DETAIL}
        self._shared: dict[tuple[type[GatewayError], ...], str] = {}

    def responses(self, name: str, errors: Errors, own: Errors, *, kind: str = "", connector: str | None) -> Schema:
        """The responses of the route called *name*, by status; *own* are the errors that only some routes have."""
        by_status = groupby(sorted(errors, key=lambda error: error.status), key=lambda error: error.status)
        return {str(status): self._response(name, list(group), own, kind, connector) for status, group in by_status}

    def _response(self, name: str, errors: Errors, own: Errors, kind: str, connector: str | None) -> Schema:
        described = "\n".join(f"- `{error.code}`: {_meaning(error)} {error.remedy}" for error in errors)
        examples = {error.code: {"summary": _meaning(error), "value": _example(error, connector)} for error in errors}
        schema = reference(self._name(name, errors, own, kind))
        return {
            "description": described,
            "headers": _headers(errors),
            "content": {"application/json": {"schema": schema, "examples": examples}},
        }

    def _name(self, name: str, errors: Errors, own: Errors, kind: str) -> str:
        """The name of the failure with one of *errors*, which is defined when it is met first."""
        reason = f"{REASONS[errors[0].status]}Error"
        # Otherwise two routes whose errors differ would give one name to two shapes.
        if set(errors) & set(own):
            named = name + reason
        else:
            named = self._shared.setdefault(tuple(errors), f"{kind}{_kind(errors)}{reason}")
        self.definitions.setdefault(named, self._failure(errors))
        return named

    def _failure(self, errors: Errors) -> Schema:
        for error in errors:
            self.definitions.setdefault(error.__name__, _error(error))
        fields: Schema = {
            "run_id": {"type": "string", "description": "Identifies the call, and finds it in the history."},
            "connector": {"type": ["string", "null"], "description": "Null where the route has none."},
            "error": _one_of(errors),
            "retry_after": {"type": "integer", "minimum": 1, "description": "Seconds to wait before a repeat."},
        }
        return object_of(fields) | {"required": ["run_id", "connector", "error"]}


def _kind(errors: Errors) -> str:
    """What sets a failure apart from the one that every operation has at its status."""
    if {WriteScopeRequired, IdempotencyInProgress, OutcomeUnknown} & set(errors):
        return "Write"
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
        "message": {"type": "string", "description": "What is wrong, for people."},
        "remedy": {"type": "string", "description": "What to do."},
        "details": {"type": "array", "items": reference("Detail")},
        "docs": {"type": "string", "description": "The page that explains the code, below the served address."},
    }
    return object_of(fields, description=_meaning(error))


def _meaning(error: type[GatewayError]) -> str:
    return (error.__doc__ or "").strip()


def _example(error: type[GatewayError], connector: str | None) -> Schema:
    body: Schema = {
        "run_id": EXAMPLE_RUN,
        "connector": connector,
        "error": {
            "code": error.code,
            "message": _meaning(error),
            "remedy": error.remedy,
            "details": [],
            "docs": DOCS + error.code,
        },
    }
    return body | ({"retry_after": 12} if error.status == 429 else {})


def _headers(errors: Iterable[type[GatewayError]]) -> Schema:
    names = ["X-Run-Id", *(["Retry-After"] if any(error.status in {429, 503} for error in errors) else [])]
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}
