"""The command ``serve``: server, supervisor and workers."""
