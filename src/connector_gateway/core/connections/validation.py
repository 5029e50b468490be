"""What fits a connection of a connector: its secrets and its settings."""

import re
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from connector_gateway.core.calls.error_details import UNKNOWN, listing, truncate, validation_details
from connector_gateway.kit.errors import Detail, InvalidParameters
from connector_gateway.kit.operation import AnyConnector

UNSENDABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
"""What would end a header, or cannot be encoded at all."""


def validate_connection(
    connectors: Mapping[str, AnyConnector],
    name: str,
    credentials: Mapping[str, str] | None,
    settings: Mapping[str, Any],
) -> None:
    """Refuse what does not fit a connection of the connector *name*."""
    connector = connectors.get(name)
    if connector is None:
        raise InvalidParameters(
            f"There is no connector {name}.",
            {"parameter": "connector", "value": name, "allowed": list(connectors)},
        )
    faults = _missing(connector, credentials) + _unsendable(credentials or {}) + _misfits(connector, settings)
    if faults:
        raise InvalidParameters(
            f"This does not fit a connection of {name}: {', '.join(str(fault['parameter']) for fault in faults)}.",
            *faults,
        )


def _missing(connector: AnyConnector, credentials: Mapping[str, str] | None) -> list[Detail]:
    """The secrets that a connection needs and is not given, where it is given any, and what is given in their place.

    Secrets that are none of a connection's own are no fault by themselves: a set of them may have more.
    """
    given = dict.fromkeys(connector.credentials) if credentials is None else credentials
    missing = [name for name in connector.credentials if name not in given]
    unknown = [name for name in given if name not in connector.credentials] if missing else []
    faults: list[Detail] = [
        *({"parameter": f"credentials.{name}", "message": "Field required"} for name in missing),
        *({"parameter": f"credentials.{truncate(name)}", "message": UNKNOWN} for name in unknown),
    ]
    return listing(faults, connector.credentials, "credentials")


def _unsendable(credentials: Mapping[str, str]) -> list[Detail]:
    """The secrets that no header can carry. They are not repeated, for nearly all of one may be right."""
    return [
        {"parameter": f"credentials.{name}", "message": "Should be text without control characters or space around it"}
        for name, secret in credentials.items()
        if not secret or secret != secret.strip() or UNSENDABLE.search(secret)
    ]


def _misfits(connector: AnyConnector, settings: Mapping[str, Any]) -> list[Detail]:
    try:
        connector.settings.model_validate(dict(settings))
    except ValidationError as fault:
        return listing(validation_details(fault, "settings"), list(connector.settings.model_fields), "settings")
    return []
