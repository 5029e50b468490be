"""Persistent and shared state: tables, transactions, and counters shared by processes."""
