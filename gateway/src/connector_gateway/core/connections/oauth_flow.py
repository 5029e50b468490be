"""Consent in a browser: from a connect link to the vendor, and back with a code that is exchanged for tokens.

A callback is accepted only from the browser that was redirected, only once, and only for a short time. Otherwise an
attacker could connect an account of their own, or have a victim's account connected for them.
"""

import hmac
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from secrets import token_urlsafe
from typing import Any, Literal

import structlog
from sqlalchemy import Connection as SqlConnection
from sqlalchemy import func, insert, select, update

from connector_gateway.core.access.quotas import Quotas, lock_workspace
from connector_gateway.core.access.return_urls import is_allowed
from connector_gateway.core.connections.account_identity import may_be_same_account
from connector_gateway.core.connections.account_lookup import AccountLookup
from connector_gateway.core.connections.connect_links import PATH, ConnectLink, ConnectLinks
from connector_gateway.core.connections.connection import Connection
from connector_gateway.core.connections.store import ConnectionStore
from connector_gateway.core.connections.token_client import GrantRejected, TokenEndpointClient
from connector_gateway.core.connections.token_refresh import get_expiry, merge_tokens
from connector_gateway.core.secrets.secret_keys import token_digest
from connector_gateway.core.secrets.vault import Vault
from connector_gateway.kit.clock import Clock
from connector_gateway.kit.errors import ConnectNotSetUp, CredentialsRefused, UpstreamFailure
from connector_gateway.kit.oauth import Account, IssuedTokens, OAuthConfig, create_challenge, create_verifier
from connector_gateway.kit.upstream.redaction import Redaction
from connector_gateway.storage.sql import tables
from connector_gateway.storage.sql.database import Database

CONSENT_SECONDS = 15 * 60.0
"""Seconds that a user may take for the consent."""

OWNER = "consent"
"""The encryption context of a consent's secrets, together with its state."""

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
"""The reason why no account was connected. The pages have a sentence for each."""


class ConnectFailed(Exception):
    """No account was connected. *problem* is the reason, and *token* is that of the link with which to try again."""

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
    """The connection and the settings that a connect link leads to."""

    link: ConnectLink
    connection: Connection
    oauth: OAuthConfig
    workspace: str
    """The name of the workspace."""

    return_urls: Sequence[str]

    @property
    def return_url(self) -> str | None:
        """The URL to which the user is sent back, if the workspace still allows it."""
        url = self.link.return_url
        return url if url is not None and is_allowed(url, self.return_urls) else None


@dataclass(frozen=True, slots=True)
class AuthorizationRedirect:
    """The URL to which a browser is sent, and the secret that identifies the browser at the callback."""

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
    """A consent that a browser was sent for and has returned from."""

    invitation: ConnectRequest
    token: str = field(repr=False)
    verifier: str = field(repr=False)
    expires_at: float


