"""Whatever a read says of a value can be written back, and changes nothing."""

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from connector_gateway.connectors.notes import casts, wire
from gateway.tests.connectors.notes.pages import update, workspace_of
from harness.gateway_server import Gateway, Reply
from harness.requirement import requirement
from workspace_sandbox.notes.data.state import DataSource, Page
from workspace_sandbox.notes.data.values import property_value

WRITABLE = casts.to_vendor.CASTS.keys()
ROWS = range(2, 26)
"""Rows of the seeded table, without those whose values are too long to be shown whole."""


def everything(gateway: Gateway) -> DataSource:
    """The seeded table with a property of every type."""
    return next(source for source in workspace_of(gateway).sources.values() if source.title == "Everything")


def rows(gateway: Gateway) -> list[Page]:
    source = everything(gateway)
    return [workspace_of(gateway).pages[source.rows[number]] for number in ROWS]


def values(gateway: Gateway, page: Page) -> dict[str, wire.Value]:
    """The values of a page's writable properties as the application shows them, but for files that it hosts."""
    shown = {
        prop.name: msgspec.convert(
            {"id": prop.id, "type": prop.type, **property_value(workspace_of(gateway), page, prop)},
            wire.Value,
            strict=False,
        )
        for prop in everything(gateway).properties.values()
        if prop.type in WRITABLE
    }
    return {
        name: value for name, value in shown.items() if not any(file.external is None for file in value.files or ())
    }


def seen(found: Mapping[str, wire.Value]) -> dict[str, tuple[Any, str]]:
    """What a value is, and what an event says of it."""
    return {
        name: (casts.comparison.comparison_key(value), casts.event_text.text(value)) for name, value in found.items()
    }


def written_back(gateway: Gateway, page: Page) -> Reply:
    properties = {name: text for name, (_, text) in seen(values(gateway, page)).items() if text}
    return update(gateway, page.id, properties=properties)


@requirement("notes-96")
def test_the_text_of_an_event_can_be_written_back(gateway: Gateway) -> None:
    pages = rows(gateway)
    before = [seen(values(gateway, page)) for page in pages]
    replies = [written_back(gateway, page) for page in pages]
    after = [seen(values(gateway, page)) for page in pages]
    filled = {value.type for page in pages for value in values(gateway, page).values() if casts.event_text.text(value)}

    assert [] == [reply.body for reply in replies if reply.status != 200]
    assert before == after
    assert WRITABLE == filled


@requirement("common-225", "notes-9")
@pytest.mark.parametrize("kind", sorted(WRITABLE))
def test_null_restores_what_a_new_page_has(gateway: Gateway, kind: str) -> None:
    source, page = everything(gateway), rows(gateway)[3]
    made = gateway.post("/notes/pages", database_id=source.parent.id, properties={}).data["page_id"]
    (name,) = (prop.name for prop in source.properties.values() if prop.type == kind)

    update(gateway, page.id, properties={name: None})

    new = values(gateway, workspace_of(gateway).pages[made])[name]
    assert casts.comparison.comparison_key(new) == casts.comparison.comparison_key(values(gateway, page)[name])
