"""The reference page, made from the OpenAPI document; it needs nothing from the internet."""

import json
import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, Template
from markupsafe import Markup, escape

Described = Mapping[str, Any]


def reference(document: Described) -> str:
    """The page that explains *document* to people."""
    operations = [
        {"path": path, "method": method.upper(), **operation}
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]
    groups = [
        (tag, [operation for operation in operations if operation["tags"] == [tag["name"]]]) for tag in document["tags"]
    ]
    base_url = document["servers"][0]["url"]
    return _template().render(
        document=document, groups=groups, row=row, code=code, curl=lambda operation: curl(operation, base_url)
    )


def row(name: str, place: str, schema: Described, required: object, description: str | None) -> Markup:
    """A row of a table of parameters."""
    marked = Markup(" <strong title='required'>*</strong>") if required else ""
    cells = (Markup("<code>{}</code>{}").format(name, marked), place, kind(schema), code(description or ""))
    return Markup("<tr>{}</tr>").format(Markup("").join(Markup("<td>{}</td>").format(cell) for cell in cells))


def kind(schema: Described) -> str:
    """The type of a schema in words."""
    options = [option for option in schema.get("anyOf", []) if option.get("type") != "null"]
    if len(options) == 1:
        return kind({"default": schema.get("default"), **options[0]})
    if "enum" in schema:
        return " | ".join(map(str, schema["enum"]))
    words = str(schema.get("type", "any"))
    least, most = schema.get("minimum"), schema.get("maximum")
    bounds = f" {least} to {most}" if least is not None and most is not None else ""
    default = f", default {json.dumps(schema['default'])}" if schema.get("default") not in (None, "", [], {}) else ""
    return words + bounds + default


def code(text: str) -> Markup:
    """*text* with what stands between backquotes as code."""
    return Markup(re.sub(r"``?(.+?)``?", r"<code>\1</code>", str(escape(text))))  # noqa: S704  # escaped just before


def curl(operation: Described, base_url: str) -> str:
    """A command line that makes the call, with names in capitals for what is to be filled in."""
    parameters = [found for found in operation.get("parameters", []) if found.get("required")]
    path = operation["path"]
    for name in re.findall(r"{(\w+)}", path):
        path = path.replace(f"{{{name}}}", name.upper())
    query = "&".join(f"{found['name']}={found['name'].upper()}" for found in parameters if found["in"] == "query")
    lines = [f"curl '{base_url}{path}{'?' + query if query else ''}'", "-H 'Authorization: Bearer API_KEY'"]
    if operation["method"] != "GET":
        lines.append(f"-X {operation['method']}")
    if "requestBody" in operation:
        schema = operation["requestBody"]["content"]["application/json"]["schema"]
        body = {name: _sample(name, schema["properties"][name]) for name in schema.get("required", [])}
        lines.append(f"--json '{json.dumps(body)}'")
    return " \\\n  ".join(lines)


def _sample(name: str, schema: Described) -> Any:
    samples: dict[str, Any] = {"object": {}, "array": [], "integer": 1, "number": 1, "boolean": True}
    return samples.get(str(schema.get("type")), name.upper())


@cache
def _template() -> Template:
    environment = Environment(
        loader=PackageLoader("connector_gateway.http"), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    return environment.get_template("reference.html")
