"""Boards with their lists."""

from connector_gateway.connectors.boards import mapping
from connector_gateway.connectors.boards.client import REQUEST
from connector_gateway.connectors.boards.models import BoardDescription, DescribeBoard
from connector_gateway.connectors.boards.operations.cached_lookups import BoardsCall
from connector_gateway.kit.concurrent_reads import gather_pair
from connector_gateway.kit.errors import BoardNotAuthorised
from connector_gateway.kit.operation import reads
from connector_gateway.kit.upstream.budget import TypicalRequests


@reads(
    "GET /lists",
    errors=[BoardNotAuthorised],
    requests=TypicalRequests(3 * REQUEST, 3 * REQUEST, "1,000 cards each until a page is empty, concurrently"),
    examples=[lambda one: {"board_id": one["board_id"]}],
)
async def describe_board(ctx: BoardsCall, params: DescribeBoard) -> BoardDescription:
    """Describe a board: its open lists (columns) with the number of cards in each, and its labels.

    Use it to find a ``list_id`` or the names of labels. Cards are not listed.
    """
    board, cards = await gather_pair(
        ctx.upstream.get_board(params.board_id, labels=params.include_labels),
        ctx.upstream.get_board_cards(params.board_id),
    )
    return mapping.board(board, cards)
