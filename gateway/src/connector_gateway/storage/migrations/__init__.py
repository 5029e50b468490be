"""The migrations of the database schema."""
