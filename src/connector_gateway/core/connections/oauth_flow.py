"""Consent in a browser: from a connect link to the third party, and back with a code that becomes tokens.

What comes back counts only from the browser that was sent, once, and for a short time (decision 42).
"""

import hmac
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from secrets import token_urlsafe
from typing import Any, Literal

import structlog
from sqlalchemy import Connection as Transaction
from sqlalchemy import func, insert, select, update

from connector_gateway.core.access.quotas import Quotas, lock_workspace
from connector_gateway.core.access.return_urls import is_allowed
from connector_gateway.core.connections.account_identifier import AccountIdentifier
from connector_gateway.core.connections.connect_links import PATH, ConnectLink, ConnectLinks
from connector_gateway.core.connections.connection import Connection
from connector_gateway.core.connections.public_view import is_same
from connector_gateway.core.connections.store import ConnectionStore
from connector_gateway.core.connections.token_client import GrantRejected, TokenEndpointClient
from connector_gateway.core.connections.token_refresh import ends_at, renewed_secrets
from connector_gateway.core.connections.vault import Vault
from connector_gateway.core.secrets.secret_keys import token_digest
from connector_gateway.kit.clock import Clock
from connector_gateway.kit.errors import ConnectNotSetUp, CredentialsRefused, UpstreamFailure
from connector_gateway.kit.oauth import Account, IssuedTokens, OAuthConfig, challenge, new_verifier
from connector_gateway.kit.upstream.redaction import Redaction
from connector_gateway.storage import tables
from connector_gateway.storage.sql.database import Database

CONSENT_SECONDS = 15 * 60.0
"""How long a user may take at the third party."""

OWNER = "consent"
"""What the secrets of a consent are sealed for, with its state."""

log = structlog.get_logger()
_consents = tables.consents.c

Problem = Literal[
    "unknown",
    "expired",
    "used",
    "removed",
    "not_set_up",
    "other_browser",
    "refused",
    "broken",
    "no_code",
    "wrong_sender",
    "code_refused",
    "unavailable",
    "too_many",
    "partial",
    "other_account",
]
"""What keeps an account from being connected; the pages have a sentence for each."""


class ConnectFailed(Exception):
    """No account was connected; *problem* says why, and *token* is that of the link by which to try again."""

    def __init__(
        self,
        problem: Problem,
        *,
        token: str | None = None,
        invitation: "ConnectRequest | None" = None,
        missing: Mapping[str, Sequence[str]] | None = None,
        account: Account | None = None,
    ) -> None:
        super().__init__(problem)
        self.problem: Problem = problem
        self.token = token
        self.invitation = invitation
        self.missing = missing or {}
        self.account = account


@dataclass(frozen=True, slots=True)
class ConnectRequest:
    """What a connect link invites to."""

    link: ConnectLink
    connection: Connection
    oauth: OAuthConfig
    workspace: str
    """The name of the customer."""

    return_urls: Sequence[str]

    @property
    def return_url(self) -> str | None:
        """Where the user is sent back to, as long as the workspace allows it."""
        url = self.link.return_url
        return url if url is not None and is_allowed(url, self.return_urls) else None


@dataclass(frozen=True, slots=True)
class AuthorizationRedirect:
    """Where a browser is sent, and the secret by which it is known when it comes back."""

    url: str
    state: str = field(repr=False)
    browser: str = field(repr=False)
    invitation: ConnectRequest


@dataclass(frozen=True, slots=True)
class Connected:
    """An account was connected."""

    invitation: ConnectRequest
    account: Account | None


@dataclass(frozen=True, slots=True)
class PendingConsent:
    """A browser that was sent and came back."""

    invitation: ConnectRequest
    token: str = field(repr=False)
    verifier: str = field(repr=False)
    expires_at: float


