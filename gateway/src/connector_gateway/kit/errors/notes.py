"""Errors of databases, pages and people."""

from connector_gateway.kit.errors.base import CallerError


class DatabaseNotShared(CallerError, status=403):
    """The database does not exist, or was not selected when the connection was made."""

    subject_parameters = ("database_id",)
    remedy = (
        "Share the database with the connection in {vendor}, then call again; {list_databases} lists those that "
        "are shared."
    )
    prescribed = dict.fromkeys(("notes",), "Add the database to the shared selection, then retry.")


class AmbiguousDatabase(CallerError, status=409):
    """The database holds several data sources, and none of them alone covers the request."""

    location = ("parameter", "database_id")
    remedy = "Name properties of one data source only; details lists the sources."


class PageNotFound(CallerError, status=404):
    """The page does not exist, or is not shared with the connection."""

    subject_parameters = ("page_id",)
    remedy = (
        "Check the page identifier, which {search_pages} returns, and share the page with the connection in {vendor}."
    )


class PageModified(CallerError, status=409):
    """The page changed after ``if_unmodified_since``; nothing was written."""

    location = ("parameter", "if_unmodified_since")
    remedy = (
        "Read the page again, and if the change still applies, send last_edited_at of details as {if_unmodified_since}."
    )


class PageInTrash(CallerError, status=409):
    """The page is in the trash, where properties cannot be written."""

    location = ("parameter", "properties")
    remedy = "Restore the page by sending {archived} false, alone or with the properties."


class UnsupportedBlock(CallerError, status=422):
    """A body block is of a kind that is not offered."""

    location = ("parameter", "children")
    remedy = "Use paragraph, bulleted_list_item or callout."


class PersonNotFound(CallerError, status=404):
    """Nobody in the workspace has the address or name that a value gives."""

    location = ("parameter", "properties")
    remedy = (
        "Use the e-mail address, the exact name or the identifier of a person in the workspace; name guests by "
        "identifier."
    )


class AmbiguousPerson(CallerError, status=409):
    """Several people share the name."""

    location = ("parameter", "properties")
    remedy = "Name the person by e-mail address, or by one of the identifiers in details."
