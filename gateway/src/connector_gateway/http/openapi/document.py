"""The OpenAPI document: every route with its parameters, responses, errors and recorded examples."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from connector_gateway import __version__
from connector_gateway.core.calls.arguments import CONNECTION
from connector_gateway.core.calls.idempotency_key_format import MAX_KEY_CHARACTERS
from connector_gateway.http.api.responses import DRY_RUN
from connector_gateway.http.api.routes import PREFIX
from connector_gateway.http.openapi.error_schemas import EXAMPLE_RUN, ErrorSchemas
from connector_gateway.http.openapi.examples import RECORDED, Example, Values, examples
from connector_gateway.http.openapi.header_schemas import header_components, success_headers
from connector_gateway.http.openapi.outbound_webhooks import delivery_path_item, find_events_operation, message_schema
from connector_gateway.http.openapi.schemas import (
    Schema,
    SchemaRegistry,
    body_schema,
    inline_schema,
    object_schema,
    reference,
)
from connector_gateway.http.pages.guides import INDEX, guide_path, guides
from connector_gateway.kit.models import DryRunResult, Listing, Page, Params
from connector_gateway.kit.operation import AnyConnector, AnyOperation
from connector_gateway.management.route_declaration import ManagementRoute
from connector_gateway.management.routes import MANAGEMENT

Described = AnyOperation | ManagementRoute

CONNECTION_SCHEMA: Schema = {
    "type": "string",
    "minLength": 1,
    "description": "The authorised connection to act through.",
}
CONNECTION_IN_QUERY: Schema = {
    "name": CONNECTION,
    "in": "query",
    "required": False,
    "description": "May repeat the body's `connection_id`; a different value is rejected.",
    "schema": {"type": "string", "minLength": 1},
}
PREFER_HEADER: Schema = {
    "name": "Prefer",
    "in": "header",
    "required": False,
    "description": "With `dry-run` nothing is written: the response shows what would be. "
    "With `mentions=neutralise` the people whom the text mentions are not notified.",
    "schema": {"type": "string"},
    "example": "dry-run",
}
IDEMPOTENCY_HEADER: Schema = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": 'Any text of your own, in UTF-8 or as a Display String of RFC 9651 (`%"cl%c3%a9"` for `clé`). '
    "Repeating it within 24 hours returns the first result; using it for another object is an error.",
    "schema": {"type": "string", "minLength": 1, "maxLength": MAX_KEY_CHARACTERS},
}
NEXT_CURSOR: Schema = {"type": ["string", "null"], "description": "Null after the last page."}
STATUS: Schema = {
    "type": "string",
    "enum": ["ok", "partial"],
    "description": "`partial` if some items of a batch failed.",
}
ABOUT = """\
Operations in {applications}, through connections that their users authorised.

Every call carries `Authorization: Bearer <API key>` and a `connection_id`.

Every response carries a `run_id`: `GET /v1/runs/{{run_id}}` explains the call.

Every error has a `code` to branch on, a `remedy` with the next step, and `details` that list what is wrong: \
[all errors]({base_url}/docs/errors).

