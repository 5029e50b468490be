"""Every error states which part of a request it concerns."""

from connector_gateway.core.error_serialization import public_details
from connector_gateway.kit.errors import InvalidRecipient, PageNotFound, UpstreamRefused, all_errors
from harness.openapi_check import LOCATION_FIELDS
from harness.requirement import requirement


@requirement("common-226")
def test_every_4xx_error_has_a_detail_with_its_code_and_a_location() -> None:
    errors = [error for error in all_errors() if error.status < 500]
    unplaced = [
        error.code
        for error in errors
        if not any(
            detail["code"] == error.code and detail.keys() & LOCATION_FIELDS for detail in public_details(error("No."))
        )
    ]

    assert [] == unplaced


@requirement("common-226")
def test_a_detail_with_a_location_retains_it() -> None:
    error = UpstreamRefused("No.", {"property": "Stage", "vendor_code": "no"})

    assert [{"code": "upstream_refused", "property": "Stage", "vendor_code": "no"}] == public_details(error)


@requirement("common-226")
def test_a_detail_without_a_location_has_the_one_of_its_code() -> None:
    assert [{"code": "invalid_recipient", "parameter": "to", "index": 1}] == public_details(
        InvalidRecipient("No.", {"index": 1})
    )


@requirement("common-226")
def test_a_finished_step_is_not_a_violation() -> None:
    step = {"done": "create the page", "page_id": "p"}

    assert [step, {"code": "page_not_found", "parameter": "page_id"}] == public_details(PageNotFound("No.", step))
