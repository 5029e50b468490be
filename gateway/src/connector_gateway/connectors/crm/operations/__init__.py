"""The five crm operations, by topic."""

from connector_gateway.connectors.crm.operations.contacts import create_or_update_contact, look_up_contacts
from connector_gateway.connectors.crm.operations.deals import create_deal, update_deal
from connector_gateway.connectors.crm.operations.properties_and_owners import list_properties

__all__ = ["create_deal", "create_or_update_contact", "list_properties", "look_up_contacts", "update_deal"]
