"""``python -m workspace_sandbox``."""

from workspace_sandbox.cli import sandbox

sandbox()
