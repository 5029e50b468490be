"""Errors that this service causes."""

from connector_gateway.kit.errors.base import ServiceFailure


class InternalError(ServiceFailure, status=500):
    """This service failed."""

    remedy = "Report the run_id to the operator; {show_run} explains the call."


class Overloaded(ServiceFailure, status=503):
    """The service is processing its maximum number of calls, or is shutting down."""

    remedy = "Wait {wait}, then call again."


class SecretUnreadable(ServiceFailure, status=503):
    """A stored secret cannot be decrypted with the secret keys of this process."""

    remedy = (
        "Ask the operator to add the missing secret key to GATEWAY_DECRYPT_ONLY_KEYS and to restart the service. "
        "Until then, other connections work."
    )


class StorageUnavailable(ServiceFailure, status=503):
    """The database does not respond, or is read-only. Changes may still have been saved."""

    remedy = (
        "Wait {wait}, then repeat the call: a read unchanged, a write with the same {idempotency_key}. Before you "
        "repeat a write without a key, check in {vendor} whether it took effect."
    )


class SharedStoreUnavailable(ServiceFailure, status=503):
    """The store in which several processes count calls does not respond. Only steps in the details were carried out."""

    remedy = "Wait {wait}, then call again."
