"""Boards with their lists."""

from connector_gateway.connectors.boards import mapping
from connector_gateway.connectors.boards.models import BoardDescription, DescribeBoard
from connector_gateway.connectors.boards.operations.cached_lookups import BoardsCall, gather_pair
from connector_gateway.kit.errors import BoardNotAuthorised
from connector_gateway.kit.operation import reads


@reads("GET /lists", errors=[BoardNotAuthorised])
async def describe_board(ctx: BoardsCall, params: DescribeBoard) -> BoardDescription:
    """List the open lists of a board with the number of cards in each, and the board's labels."""
    board = await ctx.upstream.get_board(params.board_id, labels=params.include_labels)
    lists, cards = await gather_pair(
        ctx.upstream.get_board_lists(params.board_id), ctx.upstream.get_board_cards(params.board_id)
    )
    return mapping.board(board, lists, cards)
