"""Errors of links to files."""

from connector_gateway.kit.errors.base import CallerError


class LinkNotFound(CallerError, status=404):
    """The download link is unknown, altered or expired."""

    remedy = "Fetch the attachment again to get a new link."


class UrlNotAllowed(CallerError, status=422):
    """The link does not lead to a public http or https address."""

    location = ("parameter", "url")
    remedy = "Use an http or https link that anyone on the internet can open; details have the reason."


class UrlUnreachable(CallerError, status=422):
    """The link could not be fetched."""

    location = ("parameter", "url")
    remedy = "Open the link without signing in, and correct what the reason in details says; then call again."


class FileEmpty(CallerError, status=422):
    """The file behind the link has no content, and the application stores no empty files."""

    location = ("parameter", "url")
    remedy = "Use a link to a file with content."


class FileTooLarge(CallerError, status=413):
    """The file is larger than can be taken."""

    location = ("parameter", "url")
    remedy = "Use a smaller file."
