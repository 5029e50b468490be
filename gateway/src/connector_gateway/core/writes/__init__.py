"""The write protocol: claims, journal, ownership and evidence, so that each write happens once."""