{guides}
"""
GUIDES = {
    "Write once": "guide/writing-once.md",
    "Handle errors": "guide/errors-and-retries.md",
    "Read page by page": "guide/pages.md",
    "Follow events": "guide/events.md",
    "Connect accounts": "guide/connect/README.md",
}
"""The guides that the introduction links to, in its order."""


def openapi(connectors: Iterable[AnyConnector], base_url: str, values: Values = RECORDED) -> Schema:
    """Return the OpenAPI 3.1 document of *connectors* and management routes. Examples use *values*."""
    connectors = list(connectors)
    document = _Document(connectors, examples(values))
    paths: dict[str, Schema] = {}
    for connector in connectors:
        for operation in connector.operations:
            address = paths.setdefault(f"{PREFIX}/{connector.name}{operation.path}", {})
            address[operation.method.lower()] = document.operation(connector, operation)
    for management in MANAGEMENT:
        paths.setdefault(management.path, {})[management.method.lower()] = document.management(management)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Connector gateway",
            "version": __version__,
            "summary": "Uniform operations over the APIs of vendors, through connections that users authorised.",
            "description": _about(connectors, base_url),
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": base_url}],
        "security": [{"key": []}],
        "tags": [
            *map(_tag, connectors),
            {"name": "management", "description": "Workspaces, keys, connections and the history of runs."},
        ],
        "paths": paths,
        "webhooks": {
            f"{one.name}_event": document.delivery(one, events)
            for one in connectors
            if (events := find_events_operation(one))
        },
        "components": {
            "securitySchemes": {
                "key": {"type": "http", "scheme": "bearer", "description": "An API key of a workspace."},
                "operator": {"type": "http", "scheme": "bearer", "description": "The operator token."},
            },
            **document.components(),
        },
    }


def _tag(connector: AnyConnector) -> Schema:
    """Return the tag of a connector, which viewers display with the name of its vendor."""
    display_name = f"{connector.vendor} ({connector.name})"
    return {
        "name": connector.name,
        "x-displayName": display_name,
        "description": f"{connector.vendor}: {connector.summary}",
    }


def _about(connectors: Sequence[AnyConnector], base_url: str) -> str:
    """Return the introduction. It links to the guides that this gateway serves, so that it can be read offline."""
    applications = ", ".join(f"{connector.vendor} (`{connector.name}`)" for connector in connectors)
    links = [f"[{name}]({base_url}{guide_path(path)})" for name, path in GUIDES.items() if path in guides()]
    index = f"[All guides]({base_url}{INDEX})" if guides() else ""
    return ABOUT.format(applications=applications, base_url=base_url, guides=" · ".join([*links, index]))


class _Document:
    """Describes routes, and collects the schemas that they refer to."""

    def __init__(self, connectors: Sequence[AnyConnector], recorded: Mapping[str, Example]) -> None:
        self._examples = recorded
        routes: list[Described] = [operation for connector in connectors for operation in connector.operations]
        routes += MANAGEMENT
        self._accepted: list[type[Params]] = [route.params for route in routes]
        self._shapes = SchemaRegistry(self._accepted, [route.item for route in routes])
        self._failures = ErrorSchemas(connectors)
        self._routes: dict[str, Schema] = {"Status": STATUS, "DryRunAnswer": _dry_run()}

    def components(self) -> Schema:
        """Return all components. Called after all routes are described."""
        schemas = {**self._shapes.definitions(self._accepted), **self._failures.schemas, **self._routes}
        return {
            "headers": header_components(),
            "responses": dict(sorted(self._failures.responses.items())),
            "examples": dict(sorted(self._failures.examples.items())),
            "schemas": dict(sorted(schemas.items())),
        }

    def operation(self, connector: AnyConnector, operation: AnyOperation) -> Schema:
        """Describe one operation of a connector."""
        name, example = operation.params.__name__, self._examples.get(f"{connector.name}_{operation.name}")
        writes = operation.scope == "write"
        spec: Schema = {
            "operationId": f"{connector.name}_{operation.name}",
            "tags": [connector.name],
            "summary": operation.title,
            "description": f"{operation.description}\n\nActs in {connector.vendor}; needs a {operation.scope} key.",
        }
        spec |= self._parameters(operation, operation.path_names, {CONNECTION: CONNECTION_SCHEMA}, example)
        spec["parameters"] += [CONNECTION_IN_QUERY] if "requestBody" in spec else []
        spec["parameters"] += [IDEMPOTENCY_HEADER, PREFER_HEADER] if writes else []
        self._routes[f"{name}Answer"] = self._envelope(connector, operation)
        succeeded: Schema = {
            "description": operation.summary,
            "headers": success_headers(operation=True, writes=writes),
            "content": _json(reference(f"{name}Answer"), example.answer if example else None)
            | (_json(reference("DryRunAnswer"), media_type=DRY_RUN) if writes else {}),
        }
        failed = self._failures.route_responses(name, operation.all_errors, operation.errors, connector=connector)
        return spec | {"responses": {"200": succeeded, **failed}}

    def delivery(self, connector: AnyConnector, operation: AnyOperation) -> Schema:
        """Describe the webhook deliveries of the events that *operation* returns."""
        name = f"{operation.item.__name__}Delivery"
        self._routes[name] = message_schema(connector, self._shapes.result_ref(operation.item))
        return delivery_path_item(connector, name)

    def management(self, route: ManagementRoute) -> Schema:
        """Describe one management route."""
        name, example = route.title.title().replace(" ", ""), self._examples.get(route.name)
        names = {part[1:-1] for part in route.path.split("/") if part.startswith("{")}
        spec: Schema = {
            "operationId": route.name,
            "tags": ["management"],
            "summary": route.title,
            "description": route.description,
            "security": [{"operator": []}, *([{"key": []}] if route.open_to_keys or route.open_to_managers else [])],
        }
        spec |= self._parameters(route, names, {}, example)
        self._routes[f"{name}Answer"] = self._management_envelope(route)
        succeeded: Schema = {
            "description": route.description.partition("\n")[0],
            "headers": success_headers(operation=False, writes=False),
            "content": _json(reference(f"{name}Answer"), example.answer if example else None),
        }
        failed = self._failures.route_responses(
            name, route.possible_errors, route.errors, kind="Management", connector=None
        )
        return spec | {"responses": {"200": succeeded, **failed}}

    def _parameters(self, route: Described, names: Iterable[str], first: Schema, example: Example | None) -> Schema:
        """Describe the parameters of *route*: *names* are in its path, the others in the query or the body."""
        schema = self._shapes.params_schema(route.params)
        fields: Schema = schema.get("properties", {})
        rest = first | {name: field for name, field in fields.items() if name not in names}
        required = [*first, *(name for name in schema.get("required", []) if name in rest)]
        arguments = example.arguments if example else {}
        parameters = [
            _parameter(name, "path", fields[name], arguments, required=True) for name in fields if name in names
        ]
        if route.method in {"GET", "DELETE"} or not rest:
            queries = [_parameter(name, "query", rest[name], arguments, required=name in required) for name in rest]
            return {"parameters": parameters + queries}
        self._routes[route.params.__name__] = body_schema(rest, required, schema.get("description", ""))
        body = {name: value for name, value in arguments.items() if name not in names} if example else None
        content = _json(reference(route.params.__name__), body)
        return {"parameters": parameters, "requestBody": {"required": True, "content": content}}

    def _envelope(self, connector: AnyConnector, operation: AnyOperation) -> Schema:
        item = self._shapes.result_ref(operation.item)
        is_list = issubclass(operation.result, Page | Listing)
        fields: Schema = {
            "run_id": {"type": "string", "examples": [EXAMPLE_RUN]},
            "connector": {"type": "string", "const": connector.name},
            "status": reference("Status"),
            "data": {"type": "array", "items": item} if is_list else item,
        }
        return object_schema(fields | ({"next_cursor": NEXT_CURSOR} if operation.is_paged else {}))

    def _management_envelope(self, route: ManagementRoute) -> Schema:
        """Return the response schema of a management route, whose envelope contains only ``data``."""
        item = self._shapes.result_ref(route.item)
        fields: Schema = {"data": {"type": "array", "items": item} if route.lists else item}
        return object_schema(fields | ({"next_cursor": NEXT_CURSOR} if route.pages else {}))


def _parameter(name: str, location: str, schema: Schema, arguments: Mapping[str, Any], *, required: bool) -> Schema:
    typed = {key: value for key, value in schema.items() if key != "examples"}  # viewers would offer only these values
    spec: Schema = {"name": name, "in": location, "required": required, "schema": typed}
    spec |= {"description": schema["description"]} if "description" in schema else {}
    return spec | ({"example": arguments[name]} if name in arguments else {})


def _json(schema: Schema, example: Any = None, media_type: str = "application/json") -> Schema:
    return {media_type: {"schema": schema} | ({} if example is None else {"example": example})}


def _dry_run() -> Schema:
    fields: Schema = {
        "run_id": {"type": "string", "examples": [EXAMPLE_RUN]},
        "connector": {"type": "string"},
        "status": reference("Status"),
        "data": inline_schema(DryRunResult),
    }
    return object_schema(fields)
