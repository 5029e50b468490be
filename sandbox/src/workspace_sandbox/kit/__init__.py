"""Shared building blocks of the emulators. Nothing here depends on a single emulator."""
