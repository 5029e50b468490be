"""The reference page, made from the OpenAPI document; it needs nothing from the internet."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, Template


def reference(document: Mapping[str, Any]) -> str:
    """The page that explains *document* to people."""
    operations = [
        {"path": path, "method": method.upper(), **operation}
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]
    groups = [
        (tag, [operation for operation in operations if operation["tags"] == [tag["name"]]]) for tag in document["tags"]
    ]
    return _template().render(document=document, groups=groups, base_url=document["servers"][0]["url"])


@cache
def _template() -> Template:
    environment = Environment(
        loader=PackageLoader("connector_gateway.http"), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    return environment.get_template("reference.html")
