"""What is promised of idempotency keys: their text, their object, and what they do after a restore."""

from requirements.requirement import promised

KEYS = promised(
    ("keys-1", "keys:one-form", "Header, body, tool, command and client carry the same keys."),
    ("keys-2", "keys:header", "A header is UTF-8, or a Display String in ASCII."),
    ("keys-3", "keys:composed", "Composed and decomposed characters are one key."),
    ("keys-4", "keys:blanks", "Blanks around a key do not count."),
    ("keys-5", "keys:length", "A key has 1 to 1,000 code points, on every surface."),
    ("keys-6", "keys:unfit", "What is no key is refused with one error on every surface."),
    ("keys-7", "keys:namespace", "No key is taken for another, nor for the digest of another."),
    ("keys-8", "keys:upgrade", "Claims of an earlier release are found."),
    ("keys-9", "keys:target", "A key that was used for another object is refused, naming the first run."),
    ("keys-10", "keys:differs", "A repeat with other parameters is warned of."),
    ("keys-11", "keys:restored", "After a restore, what was done since the backup is not done again."),
    ("keys-12", "keys:unsettled", "After a restore, what cannot be decided is unknown, with a remedy that works."),
    ("keys-13", "keys:backup-at", "A restore is declared with the time of its backup."),
    ("keys-14", "keys:noticed", "A restore is noticed by what is beside the database."),
    ("keys-15", "keys:elsewhere", "A database of another installation is refused until it is declared."),
    ("keys-16", "keys:gap", "Feeds tell of the time that is lost."),
)
