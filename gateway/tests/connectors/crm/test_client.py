"""Requests of the crm client, and its interpretation of single responses."""

import json
from collections.abc import Mapping
from typing import Any, cast

import pytest

from connector_gateway.connectors.crm.client import CrmClient
from connector_gateway.connectors.crm.vendor_errors import unwrap
from connector_gateway.connectors.crm.vendor_models import Record
from connector_gateway.kit.errors import (
    GatewayError,
    OptionMissing,
    ResponseTooLarge,
    UpstreamForbidden,
    UpstreamRefused,
    UpstreamUnexpected,
)
from connector_gateway.kit.upstream.budget import Charge
from connector_gateway.kit.upstream.client import UpstreamClient
from connector_gateway.kit.upstream.pool import UpstreamResponse
from harness.requirement import requirement


class RecordingUpstream:
    """An upstream that records requests and always returns the same response."""

    def __init__(self, **body: Any) -> None:
        self.bodies: list[Mapping[str, Any]] = []
        self._answer = UpstreamResponse(200, {}, json.dumps(body).encode())

    async def send(self, method: str, path: str, charge: Charge, *, writes: bool, **more: Any) -> UpstreamResponse:
        del method, path, charge, writes
        self.bodies.append(more["json"])
        return self._answer


def vendor_error(status: int, **body: Any) -> GatewayError:
    with pytest.raises(GatewayError) as error:
        unwrap(UpstreamResponse(status, {}, json.dumps(body).encode()), Record)
    return error.value


async def test_a_batch_read_contains_all_required_fields() -> None:
    questions = RecordingUpstream(results=[])

    await CrmClient(cast(UpstreamClient, questions)).batch_read_objects(
        "deals", [str(number) for number in range(101)], ["a"]
    )

    required = {"properties": ["a"], "propertiesWithHistory": []}
    assert [required, required] == [{name: body[name] for name in required} for body in questions.bodies]
    assert [100, 1] == [len(body["inputs"]) for body in questions.bodies]


MANY = 30


class LargeResponseUpstream(RecordingUpstream):
    """Responds only to requests for few records."""

    async def send(self, method: str, path: str, charge: Charge, *, writes: bool, **more: Any) -> UpstreamResponse:
        response = await super().send(method, path, charge, writes=writes, **more)
        if len(more["json"]["inputs"]) > MANY:
            raise ResponseTooLarge("too large")
        return response


@requirement("common-189")
async def test_a_batch_with_a_too_large_response_is_split() -> None:
    questions = LargeResponseUpstream(results=[])

    await CrmClient(cast(UpstreamClient, questions)).batch_read_objects("deals", [str(n) for n in range(60)], ["a"])

    # A quarter of the requested records, then the same number of the remaining ones.
    assert [60, 15, 45, 11, 34, 8, 26] == [len(body["inputs"]) for body in questions.bodies]


async def test_an_empty_page_with_a_cursor_is_not_the_end_of_a_search() -> None:
    questions = RecordingUpstream(results=[], paging={"next": {"after": "7"}})

    with pytest.raises(UpstreamUnexpected):
        await CrmClient(cast(UpstreamClient, questions)).search_all("deals", lambda after: {"after": after})


def test_the_vendors_reason_is_reported_without_credentials() -> None:
    error = vendor_error(403, category="FORBIDDEN", message="No.\nAuthorization: Bearer pat-na1-secret")

    assert UpstreamForbidden is type(error)
    assert [{"vendor_code": "FORBIDDEN", "vendor_message": "No. Authorization: Bearer …"}] == error.details


def test_each_property_is_reported_with_its_own_reason() -> None:
    faults = [
        {"error": "INVALID_EMAIL", "name": "email", "message": "Email address x is invalid"},
        {"error": "INVALID_OPTION", "name": "tier", "message": "x was not one of the allowed options"},
    ]
    error = vendor_error(
        400, category="VALIDATION_ERROR", message=f"Property values were not valid: {json.dumps(faults)}"
    )

    assert OptionMissing is type(error)
    assert [
        {"code": "option_missing", "property": "tier"},
        {
            "code": "upstream_refused",
            "property": "email",
            "vendor_code": "INVALID_EMAIL",
            "vendor_message": "Email address x is invalid",
        },
    ] == error.details


def test_an_error_without_a_property_is_reported_with_its_reason() -> None:
    error = vendor_error(400, errors=[{"code": "LIMIT", "message": "Too many.", "context": None}, {"code": {}}, 7])

    assert UpstreamRefused is type(error)
    assert [{"code": "upstream_refused", "vendor_code": "LIMIT", "vendor_message": "Too many."}] == error.details
