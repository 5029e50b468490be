"""How the application's own addresses show which card or board they lead to; their short identifiers do as well."""

HOST = r"(?:www\.)?trello\.com"
REST = r"(?:[/?#].*)?"

CARD = (rf"{HOST}/c/([A-Za-z0-9]+){REST}",)
BOARD = (rf"{HOST}/b/([A-Za-z0-9]+){REST}",)
