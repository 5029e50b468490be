"""Conformance: clauses of the contract, checked from outside against the service at any address.

Nothing is changed in an application: writes are only asked for where they are to be refused.
"""
