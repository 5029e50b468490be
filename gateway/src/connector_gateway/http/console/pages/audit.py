"""The audit trail. Its entries have no pages, so its list shows all of their content."""

COLUMNS = ("at", "actor", "act", "object_id", "outcome", "details", "address", "sequence")
