"""Webhooks: addresses of workspaces that observed events are delivered to, signed, in order, at least once."""
