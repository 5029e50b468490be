"""The write protocol: claims, journal, ownership and evidence, so that a write happens once."""
