"""Handlers of Trello's routes."""
