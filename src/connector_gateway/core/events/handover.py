"""Windows in which an application may hand over the secret of its deliveries, at an address that nobody can guess.

Whoever hands over the first secret can sign deliveries. So it is taken only after the operator asked for it, at an
address that the operator alone was told, and only for some minutes. The address is signed rather than stored: it
names its connector and its end, and holds in every process. Decision 31.
"""

from typing import Any

from connector_gateway.core.cursors import Cursors
from connector_gateway.core.secrets import SecretKeys
from connector_gateway.kit.clock import Clock, instant
from connector_gateway.kit.errors import InvalidCursor, InvalidSignature

PURPOSE = "hook"
PREFIX = "/hooks"
WINDOW_SECONDS = 15 * 60.0


class Handover:
    """Opens windows, and tells whether one is open."""

    def __init__(self, secrets: SecretKeys, base_url: str, clock: Clock) -> None:
        self._addresses = Cursors(secrets)
        self._base_url = base_url
        self._clock = clock

    def open(self, connector: str) -> dict[str, Any]:
        """Open a window for *connector*: the address to subscribe, and until when a secret is taken there."""
        closes_at = self._clock.now() + WINDOW_SECONDS
        address = self._addresses.issue({"until": closes_at}, PURPOSE, connector)
        return {
            "connector": connector,
            "url": f"{self._base_url}{PREFIX}/{connector}/{address}",
            "closes_at": instant(closes_at),
        }

    def require(self, connector: str, address: str) -> None:
        """Refuse a secret that does not come to the *address* of a window that is open."""
        try:
            until = self._addresses.read(address, PURPOSE, connector)["until"]
        except InvalidCursor as fault:
            raise InvalidSignature("No secret is taken at this address; the operator opens one for it.") from fault
        if until <= self._clock.now():
            raise InvalidSignature("The time for handing over a secret is over; the operator may open it again.")
