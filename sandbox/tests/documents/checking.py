"""An exchange held against the documents of its vendor."""

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
from sandbox.tests.documents.published import Document

SAME: Sequence[tuple[re.Pattern[str], str]] = (
    (re.compile(r"^/crm/objects/2026-0\d/([^/]+/[^/]+/associations)"), r"/crm/v4/objects/\1"),
    (re.compile(r"^/crm/associations/2026-0\d"), "/crm/v4/associations"),
    (re.compile(r"^/(crm/\w+|account-info)/2026-0\d"), r"/\1/v3"),
    (re.compile(r"^/oauth/2026-0\d"), "/oauth/v1"),
    (re.compile(r"^/crm/(\w+)/v3"), r"/crm/v3/\1"),
    (re.compile(r"^/crm/v3/objects/deals(?=/|$)"), "/crm/v3/objects/0-3"),
)
"""Paths of HubSpot's that its documents give another name: they are of the versions before the dated ones."""

MANY = re.compile(r"/\d+(?=/|$)")


@dataclass(frozen=True)
class Finding:
    """Something that an exchange does and the document does not say, or the other way round."""

    endpoint: str
    """Method and path, as the document names them."""
    place: str
    """``request`` or ``answer``, and where in it; ``*`` stands for any place in a list."""
    says: str
    """The rule that it breaks: ``type``, ``enum``, ``required: name`` …"""
    sample: str
    """What was seen."""

    @property
    def kind(self) -> tuple[str, str, str]:
        """What is the same in all findings of one sort."""
        return self.endpoint, self.place, self.says


def endpoint_of(exchange: Exchange, documents: Sequence[Document]) -> tuple[Document, Endpoint] | None:
    """The document that tells the request with the fewest names in its path, and how it tells it."""
    path = exchange.path
    for pattern, told in SAME if exchange.application == "crm" else ():
        path = pattern.sub(told, path)
    methods = ("GET", "POST") if exchange.application == "chat" else (exchange.method,)
    # Slack's methods take either; the document names one.
    served = (
        (document, endpoint)
        for document in documents
        for endpoint in document.endpoints
        if any(endpoint.serves(method, path) for method in methods)
    )
    return min(served, key=lambda found: found[1].names, default=None)


@dataclass(frozen=True)
class CheckedExchange:
    """An exchange beside what a document says of it."""

    exchange: Exchange
    document: Document
    endpoint: Endpoint

    def findings(self) -> Iterator[Finding]:
        """All that does not fit; a request that was refused may be as bad as it likes."""
        if self.exchange.is_accepted and self.exchange.is_of_library:
            yield from self._of_request()
        yield from self._of_answer()

    def _of_request(self) -> Iterator[Finding]:
        endpoint, given = self.endpoint, _given(self.exchange, self.endpoint)
        # Slack describes the token as a parameter, and takes it in a header as well.
        for name in endpoint.required - given.keys() - ({"token"} if self.exchange.is_authorised else set()):
            yield self._finding("request", f"required: {name}", "not there")
        for name, values in given.items():
            schema = endpoint.parameters.get(name)
            if schema is None:
                yield self._finding(f"request {name}", "unknown", str(values))
            elif not any(self.document.validator(schema).is_valid(value) for value in _readings(values)):
                yield self._finding(f"request {name}", "parameter", str(values))
        if endpoint.body is not None and self.exchange.asked is not None:
            yield from self._broken("request", endpoint.body, self.exchange.asked)

    def _of_answer(self) -> Iterator[Finding]:
        # What Slack refuses with status 200 is what its document calls the default.
        refused = self.exchange.status == 200 and not self.exchange.is_accepted
        described, schema = self.endpoint.answer_to(400 if refused else self.exchange.status)
        if not described and self.exchange.is_accepted:
            yield self._finding("answer", f"status: {self.exchange.status}", "not described")
        if schema is not None and self.exchange.answered is not None:
            yield from self._broken("answer", schema, self.exchange.answered)

    def _broken(self, side: str, schema: Schema, value: Any) -> Iterator[Finding]:
        for error in _leaves(self.document.validator(schema).iter_errors(value)):
            place = MANY.sub("/*", "".join(f"/{part}" for part in error.absolute_path))
            sample = json.dumps(error.instance, ensure_ascii=False)[:120]
            for says in _rules(error):
                yield self._finding(f"{side} {place}".rstrip(), says, sample)

    def _finding(self, place: str, says: str, sample: str) -> Finding:
        return Finding(f"{self.endpoint.method} {self.endpoint.path}", place, says, sample)


def checked(seen: Iterable[Exchange], documents: Sequence[Document]) -> tuple[Counter[str], Sequence[Finding]]:
    """How many exchanges of one application there were of which sort, and one finding of each kind."""
    counts: Counter[str] = Counter()
    found: dict[tuple[str, str, str], Finding] = {}
    for exchange in seen:
        known = endpoint_of(exchange, documents)
        if known is None:
            counts["outside"] += 1
            continue
        counts["answers"] += 1
        counts["requests"] += exchange.is_accepted and exchange.is_of_library
        for finding in CheckedExchange(exchange, *known).findings():
            found.setdefault(finding.kind, finding)
    return counts, [found[kind] for kind in sorted(found)]


def _given(exchange: Exchange, endpoint: Endpoint) -> Mapping[str, list[Any]]:
    """The values of each parameter; of a body too, where the document describes parameters in its place."""
    pairs: list[tuple[str, Any]] = [*exchange.query, *exchange.form]
    if endpoint.body is None and isinstance(exchange.asked, dict):
        pairs += exchange.asked.items()
    given: dict[str, list[Any]] = {}
    for name, value in pairs:
        # ``fields[]`` and ``sort[0][field]`` are of the parameters ``fields`` and ``sort``.
        given.setdefault(name.split("[")[0], []).append(value)
    return given


def _readings(values: list[Any]) -> Iterator[Any]:
    """All that the text of a parameter may mean: its schema tells which of them is meant."""
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
    """Each error where it lies deepest: of alternatives, the nearest is meant."""
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
