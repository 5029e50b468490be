"""What is promised of writes through several connections to one account."""

from requirements.requirement import promised

WRITES = promised(
    ("writes-1", "writes:accounts", "An object belongs to one call over all connections to its account."),
    ("writes-2", "writes:kept-owners", "Objects keep their owner whatever becomes of a connection."),
    ("writes-3", "writes:locks", "Calls that must not overlap wait for each other over all connections."),
    ("writes-4", "writes:not-named", "No response names an object or a run of another workspace."),
    ("writes-5", "writes:other-account", "A write that was begun in one account is not repeated in another."),
    ("writes-6", "writes:later-change", "A change in doubt is not sent again over a later one."),
    ("writes-7", "writes:sent-again", "A change in doubt that nothing followed is sent again."),
)
