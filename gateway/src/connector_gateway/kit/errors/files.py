"""Errors of links to files."""

from connector_gateway.kit.errors.base import CallerError


class LinkNotFound(CallerError, status=404):
    """The download link is invalid or expired."""

    remedy = "Fetch the attachment again to get a new link."


class UrlNotAllowed(CallerError, status=422):
    """The URL is not a public http or https URL."""

    location = ("parameter", "url")
    remedy = "Use an http or https URL that anyone on the internet can open. The reason is in details."


class UrlUnreachable(CallerError, status=422):
    """The file at the URL could not be fetched."""

    location = ("parameter", "url")
    remedy = "Check that the URL opens without signing in, and correct the problem that details names. Then call again."


class FileEmpty(CallerError, status=422):
    """The file at the URL is empty, and the vendor does not store empty files."""

    location = ("parameter", "url")
    remedy = "Use the URL of a file that is not empty."


class FileTooLarge(CallerError, status=413):
    """The file is larger than the limit."""

    location = ("parameter", "url")
    remedy = "Use a smaller file."
