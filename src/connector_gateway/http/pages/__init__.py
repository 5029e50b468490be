"""Pages for people: one layout, one stylesheet, and headers under which nothing comes from elsewhere."""

from connector_gateway.http.pages.assets import ASSETS, asset
from connector_gateway.http.pages.pages import Pages

__all__ = ["ASSETS", "Pages", "asset"]
