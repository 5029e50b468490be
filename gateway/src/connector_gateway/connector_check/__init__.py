"""Checks of a connector against the emulator of its vendor, in virtual time and without a network."""
