"""Conversion of values, and classification of the vendor's responses."""

import json
from decimal import Decimal
from typing import Any

import pytest

from connector_gateway.connectors.crm import mapping, value_casts
from connector_gateway.connectors.crm.client import parse_throttle
from connector_gateway.connectors.crm.vendor_errors import unwrap
from connector_gateway.connectors.crm.vendor_models import Definition, Owner, Record
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
from connector_gateway.kit.vendor_model import convert
from harness.requirement import requirement

OPTIONS = [{"value": "a", "label": "A"}, {"value": "b", "label": "B"}]


def build_definition(kind: str, **more: Any) -> Definition:
    return convert({"name": "p", "label": "P", "type": kind, **more}, Definition)


ONE = build_definition("enumeration", fieldType="select", options=OPTIONS)
SEVERAL = build_definition("enumeration", fieldType="checkbox", options=OPTIONS)
OWNER = build_definition("enumeration", fieldType="select", options=[], externalOptions=True)


@requirement("crm-4")
@pytest.mark.parametrize(
    ("definition", "value", "text"),
    [
        (build_definition("string"), "a <b> ", "a <b> "),
        (build_definition("string"), 7, "7"),
        (build_definition("string"), Decimal("1.50"), "1.50"),
        (build_definition("string"), None, ""),
        (build_definition("json"), '{"a":1}', '{"a":1}'),
        (build_definition("number"), 12, "12"),
        (build_definition("number"), Decimal("1E+3"), "1000"),
        (build_definition("number"), Decimal("0.1000000000000000000000001"), "0.1000000000000000000000001"),
        (build_definition("number"), " 12.50 ", "12.50"),
        (build_definition("bool"), True, "true"),
        (build_definition("bool"), "false", "false"),
        (build_definition("date"), "2026-11-02", "2026-11-02"),
        (build_definition("date"), "2026-11-02T01:00:00+01:00", "2026-11-02"),
        (build_definition("date"), 1_793_577_600_000, "2026-11-02"),
        (build_definition("datetime"), "2026-11-02T10:00:00.5+02:00", "2026-11-02T08:00:00.500Z"),
        (build_definition("datetime"), "2026-11-02", "2026-11-02T00:00:00.000Z"),
        (build_definition("datetime"), 1_793_577_600_001, "2026-11-02T00:00:00.001Z"),
        (ONE, "a", "a"),
        (SEVERAL, ["a", "b", "a"], "a;b"),
        (SEVERAL, "a;b", "a;b"),
        (SEVERAL, ";b", ";b"),
        (SEVERAL, [], ""),
        (OWNER, 771203, "771203"),
        (build_definition("enumeration", options=[{"value": "true"}]), True, "true"),
    ],
)
def test_a_value_is_converted_to_the_text_of_its_type(definition: Definition, value: Any, text: str) -> None:
    assert value_casts.cast(definition, value) == text


@pytest.mark.parametrize(
    ("definition", "value"),
    [
        (build_definition("string"), ["a"]),
        (build_definition("string"), True),
        (build_definition("string"), "x" * 65_537),
        (build_definition("number"), "1,250"),
        (build_definition("number"), "1_000"),
        (build_definition("number"), "NaN"),
        (build_definition("number"), "1e999"),
        (build_definition("number"), "١٢"),
        (build_definition("number"), True),
        (build_definition("bool"), "yes"),
        (build_definition("bool"), 1),
        (build_definition("date"), "02.11.2026"),
        (build_definition("date"), "2026-11-02T10:00:00Z"),
        (build_definition("date"), True),
        (build_definition("datetime"), "noon"),
        (build_definition("datetime"), "2026-11-02T10:00:00.0001Z"),
        (build_definition("datetime"), 10**30),
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
        (build_definition("string"), " a ", "a"),
        (build_definition("string"), "", None),
        (build_definition("string"), " ", ""),
        (build_definition("number"), "1.50", "1.5"),
        (build_definition("date"), "2026-11-02", "2026-11-02"),
        (build_definition("datetime"), "2026-11-02T00:00:00.000Z", "2026-11-02T00:00:00Z"),
        (SEVERAL, "a;b", "b;a"),
        (SEVERAL, ";b", "a;b"),
    ],
)
def test_equivalent_texts_are_equal(definition: Definition, sent: str, current: str | None) -> None:
    assert value_casts.equal_values(definition, sent, current)


@pytest.mark.parametrize(
    ("definition", "sent", "current"),
    [
        (build_definition("string"), "a", "A"),
        (build_definition("string"), "a", None),
        (build_definition("string"), "", "a"),
        (build_definition("number"), "1.5", "1.51"),
        (build_definition("number"), "1.5", "a lot"),
        (build_definition("date"), "2026-11-02", "soon"),
        (SEVERAL, "a", "a;b"),
        (SEVERAL, ";b", "a"),
    ],
)
def test_different_texts_are_not_equal(definition: Definition, sent: str, current: str | None) -> None:
    assert not value_casts.equal_values(definition, sent, current)


