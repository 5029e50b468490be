"""Shared building blocks of the emulators. Nothing here depends on a single emulator."""

PUBLIC_MODULES = (
    "clock",
    "emulator",
    "emulator_context",
    "error_responses",
    "input_validation",
    "oauth.server",
    "oauth.standard",
    "rate_limits",
    "routes",
    "state.seed_file_values",
    "user_actions",
    "webhook_sender",
)
"""The modules that emulators of packages may import."""
