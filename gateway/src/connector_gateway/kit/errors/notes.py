"""Errors of databases, pages and people."""

from connector_gateway.kit.errors.base import CallerError


class DatabaseNotShared(CallerError, status=403):
    """The database does not exist, or was not selected when the account was connected."""

    subject_parameters = ("database_id",)
    remedy = (
        "Share the database with the connection in {vendor}, then call again; {list_databases} lists the shared "
        "databases."
    )
    prescribed = dict.fromkeys(("notes",), "Add the database to the shared selection, then retry.")


class AmbiguousDatabase(CallerError, status=409):
    """The database has several data sources, and none of them has all properties of the request."""

    location = ("parameter", "database_id")
    remedy = "Use the properties of one data source only; details lists the data sources."


class PageNotFound(CallerError, status=404):
    """The page does not exist, or is not shared with the connection."""

    subject_parameters = ("page_id",)
    remedy = (
        "Check the page identifier, which {search_pages} returns, and share the page with the connection in {vendor}."
    )


class PageModified(CallerError, status=409):
    """The page changed after ``if_unmodified_since``. Nothing was written."""

    location = ("parameter", "if_unmodified_since")
    remedy = (
        "Read the page again. If the change still applies, send last_edited_at of details as {if_unmodified_since}."
    )


class PageInTrash(CallerError, status=409):
    """The page is in the trash, where properties cannot be written."""

    location = ("parameter", "properties")
    remedy = "Restore the page by sending {archived} false, alone or with the properties."


class UnsupportedBlock(CallerError, status=422):
    """A block of the page body has a type that is not supported."""

    location = ("parameter", "children")
    remedy = "Use paragraph, bulleted_list_item or callout."


class PersonNotFound(CallerError, status=404):
    """No person in the workspace has the e-mail address or name of a value."""

    location = ("parameter", "properties")
    remedy = (
        "Use the e-mail address, the exact name or the identifier of a person in the workspace. Guests can only be "
        "named by identifier."
    )


class AmbiguousPerson(CallerError, status=409):
    """Several people have that name."""

    location = ("parameter", "properties")
    remedy = "Identify the person by e-mail address, or by one of the identifiers in details."
