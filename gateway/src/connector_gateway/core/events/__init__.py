"""Observed events: watched connections, the feed of their changes, and hooks sent by vendors."""
