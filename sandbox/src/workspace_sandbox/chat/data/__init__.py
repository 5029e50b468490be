"""State of the Slack emulator: its objects, their rules and the default data."""
