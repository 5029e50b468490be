"""Texts of values in events can be written back without a change."""

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from connector_gateway.connectors.notes import value_casts, vendor_models
from gateway.tests.connectors.notes.page_calls import get_workspace, update
from harness.gateway_server import Gateway, Reply
from harness.requirement import requirement
from workspace_sandbox.notes.data.property_values import property_value
from workspace_sandbox.notes.data.state import DataSource, Page

WRITABLE = value_casts.to_vendor.CASTS.keys()
ROWS = range(2, 26)
"""Rows of the seeded table whose values are short enough not to be truncated."""


def get_full_table(gateway: Gateway) -> DataSource:
    """Return the seeded table with a property of every type."""
    return next(source for source in get_workspace(gateway).sources.values() if source.title == "Everything")


def get_rows(gateway: Gateway) -> list[Page]:
    source = get_full_table(gateway)
    return [get_workspace(gateway).pages[source.rows[number]] for number in ROWS]


def read_values(gateway: Gateway, page: Page) -> dict[str, vendor_models.Value]:
    """Return a page's writable properties in the vendor's form, without files that the vendor hosts."""
    all_values = {
        prop.name: msgspec.convert(
            {"id": prop.id, "type": prop.type, **property_value(get_workspace(gateway), page, prop)},
            vendor_models.Value,
            strict=False,
        )
        for prop in get_full_table(gateway).properties.values()
        if prop.type in WRITABLE
    }
    return {
        name: value
        for name, value in all_values.items()
        if not any(file.external is None for file in value.files or ())
    }


def summarize(values: Mapping[str, vendor_models.Value]) -> dict[str, tuple[Any, str]]:
    """Return the comparison key and the event text of each value."""
    return {
        name: (value_casts.write_comparison.comparison_key(value), value_casts.event_text.text(value))
        for name, value in values.items()
    }


def write_back(gateway: Gateway, page: Page) -> Reply:
    properties = {name: text for name, (_, text) in summarize(read_values(gateway, page)).items() if text}
    return update(gateway, page.id, properties=properties)


@requirement("notes-96")
def test_event_text_can_be_written_back(gateway: Gateway) -> None:
    pages = get_rows(gateway)
    before = [summarize(read_values(gateway, page)) for page in pages]
    replies = [write_back(gateway, page) for page in pages]
    after = [summarize(read_values(gateway, page)) for page in pages]
    filled = {
        value.type
        for page in pages
        for value in read_values(gateway, page).values()
        if value_casts.event_text.text(value)
    }

    assert [] == [reply.body for reply in replies if reply.status != 200]
    assert before == after
    assert WRITABLE == filled


@requirement("common-225", "notes-9")
@pytest.mark.parametrize("kind", sorted(WRITABLE))
def test_null_restores_the_value_of_a_new_page(gateway: Gateway, kind: str) -> None:
    source, page = get_full_table(gateway), get_rows(gateway)[3]
    new_page_id = gateway.post("/notes/pages", database_id=source.parent.id, properties={}).data["page_id"]
    (name,) = (prop.name for prop in source.properties.values() if prop.type == kind)

    update(gateway, page.id, properties={name: None})

    default = read_values(gateway, get_workspace(gateway).pages[new_page_id])[name]
    assert value_casts.write_comparison.comparison_key(default) == value_casts.write_comparison.comparison_key(
        read_values(gateway, page)[name]
    )
