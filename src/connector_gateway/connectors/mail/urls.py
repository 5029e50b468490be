"""How the application's own addresses show which message or thread they lead to.

Only the older ones do: what stands in those of today is known to the application's pages alone.
"""

PLACE = r"mail\.google\.com/mail/(?:u/[0-9]+/)?(?:\?[^#]*)?#(?:[^/]+/)+"
ID = r"([0-9a-f]{16})"
REST = r"(?:[?].*)?"

MESSAGE = (rf"{PLACE}{ID}{REST}",)
THREAD = (rf"{PLACE}{ID}{REST}",)
