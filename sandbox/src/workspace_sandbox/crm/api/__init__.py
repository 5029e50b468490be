"""Handlers of HubSpot's routes."""
