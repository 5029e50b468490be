"""Pages for people: one layout, one stylesheet, and headers under which nothing comes from elsewhere."""

from connector_gateway.http.pages.assets import ASSETS, asset
from connector_gateway.http.pages.renderer import Pages, is_own_form

__all__ = ["ASSETS", "Pages", "asset", "is_own_form"]
