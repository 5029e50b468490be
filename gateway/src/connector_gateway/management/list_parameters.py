"""Parameters that the lists of all resources share."""

from typing import Annotated

from pydantic import Field

from connector_gateway.kit.models import Cursor, Params

Name = Annotated[str, Field(max_length=200)]


class ListParams(Params):
    """The requested page of a list."""

    cursor: Cursor | None = None
    """``next_cursor`` of the previous page."""

    limit: Annotated[int, Field(ge=1, le=200)] = 50
    """Maximum number of items to return."""
