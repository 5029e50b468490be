"""The console: pages for the operator, on the same functions as the management routes."""

from connector_gateway.http.console.endpoint import console_routes
from connector_gateway.http.console.pages.sign_in import LINK
from connector_gateway.http.console.request import ROOT as CONSOLE
from connector_gateway.http.console.request import SIGN_IN, Console

__all__ = ["CONSOLE", "LINK", "SIGN_IN", "Console", "console_routes"]
