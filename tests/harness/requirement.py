"""Ties a test to what it shows."""

import pytest


def requirement(*requirement_ids: str) -> pytest.MarkDecorator:
    """Mark a test as showing the requirements with these identifiers, which stand in the register."""
    return pytest.mark.requirement(*requirement_ids)
