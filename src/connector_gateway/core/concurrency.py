"""How many calls may be under way at the same time."""

from connector_gateway.kit.errors import Overloaded

RETRY_AFTER_SECONDS = 1
"""A call that is under way ends soon, most of the time."""


class ConcurrencyLimit:
    """Allows at most *most* calls inside at once; one more is refused with ``Overloaded`` at once."""

    def __init__(self, most: int) -> None:
        self._free = most

    def __enter__(self) -> None:
        # Nobody queues here: those inside already wait for budgets, and a second queue would only hide that.
        if self._free <= 0:
            raise Overloaded("More calls are under way than this service takes.", retry_after=RETRY_AFTER_SECONDS)
        self._free -= 1

    def __exit__(self, *_: object) -> None:
        self._free += 1
