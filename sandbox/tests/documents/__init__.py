"""Comparison of the emulators with the vendors' published API documents."""
