"""State of the Notion emulator: its objects, their rules and the default data."""
