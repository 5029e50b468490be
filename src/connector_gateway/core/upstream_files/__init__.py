"""Files behind public URLs, fetched within limits."""
