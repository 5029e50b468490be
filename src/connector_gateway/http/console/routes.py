"""Every page of the console, and what each of its forms does."""

from connector_gateway.http.console import (
    budgets,
    connections,
    credentials,
    keys,
    overview,
    runs,
    sign_in,
    webhooks,
    workspaces,
)
from connector_gateway.http.console.declared import ROOT, SIGN_IN, ConsoleRoute

WORKSPACE = f"{ROOT}/workspaces/{{workspace_id}}"
KEY = f"{ROOT}/keys/{{key_id}}"
WEBHOOK = f"{ROOT}/webhooks/{{webhook_id}}"
CONNECTION = f"{ROOT}/connections/{{connection_id}}"

ROUTES = (
    ConsoleRoute("GET", SIGN_IN, sign_in.show, for_visitors=True),
    ConsoleRoute("POST", SIGN_IN, sign_in.sign_in, for_visitors=True),
    ConsoleRoute("POST", f"{ROOT}/sign-out", sign_in.sign_out),
    ConsoleRoute("GET", ROOT, overview.show),
    ConsoleRoute("GET", f"{ROOT}/workspaces", workspaces.show_all),
    ConsoleRoute("POST", f"{ROOT}/workspaces", workspaces.create),
    ConsoleRoute("GET", WORKSPACE, workspaces.show),
    ConsoleRoute("POST", WORKSPACE, workspaces.change),
    ConsoleRoute("GET", f"{ROOT}/keys", keys.show_all),
    ConsoleRoute("POST", f"{ROOT}/keys", keys.create),
    ConsoleRoute("GET", f"{KEY}/revoke", keys.ask_to_revoke),
    ConsoleRoute("POST", f"{KEY}/revoke", keys.revoke),
    ConsoleRoute("GET", f"{ROOT}/connections", connections.show_all),
    ConsoleRoute("POST", f"{ROOT}/connections", connections.create),
    ConsoleRoute("GET", CONNECTION, connections.show),
    ConsoleRoute("POST", f"{CONNECTION}/check", connections.check),
    ConsoleRoute("GET", f"{CONNECTION}/reconnect", connections.ask_to_reconnect),
    ConsoleRoute("POST", f"{CONNECTION}/reconnect", connections.reconnect),
    ConsoleRoute("GET", f"{CONNECTION}/credentials", credentials.ask),
    ConsoleRoute("POST", f"{CONNECTION}/credentials", credentials.change),
    ConsoleRoute("POST", f"{ROOT}/credentials", credentials.create),
    ConsoleRoute("GET", f"{CONNECTION}/events", connections.events),
    ConsoleRoute("GET", f"{CONNECTION}/disconnect", connections.ask_to_remove),
    ConsoleRoute("POST", f"{CONNECTION}/disconnect", connections.remove),
    ConsoleRoute("GET", f"{ROOT}/webhooks", webhooks.show_all),
    ConsoleRoute("POST", f"{ROOT}/webhooks", webhooks.create),
    ConsoleRoute("GET", WEBHOOK, webhooks.show),
    ConsoleRoute("POST", WEBHOOK, webhooks.change),
    ConsoleRoute("POST", f"{WEBHOOK}/status", webhooks.switch),
    ConsoleRoute("POST", f"{WEBHOOK}/rotate", webhooks.rotate),
    ConsoleRoute("POST", f"{WEBHOOK}/replay", webhooks.replay),
    ConsoleRoute("GET", f"{WEBHOOK}/remove", webhooks.ask_to_remove),
    ConsoleRoute("POST", f"{WEBHOOK}/remove", webhooks.remove),
    ConsoleRoute("GET", f"{ROOT}/runs", runs.show_all),
    ConsoleRoute("GET", f"{ROOT}/runs/{{run_id}}", runs.show),
    ConsoleRoute("GET", f"{ROOT}/budgets", budgets.show),
)
