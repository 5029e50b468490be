"""Patterns of the vendor's URLs of contacts, companies and deals."""

PORTAL = r"app(?:-[a-z0-9]+)?\.hubspot\.com/contacts/[0-9]+"
REST = r"(?:[/?#].*)?"

CONTACT = (rf"{PORTAL}/(?:record/0-1|contact)/([0-9]+){REST}",)
COMPANY = (rf"{PORTAL}/(?:record/0-2|company)/([0-9]+){REST}",)
DEAL = (rf"{PORTAL}/(?:record/0-3|deal)/([0-9]+){REST}",)
