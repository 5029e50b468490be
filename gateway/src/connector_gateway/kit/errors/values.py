"""Errors of properties and values that several connectors write."""

from connector_gateway.kit.errors.base import CallerError


class LossyCast(CallerError, status=422):
    """A value cannot become the destination's type without loss; nothing was written."""

    location = ("parameter", "properties")
    remedy = "Send a value that the type in details can hold exactly."


class PropertyNotFound(CallerError, status=404):
    """A property name does not exist where it is used."""

    location = ("parameter", "properties")
    remedy = "Use a property name that {list_databases|list_properties} returns, spelled the same."
    prescribed = dict.fromkeys(("notes",), "Read the current property list, then correct the name.")


class SelectOptionMissing(CallerError, status=409):
    """A select value is not one of the configured options; nothing was written."""

    location = ("parameter", "properties")
    remedy = "Use one of the options in details, or add the option in {vendor}."
    prescribed = dict.fromkeys(("notes",), "Add the option, allow new options on the mapping, or translate the value.")


class OptionMissing(CallerError, status=409):
    """A value is not among the options of an enumeration; nothing was written."""

    location = ("parameter", "properties")
    remedy = "Use one of the allowed values in details."


class UniqueValueTaken(CallerError, status=409):
    """Another record has the value of a property whose values are unique; nothing was written."""

    location = ("parameter", "properties")
    remedy = "Use another value, or change the record that has it; details name the property, the value and the record."


class ReadOnlyField(CallerError, status=422):
    """The field is computed and cannot be written; nothing was written."""

    location = ("parameter", "fields")
    remedy = "Leave out the fields in details, which {vendor} computes."
