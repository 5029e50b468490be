"""Throttled tokens, counted requests, and quotas of workspaces."""

from requirements.requirement import promised

LIMITS = promised(
    ("limits-1", "throttle:never-refused", "A correct token is accepted at once, whatever else its address sends."),
    ("limits-2", "throttle:delayed", "Answers to wrong tokens are delayed by address, on every route."),
    ("limits-3", "throttle:bounded", "Few answers are delayed, and few addresses remembered."),
    ("limits-4", "throttle:networks", "A network of IPv6 counts as one address."),
    ("limits-5", "throttle:forwarded", "A trusted proxy names the address of its client, and nobody else does."),
    ("limits-6", "rates:every-route", "Every request with a key counts as a call of its minute."),
    ("limits-7", "quotas:refused", "What would exceed a quota is 409 quota_exceeded, with a remedy that works."),
    ("limits-8", "quotas:together", "Processes that create at the same time stay within a quota."),
    ("limits-9", "quotas:consents", "Only so many consents are pending for a link and for a workspace."),
)
