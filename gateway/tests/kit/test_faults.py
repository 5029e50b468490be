"""All faults of a request in one refusal."""

from connector_gateway.kit.errors import LossyCast, OptionMissing, PropertyNotFound
from connector_gateway.kit.errors.aggregation import combine_errors


def test_the_first_refusal_decides_and_every_detail_has_the_code_of_its_own() -> None:
    lossy, missing = LossyCast("One.", {"property": "a"}), OptionMissing("Two.", {"property": "b"}, {"property": "c"})

    refusal = combine_errors([lossy, missing])

    assert LossyCast is type(refusal)
    assert "One. Two." == refusal.message
    assert [
        {"code": "lossy_cast", "property": "a"},
        {"code": "option_missing", "property": "b"},
        {"code": "option_missing", "property": "c"},
    ] == refusal.details


def test_what_was_gathered_already_keeps_its_codes() -> None:
    several = combine_errors([PropertyNotFound("One.", {"property": "a"}), LossyCast("Two.", {"property": "b"})])

    refusal = combine_errors([several, OptionMissing("Three.", {"property": "c"})])

    assert ["property_not_found", "lossy_cast", "option_missing"] == [detail["code"] for detail in refusal.details]


def test_of_many_refusals_the_first_sentences_are_told_each_once() -> None:
    refusals = [LossyCast(f"{word}.", {"property": word}) for word in ("a", "a", "b", "c", "d", "e")]

    refusal = combine_errors(refusals)

    assert "a. b. c. And 2 more." == refusal.message
    assert 6 == len(refusal.details)
