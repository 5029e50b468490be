"""The surface for agents: the operations as tools of the Model Context Protocol.

Only ``endpoint`` is imported at the start; what imports the protocol's package is loaded with the first request.
"""

from connector_gateway.mcp.endpoint import McpEndpoint

__all__ = ["McpEndpoint"]
