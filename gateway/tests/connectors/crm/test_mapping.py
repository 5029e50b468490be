"""Conversion of values, and classification of the vendor's responses."""

import json
from decimal import Decimal
from typing import Any

import pytest

from connector_gateway.connectors.crm import mapping, value_casts
from connector_gateway.connectors.crm.client import throttle_delay
from connector_gateway.connectors.crm.errors import unwrap
from connector_gateway.connectors.crm.wire import Definition, Owner, Record
from connector_gateway.kit.errors import (
    ConnectionRevoked,
    ContactNotFound,
    DealNotFound,
    GatewayError,
    InvalidParameters,
    LossyCast,
    OptionMissing,
    ReadOnlyField,
    UpstreamConflict,
    UpstreamForbidden,
    UpstreamRefused,
    UpstreamUnexpected,
)
from connector_gateway.kit.upstream.pool import UpstreamResponse
from connector_gateway.kit.wire_model import convert
from harness.requirement import requirement

OPTIONS = [{"value": "a", "label": "A"}, {"value": "b", "label": "B"}]


def described(kind: str, **more: Any) -> Definition:
    return convert({"name": "p", "label": "P", "type": kind, **more}, Definition)


ONE = described("enumeration", fieldType="select", options=OPTIONS)
SEVERAL = described("enumeration", fieldType="checkbox", options=OPTIONS)
OWNER = described("enumeration", fieldType="select", options=[], externalOptions=True)


@requirement("crm-4")
@pytest.mark.parametrize(
    ("definition", "value", "text"),
    [
        (described("string"), "a <b> ", "a <b> "),
        (described("string"), 7, "7"),
        (described("string"), Decimal("1.50"), "1.50"),
        (described("string"), None, ""),
        (described("json"), '{"a":1}', '{"a":1}'),
        (described("number"), 12, "12"),
        (described("number"), Decimal("1E+3"), "1000"),
        (described("number"), Decimal("0.1000000000000000000000001"), "0.1000000000000000000000001"),
        (described("number"), " 12.50 ", "12.50"),
        (described("bool"), True, "true"),
        (described("bool"), "false", "false"),
        (described("date"), "2026-11-02", "2026-11-02"),
        (described("date"), "2026-11-02T01:00:00+01:00", "2026-11-02"),
        (described("date"), 1_793_577_600_000, "2026-11-02"),
        (described("datetime"), "2026-11-02T10:00:00.5+02:00", "2026-11-02T08:00:00.500Z"),
        (described("datetime"), "2026-11-02", "2026-11-02T00:00:00.000Z"),
        (described("datetime"), 1_793_577_600_001, "2026-11-02T00:00:00.001Z"),
        (ONE, "a", "a"),
        (SEVERAL, ["a", "b", "a"], "a;b"),
        (SEVERAL, "a;b", "a;b"),
        (SEVERAL, ";b", ";b"),
        (SEVERAL, [], ""),
        (OWNER, 771203, "771203"),
        (described("enumeration", options=[{"value": "true"}]), True, "true"),
    ],
)
def test_a_value_becomes_the_text_of_its_type(definition: Definition, value: Any, text: str) -> None:
    assert value_casts.cast(definition, value) == text


@pytest.mark.parametrize(
    ("definition", "value"),
    [
        (described("string"), ["a"]),
        (described("string"), True),
        (described("string"), "x" * 65_537),
        (described("number"), "1,250"),
        (described("number"), "1_000"),
        (described("number"), "NaN"),
        (described("number"), "1e999"),
        (described("number"), "١٢"),
        (described("number"), True),
        (described("bool"), "yes"),
        (described("bool"), 1),
        (described("date"), "02.11.2026"),
        (described("date"), "2026-11-02T10:00:00Z"),
        (described("date"), True),
        (described("datetime"), "noon"),
        (described("datetime"), "2026-11-02T10:00:00.0001Z"),
        (described("datetime"), 10**30),
        (ONE, {"a": 1}),
        (ONE, ["a"]),
    ],
)
def test_a_lossy_value_is_rejected(definition: Definition, value: Any) -> None:
    with pytest.raises(LossyCast) as error:
        value_casts.cast(definition, value)

    assert "p" == error.value.details[0]["property"]


