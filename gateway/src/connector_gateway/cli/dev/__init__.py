"""The commands ``dev`` and ``env``: a gateway with its sandbox for trying things out."""
