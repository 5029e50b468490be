"""The words a connector is written in; imports nothing else of the gateway."""
