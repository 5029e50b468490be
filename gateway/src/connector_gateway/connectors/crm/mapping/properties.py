"""Callers' properties in the portal's form."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from connector_gateway.connectors.crm import value_casts, vendor_models
from connector_gateway.connectors.crm.mapping.records import RECORD_ID
from connector_gateway.connectors.crm.models import PropertyDefinition
from connector_gateway.kit.casts import quote_names
from connector_gateway.kit.errors import GatewayError, LossyCast, OptionMissing, PropertyNotFound, ReadOnlyField
from connector_gateway.kit.errors.combined_errors import combine_errors
from connector_gateway.kit.errors.suggestions import closest_match, nearest_first
from connector_gateway.kit.write_steps import Cast

Definitions = Mapping[str, vendor_models.Definition]
"""Property definitions by internal name."""

CASTING = (PropertyNotFound, ReadOnlyField, OptionMissing, LossyCast)
"""The errors of a rejected value."""

UNCHECKED = vendor_models.Definition(name="", label="", type="string")
"""The definition of a property that is checked elsewhere."""


@dataclass(frozen=True, slots=True)
class Values:
    """Property values in the vendor's form, with the definitions of their properties."""

    definitions: Definitions
    texts: Mapping[str, str]

    def matching_names(self, record: vendor_models.Record) -> list[str]:
        """Return the names of the values that a record has. A property missing in the response counts as accepted."""
        current = record.properties
        return [
            name
            for name, text in self.texts.items()
            if name not in current
            or value_casts.equal_values(self.definitions.get(name, UNCHECKED), text, current[name])
        ]

    def all_match(self, record: vendor_models.Record) -> bool:
        """Return True if a record has all values."""
        return len(self.matching_names(record)) == len(self.texts)


def definitions(listing: Iterable[vendor_models.Definition]) -> Definitions:
    """Return property definitions by internal name."""
    return {described.name: described for described in listing}


def definition(by_name: Definitions, name: str) -> vendor_models.Definition:
    """Return the definition of one property."""
    if name not in by_name:
        raise combine_errors([_unknown(by_name, name)])
    return by_name[name]


def values(by_name: Definitions, properties: Mapping[str, Any]) -> Values:
    """Return the vendor's form of *properties*.

    Raises ``PropertyNotFound``, ``ReadOnlyField``, ``OptionMissing`` or ``LossyCast``, whichever comes first, with all
    invalid properties and values.
    """
    texts, rejections = dict[str, str](), list[GatewayError]()
    for name, value in properties.items():
        try:
            texts[name] = _value(by_name, name, value)
        except CASTING as rejection:
            rejections.append(rejection)
    if rejections:
        raise combine_errors(rejections)
    return Values(by_name, texts)


def cast_report(written: Values, raw: Mapping[str, Any]) -> list[Cast]:
    """Report how the values of properties were cast."""
    return [
        Cast(
            f"properties.{name}",
            definition.type,
            raw[name],
            text,
            names_people=definition.referenced_object_type == "OWNER",
        )
        for name, text in written.texts.items()
        for definition in [written.definitions[name]]
    ]


def _value(by_name: Definitions, name: str, value: Any) -> str:
    if name not in by_name:
        raise _unknown(by_name, name)
    if by_name[name].modification_metadata.read_only_value:
        raise ReadOnlyField(f'The vendor computes "{name}".', {"property": name})
    return value_casts.cast(by_name[name], value)


def unique(described: vendor_models.Definition) -> bool:
    """Return True if a record can be read by its value of the property."""
    return described.name in {"email", RECORD_ID} or described.has_unique_value


def identity(name: str, value: str) -> tuple[str | None, str]:
    """Return the unique property for a read, or None for the record's own id, and the value."""
    # The vendor stores email addresses in lower case.
    return None if name == RECORD_ID else name, value.lower() if name == "email" else value


def option_value(described: vendor_models.Definition, value: str) -> str | None:
    """Return the option that *value* matches by value or label, or None. For other properties, return *value*."""
    if not described.options or described.field_type == "checkbox" or value in value_casts.options(described):
        return value
    matches = [option.value for option in described.options if option.label.strip().lower() == value.lower()]
    return matches[0] if len(matches) == 1 else None


def no_such_option(described: vendor_models.Definition, value: str) -> str:
    """Return the warning that *value* is not an option and occurs in outdated records only."""
    likely = closest_match(value, value_casts.options(described)) or closest_match(
        value, [one.label for one in described.options]
    )
    hint = f"; did you mean {quote_names([likely])}?" if likely else "."
    return f"{quote_names([value])} is not an option of {quote_names([described.name])}{hint}"


def property_definition(described: vendor_models.Definition, owners: Sequence[str] = ()) -> PropertyDefinition:
    """Return the public form of a property. *owners* are the options of one that contains an owner."""
    return PropertyDefinition(
        name=described.name,
        label=described.label,
        type=described.type,
        options=list(owners) if described.referenced_object_type == "OWNER" else value_casts.options(described),
        custom=not described.hubspot_defined,
    )


def _unknown(by_name: Definitions, name: str) -> PropertyNotFound:
    allowed = [one.name for one in by_name.values() if not one.hidden]
    return PropertyNotFound(
        f"The portal has no property {quote_names([name])}.",
        {"property": name, "allowed": nearest_first(name, allowed)},
    )
