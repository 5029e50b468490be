"""Errors of workspaces, keys, operators, webhooks, hooks and runs."""

from connector_gateway.kit.errors.base import CallerError


class QuotaExceeded(CallerError, status=409):
    """The workspace has its maximum number of connections, keys or webhooks."""

    remedy = "Remove one that is no longer needed, or ask the operator to raise the setting that details names."


class WorkspaceNotFound(CallerError, status=404):
    """No workspace with that identifier exists."""

    location = ("parameter", "workspace_id")
    remedy = "Use an identifier that {list_workspaces} lists."


class KeyNotFound(CallerError, status=404):
    """No API key with that identifier exists."""

    location = ("parameter", "key_id")
    remedy = "Use an identifier that {list_keys} lists."


class AgentsOff(CallerError, status=409):
    """Clients of agents cannot be authorised, because GATEWAY_AGENT_OAUTH is off."""

    remedy = (
        "Set GATEWAY_AGENT_OAUTH=on for the service and its commands, for example in .env, and restart the service; or "
        "use an API key, which {create_key} creates."
    )


class OperatorNotFound(CallerError, status=404):
    """No operator with that identifier or name exists."""

    location = ("parameter", "operator_id")
    remedy = (
        "Use an operator that {list_operators} lists. The built-in operator, whose token is GATEWAY_OPERATOR_TOKEN, "
        "is not listed."
    )


class WebhookNotFound(CallerError, status=404):
    """No webhook with that identifier exists."""

    location = ("parameter", "webhook_id")
    remedy = "Use an identifier that {list_webhooks} lists."


class HookNotFound(CallerError, status=404):
    """The hook has no stored secret."""

    remedy = "Open a URL with {open_hook}, and have the vendor send its verification request to it."


class HookSecretKnown(CallerError, status=409):
    """The hook already has a secret."""

    remedy = "To accept another secret, delete this one with {forget_hook}, or remove {HOOK_SECRET} from the settings."


class RunNotFound(CallerError, status=404):
    """The workspace has no run with that identifier."""

    location = ("parameter", "run_id")
    remedy = "Check the run_id. Runs are listed by {list_runs}, and are deleted after the retention time."


class RunNotRecorded(CallerError, status=404):
    """The call exceeded the key's rate limit, and is counted in the run of an earlier such call."""

    location = ("parameter", "run_id")
    remedy = (
        "The key's last run with the code rate_limited counts the calls without a run in and_more; find it with "
        "{list_runs}. Call less often."
    )