@pytest.mark.parametrize(
    ("definition", "value", "expected"),
    [
        (build_definition("string"), "Ana", "Ana"),
        (ONE, "gone", "gone"),
        (build_definition("number"), "7.0", "7.0"),
        (build_definition("bool"), "true", "true"),
        (build_definition("date"), "2026-11-02", "1793577600000"),
        (build_definition("datetime"), "2026-11-02T01:00:00+01:00", "1793577600000"),
    ],
)
def test_a_search_sends_datetimes_as_milliseconds(definition: Definition, value: str, expected: str) -> None:
    assert value_casts.filter_value(definition, value) == expected


def test_every_computed_property_is_reported() -> None:
    computed = build_definition("string", modificationMetadata={"readOnlyValue": True})
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
def test_a_company_is_identified_by_its_bare_domain(reference: str, domain: str | None) -> None:
    assert mapping.companies.company_domain(reference) == domain


def test_a_note_retains_its_words_and_lines() -> None:
    note = mapping.notes.note_properties('a < b & "c"\r\nd\re', mapping.records.parse_datetime("2026-11-20T09:12:00Z"))

    assert {"hs_timestamp": "2026-11-20T09:12:00.000Z", "hs_note_body": 'a &lt; b &amp; "c"<br>d<br>e'} == note


def test_a_note_too_long_after_escaping_is_rejected() -> None:
    with pytest.raises(InvalidParameters):
        mapping.notes.note_properties("&" * 13_108, mapping.records.parse_datetime("2026-11-20T09:12:00Z"))


@pytest.mark.parametrize("text", ["2026-11-20T09:12:00Z", "2026-11-20T10:12:00.000+01:00", "1795165920000"])
def test_datetimes_are_parsed_in_all_vendor_forms(text: str) -> None:
    assert mapping.records.parse_datetime(text).isoformat() in {
        "2026-11-20T09:12:00+00:00",
        "2026-11-20T10:12:00+01:00",
    }


def build_response(status: int, body: Any = "", **headers: str) -> UpstreamResponse:
    return UpstreamResponse(status, headers, body.encode() if isinstance(body, str) else json.dumps(body).encode())


@pytest.mark.parametrize(
    ("value", "pause"),
    [
        (build_response(200), None),
        (build_response(409), None),
        (build_response(429), 1.0),
        (build_response(429, {"policyName": "SECONDLY"}), 1.0),
        (build_response(429, {"policyName": "TEN_SECONDLY_ROLLING"}), 10.0),
        (build_response(429, {"policyName": "DAILY"}), 3600.0),
        (build_response(429, {"policyName": "DAILY"}, **{"Retry-After": "7"}), 7.0),
        (build_response(423), 2.0),
        (build_response(477, **{"Retry-After": "120"}), 120.0),
        (build_response(477), 60.0),
    ],
)
def test_the_delay_is_read_from_a_throttling_response(value: UpstreamResponse, pause: float | None) -> None:
    assert parse_throttle(value) == pause


@pytest.mark.parametrize(
    ("value", "error"),
    [
        (build_response(400), UpstreamRefused),
        (build_response(400, {"errors": [{"code": "INVALID_OBJECT_IDS"}]}), DealNotFound),
        (build_response(400, {"message": "odd [ words"}), UpstreamRefused),
        (build_response(400, {"message": "odd [1]"}), UpstreamRefused),
        (build_response(400, ["odd"]), UpstreamRefused),
        (build_response(401), ConnectionRevoked),
        (build_response(403, {}), UpstreamForbidden),
        (build_response(404, {"message": "resource not found"}), DealNotFound),
        (build_response(404, "<html>"), UpstreamUnexpected),
        (build_response(409, {"message": "in the way"}), UpstreamConflict),
        (build_response(414, "<html>"), UpstreamRefused),
        (build_response(415), UpstreamUnexpected),
    ],
)
def test_a_vendor_error_is_mapped_to_a_gateway_error(value: UpstreamResponse, error: type[GatewayError]) -> None:
    with pytest.raises(error) as raised:
        unwrap(value, Record, DealNotFound, "7")

    assert raised.type is error
    assert raised.value.private == value.text


def test_a_missing_record_is_reported_with_the_requested_id() -> None:
    with pytest.raises(ContactNotFound) as error:
        unwrap(build_response(404, {"message": "no"}), Record, ContactNotFound, "50912")

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


def test_an_email_of_two_owners_is_ambiguous() -> None:
    with pytest.raises(OptionMissing) as error:
        mapping.owners.by_id({}, OWNERS, {"owner_email": "ana@acme.test"})

    assert [["1", "2"]] == [detail["allowed"] for detail in error.value.details]


def test_an_active_owner_is_preferred_to_a_deactivated_one() -> None:
    assert {"hubspot_owner_id": "3"} == mapping.owners.by_id({}, OWNERS, {"owner_email": "ben@acme.test"})
