"""An OAuth server with a consent page."""
