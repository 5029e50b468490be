"""What operators are told to do about an error: by the pages and buttons of the console."""

from collections.abc import Mapping
from typing import Any

from connector_gateway.core.envelope import described
from connector_gateway.http.console.forms import Form
from connector_gateway.kit.errors import (
    AdminRoleRequired,
    ConnectionNotFound,
    ConnectionPending,
    ConnectionRevoked,
    CredentialsRefused,
    GatewayError,
    InvalidCursor,
    InvalidParameters,
    KeyNotFound,
    OperatorNotFound,
    OtherAccount,
    RateLimited,
    RunNotFound,
    WebhookNotFound,
    WorkspaceNotFound,
)

REMEDIES: Mapping[type[GatewayError], str] = {
    AdminRoleRequired: "Sign in with the token of an operator whose role is admin.",
    ConnectionNotFound: "Open Connections and choose one of the list.",
    ConnectionPending: "Press Connect, and have its user open the link.",
    ConnectionRevoked: "Press Connect again on the page of the connection, and have its user open the link.",
    CredentialsRefused: "Check the credentials at the application, copy them again, and paste them once more.",
    InvalidCursor: "Open the list again from its first page.",
    InvalidParameters: "Correct what is marked, then send the form again.",
    KeyNotFound: "Open Keys and choose one of the list.",
    OperatorNotFound: "Open Operators and choose one of the list.",
    OtherAccount: "Connect the account that was connected before, or allow another account in the form.",
    RateLimited: "Wait a little, then try again.",
    RunNotFound: "Open Runs and choose one of the list; old runs are deleted.",
    WebhookNotFound: "Open Webhooks and choose one of the list.",
    WorkspaceNotFound: "Open Workspaces and choose one of the list.",
}
"""Remedies that replace those of the catalogue, which speak of requests."""


def remedy_of(error: GatewayError) -> str:
    """Return what to do about *error*; an instance knows better than its class."""
    return vars(error).get("remedy") or REMEDIES.get(type(error), error.remedy)


def explain(error: GatewayError, form: Form | None) -> Mapping[str, Any]:
    """Return what a page says of *error*; what concerns a field of *form* stands beside the field."""
    told = described(error) | {"remedy": remedy_of(error)}
    if form is None:
        return told
    marked = [control.field.label for control in form.controls if control.error and not control.is_fixed]
    message = (
        f"Not accepted: {', '.join(marked)}." if marked and isinstance(error, InvalidParameters) else told["message"]
    )
    return told | {"message": message, "details": form.rest}
