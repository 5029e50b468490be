"""Errors that this service causes."""

from connector_gateway.kit.errors.base import ServiceFailure


class InternalError(ServiceFailure, status=500):
    """A fault of this service."""

    remedy = "Report the run_id to the operator; {show_run} explains the call."


class Overloaded(ServiceFailure, status=503):
    """More calls are under way than the service takes, or it is stopping."""

    remedy = "Wait {wait}, then call again."


class SecretUnreadable(ServiceFailure, status=503):
    """What was stored encrypted cannot be decrypted with the secret keys that this process has."""

    remedy = (
        "Ask the operator to add the missing secret key to GATEWAY_DECRYPT_ONLY_KEYS and to start the service again; "
        "until then other connections work."
    )


class StorageUnavailable(ServiceFailure, status=503):
    """The database does not answer, or cannot be written to; what was to be recorded may be recorded all the same."""

    remedy = (
        "Wait {wait}, then repeat: a read unchanged, a write with the same {idempotency_key}. Before a write "
        "without a key is repeated, look in {vendor} whether it was done."
    )


class SharedStoreUnavailable(ServiceFailure, status=503):
    """The store in which several processes count calls together does not answer; nothing was sent."""

    remedy = "Wait {wait}, then call again."
