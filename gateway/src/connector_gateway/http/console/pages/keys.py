"""API keys. The page of a key shows every field of ``KeyRecord``, and its list only some of them."""

COLUMNS = ("key_id", "ending", "scope", "calls_per_minute", "last_used_at", "expires_at", "workspace_id")
