"""URLs pasted from a vendor's address bar are accepted by every operation of its connector."""

import time
from typing import Annotated, Any

import pytest
from pydantic import TypeAdapter
from pydantic_core import to_json

from connector_gateway.connectors import CONNECTORS
from connector_gateway.core.calls.arguments import Arguments, Body
from connector_gateway.kit.errors import InvalidParameters
from harness.requirement import requirement

UUID = "1f2e3d4c5b6a79880918273645546372"
DASHED = "1f2e3d4c-5b6a-7988-0918-273645546372"
DATABASE = "0a1b2c3d4e5f60718293a4b5c6d7e8f9"
BASE = "https://airtable.com/appAbCdEfGhIjKlMn"
HUBSPOT = "https://app-eu1.hubspot.com/contacts/4711"
SLACK = "https://acme.slack.com/archives"

URLS = [
    ("notes", "page_id", f"https://www.notion.so/acme/Road-map-{UUID}", UUID),
    ("notes", "page_id", f"https://www.notion.so/{UUID}?pvs=4#block", UUID),
    ("notes", "page_id", f"https://acme.notion.site/{DASHED}", DASHED),
    ("notes", "page_id", f"https://www.notion.so/acme/{DATABASE}?v=12&p={UUID}&pm=s", UUID),
    ("notes", "database_id", f"https://www.notion.so/acme/{DATABASE}?v={UUID}", DATABASE),
    ("boards", "card_id", "https://trello.com/c/AbCd1234/12-a-title", "AbCd1234"),
    ("boards", "board_id", "https://trello.com/b/AbCd1234/sales", "AbCd1234"),
    ("mail", "message_id", "https://mail.google.com/mail/u/0/#inbox/18c2a4b6d8e0f123", "18c2a4b6d8e0f123"),
    ("mail", "thread_id", "https://mail.google.com/mail/u/1/#label/Leads/18c2a4b6d8e0f123", "18c2a4b6d8e0f123"),
    ("chat", "channel", f"{SLACK}/C0123ABCDEF", "C0123ABCDEF"),
    ("chat", "channel", "https://app.slack.com/client/T0123ABC/C0123ABCDEF/thread/x", "C0123ABCDEF"),
    ("chat", "message_ts", f"{SLACK}/C0123ABCDEF/p1700000000123456?thread_ts=1.2&cid=C0", "1700000000.123456"),
    ("chat", "thread_ts", f"{SLACK}/C0123ABCDEF/p1700000000123456", "1700000000.123456"),
    ("crm", "contact_id", f"{HUBSPOT}/record/0-1/501", "501"),
    ("crm", "contact_id", f"{HUBSPOT}/contact/501/?interaction=note", "501"),
    ("crm", "deal_id", f"{HUBSPOT}/record/0-3/77", "77"),
    ("crm", "associate_company", f"{HUBSPOT}/record/0-2/88/view/1", "88"),
    ("tables", "base_id", f"{BASE}/tblAbC/viwAbC/recAbC?blocks=hide", "appAbCdEfGhIjKlMn"),
    ("tables", "table", f"{BASE}/tblAbC/viwAbC", "tblAbC"),
    ("tables", "view", f"{BASE}/tblAbC/viwAbC", "viwAbC"),
    ("tables", "record_id", f"{BASE}/tblAbC/viwAbC/recAbC?blocks=hide", "recAbC"),
    ("tables", "record_id", f"{BASE}/tblAbC/recAbC", "recAbC"),
]
TAKING = [
    pytest.param(operation, parameter, address, identifier, id=f"{connector}.{operation.name}-{parameter}-{number}")
    for number, (connector, parameter, address, identifier) in enumerate(URLS)
    for operation in CONNECTORS[connector].operations
    if parameter in operation.parameters
]
OTHERS = [
    pytest.param(operation, parameter, id=f"{name}.{operation.name}-{parameter}")
    for name, connector in CONNECTORS.items()
    for operation in connector.operations
    for parameter in operation.parameters
    if parameter.endswith("_id") and parameter not in {"list_id", "attachment_id"}
]


def violations_of(operation: Any, **values: Any) -> dict[str, str]:
    """Return the violations by parameter of a call of *operation* with only *values*."""
    with pytest.raises(InvalidParameters) as response:
        Arguments(path={}, body=Body(to_json({**values, "no_such": 1}))).read(operation.params)
    return {violation["parameter"]: violation["message"] for violation in response.value.details}


def parse_identifier(operation: Any, parameter: str, value: str) -> Any:
    """Return the identifier that *operation* reads from *value*."""
    declared = operation.parameters[parameter]
    kind: Any = Annotated[declared.annotation, declared]
    return TypeAdapter(kind).validate_python(value)


@pytest.mark.parametrize(("operation", "parameter", "address", "identifier"), TAKING)
@requirement("common-185")
def test_the_identifier_is_found_anywhere_in_a_url(
    operation: Any, parameter: str, address: str, identifier: str
) -> None:
    assert parameter not in violations_of(operation, **{parameter: address})
    assert identifier == parse_identifier(operation, parameter, address)


@pytest.mark.parametrize(("operation", "parameter"), OTHERS)
@requirement("common-185")
def test_the_url_of_another_kind_of_object_is_rejected(operation: Any, parameter: str) -> None:
    messages = violations_of(operation, **{parameter: "https://example.com/pages/1f2e3d4c"})[parameter]

    assert messages.startswith("Is a URL without the identifier of a ")


@pytest.mark.parametrize(("operation", "parameter"), OTHERS)
def test_an_oversized_url_is_rejected_quickly(operation: Any, parameter: str) -> None:
    started = time.thread_time()
    violation = violations_of(operation, **{parameter: "https://www.notion.so/" + "a/-?p=&" * 100_000})[parameter]

    assert violation.startswith("Is a URL without the identifier of a ")
    assert time.thread_time() - started < 1
