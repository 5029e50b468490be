"""Times and durations, and the skew of another clock."""

import pytest

from connector_gateway.kit.clock import clock_skew, to_milliseconds

NOW = 1_784_894_400.0
"""Fri, 24 Jul 2026 12:00:00 GMT."""


@pytest.mark.parametrize(
    ("date", "seconds"),
    [
        ("Fri, 24 Jul 2026 12:00:00 GMT", 0.0),
        ("Fri, 24 Jul 2026 11:59:58 GMT", 0.0),
        ("Fri, 24 Jul 2026 12:01:30 GMT", 90.0),
        ("Fri, 24 Jul 2026 11:58:30 GMT", -90.0),
        ("yesterday", 0.0),
        ("", 0.0),
        (None, 0.0),
    ],
)
def test_the_clock_skew_is_computed_from_a_date_header(date: str | None, seconds: float) -> None:
    assert seconds == clock_skew(date, NOW)


def test_a_duration_is_rounded_to_thousandths_of_a_millisecond() -> None:
    assert 1.235 == to_milliseconds(0.00123456)
