"""The core of the gateway, which all surfaces and connectors share."""
