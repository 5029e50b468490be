"""Pages of the console, drawn by hand."""
