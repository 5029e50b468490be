"""asana: tasks of Asana's projects."""

from asana_connector import client, events, oauth, operations
from asana_connector.models import WatchSettings
from connector_gateway.kit.events import EventSource
from connector_gateway.kit.operation import Connector, SampleCall

UNREAD_FIELDS = frozenset(
    {
        *("added_value", "data", "help", "name", "new_value", "path", "photo", "phrase", "removed_value"),
        *("resource_subtype", "resource_type", "type", "uri", "workspaces"),
    }
)
"""The names of documented fields in the vendor models that are not read."""

ASANA = Connector(
    name="asana",
    kit_version=1,
    summary="Tasks of projects.",
    base_urls={"base": client.BASE_URL},
    budgets={"token": client.BUDGET},
    max_concurrent_requests=client.MAX_CONCURRENT_REQUESTS,
    client=client.AsanaClient,
    operations=(operations.list_tasks, operations.create_task, operations.update_task, operations.read_events),
    error_table=client.ERRORS,
    unread_fields=UNREAD_FIELDS,
    oauth=oauth.OAUTH,
    identify=oauth.identify,
    settings=WatchSettings,
    event_source=EventSource(poll=events.poll, poll_interval_seconds=events.POLL_SECONDS),
    sample=SampleCall(
        "the tasks of a project", operations.list_tasks, lambda examples: {"project_id": examples["project_id"]}
    ),
)
