"""Handlers of Notion's routes."""
