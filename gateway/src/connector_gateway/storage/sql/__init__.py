"""SQLite and PostgreSQL: connections, group commit, bulk statements and availability."""
