"""The routes of all pages and forms of the console."""

from connector_gateway.http.console.crud_pages import resource_routes
from connector_gateway.http.console.pages import budgets, connections, overview, runs, search, sign_in, test_calls
from connector_gateway.http.console.request import ROOT, SIGN_IN, ConsoleRoute

CONNECTION = f"{ROOT}/connections/{{identifier}}"
CREATE, TRY = "create_connection", "try_connection"

ROUTES = (
    ConsoleRoute("GET", SIGN_IN, sign_in.show, for_visitors=True),
    ConsoleRoute("POST", SIGN_IN, sign_in.sign_in, for_visitors=True),
    ConsoleRoute("POST", f"{ROOT}/sign-out", sign_in.sign_out),
    ConsoleRoute("GET", ROOT, overview.show),
    ConsoleRoute("GET", f"{ROOT}/runs/{{run_id}}", runs.show),
    ConsoleRoute("GET", f"{ROOT}/budgets", budgets.show),
    ConsoleRoute("GET", f"{ROOT}/try", test_calls.begin, for_admins=True, audit_name=TRY),
    ConsoleRoute("GET", f"{ROOT}/connections/new", connections.connect, for_admins=True, audit_name=CREATE),
    ConsoleRoute("GET", f"{CONNECTION}/events", connections.events, for_admins=True, audit_name="read_events"),
    ConsoleRoute("GET", f"{CONNECTION}/try", test_calls.ask, for_admins=True, audit_name=TRY),
    ConsoleRoute("POST", f"{CONNECTION}/try", test_calls.carry_out, for_admins=True, audit_name=TRY),
    # POST keeps the search text out of URLs, since it may be a key.
    ConsoleRoute("POST", f"{ROOT}/search", search.find),
    *resource_routes(),
)
