"""Pacing of upstream requests by rate-limit budgets, and usage statistics of the budgets."""
