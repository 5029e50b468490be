"""Handlers of Gmail's routes."""
