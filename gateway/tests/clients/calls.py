"""Calls the gateway through the client that openapi-python-client makes, and tells what came back as JSON.

It is copied beside the generated package, checked there with it, and run by itself.
"""

import json
import sys

from gateway_client import AuthenticatedClient
from gateway_client.api.chat import chat_read_events
from gateway_client.api.management import show_run
from gateway_client.api.notes import notes_create_page, notes_list_databases, notes_read_events
from gateway_client.models.chat_event import ChatEvent
from gateway_client.models.create_page import CreatePage
from gateway_client.models.create_page_answer import CreatePageAnswer
from gateway_client.models.create_page_properties import CreatePageProperties
from gateway_client.models.create_page_unprocessable_error import CreatePageUnprocessableError
from gateway_client.models.invalid_parameters import InvalidParameters
from gateway_client.models.list_databases_answer import ListDatabasesAnswer
from gateway_client.models.lossy_cast import LossyCast
from gateway_client.models.notes_database import NotesDatabase
from gateway_client.models.notes_event import NotesEvent
from gateway_client.models.read_chat_events_answer import ReadChatEventsAnswer
from gateway_client.models.read_notes_events_answer import ReadNotesEventsAnswer
from gateway_client.models.show_run_answer import ShowRunAnswer
from gateway_client.models.unauthorized_error import UnauthorizedError

given = json.load(sys.stdin)
notes, chat = given["connections"]["notes"], given["connections"]["chat"]
client = AuthenticatedClient(base_url=given["base_url"], token=given["key"])


def listed() -> NotesDatabase:
    """The first database."""
    answer = notes_list_databases.sync(client=client, connection_id=notes, query="lead", limit=1)
    assert isinstance(answer, ListDatabasesAnswer)
    return answer.data[0]


def created(**properties: object) -> CreatePageAnswer | CreatePageUnprocessableError:
    """What comes of a page with *properties*."""
    page = CreatePage(
        connection_id=notes,
        database_id=listed().database_id,
        properties=CreatePageProperties.from_dict(properties),
        children=["First call went well."],
        idempotency_key="generated" if "Value" not in properties else None,
    )
    answer = notes_create_page.sync(client=client, body=page)
    assert isinstance(answer, CreatePageAnswer | CreatePageUnprocessableError)
    return answer


def refused() -> InvalidParameters | LossyCast:
    """Why a page with a value of another type is refused."""
    answer = created(Name="Northwind", Value="much")
    assert isinstance(answer, CreatePageUnprocessableError)
    assert isinstance(answer.error, InvalidParameters | LossyCast)
    return answer.error


def observed() -> tuple[NotesEvent, ChatEvent]:
    """An event of each kind."""
    changes = notes_read_events.sync(client=client, connection_id=notes, limit=1)
    messages = chat_read_events.sync(client=client, connection_id=chat, limit=1)
    assert isinstance(changes, ReadNotesEventsAnswer)
    assert isinstance(messages, ReadChatEventsAnswer)
    return changes.data[0], messages.data[0]


def stranger() -> UnauthorizedError:
    """What a key of nobody is told."""
    other = AuthenticatedClient(base_url=given["base_url"], token="cgw_of_nobody")
    answer = notes_list_databases.sync(client=other, connection_id=notes)
    assert isinstance(answer, UnauthorizedError)
    return answer


first, again = created(Name="Northwind"), created(Name="Northwind")
assert isinstance(first, CreatePageAnswer)
assert isinstance(again, CreatePageAnswer)
run = show_run.sync(client=client, run_id=first.run_id)
assert isinstance(run, ShowRunAnswer)
refusal, (change, message) = refused(), observed()
told = {
    "title": listed().title,
    "status": first.status,
    "once": first.data.page_id == again.data.page_id,
    "operation": run.data.operation,
    "code": refusal.code,
    "kind": type(refusal).__name__,
    "property": refusal.details[0].property_,
    "unauthorized": stranger().error.code,
    "events": [change.type_, message.type_],
    "before": change.from_,
    "text": message.text,
}
json.dump(told, sys.stdout)
