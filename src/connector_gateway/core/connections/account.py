"""The account that credentials lead to, as far as it is known."""

from typing import NamedTuple


class Whose(NamedTuple):
    """The account of a connection's credentials, and how often the credentials were replaced."""

    account_id: str | None
    """The account as the vendor identifies it; None while that is not known."""

    era: int

    def is_same(self, other: "Whose") -> bool:
        """Whether both certainly lead to one account: an account that is not known might be any account."""
        if self.account_id is not None and other.account_id is not None:
            return self.account_id == other.account_id
        return self.era == other.era
