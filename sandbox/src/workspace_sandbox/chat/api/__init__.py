"""Handlers of Slack's routes."""
