"""Owners of records, named by email address or id, written by id."""

from collections.abc import Mapping, Sequence
from typing import Any

from connector_gateway.connectors.crm import vendor_models
from connector_gateway.connectors.crm.mapping.properties import Definitions
from connector_gateway.connectors.crm.mapping.searches import OWNER
from connector_gateway.kit.errors import GatewayError, InvalidParameters, OptionMissing
from connector_gateway.kit.errors.combined_errors import combine_errors
from connector_gateway.kit.errors.suggestions import nearest_first

Owners = Mapping[str, vendor_models.Owner]
"""Owners by id, deactivated ones last."""

OWNER_EMAIL = "owner_email"
"""The name of the email address of a contact's owner, in look-ups and writes."""


def is_owner_property(definition: vendor_models.Definition) -> bool:
    """Return True if the values of a property are owners."""
    return definition.referenced_object_type == "OWNER"


def addresses(owners: Owners) -> list[str]:
    """Return the email addresses of the active owners, in order."""
    return sorted({owner.email for owner in owners.values() if owner.email and not owner.archived})


def owner_properties(definitions: Definitions, values: Mapping[str, Any]) -> list[str]:
    """Return the names in *values* whose values are owners."""
    return [
        name
        for name, value in values.items()
        if (name == OWNER_EMAIL or (name in definitions and is_owner_property(definitions[name])))
        and value not in (None, "")
    ]


def split_owners(definitions: Definitions, values: Mapping[str, Any]) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Split *values* into the properties whose values are owners, and the others."""
    owned_names = {*owner_properties(definitions, values), *({OWNER_EMAIL} & values.keys())}
    return (
        {name: value for name, value in values.items() if name in owned_names},
        {name: value for name, value in values.items() if name not in owned_names},
    )


def replace_owners(values: Mapping[str, Any], ids: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return *values* in its order, with the *ids* of owners and ``owner_email`` replaced by its property."""
    renamed = {OWNER if name == OWNER_EMAIL else name: value for name, value in values.items()}
    return renamed | {OWNER if name == OWNER_EMAIL else name: value for name, value in ids.items()}


def is_known(owners: Owners, value: Any) -> bool:
    """Return True if *value* names an owner."""
    return bool(_matches(owners, value))


def is_id(name: str, value: Any) -> bool:
    """Return True if the *value* of the property *name* has the form of an owner's id."""
    return name != OWNER_EMAIL and str(value).strip().isdecimal()


def by_id(definitions: Definitions, owners: Owners, values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return *values* with owners by id.

    Raises ``OptionMissing`` with every value that no owner matches, or several do.
    """
    owned_names = owner_properties(definitions, values)
    ids, errors = dict[str, str](), list[GatewayError]()
    for name in owned_names:
        matches = _matches(owners, values[name])
        if len(matches) == 1:
            ids[name] = matches[0].id
        else:
            errors.append(_no_single_owner(owners, name, values[name], matches))
    if errors:
        raise combine_errors(errors)
    resolved = {name: ids.get(name, value) for name, value in values.items()}
    if OWNER_EMAIL not in resolved:
        return resolved
    owner_id = resolved.pop(OWNER_EMAIL)
    if resolved.setdefault(OWNER, owner_id) != owner_id:
        message = f"{OWNER_EMAIL} and {OWNER} name different owners."
        raise InvalidParameters(message, {"parameter": f"properties.{OWNER_EMAIL}", "value": values[OWNER_EMAIL]})
    return resolved


def _matches(owners: Owners, value: Any) -> Sequence[vendor_models.Owner]:
    """Return the owners that match *value* by id, else by email address, active ones before deactivated ones."""
    text = str(value).strip() if isinstance(value, str | int) and not isinstance(value, bool) else ""
    if text in owners:
        return [owners[text]]
    matches = [owner for owner in owners.values() if text and (owner.email or "").lower() == text.lower()]
    return [owner for owner in matches if not owner.archived] or matches


def _no_single_owner(owners: Owners, name: str, value: Any, matches: Sequence[vendor_models.Owner]) -> OptionMissing:
    if matches:
        allowed = [owner.id for owner in matches]
        return OptionMissing(
            f"{len(matches)} owners have the email address in {name}. Use the id of one of them.",
            {"property": name, "value": value, "allowed": allowed},
        )
    detail = {"property": name, "value": value, "allowed": nearest_first(str(value), addresses(owners))}
    return OptionMissing(f"{name} matches no owner of the portal.", detail)
