"""The five boards operations, by topic."""

from connector_gateway.connectors.boards.operations.cards import comment_on_card, create_card, move_card
from connector_gateway.connectors.boards.operations.checklists import attach_checklist
from connector_gateway.connectors.boards.operations.lists import describe_board

__all__ = ["attach_checklist", "comment_on_card", "create_card", "describe_board", "move_card"]
