"""Files from public URLs, and the IP addresses that count as public."""
