"""Errors of bases, tables, views, records and fields."""

from connector_gateway.kit.errors.base import CallerError


class BaseNotFound(CallerError, status=404):
    """The base does not exist, or the account cannot see it."""

    subject_parameters = ("base_id",)
    remedy = "Check the base_id, and give the connection access to the base in {vendor}."


class TableNotFound(CallerError, status=404):
    """The base has no table of that name or identifier."""

    subject_parameters = ("table",)
    remedy = "Use a table that {list_tables} returns."


class ViewNotFound(CallerError, status=404):
    """The table has no view of that name."""

    subject_parameters = ("view",)
    remedy = "Use one of the views that {list_tables} returns for the table."


class RecordNotFound(CallerError, status=404):
    """The record does not exist where it was looked for."""

    subject_parameters = ("record_id",)
    remedy = "Use a record_id that {read_records} returns for the table."


class FieldNotFound(CallerError, status=404):
    """The table has no field of that name."""

    location = ("parameter", "fields")
    remedy = "Use a field name that {list_tables} returns, spelled the same."


class TooManyRecords(CallerError, status=422):
    """More records at once than a call takes; none was created."""

    location = ("parameter", "records")
    remedy = "Send at most ten records per call."
