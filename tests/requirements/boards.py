"""What is promised of the boards connector."""

from requirements.requirement import promised

BOARDS = promised(
    # Create a card
    ("boards-1", "boards:cards:create", "A card is created in a list with name and description."),
    (
        "boards-2",
        "boards:cards:created",
        "A new card has identifier, short address, list, due date and labels applied.",
    ),
    ("boards-3", "boards:cards:due", "A due date is stored in UTC."),
    ("boards-4", "boards:cards:labels", "Labels are applied by their names."),
    ("boards-5", "boards:cards:labels-never-created", "A label that the board lacks is reported and never created."),
    ("boards-6", "boards:label-not-on-board", "A label that the board lacks is 409 label_not_on_board."),
    ("boards-6", "boards:cards:labels-all-named", "All missing labels are named, and no card is created."),
    # Move a card
    ("boards-7", "boards:cards:move", "A card is moved to another list of its board."),
    ("boards-8", "boards:cards:moved", "A moved card has identifier, names of both lists, comment_posted and instant."),
    ("boards-9", "boards:cards:position", "A moved card goes to the top, or to the bottom unless told."),
    ("boards-10", "boards:cards:move-comment", "A move can carry a comment."),
    ("boards-11", "boards:cards:comment-failed", "A move stands even if its comment fails."),
    ("boards-12", "boards:cards:moved-at", "moved_at is the moment of the move by the application's clock."),
    # Comment
    ("boards-13", "boards:comments:fields", "A comment has card, identifier and instant."),
    ("boards-14", "boards:comments:text", "A comment keeps its Markdown, up to 16384 characters."),
    ("boards-15", "boards:comments:idempotency", "A repeated key returns the first comment and posts no second one."),
    # Describe a board
    ("boards-16", "boards:lists:describe", "Lists and labels of a board are described."),
    (
        "boards-17",
        "boards:lists:fields",
        "A board has its name, lists with their counts of cards, and names of labels.",
    ),
    ("boards-18", "boards:lists:labels", "Labels come with the lists unless they are not wanted."),
    # Attach a checklist
    ("boards-19", "boards:checklists:attach", "A checklist is attached with its items in order."),
    (
        "boards-20",
        "boards:checklists:fields",
        "A checklist has card, identifier, name, items added, and whether skipped.",
    ),
    ("boards-21", "boards:checklists:items", "A checklist takes up to a hundred items."),
    ("boards-22", "boards:checklists:empty", "A checklist may have no items."),
    ("boards-23", "boards:checklists:skip", "A checklist of that name is left alone unless told otherwise."),
    ("boards-24", "boards:checklists:completed", "A repeat completes our own half-made checklist, each item once."),
    ("boards-25", "boards:checklists:others", "A checklist of someone else, or a complete one, is skipped."),
    # Errors
    ("boards-26", "boards:revoked", "A withdrawn authorisation is 401 connection_revoked."),
    ("boards-27", "boards:board-not-authorised", "A board out of sight is 403 board_not_authorised."),
    ("boards-27", "boards:board-unknown", "An unknown board is 403 like an unseen one."),
    (
        "boards-28",
        "boards:list-not-found",
        "A list that the board lacks is 404 list_not_found, names of lists included.",
    ),
    ("boards-29", "boards:lists:foreign", "A list of another board or an archived one is 404 list_not_found."),
    ("boards-30", "boards:card-not-found", "An unknown card is 404 card_not_found."),
    (
        "boards-31",
        "boards:throttled",
        "Throttling beyond our own retries is 429 upstream_rate_limited with retry_after.",
    ),
    # Budget
    ("boards-32", "boards:budget", "A token sends about a hundred requests in ten seconds, whoever calls through it."),
)
