"""The console: pages for the operator, on the same functions as the management routes."""

from connector_gateway.http.console.console_request import ROOT as CONSOLE
from connector_gateway.http.console.console_request import SIGN_IN, Console
from connector_gateway.http.console.endpoint import console_routes
from connector_gateway.http.console.pages.sign_in import LINK

__all__ = ["CONSOLE", "LINK", "SIGN_IN", "Console", "console_routes"]
