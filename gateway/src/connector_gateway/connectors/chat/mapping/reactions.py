"""Reactions."""

from connector_gateway.connectors.chat import vendor_models
from connector_gateway.connectors.chat.models import AddedReaction


def added_reaction(message_ts: str, name: str, *, already_present: bool) -> AddedReaction:
    """Return the result of a reaction."""
    return AddedReaction(message_ts=message_ts, emoji=name, already_present=already_present)


def emoji_name(emoji: str) -> str:
    """Return the vendor's form of an emoji's name, without colons."""
    return emoji.strip(":")


def has_reaction(message: vendor_models.Message, name: str, user_id: str) -> bool:
    """Return True if a message has the reaction of that user. The vendor lists only some of many users."""
    return any(reaction.name == name and user_id in reaction.users for reaction in message.reactions)
