"""People, named by email address or name, written by identifier."""

import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

from connector_gateway.connectors.notes import value_casts, vendor_models
from connector_gateway.kit.errors import AmbiguousPerson, Detail, GatewayError, PersonNotFound
from connector_gateway.kit.errors.combined_errors import combine_errors
from connector_gateway.kit.errors.suggestions import nearest_first

Users = Sequence[vendor_models.User]


def referenced_people(schema: Mapping[str, vendor_models.Property], properties: Mapping[str, Any]) -> list[str]:
    """Return the email addresses and names by which *properties* reference people."""
    return [detail["value"] for detail in people_references(schema, properties)]


def people_references(schema: Mapping[str, vendor_models.Property], properties: Mapping[str, Any]) -> list[Detail]:
    """Return these email addresses and names with their properties."""
    return [
        {"property": name, "value": text}
        for name, value in properties.items()
        if name in schema and schema[name].type == "people"
        for text in _texts(value)
        if _is_address_or_name(text)
    ]


def are_known(users: Users, texts: Sequence[str]) -> bool:
    """Return True if each email address or name belongs to a user."""
    return all(_matches(users, text) for text in texts)


def with_ids(name: str, value: Any, users: Users) -> Any:
    """Return *value* of the property *name* with all people replaced by identifiers.

    Raises ``PersonNotFound`` or ``AmbiguousPerson`` with all people who cannot be identified.
    """
    ids, errors = list[str](), list[GatewayError]()
    for text in _split(value, users):
        matches = _matches(users, text) if _is_address_or_name(text) else []
        if len(matches) == 1:
            ids.append(matches[0].id)
        elif _is_address_or_name(text):
            errors.append(_no_single_person(name, text, users, matches))
        else:
            ids.append(text)
    if errors:
        raise combine_errors(errors)
    return ids or value


def _split(value: Any, users: Users) -> list[str]:
    """Return the texts of a value. Several people in one text, as in events, are separated."""
    parts = value.split(value_casts.to_vendor.LIST_SEPARATOR) if isinstance(value, str) else []
    all_people = all(value_casts.to_vendor.is_identifier(part) or _matches(users, part) for part in parts)
    return parts if len(parts) > 1 and all_people else _texts(value)


def _texts(value: Any) -> list[str]:
    """Return the texts of a value, or none if it has another form, which its cast rejects."""
    items = [value] if isinstance(value, str) else value
    return items if isinstance(items, list) and all(isinstance(item, str) for item in items) else []


def _is_address_or_name(text: str) -> bool:
    return bool(text.strip()) and not value_casts.to_vendor.is_identifier(text)


def _matches(users: Users, text: str) -> Users:
    """Return the people with that email address, ignoring case, or else with exactly that name."""
    address, name = text.strip().casefold(), _normal(text)
    people = [user for user in users if user.person is not None]
    return [user for user in people if _address(user).casefold() == address] or [
        user for user in people if _normal(user.name or "") == name
    ]


def _normal(name: str) -> str:
    """Return *name* in one Unicode form and without surrounding space, so that equal names compare equal."""
    return unicodedata.normalize("NFC", name).strip()


def _address(user: vendor_models.User) -> str:
    return (user.person and user.person.email) or ""


def _no_single_person(name: str, text: str, users: Users, matches: Users) -> GatewayError:
    if matches:
        return AmbiguousPerson(
            f'{len(matches)} people match "{text}" in "{name}".',
            {"property": name, "value": text, "allowed": [user.id for user in matches]},
        )
    addresses = [_address(user) for user in users if _address(user)]
    names = [user.name for user in users if user.name and user.person is not None]
    candidates = addresses if "@" in text and addresses else names
    return PersonNotFound(
        f'None of the people that the vendor lists matches "{text}" in "{name}".',
        {"property": name, "value": text, "allowed": nearest_first(text, list(dict.fromkeys(candidates)))},
    )
