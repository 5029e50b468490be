"""Aggregation of all errors of a request."""

from connector_gateway.kit.errors import LossyCast, OptionMissing, PropertyNotFound
from connector_gateway.kit.errors.combined_errors import combine_errors


def test_the_first_error_sets_the_code_and_details_have_their_own() -> None:
    lossy, missing = LossyCast("One.", {"property": "a"}), OptionMissing("Two.", {"property": "b"}, {"property": "c"})

    combined = combine_errors([lossy, missing])

    assert LossyCast is type(combined)
    assert "One. Two." == combined.message
    assert [
        {"code": "lossy_cast", "property": "a"},
        {"code": "option_missing", "property": "b"},
        {"code": "option_missing", "property": "c"},
    ] == combined.details


def test_combined_errors_retain_their_codes() -> None:
    first_two = combine_errors([PropertyNotFound("One.", {"property": "a"}), LossyCast("Two.", {"property": "b"})])

    combined = combine_errors([first_two, OptionMissing("Three.", {"property": "c"})])

    assert ["property_not_found", "lossy_cast", "option_missing"] == [detail["code"] for detail in combined.details]


def test_many_errors_are_summarised_by_their_first_sentences() -> None:
    errors = [LossyCast(f"{word}.", {"property": word}) for word in ("a", "a", "b", "c", "d", "e")]

    combined = combine_errors(errors)

    assert "a. b. c. And 2 more." == combined.message
    assert 6 == len(combined.details)