@dataclass(eq=False, repr=False, kw_only=True)
class ConsentFlow:
    """Sends browsers to third parties, and makes connections of what they come back with."""

    database: Database
    vault: Vault
    connections: ConnectionStore
    links: ConnectLinks
    tokens: TokenEndpointClient
    accounts: AccountIdentifier
    clock: Clock
    base_url: str
    quotas: Quotas

    async def invitation(self, token: str) -> ConnectRequest:
        """What the link with *token* invites to; ``NotConnected`` if it is not good any more."""
        link = await self.links.find(token)
        if link is None:
            raise ConnectFailed("unknown")
        connection = await self.connections.find(link.connection_id)
        if connection is None:
            raise ConnectFailed("removed")
        oauth = self.tokens.oauth(connection.connector)
        if oauth is None:
            raise ConnectFailed("not_set_up")
        workspace = select(tables.workspaces).where(tables.workspaces.c.workspace_id == connection.workspace_id)
        row = await self.database.read(lambda reading: reading.execute(workspace).one())
        return ConnectRequest(link, connection, oauth, row.name, row.return_urls)

    async def begin(self, token: str) -> AuthorizationRedirect:
        """Send a browser to the third party, for the link with *token*."""
        invitation = await self.invitation(token)
        if invitation.link.used:
            raise ConnectFailed("used", invitation=invitation)
        connector = invitation.connection.connector
        state, browser, verifier = token_urlsafe(32), token_urlsafe(32), new_verifier()
        row = {
            "digest": token_digest(state),
            "browser": token_digest(browser),
            "sealed": self.vault.encrypt({"verifier": verifier, "token": token}, OWNER + state),
            "expires_at": self.clock.now() + CONSENT_SECONDS,
            "link": token_digest(token),
            "workspace_id": invitation.connection.workspace_id,
        }

        def begin(writing: Transaction) -> None:
            self._require_few(writing, invitation, row)
            writing.execute(insert(tables.consents), row)

        await self.database.write(begin)
        url = self.tokens.consent_url(connector, self.callback(invitation, verifier), state, verifier)
        return AuthorizationRedirect(url, state, browser, invitation)

    def _require_few(self, writing: Transaction, invitation: ConnectRequest, row: Mapping[str, Any]) -> None:
        """Refuse a consent beyond those that may be pending for the link, or for the workspace."""
        lock_workspace(writing, row["workspace_id"])
        pending = select(func.count()).where(_consents.used_at.is_(None), _consents.expires_at > self.clock.now())
        for column, most in (
            (_consents.link, self.quotas.consents_per_link),
            (_consents.workspace_id, self.quotas.consents),
        ):
            if writing.execute(pending.where(column == row[column.name])).scalar_one() >= most:
                raise ConnectFailed("too_many", invitation=invitation)

    def callback(self, invitation: ConnectRequest, verifier: str) -> str:
        """The address that the third party sends browsers back to.

        Each connector has its own, so that none answers for another; each consent has its own where that is possible.
        """
        address = f"{self.base_url}{PATH}/{invitation.connection.connector}/callback"
        return f"{address}/{challenge(verifier)}" if invitation.oauth.callback_paths else address

    async def expected(self, connector: str, state: str, browser: str) -> ConnectRequest:
        """What the *browser* that comes back with *state* was invited to; ``NotConnected`` if it was not sent."""
        return (await self._found(connector, state, browser)).invitation

    async def finish(self, connector: str, answer: Mapping[str, str], browser: str) -> Connected:
        """The account that was connected by what the *browser* came back with; otherwise ``NotConnected``."""
        awaited = await self._awaited(connector, answer.get("state", ""), browser)
        failed = partial(ConnectFailed, token=awaited.token, invitation=awaited.invitation)
        issuer = awaited.invitation.oauth.issuer
        if issuer is not None and answer.get("iss", issuer) != issuer:
            raise failed("wrong_sender")
        if "error" in answer:
            raise failed("refused" if _is_denial(awaited.invitation.oauth, answer["error"]) else "broken")
        given = answer.get("token" if awaited.invitation.oauth.by_token_page else "code")
        if not given:
            raise failed("no_code")
        try:
            return await self._connect(awaited, given)
        except (GrantRejected, CredentialsRefused) as refused:
            raise failed("code_refused") from refused
        except (UpstreamFailure, ConnectNotSetUp) as failure:
            # The application knows what it has sent the browser back with, and may repeat it.
            Redaction(lambda: [answer.get(name, "") for name in ("code", "state", "token")]).error(failure)
            log.warning("an account was not connected", connector=connector, code=failure.code, why=failure.private)
            raise failed("unavailable") from failure

    async def _awaited(self, connector: str, state: str, browser: str) -> PendingConsent:
        """What is known of the browser that comes back with *state*, which is good once."""
        found = await self._found(connector, state, browser)
        await self._spend(token_digest(state), found.token, found.invitation)
        if found.expires_at <= self.clock.now():
            raise ConnectFailed("expired", token=found.token, invitation=found.invitation)
        return found

    async def _found(self, connector: str, state: str, browser: str) -> PendingConsent:
        query = select(tables.consents).where(_consents.digest == token_digest(state))
        row = await self.database.read(lambda reading: reading.execute(query).first())
        if row is None:
            raise ConnectFailed("unknown")
        if not hmac.compare_digest(row.browser, token_digest(browser)):
            raise ConnectFailed("other_browser")
        secrets = self.vault.decrypt(row.sealed, OWNER + state)
        invitation = await self.invitation(secrets["token"])
        if invitation.connection.connector != connector:
            raise ConnectFailed("unknown")
        return PendingConsent(invitation, secrets["token"], secrets["verifier"], row.expires_at)

    async def _spend(self, state: bytes, token: str, invitation: ConnectRequest) -> None:
        """Let a state be good once, whoever else comes with it at the same time."""
        unspent = update(tables.consents).where(_consents.digest == state, _consents.used_at.is_(None))
        change = unspent.values(used_at=self.clock.now())
        if not await self.database.write(lambda writing: writing.execute(change).rowcount):
            raise ConnectFailed("used", token=token, invitation=invitation)

    async def _connect(self, awaited: PendingConsent, given: str) -> Connected:
        """Make the connection of the code or token that the browser was *given*."""
        invitation, connection = awaited.invitation, awaited.invitation.connection
        now, grant = self.clock.now(), await self._grant(awaited, given)
        # Before anything is asked with the token: what is missing may be just what would tell whose it is.
        _require_scopes(awaited, grant.scopes)
        secrets = self._secrets(invitation, grant)
        account = _granted(await self.accounts.identify(connection.connector, secrets), grant)
        _require_scopes(awaited, account.scopes if account else None, account)
        admit = partial(self._admit, awaited, account)
        await self.connections.authorise(connection, secrets, account, ends_at(grant, now), admit)
        return Connected(invitation, account)

    async def _grant(self, awaited: PendingConsent, given: str) -> IssuedTokens:
        if awaited.invitation.oauth.by_token_page:
            return IssuedTokens(given)
        connector = awaited.invitation.connection.connector
        callback = self.callback(awaited.invitation, awaited.verifier)
        return await self.tokens.redeem(connector, given, callback, awaited.verifier)

    def _secrets(self, invitation: ConnectRequest, grant: IssuedTokens) -> Mapping[str, str]:
        if invitation.oauth.by_token_page:
            return self.tokens.secrets_from_fragment(invitation.connection.connector, grant.token)
        return renewed_secrets({}, grant)

    def _admit(self, awaited: PendingConsent, account: Account | None, writing: Transaction) -> None:
        """Refuse what belongs to somebody else than before, and a link by which an account was connected meanwhile."""
        invitation, table = awaited.invitation, tables.connections.c
        failed = partial(ConnectFailed, token=awaited.token, invitation=invitation, account=account)
        own = table.connection_id == invitation.connection.connection_id
        known = writing.execute(select(table.account_id).where(own).with_for_update()).scalar()
        if not is_same(known, account) and not invitation.link.allow_other_account:
            raise failed("other_account")
        if not self.links.use(awaited.token, writing):
            raise failed("used")


def _is_denial(oauth: OAuthConfig, error: str) -> bool:
    """Whether an *error* says that the user did not allow the access."""
    page = oauth.token_page if oauth.by_token_page else None
    return error == "access_denied" or (page is not None and error in page.denied)


def _require_scopes(awaited: PendingConsent, granted: Collection[str] | None, account: Account | None = None) -> None:
    """Refuse a consent that lacks what operations need."""
    missing = awaited.invitation.oauth.missing_scopes(granted)
    if missing:
        invitation = awaited.invitation
        raise ConnectFailed("partial", token=awaited.token, invitation=invitation, missing=missing, account=account)


def _granted(account: Account | None, grant: IssuedTokens) -> Account | None:
    """Add to *account* what came with the tokens: their app, and the scopes where it does not name any itself."""
    if account is None:
        return None
    scopes = grant.scopes if account.scopes is None else account.scopes
    return replace(account, scopes=scopes, app_id=grant.app_id)
