"""The console: pages for the operator, on the same functions as the management routes."""

from connector_gateway.http.console.endpoint import ConsoleEndpoint, console_routes
from connector_gateway.http.console.pages.not_found import NOT_FOUND
from connector_gateway.http.console.pages.sign_in import LINK
from connector_gateway.http.console.request import ROOT as CONSOLE
from connector_gateway.http.console.request import SIGN_IN, Console

__all__ = ["CONSOLE", "LINK", "NOT_FOUND", "SIGN_IN", "Console", "ConsoleEndpoint", "console_routes"]
