"""Handlers of Airtable's routes."""
