"""Patterns of the vendor's URLs of channels and messages."""

WORKSPACE = r"[\w-]+(?:\.enterprise)?\.slack\.com"
CHANNEL_ID = r"[CDG][A-Z0-9]+"
REST = r"(?:[/?#].*)?"

CHANNEL = (
    rf"{WORKSPACE}/archives/({CHANNEL_ID}){REST}",
    rf"app\.slack\.com/client/[A-Z0-9]+/({CHANNEL_ID}){REST}",
)
MESSAGE = (rf"{WORKSPACE}/archives/{CHANNEL_ID}/p([0-9]{{10}})([0-9]{{6}}){REST}",)
