"""Ties a test to what it shows."""

import pytest


def requirement(*clauses: str) -> pytest.MarkDecorator:
    """Mark a test as showing these clauses of the contract, such as ``notes-7``."""
    return pytest.mark.requirement(*clauses)
