"""Path segments of upstream URLs."""

import pytest

from connector_gateway.kit.errors import InvalidParameters
from connector_gateway.kit.upstream.client import _check_segments
from harness.requirement import requirement


def is_rejected(path: str) -> bool:
    """Return True if *path* is rejected."""
    try:
        _check_segments(path)
    except InvalidParameters:
        return True
    return False


@requirement("common-162")
@pytest.mark.parametrize("path", ["/v1/pages/..", "/v1/./pages", "/v1/pages/", "/v1//pages", "/..", "/v1/../x"])
def test_a_path_with_an_invalid_segment_is_rejected(path: str) -> None:
    assert is_rejected(path)


@pytest.mark.parametrize("path", ["/v1/pages/1", "/v1/pages/.hidden", "/v1/a..b", "/v1/...", "/v1/..x/y"])
def test_a_path_with_valid_segments_is_accepted(path: str) -> None:
    assert not is_rejected(path)
