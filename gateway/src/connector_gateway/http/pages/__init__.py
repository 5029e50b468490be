"""HTML pages with one layout, one stylesheet, and a policy that blocks resources of other origins."""

from connector_gateway.http.pages.assets import ASSETS, asset
from connector_gateway.http.pages.renderer import Pages, is_own_form

__all__ = ["ASSETS", "Pages", "asset", "is_own_form"]