@requirement("crm-36")
@pytest.mark.parametrize(("definition", "value"), [(ONE, "c"), (ONE, "A"), (SEVERAL, ["a", "c"]), (ONE, "a;b")])
def test_an_unknown_option_is_rejected_with_the_allowed_options(definition: Definition, value: Any) -> None:
    with pytest.raises(OptionMissing) as error:
        value_casts.cast(definition, value)

    assert ["a", "b"] == error.value.details[0]["allowed"]


@pytest.mark.parametrize(
    ("definition", "sent", "current"),
    [
        (described("string"), " a ", "a"),
        (described("string"), "", None),
        (described("string"), " ", ""),
        (described("number"), "1.50", "1.5"),
        (described("date"), "2026-11-02", "2026-11-02"),
        (described("datetime"), "2026-11-02T00:00:00.000Z", "2026-11-02T00:00:00Z"),
        (SEVERAL, "a;b", "b;a"),
        (SEVERAL, ";b", "a;b"),
    ],
)
def test_texts_that_mean_the_same_are_the_same(definition: Definition, sent: str, current: str | None) -> None:
    assert value_casts.equal_values(definition, sent, current)


@pytest.mark.parametrize(
    ("definition", "sent", "current"),
    [
        (described("string"), "a", "A"),
        (described("string"), "a", None),
        (described("string"), "", "a"),
        (described("number"), "1.5", "1.51"),
        (described("number"), "1.5", "a lot"),
        (described("date"), "2026-11-02", "soon"),
        (SEVERAL, "a", "a;b"),
        (SEVERAL, ";b", "a"),
    ],
)
def test_texts_that_mean_something_else_are_not(definition: Definition, sent: str, current: str | None) -> None:
    assert not value_casts.equal_values(definition, sent, current)


@pytest.mark.parametrize(
    ("definition", "value", "expected"),
    [
        (described("string"), "Ana", "Ana"),
        (ONE, "gone", "gone"),
        (described("number"), "7.0", "7.0"),
        (described("bool"), "true", "true"),
        (described("date"), "2026-11-02", "1793577600000"),
        (described("datetime"), "2026-11-02T01:00:00+01:00", "1793577600000"),
    ],
)
def test_a_search_compares_instants_as_milliseconds(definition: Definition, value: str, expected: str) -> None:
    assert value_casts.filter_value(definition, value) == expected


def test_every_computed_property_is_named() -> None:
    computed = described("string", modificationMetadata={"readOnlyValue": True})
    known = dict.fromkeys("ab", computed)

    with pytest.raises(ReadOnlyField) as error:
        mapping.properties.values(known, {"a": 1, "b": 2})

    assert [
        {"code": "read_only_field", "property": "a"},
        {"code": "read_only_field", "property": "b"},
    ] == error.value.details


@pytest.mark.parametrize(
    ("reference", "domain"),
    [
        ("acme.test", "acme.test"),
        (" HTTPS://WWW.Acme.test/a/b ", "acme.test"),
        ("acme.test.", "acme.test"),
        ("bücher.example", "bücher.example"),
        ("9001", None),
        ("acme", None),
    ],
)
def test_a_company_goes_by_its_bare_domain(reference: str, domain: str | None) -> None:
    assert mapping.companies.company_domain(reference) == domain


def test_a_note_keeps_its_words_and_lines() -> None:
    note = mapping.notes.note_properties('a < b & "c"\r\nd\re', mapping.records.parse_datetime("2026-11-20T09:12:00Z"))

    assert {"hs_timestamp": "2026-11-20T09:12:00.000Z", "hs_note_body": 'a &lt; b &amp; "c"<br>d<br>e'} == note


