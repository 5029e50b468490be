"""Notes on deals."""

import html
import re
from collections.abc import Mapping
from datetime import datetime

from connector_gateway.connectors.crm import value_casts, vendor_models
from connector_gateway.connectors.crm.mapping.records import StoredData, parse_datetime
from connector_gateway.connectors.crm.models import MAX_TEXT
from connector_gateway.kit.errors import InvalidParameters

BODY = "hs_note_body"
MARKUP = re.compile(r"<[^<>]*>")


def note_properties(text: str, at: datetime) -> dict[str, str]:
    """Return the vendor's form of a note. The vendor renders it as HTML, so plain text is escaped."""
    # The vendor renders notes as HTML, so a "<" of the caller would vanish.
    body = html.escape(text, quote=False).replace("\r\n", "\n").replace("\r", "\n").replace("\n", "<br>")
    if len(body) > MAX_TEXT:
        raise InvalidParameters(
            "The note is too long.",
            {"parameter": "note", "message": f"Should have at most {MAX_TEXT} characters after conversion to HTML"},
        )
    return {"hs_timestamp": value_casts.format_datetime(at), BODY: body}


def public_note(stored: StoredData) -> StoredData:
    """Return the part of a note that is included in the error when a later step fails."""
    return {"note_id": stored["id"]}


def is_note(record: vendor_models.Record, sent: Mapping[str, str]) -> bool:
    """Return True if a note has the same millisecond and text as the one *sent*."""
    at = record.properties.get("hs_timestamp") or ""
    return has_text(record, sent) and bool(at) and parse_datetime(at) == parse_datetime(sent["hs_timestamp"])


def has_text(record: vendor_models.Record, sent: Mapping[str, str]) -> bool:
    """Return True if a note has the text *sent*. Words are compared, because the vendor may clean the markup."""
    return _words(record.properties.get(BODY) or "") == _words(sent[BODY])


def _words(body: str) -> list[str]:
    return html.unescape(MARKUP.sub(" ", body)).split()
