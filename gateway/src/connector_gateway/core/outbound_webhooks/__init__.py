"""Webhooks: URLs of workspaces to which observed events are delivered, signed, in order, at least once."""