def test_a_note_that_grows_too_long_is_rejected() -> None:
    with pytest.raises(InvalidParameters):
        mapping.notes.note_properties("&" * 13_108, mapping.records.parse_datetime("2026-11-20T09:12:00Z"))


@pytest.mark.parametrize("text", ["2026-11-20T09:12:00Z", "2026-11-20T10:12:00.000+01:00", "1795165920000"])
def test_an_instant_is_read_in_all_its_forms(text: str) -> None:
    assert mapping.records.parse_datetime(text).isoformat() in {
        "2026-11-20T09:12:00+00:00",
        "2026-11-20T10:12:00+01:00",
    }


def answer(status: int, body: Any = "", **headers: str) -> UpstreamResponse:
    return UpstreamResponse(status, headers, body.encode() if isinstance(body, str) else json.dumps(body).encode())


@pytest.mark.parametrize(
    ("value", "pause"),
    [
        (answer(200), None),
        (answer(409), None),
        (answer(429), 1.0),
        (answer(429, {"policyName": "SECONDLY"}), 1.0),
        (answer(429, {"policyName": "TEN_SECONDLY_ROLLING"}), 10.0),
        (answer(429, {"policyName": "DAILY"}), 3600.0),
        (answer(429, {"policyName": "DAILY"}, **{"Retry-After": "7"}), 7.0),
        (answer(423), 2.0),
        (answer(477, **{"Retry-After": "120"}), 120.0),
        (answer(477), 60.0),
    ],
)
def test_a_throttled_response_says_how_long_to_rest(value: UpstreamResponse, pause: float | None) -> None:
    assert throttle_delay(value) == pause


@pytest.mark.parametrize(
    ("value", "error"),
    [
        (answer(400), UpstreamRefused),
        (answer(400, {"errors": [{"code": "INVALID_OBJECT_IDS"}]}), DealNotFound),
        (answer(400, {"message": "odd [ words"}), UpstreamRefused),
        (answer(400, {"message": "odd [1]"}), UpstreamRefused),
        (answer(400, ["odd"]), UpstreamRefused),
        (answer(401), ConnectionRevoked),
        (answer(403, {}), UpstreamForbidden),
        (answer(404, {"message": "resource not found"}), DealNotFound),
        (answer(404, "<html>"), UpstreamUnexpected),
        (answer(409, {"message": "in the way"}), UpstreamConflict),
        (answer(414, "<html>"), UpstreamRefused),
        (answer(415), UpstreamUnexpected),
    ],
)
def test_a_vendor_error_becomes_an_error_of_the_catalogue(value: UpstreamResponse, error: type[GatewayError]) -> None:
    with pytest.raises(error) as raised:
        unwrap(value, Record, DealNotFound, "7")

    assert raised.type is error
    assert raised.value.private == value.text


def test_a_missing_record_is_reported_with_the_requested_id() -> None:
    with pytest.raises(ContactNotFound) as error:
        unwrap(answer(404, {"message": "no"}), Record, ContactNotFound, "50912")

    assert [{"value": "50912"}] == error.value.details


OWNERS = {
    owner.id: owner
    for owner in (
        Owner(id="1", email="ana@acme.test", archived=False),
        Owner(id="2", email="Ana@Acme.test", archived=False),
        Owner(id="3", email="ben@acme.test", archived=False),
        Owner(id="4", email="ben@acme.test", archived=True),
    )
}


def test_an_address_that_two_owners_have_names_neither() -> None:
    with pytest.raises(OptionMissing) as error:
        mapping.owners.by_id({}, OWNERS, {"owner_email": "ana@acme.test"})

    assert [["1", "2"]] == [detail["allowed"] for detail in error.value.details]


def test_an_active_owner_goes_before_a_deactivated_one_of_the_same_address() -> None:
    assert {"hubspot_owner_id": "3"} == mapping.owners.by_id({}, OWNERS, {"owner_email": "ben@acme.test"})
