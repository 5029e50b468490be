"""Checks of vendor facts against a live account, sent through a running gateway."""
