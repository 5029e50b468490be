"""Callers' properties in the vendor's form."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from connector_gateway.connectors.notes import value_casts, vendor_models
from connector_gateway.connectors.notes.mapping.people import Users, with_ids
from connector_gateway.kit import errors
from connector_gateway.kit.errors.combined_errors import combine_errors
from connector_gateway.kit.errors.suggestions import nearest_first
from connector_gateway.kit.write_steps import Cast

Schema = Mapping[str, vendor_models.Property]
"""The properties of a data source by name."""


MAX_NAMES = 10
"""The maximum number of names in a warning."""


CASTING = (
    errors.PropertyNotFound,
    errors.SelectOptionMissing,
    errors.LossyCast,
    errors.PersonNotFound,
    errors.AmbiguousPerson,
)
"""Errors of properties that cannot be written."""


def to_vendor_properties(
    schema: Schema, properties: Mapping[str, Any], users: Users = ()
) -> tuple[dict[str, Any], list[str]]:
    """Return the vendor's form of *properties* by property id, and the names of computed properties.

    People are looked up in *users*. Raises one of ``CASTING`` with all values that cannot be written.
    """
    written: dict[str, Any] = {}
    skipped: list[str] = []
    violations: list[errors.GatewayError] = []
    for name, value in properties.items():
        described = schema.get(name)
        if described is None:
            violations.append(no_property(name, schema))
        elif described.type not in value_casts.to_vendor.CASTS:
            skipped.append(name)
        else:
            try:
                resolved = with_ids(name, value, users) if described.type == "people" else value
                written[described.id] = {described.type: value_casts.to_vendor.cast(name, described, resolved)}
            except CASTING as error:
                violations.append(error)
    if violations:
        raise combine_errors(violations)
    return written, skipped


def skipped_warning(names: Sequence[str]) -> str:
    """Return the warning that these properties were not written because the vendor computes them."""
    text = ", ".join(names[:MAX_NAMES]) + (f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else "")
    return f"Not written, because the vendor computes them: {text}."


def cast_report(schema: Schema, properties: Mapping[str, Any], written: Mapping[str, Any]) -> list[Cast]:
    """Report how the values of properties were cast."""
    return [
        Cast(
            f"properties.{name}",
            described.type,
            value,
            written[described.id][described.type],
            names_people=described.type == "people",
        )
        for name, value in properties.items()
        if (described := schema[name]).id in written
    ]


def schema_of_page(page: vendor_models.Page) -> Schema:
    """Return the properties of a page as a schema, which contains only names and types."""
    return {
        name: vendor_models.Property(id=value.id, name=name, type=value.type) for name, value in page.properties.items()
    }


def references(schema: Schema, written: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the kind and name of the properties that reference pages or people, by the identifiers of these."""
    names = {described.id: name for name, described in schema.items()}
    return {
        item["id"]: [kind, names[property_id]]
        for property_id, payload in written.items()
        for kind, content in payload.items()
        if kind in {"relation", "people"}
        for item in content
    }


def names(page: vendor_models.Page, written: Mapping[str, Any]) -> list[str]:
    """Return the names of the written properties, in the order given."""
    names_by_id = {value.id: name for name, value in page.properties.items()}
    return [names_by_id[property_id] for property_id in written if property_id in names_by_id]


def no_property(name: str, available: Collection[str]) -> errors.PropertyNotFound:
    """Return the error for an unknown property name."""
    return errors.PropertyNotFound(
        f'The database has no property "{name}".', {"property": name, "allowed": nearest_first(name, available)}
    )
