"""Errors of boards, lists, cards and their labels."""

from connector_gateway.kit.errors.base import CallerError


class BoardNotAuthorised(CallerError, status=403):
    """The board does not exist, or the account cannot see it."""

    subject_parameters = ("board_id", "list_id", "card_id")
    remedy = "Obtain access or point to another board."


class ListNotFound(CallerError, status=404):
    """The list does not exist on the board, or is archived."""

    subject_parameters = ("list_id",)
    remedy = "Use a list_id that {describe_board} returns, instead of a name."
    prescribed = dict.fromkeys(
        ("boards",), "Read current identifiers from the lists route. List names are not stable identifiers."
    )


class CardNotFound(CallerError, status=404):
    """The card does not exist, or the account cannot see it."""

    subject_parameters = ("card_id",)
    remedy = (
        "Check the card_id, which {create_card} returns and the card's link in {vendor} contains, and the "
        "account's access to its board."
    )


class LabelNotOnBoard(CallerError, status=409):
    """The board has no label with that name. Nothing was written."""

    location = ("parameter", "labels")
    remedy = "Create the label with the same name or drop it; {describe_board} returns the board's labels."
