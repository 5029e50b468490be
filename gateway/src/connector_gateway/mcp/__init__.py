"""The surface for agents: operations as tools of the Model Context Protocol.

A gateway imports only ``endpoint`` at startup. Modules that import the ``mcp`` package are loaded with the first
request. ``stdio_proxy`` and ``stdio_proxy_connection`` run outside the gateway, so this module imports nothing: imports
would delay the start of each agent by a third of a second.
"""
