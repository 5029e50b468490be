"""Management commands, generated from the declarations of management routes."""
