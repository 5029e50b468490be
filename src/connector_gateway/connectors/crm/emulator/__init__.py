"""A stand-in for HubSpot, written from its documentation: records, search, associations, properties, OAuth."""

from connector_gateway.connectors.crm.emulator.wire import CrmEmulator

__all__ = ["CrmEmulator"]
