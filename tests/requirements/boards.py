"""What is promised of the boards connector."""

from requirements.requirement import section

BOARDS = (
    *section(
        "interface §2.3",
        ("boards:cards:created", "A new card has identifier, short address, list, due date and labels applied."),
        ("boards:cards:moved", "A moved card has identifier, names of both lists, comment_posted and instant."),
        ("boards:comments:fields", "A comment has card, identifier and instant."),
        ("boards:lists:fields", "A board has its name, lists with their counts of cards, and names of labels."),
        ("boards:checklists:fields", "A checklist has card, identifier, name, items added, and whether skipped."),
    ),
    *section(
        "interface §4.2",
        ("boards:cards:create", "A card is created in a list with name and description."),
        ("boards:cards:due", "A due date is stored in UTC."),
        ("boards:cards:labels", "Labels are applied by their names."),
        ("boards:cards:labels-never-created", "A label that the board lacks is reported and never created."),
        ("boards:cards:move", "A card is moved to another list of its board."),
        ("boards:cards:position", "A moved card goes to the top, or to the bottom unless told."),
        ("boards:cards:move-comment", "A move can carry a comment."),
        ("boards:comments:text", "A comment keeps its Markdown, up to 16384 characters."),
        ("boards:comments:idempotency", "A repeated key returns the first comment and posts no second one."),
        ("boards:lists:describe", "Lists and labels of a board are described."),
        ("boards:lists:labels", "Labels come with the lists unless they are not wanted."),
        ("boards:checklists:attach", "A checklist is attached with its items in order."),
        ("boards:checklists:items", "A checklist takes up to a hundred items."),
        ("boards:checklists:skip", "A checklist of that name is left alone unless told otherwise."),
    ),
    *section(
        "interface §7",
        ("boards:revoked", "A withdrawn authorisation is 401 connection_revoked."),
        ("boards:board-not-authorised", "A board out of sight is 403 board_not_authorised."),
        ("boards:list-not-found", "A list that the board lacks is 404 list_not_found, names of lists included."),
        ("boards:label-not-on-board", "A label that the board lacks is 409 label_not_on_board."),
        ("boards:throttled", "Throttling beyond our own retries is 429 upstream_rate_limited with retry_after."),
    ),
    *section(
        "interface §8",
        ("boards:budget", "A token sends about a hundred requests in ten seconds, whoever calls through it."),
    ),
    *section(
        "decisions: boards",
        ("boards:cards:labels-all-named", "All missing labels are named, and no card is created."),
        ("boards:lists:foreign", "A list of another board or an archived one is 404 list_not_found."),
        ("boards:card-not-found", "An unknown card is 404 card_not_found."),
        ("boards:board-unknown", "An unknown board is 403 like an unseen one."),
        ("boards:cards:comment-failed", "A move stands even if its comment fails."),
        ("boards:checklists:completed", "A repeat completes our own half-made checklist, each item once."),
        ("boards:checklists:others", "A checklist of someone else, or a complete one, is skipped."),
    ),
)
