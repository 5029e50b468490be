"""The OAuth authorization server for clients of agents, which the MCP specification requires.

The handlers of the MCP package implement the protocol. Clients, consent and tokens are those of this service.
"""

from urllib.parse import urlsplit

RESOURCE = "/mcp"
"""The path of the resource for which tokens are issued."""

RESOURCE_METADATA = "/.well-known/oauth-protected-resource"


def resource_metadata_url(base_url: str) -> str:
    """Return the URL of the metadata of the MCP endpoint (RFC 9728), before the path of *base_url*."""
    parts = urlsplit(base_url)
    return f"{parts.scheme}://{parts.netloc}{RESOURCE_METADATA}{parts.path}{RESOURCE}"
