"""Errors of workspaces, keys, operators, webhooks, hooks and runs."""

from connector_gateway.kit.errors.base import CallerError


class QuotaExceeded(CallerError, status=409):
    """The workspace has as many connections, keys or webhooks as it may have."""

    remedy = "Remove what is no longer needed, or have the operator raise the setting that details name."


class WorkspaceNotFound(CallerError, status=404):
    """No workspace of that identifier exists."""

    location = ("parameter", "workspace_id")
    remedy = "Use an identifier that {list_workspaces} lists."


class KeyNotFound(CallerError, status=404):
    """No API key of that identifier exists."""

    location = ("parameter", "key_id")
    remedy = "Use an identifier that {list_keys} lists."


class OperatorNotFound(CallerError, status=404):
    """No operator of that identifier or name exists."""

    location = ("parameter", "operator_id")
    remedy = (
        "Use an operator that {list_operators} lists; the built-in one, whose token is GATEWAY_OPERATOR_TOKEN, "
        "is not among them."
    )


class WebhookNotFound(CallerError, status=404):
    """No webhook of that identifier exists."""

    location = ("parameter", "webhook_id")
    remedy = "Use an identifier that {list_webhooks} lists."


class HookNotFound(CallerError, status=404):
    """No secret was handed over for the hook."""

    remedy = "Open an address with {open_hook}, and have the application send its verification request there."


class HookSecretKnown(CallerError, status=409):
    """The secret of an application's deliveries is known already, so none is asked for."""

    remedy = (
        "To have another secret handed over, delete this one with {forget_hook}, or remove {HOOK_SECRET} from "
        "the settings."
    )


class RunNotFound(CallerError, status=404):
    """No run of that identifier is kept for this workspace."""

    location = ("parameter", "run_id")
    remedy = "Check the run_id. Runs are listed by {list_runs}, and deleted after the retention time."


class RunNotRecorded(CallerError, status=404):
    """The call was refused because the key's minute was used up, and came after too many such calls to have a run."""

    location = ("parameter", "run_id")
    remedy = (
        "The key's last run with the code rate_limited counts the calls that have no run in and_more; find it with "
        "{list_runs}. Call less often."
    )
