"""Comparison of exchanges with the documents of their vendor."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from jsonschema import ValidationError
from jsonschema.exceptions import best_match

from sandbox.tests.documents.endpoint import Endpoint, Schema
from sandbox.tests.documents.exchange import Exchange
from sandbox.tests.documents.vendor_documents import Document

PATH_ALIASES: Sequence[tuple[re.Pattern[str], str]] = (
    (re.compile(r"^/crm/objects/2026-0\d/([^/]+/[^/]+/associations)"), r"/crm/v4/objects/\1"),
    (re.compile(r"^/crm/associations/2026-0\d"), "/crm/v4/associations"),
    (re.compile(r"^/(crm/\w+|account-info)/2026-0\d"), r"/\1/v3"),
    (re.compile(r"^/oauth/2026-0\d"), "/oauth/v1"),
    (re.compile(r"^/crm/(\w+)/v3"), r"/crm/v3/\1"),
    (re.compile(r"^/crm/v3/objects/deals(?=/|$)"), "/crm/v3/objects/0-3"),
)
"""HubSpot's dated paths and their names in its documents, which describe older versions."""

NUMBERS = re.compile(r"/\d+(?=/|$)")


@dataclass(frozen=True)
class Finding:
    """A difference between an exchange and its document."""

    endpoint: str
    """Method and path, as in the document."""
    location: str
    """``request`` or ``answer``, and the path in it; ``*`` stands for any list index."""
    rule: str
    """The violated rule: ``type``, ``enum``, ``required: name`` …"""
    sample: str
    """The violating value."""

    @property
    def kind(self) -> tuple[str, str, str]:
        """The key that equal findings share."""
        return self.endpoint, self.location, self.rule


def find_endpoint(exchange: Exchange, documents: Sequence[Document]) -> tuple[Document, Endpoint] | None:
    """Return the matching endpoint with the fewest path parameters, and its document."""
    path = exchange.path
    for pattern, alias in PATH_ALIASES if exchange.application == "crm" else ():
        path = pattern.sub(alias, path)
    methods = ("GET", "POST") if exchange.application == "chat" else (exchange.method,)
    # Slack's methods accept both, and the document names one.
    matches = (
        (document, endpoint)
        for document in documents
        for endpoint in document.endpoints
        if any(endpoint.serves(method, path) for method in methods)
    )
    return min(matches, key=lambda match: match[1].path_params, default=None)


@dataclass(frozen=True)
class CheckedExchange:
    """An exchange with its endpoint in a document."""

    exchange: Exchange
    document: Document
    endpoint: Endpoint

    def findings(self) -> Iterator[Finding]:
        """Yield all differences. Rejected requests are not checked."""
        if self.exchange.is_accepted and self.exchange.is_from_sdk:
            yield from self._request_findings()
        yield from self._response_findings()

    def _request_findings(self) -> Iterator[Finding]:
        endpoint, values_by_name = self.endpoint, _parameter_values(self.exchange, self.endpoint)
        # Slack describes the token as a parameter, and also accepts it in a header.
        for name in endpoint.required - values_by_name.keys() - ({"token"} if self.exchange.is_authorised else set()):
            yield self._finding("request", f"required: {name}", "not there")
        for name, values in values_by_name.items():
            schema = endpoint.parameters.get(name)
            if schema is None:
                yield self._finding(f"request {name}", "unknown", str(values))
            elif not any(self.document.validator(schema).is_valid(value) for value in _readings(values)):
                yield self._finding(f"request {name}", "parameter", str(values))
        if endpoint.body is not None and self.exchange.request_json is not None:
            yield from self._violations("request", endpoint.body, self.exchange.request_json)

    def _response_findings(self) -> Iterator[Finding]:
        # Slack's errors with status 200 are the default response in its document.
        is_error = self.exchange.status == 200 and not self.exchange.is_accepted
        described, schema = self.endpoint.response_schema(400 if is_error else self.exchange.status)
        if not described and self.exchange.is_accepted:
            yield self._finding("answer", f"status: {self.exchange.status}", "not described")
        if schema is not None and self.exchange.response_json is not None:
            yield from self._violations("answer", schema, self.exchange.response_json)

    def _violations(self, side: str, schema: Schema, value: Any) -> Iterator[Finding]:
        for error in _leaves(self.document.validator(schema).iter_errors(value)):
            location = NUMBERS.sub("/*", "".join(f"/{part}" for part in error.absolute_path))
            sample = json.dumps(error.instance, ensure_ascii=False)[:120]
            for rule in _rules(error):
                yield self._finding(f"{side} {location}".rstrip(), rule, sample)

    def _finding(self, location: str, rule: str, sample: str) -> Finding:
        return Finding(f"{self.endpoint.method} {self.endpoint.path}", location, rule, sample)


def check_exchanges(
    exchanges: Iterable[Exchange], documents: Sequence[Document]
) -> tuple[Counter[str], Sequence[Finding]]:
    """Return the counts of the exchanges of an application, and one finding of each kind."""
    counts: Counter[str] = Counter()
    findings: dict[tuple[str, str, str], Finding] = {}
    for exchange in exchanges:
        match = find_endpoint(exchange, documents)
        if match is None:
            counts["outside"] += 1
            continue
        counts["answers"] += 1
        counts["requests"] += exchange.is_accepted and exchange.is_from_sdk
        for finding in CheckedExchange(exchange, *match).findings():
            findings.setdefault(finding.kind, finding)
    return counts, [findings[kind] for kind in sorted(findings)]


def _parameter_values(exchange: Exchange, endpoint: Endpoint) -> Mapping[str, list[Any]]:
    """Return the values of each parameter, including body fields that the document describes as parameters."""
    pairs: list[tuple[str, Any]] = [*exchange.query, *exchange.form]
    if endpoint.body is None and isinstance(exchange.request_json, dict):
        pairs += exchange.request_json.items()
    by_name: dict[str, list[Any]] = {}
    for name, value in pairs:
        # ``fields[]`` and ``sort[0][field]`` belong to the parameters ``fields`` and ``sort``.
        by_name.setdefault(name.split("[")[0], []).append(value)
    return by_name


def _readings(values: list[Any]) -> Iterator[Any]:
    """Yield all possible parses of a parameter. Its schema decides which one is valid."""
    yield values
    if len(values) > 1:
        return
    (value,) = values
    yield value
    if not isinstance(value, str):
        yield json.dumps(value)
        return
    yield value.split(",")
    with suppress(KeyError):
        yield {"true": True, "false": False, "1": True, "0": False}[value.lower()]
    with suppress(ValueError):
        yield json.loads(value)


def _leaves(errors: Iterable[ValidationError]) -> Iterator[ValidationError]:
    """Yield the deepest cause of each error, and the best match of alternatives."""
    for error in errors:
        if error.validator == "allOf" and error.context:
            yield from _leaves(error.context)
        else:
            yield best_match([error])


def _rules(error: ValidationError) -> Iterator[str]:
    match error.validator:
        case "required":
            yield from (f"required: {name}" for name in error.validator_value if name not in error.instance)
        case "additionalProperties":
            patterns = "|".join(error.schema.get("patternProperties", ())) or r"(?!)"
            more = error.instance.keys() - error.schema.get("properties", {}).keys()
            yield from (f"more: {name}" for name in more if not re.search(patterns, name))
        case "type":
            yield f"type: {error.validator_value}"
        case _:
            yield str(error.validator)
