"""The stand-ins held against the API documents that the vendors publish."""
