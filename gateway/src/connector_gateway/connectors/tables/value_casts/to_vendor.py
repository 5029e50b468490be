"""Lossless conversion to the vendor's form."""

import re
from collections.abc import Callable, Mapping
from datetime import date
from typing import Any
from urllib.parse import unquote, urlsplit

from email_validator import EmailNotValidError, validate_email

from connector_gateway.connectors.tables.vendor_models import Field
from connector_gateway.kit import casts
from connector_gateway.kit.casts import UnfitValue, check_string
from connector_gateway.kit.models import format_timestamp

Person = Mapping[str, Any]
MAX_ITEMS = 1000
MAX_STARS = 10

MAX_DIGITS = 8
"""Digits after the decimal point of a number whose field does not define them."""

PERCENT_DIGITS = 2
"""Additional digits of a percentage, which is stored as a fraction."""

RECORD_ID = re.compile(r"rec[A-Za-z0-9]+")
USER_ID = re.compile(r"usr[A-Za-z0-9]+")
PERSON_KEYS = frozenset({"id", "email", "name", "permissionLevel", "profilePicUrl"})
"""The fields of a collaborator as the vendor returns it. Only ``id`` and ``email`` are written."""

ATTACHMENT_KEYS = frozenset({"id", "url", "filename", "size", "type", "width", "height", "thumbnails"})
"""The fields of an attachment as the vendor returns it. Only ``id``, or ``url`` and ``filename``, are written."""

NO_DATE = "it should be a date without a time, such as 2026-11-02"

HOST = re.compile(r"(?=[^\s/@]+\.[^\s/@])[^\s/@]+(/\S*)?")
"""A text with an inner dot. A single lookahead finds it, because two runs around a dot would backtrack."""


def cast(field: Field, value: Any, *, creates: bool) -> Any:
    """Return the vendor's form of *value* for a field.

    Raises ``LossyCast`` if it would lose data.
    Options of selects are not checked here. A record that the call *creates* has no attachments to keep.
    """
    if value is None:
        return None
    to_vendor = {**CASTS, **CASTS_ON_CREATION} if creates else CASTS
    return casts.convert("field", field.name, field.type, value, lambda: to_vendor[field.type](field, value))


def _email(_: Field, value: Any) -> str:
    text = check_string(value, "it is not an e-mail address")
    try:
        if text:
            # Only the form is checked, without look-ups, so addresses under .test and similar domains are valid.
            validate_email(text, check_deliverability=False, test_environment=True)
    except EmailNotValidError as error:
        raise UnfitValue("it is not an e-mail address") from error
    return text


def _url(_: Field, value: Any) -> str:
    text = check_string(value, "it is not a URL")
    parts = urlsplit(text)
    has_scheme = bool(parts.scheme and (parts.netloc or parts.path)) and not re.search(r"\s", text)
    if text and not has_scheme and not HOST.fullmatch(text):
        raise UnfitValue("it is not a URL")
    return text


def _duration(field: Field, value: Any) -> int | float:
    return exact_number(value, len((field.options().duration_format or "h:mm").partition(".")[2]))


def _rating(field: Field, value: Any) -> int | float:
    stars = exact_number(value, 0)
    most = field.options().max or MAX_STARS
    if not 1 <= stars <= most:
        raise UnfitValue(f"it should be 1 to {most}")
    return stars


def exact_number(value: Any, digits: int) -> int | float:
    """Return *value* as an equal JSON number with at most *digits* after the decimal point."""
    number = casts.to_decimal(value)
    # The vendor may store more digits than it displays, which is undocumented, so hidden digits are rejected.
    if abs(number) <= casts.MAX_EXACT_INTEGER and round(number, digits) != number:
        raise UnfitValue(f"the field has {digits} digits after the point")
    return casts.to_json_number(number)


def _digits(field: Field) -> int:
    """Return the number of digits after the decimal point that a number is displayed with."""
    precision = field.options().precision
    return MAX_DIGITS if precision is None else precision


def _date(_: Field, value: Any) -> str:
    text = check_string(value, "it is not an ISO 8601 date").strip()
    # The vendor rejects a time in a date field, and truncating it would lose data.
    if len(text) != len("2026-11-02"):
        raise UnfitValue(NO_DATE)
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError as error:
        raise UnfitValue(NO_DATE) from error


