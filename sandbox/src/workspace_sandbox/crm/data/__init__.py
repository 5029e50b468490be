"""State of the HubSpot emulator: its objects, their rules and the default data."""
