"""``python -m connector_gateway`` is the command ``connector-gateway``."""

from connector_gateway.cli import main

main()
