"""Errors of bases, tables, views, records and fields."""

from connector_gateway.kit.errors.base import CallerError


class BaseNotFound(CallerError, status=404):
    """The base does not exist, or the account cannot see it."""

    subject_parameters = ("base_id",)
    remedy = "Check the base_id, and give the connection access to the base in {vendor}."


class TableNotFound(CallerError, status=404):
    """The base has no table with that name or identifier."""

    subject_parameters = ("table",)
    remedy = "Use a table that {list_tables} returns."


class ViewNotFound(CallerError, status=404):
    """The table has no view with that name."""

    subject_parameters = ("view",)
    remedy = "Use one of the views that {list_tables} returns for the table."


class RecordNotFound(CallerError, status=404):
    """The record does not exist in the table."""

    subject_parameters = ("record_id",)
    remedy = "Use a record_id that {read_records} returns for the table."


class FieldNotFound(CallerError, status=404):
    """The table has no field with that name."""

    location = ("parameter", "fields")
    remedy = "Use a field name exactly as {list_tables} returns it."


class TooManyRecords(CallerError, status=422):
    """The call contains more records than the limit. None was created."""

    location = ("parameter", "records")
    remedy = "Send at most ten records per call."
