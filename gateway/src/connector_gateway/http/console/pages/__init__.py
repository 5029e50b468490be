"""Console pages that are not generated from declared resources."""