@dataclass(eq=False, repr=False, kw_only=True)
class ConsentFlow:
    """Sends browsers to vendors, and turns their callbacks into connections."""

    database: Database
    vault: Vault
    connections: ConnectionStore
    links: ConnectLinks
    tokens: TokenEndpointClient
    accounts: AccountLookup
    clock: Clock
    base_url: str
    quotas: Quotas

    async def invitation(self, token: str) -> ConnectRequest:
        """Return the request of the link with *token*. Raises ``ConnectFailed`` if the link is no longer valid."""
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
        row = await self.database.read(lambda db: db.execute(workspace).one())
        return ConnectRequest(link, connection, oauth, row.name, row.return_urls)

    async def begin(self, token: str) -> AuthorizationRedirect:
        """Start a consent for the link with *token*, and return the redirect to the vendor."""
        invitation = await self.invitation(token)
        if invitation.link.used:
            raise ConnectFailed("used", invitation=invitation)
        connector = invitation.connection.connector
        state, browser, verifier = token_urlsafe(32), token_urlsafe(32), create_verifier()
        row = {
            "digest": token_digest(state),
            "browser": token_digest(browser),
            "sealed": self.vault.encrypt({"verifier": verifier, "token": token}, OWNER + state),
            "expires_at": self.clock.now() + CONSENT_SECONDS,
            "link": token_digest(token),
            "workspace_id": invitation.connection.workspace_id,
        }

        def begin(db: SqlConnection) -> None:
            self._check_pending_limits(db, invitation, row)
            db.execute(insert(tables.consents), row)

        await self.database.write(begin)
        url = self.tokens.consent_url(connector, self.callback(invitation, verifier), state, verifier)
        return AuthorizationRedirect(url, state, browser, invitation)

    def _check_pending_limits(self, db: SqlConnection, invitation: ConnectRequest, row: Mapping[str, Any]) -> None:
        """Raise ``ConnectFailed`` if too many consents are pending for the link or the workspace."""
        lock_workspace(db, row["workspace_id"])
        pending = select(func.count()).where(_consents.used_at.is_(None), _consents.expires_at > self.clock.now())
        for column, limit in (
            (_consents.link, self.quotas.consents_per_link),
            (_consents.workspace_id, self.quotas.consents),
        ):
            if db.execute(pending.where(column == row[column.name])).scalar_one() >= limit:
                raise ConnectFailed("too_many", invitation=invitation)

    def callback(self, invitation: ConnectRequest, verifier: str) -> str:
        """Return the URL to which the vendor sends browsers back.

        Each connector has its own URL, so that a response of one vendor is not accepted for another.
        If the vendor allows it, each consent has its own URL too.
        """
        url = f"{self.base_url}{PATH}/{invitation.connection.connector}/callback"
        return f"{url}/{create_challenge(verifier)}" if invitation.oauth.callback_paths else url

    async def get_pending_request(self, connector: str, state: str, browser: str) -> ConnectRequest:
        """Return the request for which *browser* was sent with *state*. Raises ``ConnectFailed`` if there is none."""
        return (await self._load_consent(connector, state, browser)).invitation

    async def finish(self, connector: str, params: Mapping[str, str], browser: str) -> Connected:
        """Connect the account of a callback by *browser*. Raises ``ConnectFailed`` if that fails."""
        consent = await self._use_consent(connector, params.get("state", ""), browser)
        failed = partial(ConnectFailed, token=consent.token, invitation=consent.invitation)
        issuer = consent.invitation.oauth.issuer
        if issuer is not None and params.get("iss", issuer) != issuer:
            raise failed("wrong_sender")
        if "error" in params:
            raise failed("refused" if _is_denial(consent.invitation.oauth, params["error"]) else "broken")
        code = params.get("token" if consent.invitation.oauth.by_token_page else "code")
        if not code:
            raise failed("no_code")
        try:
            return await self._connect(consent, code)
        except (GrantRejected, CredentialsRefused) as error:
            raise failed("code_refused") from error
        except (UpstreamFailure, ConnectNotSetUp) as error:
            # Redact the callback's secrets, because the vendor's error text may repeat them.
            Redaction(lambda: [params.get(name, "") for name in ("code", "state", "token")]).error(error)
            log.warning("account not connected", connector=connector, code=error.code, why=error.private)
            raise failed("unavailable") from error

    async def _use_consent(self, connector: str, state: str, browser: str) -> PendingConsent:
        """Return the consent for *state* and *browser*, and mark the state as used."""
        consent = await self._load_consent(connector, state, browser)
        await self._mark_used(token_digest(state), consent.token, consent.invitation)
        if consent.expires_at <= self.clock.now():
            raise ConnectFailed("expired", token=consent.token, invitation=consent.invitation)
        return consent

    async def _load_consent(self, connector: str, state: str, browser: str) -> PendingConsent:
        query = select(tables.consents).where(_consents.digest == token_digest(state))
        row = await self.database.read(lambda db: db.execute(query).first())
        if row is None:
            raise ConnectFailed("unknown")
        if not hmac.compare_digest(row.browser, token_digest(browser)):
            raise ConnectFailed("other_browser")
        secrets = self.vault.decrypt(row.sealed, OWNER + state)
        invitation = await self.invitation(secrets["token"])
        if invitation.connection.connector != connector:
            raise ConnectFailed("unknown")
        return PendingConsent(invitation, secrets["token"], secrets["verifier"], row.expires_at)

    async def _mark_used(self, state: bytes, token: str, invitation: ConnectRequest) -> None:
        """Mark *state* as used, atomically: of concurrent callbacks with one state, only the first succeeds."""
        unspent = update(tables.consents).where(_consents.digest == state, _consents.used_at.is_(None))
        change = unspent.values(used_at=self.clock.now())
        if not await self.database.write(lambda db: db.execute(change).rowcount):
            raise ConnectFailed("used", token=token, invitation=invitation)

    async def _connect(self, consent: PendingConsent, code: str) -> Connected:
        """Connect the account of the *code* or token in the callback."""
        invitation, connection = consent.invitation, consent.invitation.connection
        now, grant = self.clock.now(), await self._grant(consent, code)
        # Before the first request with the token: a missing scope may be the one needed to identify the account.
        _check_scopes(consent, grant.scopes)
        secrets = self._secrets(invitation, grant)
        account = _with_grant(await self.accounts.identify(connection.connector, secrets), grant)
        _check_scopes(consent, account.scopes if account else None, account)
        admit = partial(self._check_account, consent, account)
        await self.connections.authorise(connection, secrets, account, get_expiry(grant, now), admit)
        return Connected(invitation, account)

    async def _grant(self, consent: PendingConsent, code: str) -> IssuedTokens:
        if consent.invitation.oauth.by_token_page:
            return IssuedTokens(code)
        connector = consent.invitation.connection.connector
        callback = self.callback(consent.invitation, consent.verifier)
        return await self.tokens.redeem(connector, code, callback, consent.verifier)

    def _secrets(self, invitation: ConnectRequest, grant: IssuedTokens) -> Mapping[str, str]:
        if invitation.oauth.by_token_page:
            return self.tokens.secrets_from_fragment(invitation.connection.connector, grant.token)
        return merge_tokens({}, grant)

    def _check_account(self, consent: PendingConsent, account: Account | None, db: SqlConnection) -> None:
        """Raise ``ConnectFailed`` for another account than before, or for a link that has been used since."""
        invitation, table = consent.invitation, tables.connections.c
        failed = partial(ConnectFailed, token=consent.token, invitation=invitation, account=account)
        own = table.connection_id == invitation.connection.connection_id
        account_id = db.execute(select(table.account_id).where(own).with_for_update()).scalar()
        if not may_be_same_account(account_id, account) and not invitation.link.allow_other_account:
            raise failed("other_account")
        if not self.links.use(consent.token, db):
            raise failed("used")


def _is_denial(oauth: OAuthConfig, error: str) -> bool:
    """Return True if *error* means that the user denied the access."""
    page = oauth.token_page if oauth.by_token_page else None
    return error == "access_denied" or (page is not None and error in page.denied)


def _check_scopes(consent: PendingConsent, granted: Collection[str] | None, account: Account | None = None) -> None:
    """Raise ``ConnectFailed`` if the consent lacks scopes that operations need."""
    missing = consent.invitation.oauth.missing_scopes(granted)
    if missing:
        invitation = consent.invitation
        raise ConnectFailed("partial", token=consent.token, invitation=invitation, missing=missing, account=account)


def _with_grant(account: Account | None, grant: IssuedTokens) -> Account | None:
    """Return *account* with the app of the grant, and with its scopes if the account does not list any."""
    if account is None:
        return None
    scopes = grant.scopes if account.scopes is None else account.scopes
    return replace(account, scopes=scopes, app_id=grant.app_id)
