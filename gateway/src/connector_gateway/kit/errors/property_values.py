"""Errors of properties and values that several connectors write."""

from connector_gateway.kit.errors.base import CallerError


class LossyCast(CallerError, status=422):
    """A value cannot be converted to the type of its property or field without loss. Nothing was written."""

    location = ("parameter", "properties")
    remedy = "Send a value that the type in details can represent exactly."


class PropertyNotFound(CallerError, status=404):
    """The database or object type has no property with that name."""

    location = ("parameter", "properties")
    remedy = "Use a property name exactly as {list_databases|list_properties} returns it."


class SelectOptionMissing(CallerError, status=409):
    """A select value is not one of the configured options. Nothing was written."""

    location = ("parameter", "properties")
    remedy = "Use one of the options in details, or add the option in {vendor}."


class OptionMissing(CallerError, status=409):
    """A value is not an option of its enumeration property. Nothing was written."""

    location = ("parameter", "properties")
    remedy = "Use one of the allowed values in details."


class UniqueValueTaken(CallerError, status=409):
    """Another record has the value of a property whose values are unique. Nothing was written."""

    location = ("parameter", "properties")
    remedy = (
        "Use another value, or change the record that has it. The details contain the property, the value and the "
        "record."
    )


class ReadOnlyField(CallerError, status=422):
    """The field is computed and cannot be written. Nothing was written."""

    location = ("parameter", "fields")
    remedy = "Omit the fields in details, which {vendor} computes."
