"""The five chat operations, by topic."""

from connector_gateway.connectors.chat.operations.channels import list_channels
from connector_gateway.connectors.chat.operations.event_feed import read_events
from connector_gateway.connectors.chat.operations.messages import edit_message, post_message
from connector_gateway.connectors.chat.operations.reactions import add_reaction

__all__ = ["add_reaction", "edit_message", "list_channels", "post_message", "read_events"]
