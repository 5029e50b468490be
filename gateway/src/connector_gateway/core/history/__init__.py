"""The run history: recording, filtering and retention."""
