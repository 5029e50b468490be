"""The history of runs: recording, filtering and retention."""
