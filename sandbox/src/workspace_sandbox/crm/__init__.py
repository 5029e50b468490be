"""The emulator of HubSpot, written from its documentation: records, search, associations, properties, OAuth."""

from workspace_sandbox.crm.emulator import CrmEmulator

__all__ = ["CrmEmulator"]