def _collaborator(field: Field, value: Any) -> dict[str, str]:
    if isinstance(value, dict):
        if not value.keys() <= PERSON_KEYS or not value.keys() & {"id", "email"}:
            raise UnfitValue(f"a user is an object with id or email, and may have {', '.join(sorted(PERSON_KEYS))}")
        value = value.get("id") or value.get("email")
    text = check_string(value, "it is neither an e-mail address nor a user").strip()
    return {"id": text} if USER_ID.fullmatch(text) else {"email": _required(_email(field, text))}


def _links(_: Field, value: Any) -> list[str]:
    identifiers = [text.strip() for text in casts.to_strings(value, MAX_ITEMS)]
    if not all(RECORD_ID.fullmatch(text) for text in identifiers):
        raise UnfitValue("it is not a record identifier or a list of record identifiers")
    return list(dict.fromkeys(identifiers))


def _attachments(_: Field, value: Any) -> list[dict[str, str]]:
    return [_existing_attachment(item) or _new_attachment(item) for item in casts.to_items(value, MAX_ITEMS)]


def _new_attachments(_: Field, value: Any) -> list[dict[str, str]]:
    return [_new_attachment(item) for item in casts.to_items(value, MAX_ITEMS)]


def _existing_attachment(value: Any) -> dict[str, str] | None:
    """Return the reference to an attachment of the record, as a read returns it or with its id alone."""
    if not isinstance(value, dict) or "id" not in value or not value.keys() <= ATTACHMENT_KEYS:
        return None
    return {"id": _required(check_string(value["id"], "the id of an attachment is a string"))}


def _new_attachment(value: Any) -> dict[str, str]:
    # An attachment of another record is copied from its URL, which is valid for some hours.
    is_read = isinstance(value, dict) and "id" in value and value.keys() <= ATTACHMENT_KEYS
    if is_read and not value.get("url"):
        raise UnfitValue("a new record has no attachments to keep, so each needs a url")
    source = {name: value.get(name) for name in ("url", "filename")} if is_read else value
    about = _text_object(source, "url", "filename", "it is neither a URL nor an object with url and optional filename")
    parts = urlsplit(about["url"])
    if parts.scheme not in {"http", "https"} or not parts.netloc or "" in about.values():
        raise UnfitValue("it is not an http or https URL, or its filename is empty")
    return about


def _text_object(value: Any, required: str, optional: str, otherwise: str) -> dict[str, str]:
    """Return an object of texts. The *required* one may be alone, and null counts as absent."""
    about = value if isinstance(value, dict) else {required: value}
    texts = {name: check_string(part, otherwise) for name, part in about.items() if part is not None}
    if not {required} <= texts.keys() <= {required, optional}:
        raise UnfitValue(otherwise)
    return texts


def _text(_: Field, value: Any) -> str:
    return casts.text(value)


CASTS: Mapping[str, Callable[[Field, Any], Any]] = {
    "singleLineText": _text,
    "multilineText": _text,
    "richText": _text,
    "email": _email,
    "url": _url,
    "phoneNumber": lambda _, value: check_string(value, "it is not a string, and a number would lose leading signs"),
    "number": lambda field, value: exact_number(value, _digits(field)),
    "currency": lambda field, value: exact_number(value, _digits(field)),
    "percent": lambda field, value: exact_number(value, _digits(field) + PERCENT_DIGITS),
    "duration": _duration,
    "rating": _rating,
    "checkbox": lambda _, value: casts.to_bool(value),
    "singleSelect": lambda _, value: check_string(value, "it is not an option's name"),
    "multipleSelects": lambda _, value: list(dict.fromkeys(casts.to_strings(value, MAX_ITEMS))),
    "singleCollaborator": _collaborator,
    "multipleCollaborators": lambda field, value: [
        _collaborator(field, item) for item in casts.to_items(value, MAX_ITEMS)
    ],
    "date": _date,
    # Always with a Z, because the vendor reads a time without offset in the zone of the field.
    "dateTime": lambda _, value: format_timestamp(casts.check_milliseconds(casts.parse_datetime(value))),
    "multipleRecordLinks": _links,
    "multipleAttachments": _attachments,
    "barcode": lambda _, value: _text_object(
        value, "text", "type", "it is neither a string nor an object with text and optional type"
    ),
}
"""The types that can be written. All others are computed or unknown, and only read."""

CASTS_ON_CREATION: Mapping[str, Callable[[Field, Any], Any]] = {"multipleAttachments": _new_attachments}


def _required(text: str) -> str:
    if not text:
        raise UnfitValue("it is empty")
    return text


def last_segment(url: str) -> str:
    """Return the file name at the end of a URL."""
    return unquote(urlsplit(url).path.rpartition("/")[2])
