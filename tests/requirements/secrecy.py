"""What is promised of secrets."""

from requirements.requirement import promised

SECRECY = promised(
    ("secrets-1", "secrets:one-exit", "No secret of a connection leaves the process, whatever is done with it."),
    ("secrets-5", "secrets:templates", "A path that contains a secret is recorded as a template."),
    ("secrets-6", "secrets:paths", "Logs and spans show of paths only words of routes and our own identifiers."),
    ("secrets-7", "secrets:one-spelling", "A token in an address has one spelling."),
    ("secrets-2", "secrets:at-rest", "Events and first results are stored encrypted and bound to their row."),
    ("secrets-8", "secrets:unreadable-result", "A repeat whose first result cannot be decrypted sends nothing."),
    ("secrets-9", "secrets:unreadable-events", "A start without the key of the oldest or newest events is refused."),
    ("secrets-3", "secrets:decrypt-only", "Keys that only decrypt verify nothing and encrypt nothing."),
    ("secrets-4", "secrets:strength", "Secrets of less than 128 bits are refused at the start."),
    ("secrets-10", "secrets:webhook-path", "The history hides the path of a webhook's address."),
)
