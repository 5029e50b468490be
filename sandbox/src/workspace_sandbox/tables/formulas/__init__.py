"""Formulas of Airtable."""
