"""The rooms, one folder each, in the order of the contract."""

from collections.abc import Mapping

from connector_gateway.connectors.boards import BOARDS
from connector_gateway.connectors.chat import CHAT
from connector_gateway.connectors.crm import CRM
from connector_gateway.connectors.mail import MAIL
from connector_gateway.connectors.notes import NOTES
from connector_gateway.connectors.tables import TABLES
from connector_gateway.kit.operation import AnyConnector

CONNECTORS: Mapping[str, AnyConnector] = {
    connector.name: connector for connector in (NOTES, BOARDS, MAIL, CHAT, CRM, TABLES)
}
"""Every connector by name."""
