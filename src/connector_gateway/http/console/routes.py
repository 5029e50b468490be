"""Every page of the console, and what each of its forms does."""

from connector_gateway.http.console import (
    audit,
    budgets,
    connections,
    credentials,
    keys,
    operators,
    overview,
    runs,
    search,
    sign_in,
    webhooks,
    workspaces,
)
from connector_gateway.http.console.declared import ROOT, SIGN_IN, ConsoleRoute

WORKSPACE = f"{ROOT}/workspaces/{{workspace_id}}"
OPERATOR = f"{ROOT}/operators/{{operator_id}}"
KEY = f"{ROOT}/keys/{{key_id}}"
WEBHOOK = f"{ROOT}/webhooks/{{webhook_id}}"
CONNECTION = f"{ROOT}/connections/{{connection_id}}"

ROUTES = (
    ConsoleRoute("GET", SIGN_IN, sign_in.show, for_visitors=True),
    ConsoleRoute("POST", SIGN_IN, sign_in.sign_in, for_visitors=True),
    ConsoleRoute("POST", f"{ROOT}/sign-out", sign_in.sign_out),
    ConsoleRoute("GET", ROOT, overview.show),
    ConsoleRoute("GET", f"{ROOT}/workspaces", workspaces.show_all),
    ConsoleRoute("POST", f"{ROOT}/workspaces", workspaces.create, for_admins=True),
    ConsoleRoute("GET", WORKSPACE, workspaces.show),
    ConsoleRoute("POST", WORKSPACE, workspaces.change, for_admins=True),
    ConsoleRoute("GET", f"{ROOT}/keys", keys.show_all),
    ConsoleRoute("POST", f"{ROOT}/keys", keys.create, for_admins=True),
    ConsoleRoute("GET", KEY, keys.show),
    ConsoleRoute("GET", f"{KEY}/revoke", keys.ask_to_revoke, for_admins=True),
    ConsoleRoute("POST", f"{KEY}/revoke", keys.revoke, for_admins=True),
    ConsoleRoute("GET", f"{ROOT}/connections", connections.show_all),
    ConsoleRoute("POST", f"{ROOT}/connections", connections.create, for_admins=True),
    ConsoleRoute("GET", CONNECTION, connections.show),
    ConsoleRoute("POST", f"{CONNECTION}/check", connections.check, for_admins=True),
    ConsoleRoute("GET", f"{CONNECTION}/reconnect", connections.ask_to_reconnect, for_admins=True),
    ConsoleRoute("POST", f"{CONNECTION}/reconnect", connections.reconnect, for_admins=True),
    ConsoleRoute("GET", f"{CONNECTION}/credentials", credentials.ask, for_admins=True),
    ConsoleRoute("POST", f"{CONNECTION}/credentials", credentials.change, for_admins=True),
    ConsoleRoute("POST", f"{ROOT}/credentials", credentials.create, for_admins=True),
    ConsoleRoute("GET", f"{CONNECTION}/events", connections.events, for_admins=True),
    ConsoleRoute("GET", f"{CONNECTION}/disconnect", connections.ask_to_remove, for_admins=True),
    ConsoleRoute("POST", f"{CONNECTION}/disconnect", connections.remove, for_admins=True),
    ConsoleRoute("GET", f"{ROOT}/webhooks", webhooks.show_all),
    ConsoleRoute("POST", f"{ROOT}/webhooks", webhooks.create, for_admins=True),
    ConsoleRoute("GET", WEBHOOK, webhooks.show),
    ConsoleRoute("POST", WEBHOOK, webhooks.change, for_admins=True),
    ConsoleRoute("POST", f"{WEBHOOK}/status", webhooks.switch, for_admins=True),
    ConsoleRoute("POST", f"{WEBHOOK}/rotate", webhooks.rotate, for_admins=True),
    ConsoleRoute("POST", f"{WEBHOOK}/replay", webhooks.replay, for_admins=True),
    ConsoleRoute("GET", f"{WEBHOOK}/remove", webhooks.ask_to_remove, for_admins=True),
    ConsoleRoute("POST", f"{WEBHOOK}/remove", webhooks.remove, for_admins=True),
    ConsoleRoute("GET", f"{ROOT}/runs", runs.show_all),
    ConsoleRoute("GET", f"{ROOT}/runs/{{run_id}}", runs.show),
    ConsoleRoute("GET", f"{ROOT}/budgets", budgets.show),
    ConsoleRoute("GET", f"{ROOT}/audit", audit.show_all),
    ConsoleRoute("GET", f"{ROOT}/operators", operators.show_all),
    ConsoleRoute("POST", f"{ROOT}/operators", operators.create, for_admins=True),
    ConsoleRoute("GET", f"{OPERATOR}/revoke", operators.ask_to_revoke, for_admins=True),
    ConsoleRoute("POST", f"{OPERATOR}/revoke", operators.revoke, for_admins=True),
    # Not an address with what was looked for: it may be a key.
    ConsoleRoute("POST", f"{ROOT}/search", search.find),
)
