"""The connector gateway: uniform operations over six workspace applications."""

__version__ = "0.1.0"
