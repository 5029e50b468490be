"""Errors of connections and their credentials."""

from connector_gateway.kit.errors.base import CONNECTION, CallerError, UpstreamFailure


class ConnectionNotFound(CallerError, status=404):
    """No connection of that identifier is open to this key."""

    location = CONNECTION
    remedy = "Use an identifier that {list_connections} lists."


class ConnectionMismatch(CallerError, status=422):
    """The connection belongs to another connector than the route."""

    location = CONNECTION
    remedy = "Use a connection of the {operation}'s own connector; {list_connections} lists them."


class ConnectionPending(CallerError, status=409):
    """The connection was made without credentials, and nobody has connected an account yet."""

    location = CONNECTION
    remedy = (
        "Have the account's user open the connect link and allow the access, or create a new link with "
        "{reconnect_connection}."
    )


class CredentialsRefused(CallerError, status=422):
    """The third party does not accept the credentials that were given."""

    location = ("parameter", "credentials")
    remedy = "Copy the credentials from the application again, check that they have not expired, and use those."


class OtherAccount(CallerError, status=409):
    """The credentials are those of another account than the one the connection belongs to."""

    location = ("parameter", "credentials")
    remedy = "Connect the account that was connected before, or set {allow_other_account}."


class ConnectNotSetUp(CallerError, status=409):
    """Accounts of this connector cannot be connected in a browser, since the installation is not registered for it."""

    location = CONNECTION
    remedy = (
        "Set {CLIENT_ID} and {CLIENT_SECRET} and start the service again, or create the connection with credentials."
    )


class ConnectionRevoked(UpstreamFailure, status=401):
    """The third-party authorisation behind the connection was withdrawn."""

    location = CONNECTION
    remedy = (
        "Have an operator, or a program whose key has manages_connections, reconnect the account with "
        "{reconnect_connection}, whose link the account's user opens."
    )
    prescribed = dict.fromkeys(("notes", "boards"), "Reconnect the account; flows resume on their next scheduled run.")


class ConnectionScopeMissing(UpstreamFailure, status=403):
    """The connection was authorised without a permission that this operation needs."""

    location = CONNECTION
    remedy = "Reconnect the account with {reconnect_connection}, and grant every permission that is asked for."
