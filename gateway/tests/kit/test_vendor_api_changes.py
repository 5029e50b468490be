"""Signs of change in responses: headers, unknown fields, and the endpoints that they are reported with."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from connector_gateway.kit.json_encoding import encode_json
from connector_gateway.kit.upstream.redaction import Redaction, redacting
from connector_gateway.kit.upstream.vendor_api_changes import (
    MAX_COMPARED_BYTES,
    MAX_FIELDS,
    OTHER,
    UNDATED,
    find_unknown_fields,
    mask_path,
    read_announcements,
)
from connector_gateway.kit.vendor_model import VendorModel

SECRET = "ntn_0123456789abcdef"


class Author(VendorModel, tag_field="type", tag="person"):
    name: str


class Note(VendorModel, rename="camel"):
    note_id: str
    author: Author | None = None
    fields: Mapping[str, Author] = {}


class Notes(VendorModel):
    notes: Sequence[Note]


def unknown(value: Any, known: frozenset[str] = frozenset()) -> list[str]:
    return list(find_unknown_fields(encode_json(value), Notes, known))


@pytest.mark.parametrize(
    ("headers", "changes"),
    [
        ({}, []),
        ({"Deprecation": "@1688169599"}, [("deprecation", "2023-06-30")]),
        ({"Deprecation": "true"}, [("deprecation", UNDATED)]),
        ({"Deprecation": "Sunday, 11-Nov-18 23:59:59 GMT"}, [("deprecation", "2018-11-11")]),
        ({"Deprecation": f"@{'9' * 12}"}, [("deprecation", UNDATED)]),
        ({"Deprecation": f"\x00{SECRET}"}, [("deprecation", UNDATED)]),
        ({"Sunset": "Sun, 31 Dec 2028 23:59:59 GMT"}, [("sunset", "2028-12-31")]),
        ({"Sunset": "Sun Dec 31 23:59:59 2028"}, [("sunset", "2028-12-31")]),
        ({"Sunset": "dimanche, 31 décembre 2028"}, [("sunset", UNDATED)]),
        ({"Sunset": "", "Deprecation": ""}, [("deprecation", UNDATED), ("sunset", UNDATED)]),
    ],
)
def test_announcements_are_read_with_their_dates_only(
    headers: Mapping[str, str], changes: Sequence[tuple[str, str]]
) -> None:
    assert changes == list(read_announcements(headers))


@pytest.mark.parametrize(
    ("path", "endpoint"),
    [
        ("/v1/pages/0f8a3c5e-9a5b-4e0e-a1c2-2b7a7f1f2c3d/properties/title", "/v1/pages/{}/properties/title"),
        ("/1/checklists/65f0c0ffee65f0c0ffee65f0/checkItems", "/1/checklists/{}/checkItems"),
        ("/crm/objects/2026-09/contacts/1", "/crm/objects/2026-09/contacts/{}"),
        ("/account-info/2026-09/details", "/account-info/2026-09/details"),
        ("/api/chat.postMessage", "/api/chat.postMessage"),
        ("/gmail/v1/users/me/messages/18c2f", "/gmail/v1/users/me/messages/{}"),
        ("/v0/appA1b2C3d4E5f6G7/tblA1b2C3d4E5f6G7", "/v0/{}/{}"),
        ("/1/tokens/{token}", "/1/tokens/{token}"),
        ("/users/ada@example.com/%20", "/users/{}/{}"),
    ],
)
def test_an_endpoint_contains_no_identifiers(path: str, endpoint: str) -> None:
    assert endpoint == mask_path(path)


def test_unknown_fields_are_found_at_every_depth_once() -> None:
    author = {"type": "person", "name": "Ada", "photo": "x"}
    note = {"noteId": "1", "author": author, "fields": {"Private name": author}, "colour": "red"}

    assert ["notes[].author.photo", "notes[].fields{}.photo", "notes[].colour"] == unknown({"notes": [note, note]})


def test_documented_fields_and_unread_parts_are_not_reported() -> None:
    assert [] == unknown({"notes": [], "has_more": {"deep": 1}}, known=frozenset({"has_more"}))


def test_names_that_could_be_content_are_not_reported() -> None:
    names = ["\x1b[2J", "Ada Lovelace", "é", "x" * 65, f"a{SECRET}"]
    with redacting(Redaction(lambda: [SECRET])):
        assert [OTHER] == unknown({"notes": [], **dict.fromkeys(names, 1)})


def test_a_response_reports_a_limited_number_of_fields() -> None:
    assert MAX_FIELDS == len(unknown({"notes": [], **{f"field_{number}": 1 for number in range(10_000)}}))


@pytest.mark.parametrize("body", [b"{", b'{"notes": [], "x": "' + b"x" * MAX_COMPARED_BYTES + b'"}'])
def test_unreadable_and_large_responses_are_not_compared(body: bytes) -> None:
    assert [] == list(find_unknown_fields(body, Notes, ()))
