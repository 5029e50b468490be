"""Links a test to the clauses that it covers."""

import pytest


def requirement(*clauses: str) -> pytest.MarkDecorator:
    """Mark a test as covering these clauses of the contract, such as ``notes-7``."""
    return pytest.mark.requirement(*clauses)
