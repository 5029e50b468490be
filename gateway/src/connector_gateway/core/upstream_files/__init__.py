"""Files from public URLs, fetched within limits."""
