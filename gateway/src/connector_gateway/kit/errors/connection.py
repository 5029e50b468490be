"""Errors of connections and their credentials."""

from connector_gateway.kit.errors.base import CONNECTION, CallerError, UpstreamFailure


class ConnectionNotFound(CallerError, status=404):
    """No connection with that identifier is available to this key."""

    location = CONNECTION
    remedy = "Use an identifier that {list_connections} lists."


class ConnectionMismatch(CallerError, status=422):
    """The connection belongs to another connector than the route."""

    location = CONNECTION
    remedy = "Use a connection of the {operation}'s own connector; {list_connections} lists them."


class ConnectionPending(CallerError, status=409):
    """The connection was created without credentials, and no vendor account has been connected yet."""

    location = CONNECTION
    remedy = (
        "Ask the account's user to open the connect link and allow the access, or create a new link with "
        "{reconnect_connection}."
    )


class CredentialsRefused(CallerError, status=422):
    """The vendor rejects the credentials."""

    location = ("parameter", "credentials")
    remedy = "Copy the credentials from {vendor} again, check that they have not expired, and use those."


class OtherAccount(CallerError, status=409):
    """The credentials belong to another vendor account than the connection."""

    location = ("parameter", "credentials")
    remedy = "Connect the account that was connected before, or set {allow_other_account}."


class ConnectNotSetUp(CallerError, status=409):
    """Accounts of this connector cannot be connected in a browser, because the installation has no OAuth app for it."""

    location = CONNECTION
    remedy = "Set {CLIENT_ID} and {CLIENT_SECRET} and restart the service, or create the connection with credentials."


class ConnectionRevoked(UpstreamFailure, status=401):
    """The vendor authorisation behind the connection was withdrawn."""

    location = CONNECTION
    remedy = (
        "Ask an operator, or a program whose key has manages_connections, to reconnect the account with "
        "{reconnect_connection}. The account's user then opens the connect link."
    )


class ConnectionScopeMissing(UpstreamFailure, status=403):
    """The connection was authorised without a permission that this operation needs."""

    location = CONNECTION
    remedy = "Reconnect the account with {reconnect_connection}, and grant every requested permission."
