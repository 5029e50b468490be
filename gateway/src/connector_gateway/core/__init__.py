"""The core of the gateway, which every call uses, on whatever surface and for whatever connector."""
