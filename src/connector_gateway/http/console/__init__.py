"""The console: pages for the operator, on the same functions as the management routes."""

from connector_gateway.http.console.declared import ROOT as CONSOLE
from connector_gateway.http.console.declared import SIGN_IN, Console
from connector_gateway.http.console.endpoint import console_routes
from connector_gateway.http.console.sign_in import LINK

__all__ = ["CONSOLE", "LINK", "SIGN_IN", "Console", "console_routes"]
