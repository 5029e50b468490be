"""Comparison of vendor accounts, whose identifiers may be unknown."""

from typing import NamedTuple

from connector_gateway.kit.oauth import Account


class AccountIdentity(NamedTuple):
    """The account of a connection's credentials, and the number of times the credentials were replaced."""

    account_id: str | None
    """The vendor's identifier of the account, or None while it is unknown."""

    era: int

    def is_same(self, other: "AccountIdentity") -> bool:
        """Return True if both certainly lead to one account. An unknown account might be any account."""
        if self.account_id is not None and other.account_id is not None:
            return self.account_id == other.account_id
        return self.era == other.era


def may_be_same_account(known: str | None, account: Account | None) -> bool:
    """Return True if *account* may be the *known* one. Unknown identifiers match anything."""
    return account is None or known in {None, account.account_id}
