"""The OpenAPI document, made from the declarations alone."""

from connector_gateway.http.openapi.document import openapi

__all__ = ["openapi"]
