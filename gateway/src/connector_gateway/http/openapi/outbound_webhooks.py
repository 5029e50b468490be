"""The OpenAPI description of webhook deliveries: the signed events of each connector."""

from connector_gateway.core.history.run_filters import event_types
from connector_gateway.http.openapi.schemas import Schema, object_schema, reference
from connector_gateway.kit.events import READ_EVENTS
from connector_gateway.kit.operation import AnyConnector, AnyOperation

ABOUT = """\
One observed event, sent to the URL of a webhook and signed by the Standard Webhooks convention.

An event may be delivered more than once, with the same `webhook-id`. Respond within 15 seconds. Events that are not \
accepted are sent again later.
"""
HEADERS = {
    "webhook-id": "The `event_id`. It is the same in every attempt.",
    "webhook-timestamp": "The time of the attempt, in seconds since 1970.",
    "webhook-signature": "`v1,` and the Base64 of an HMAC with SHA-256. While a secret is being replaced, "
    "there are several, separated by spaces.",
}
WARNINGS = "Periods of the last day whose events may be missing or repeated. Omitted if there are none."
RESPONSES: Schema = {
    "2XX": {"description": "The event is accepted."},
    "410": {"description": "No further events are accepted: the webhook is disabled immediately."},
    "default": {"description": "The event is sent again later, or after `Retry-After`."},
}


def find_events_operation(connector: AnyConnector) -> AnyOperation | None:
    """Return the operation of *connector* that reads its events, or None if it observes none."""
    return next((operation for operation in connector.operations if operation.name == READ_EVENTS), None)


def message_schema(connector: AnyConnector, event: Schema) -> Schema:
    """Return the schema of a delivery of *connector*, which contains an event with the schema *event*."""
    properties = {
        "type": {"type": "string", "enum": [*event_types({connector.name: connector})]},
        "timestamp": {"type": "string", "format": "date-time", "description": "When the change was observed."},
        "connector": {"type": "string", "const": connector.name},
        "connection_id": {"type": "string"},
        "data": event,
        "warnings": {"type": "array", "items": {"type": "string"}, "description": WARNINGS},
    }
    return object_schema(properties, required=[name for name in properties if name != "warnings"])


def delivery_path_item(connector: AnyConnector, name: str) -> Schema:
    """Return the path item of a delivery, whose body is the component *name*."""
    headers = [
        {"name": header, "in": "header", "required": True, "description": description, "schema": {"type": "string"}}
        for header, description in HEADERS.items()
    ]
    operation: Schema = {
        "operationId": f"deliver_{connector.name}_event",
        "tags": [connector.name],
        "summary": f"Event of {connector.name}",
        "description": ABOUT,
        "security": [],
        "parameters": headers,
        "requestBody": {"required": True, "content": {"application/json": {"schema": reference(name)}}},
        "responses": RESPONSES,
    }
    return {"post": operation}
