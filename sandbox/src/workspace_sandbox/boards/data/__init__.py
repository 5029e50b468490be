"""State of the Trello emulator: its objects, their rules and the default data."""
