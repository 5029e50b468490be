"""State of the Airtable emulator: its objects, their rules and the default data."""
