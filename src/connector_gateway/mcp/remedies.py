"""What agents are told to do about an error: by their tools and resources, for they have no routes and no commands."""

from collections.abc import Mapping

from connector_gateway.kit.errors import (
    ConnectionMismatch,
    ConnectionNotFound,
    FieldNotFound,
    GatewayError,
    ListNotFound,
    OperationNotAllowed,
    TableNotFound,
    UpstreamRateLimited,
    ViewNotFound,
)

REMEDIES: Mapping[type[GatewayError], str] = {
    ConnectionMismatch: "Use a connection of the tool's own application; gateway://connections lists them.",
    ConnectionNotFound: "Read gateway://connections and use one of the identifiers there, or leave connection_id out.",
    FieldNotFound: "Use field names as tables_list_tables gives them, exactly as they are written there.",
    ListNotFound: "Read current list identifiers with boards_describe_board; names are not identifiers.",
    OperationNotAllowed: "Use another tool, or ask whoever set up the gateway for a key that may call this one.",
    TableNotFound: "Use one of the tables that tables_list_tables gives.",
    UpstreamRateLimited: "Wait as many seconds as are told, then call again.",
    ViewNotFound: "Use one of the views that tables_list_tables gives.",
}
"""In place of what the catalogue says for callers of other surfaces."""


def remedy_of(error: GatewayError) -> str:
    """What to do about *error*; where one instance knows better than its class, that."""
    own = vars(error).get("remedy")
    return own or REMEDIES.get(type(error), error.remedy)
