"""The OpenAPI document, generated from the declarations."""

from connector_gateway.http.openapi.document import openapi

__all__ = ["openapi"]
