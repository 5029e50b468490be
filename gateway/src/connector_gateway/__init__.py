"""The connector gateway: uniform operations over workspace applications."""

__version__ = "0.1.0"
