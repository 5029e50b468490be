"""Text of Notion: rich text, blocks and Markdown."""
