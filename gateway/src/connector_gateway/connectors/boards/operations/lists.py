"""Boards with their lists."""

from connector_gateway.connectors.boards import mapping
from connector_gateway.connectors.boards.models import BoardDescription, DescribeBoard
from connector_gateway.connectors.boards.operations.cached_lookups import BoardsCall
from connector_gateway.kit.concurrent_reads import gather_pair
from connector_gateway.kit.errors import BoardNotAuthorised
from connector_gateway.kit.operation import reads


@reads("GET /lists", errors=[BoardNotAuthorised])
async def describe_board(ctx: BoardsCall, params: DescribeBoard) -> BoardDescription:
    """Describe a board: its open lists (columns) with the number of cards in each, and its labels.

    Use it to find a ``list_id`` or the names of labels. Cards are not listed.
    """
    board, (lists, cards) = await gather_pair(
        ctx.upstream.get_board(params.board_id, labels=params.include_labels),
        gather_pair(ctx.upstream.get_board_lists(params.board_id), ctx.upstream.get_board_cards(params.board_id)),
    )
    return mapping.board(board, lists, cards)
