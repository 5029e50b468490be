"""The surface for agents: the operations as tools of the Model Context Protocol.

Of it, a gateway imports only ``endpoint`` at the start; what imports the protocol's package is loaded with the first
request. ``bridge`` and ``link`` need nothing of a gateway, so nothing is imported here: it cost each agent's start a
third of a second.
"""
