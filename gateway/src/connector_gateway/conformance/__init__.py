"""Conformance checks: the clauses of the contract, tested against a running service.

Checks change nothing at the vendors by default: writes are sent only if they must be rejected, or as dry runs.
"""
