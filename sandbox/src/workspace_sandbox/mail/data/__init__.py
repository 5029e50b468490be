"""State of the Gmail emulator: its objects, their rules and the default data."""
