"""Patterns of the vendor's URLs of cards and boards, with full or short identifiers."""

HOST = r"(?:www\.)?trello\.com"
REST = r"(?:[/?#].*)?"

CARD = (rf"{HOST}/c/([A-Za-z0-9]+){REST}",)
BOARD = (rf"{HOST}/b/([A-Za-z0-9]+){REST}",)
