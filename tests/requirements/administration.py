"""What is promised of operators, of the audit trail and of finding things in the console."""

from requirements.requirement import promised

ADMINISTRATION = promised(
    ("administration-1", "operators:named", "Operators have names, roles and tokens of their own."),
    ("administration-2", "operators:names", "A name stands for one operator for good."),
    ("administration-3", "operators:viewer", "A viewer reads every route and changes nothing."),
    ("administration-4", "operators:discreet", "A viewer sees no secret and is offered no change."),
    ("administration-5", "operators:revoked", "A revoked operator is out within seconds."),
    ("administration-6", "operators:idle", "A session that nobody uses ends."),
    ("administration-7", "audit:acts", "Every administrative act is recorded."),
    ("administration-8", "audit:together", "An act and its entry are committed together."),
    ("administration-9", "audit:refused", "Refused acts are recorded."),
    ("administration-10", "audit:bounded", "Failed sign-ins are recorded, and fill no disk."),
    ("administration-11", "audit:chained", "An entry that was edited or removed is named."),
    ("administration-12", "audit:processes", "Several processes make one chain."),
    ("administration-13", "audit:kept", "Entries are kept for good."),
    ("administration-14", "audit:listed", "The trail is listed, shown and exported."),
    ("administration-15", "audit:discreet", "No secret is in the trail."),
    ("administration-16", "console:search", "An identifier leads to its page."),
    ("administration-17", "console:workspaces", "Workspaces are chosen by name."),
    ("administration-18", "console:shapes", "A run shows the names and types of parameters and result."),
    ("administration-19", "console:try", "Admins try a connection, and that is recorded."),
    ("administration-20", "console:outcomes", "A run tells in words how it ended."),
    ("administration-21", "operators:link", "A link signs in once."),
    ("administration-22", "console:steps", "Whoever begins is told the next step."),
)
"""Everything that is promised, in the order of the contract."""
