"""Patterns of the vendor's URLs of messages and threads.

Only older URLs contain the API's identifiers. Those in current URLs are internal to the vendor's pages.
"""

PREFIX = r"mail\.google\.com/mail/(?:u/[0-9]+/)?(?:\?[^#]*)?#(?:[^/]+/)+"
ID = r"([0-9a-f]{16})"
REST = r"(?:[?].*)?"

MESSAGE = (rf"{PREFIX}{ID}{REST}",)
THREAD = (rf"{PREFIX}{ID}{REST}",)
