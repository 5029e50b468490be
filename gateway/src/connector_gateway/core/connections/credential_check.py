"""Validation of the secrets and settings of connections."""

import re
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from connector_gateway.core.error_serialization import UNKNOWN, truncate, validation_details, with_allowed_names
from connector_gateway.kit.errors import Detail, InvalidParameters
from connector_gateway.kit.operation import AnyConnector

UNSENDABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
"""Characters that would end a header or cannot be encoded."""


def validate_connection(
    connectors: Mapping[str, AnyConnector],
    name: str,
    credentials: Mapping[str, str] | None,
    settings: Mapping[str, Any],
) -> None:
    """Raise ``InvalidParameters`` if credentials or settings are invalid for the connector *name*."""
    connector = connectors.get(name)
    if connector is None:
        raise InvalidParameters(
            f"There is no connector {name}.",
            {"parameter": "connector", "value": name, "allowed": list(connectors)},
        )
    violations = (
        _missing(connector, credentials) + _unsendable(credentials or {}) + _invalid_settings(connector, settings)
    )
    if violations:
        raise InvalidParameters(
            f"Invalid parameters for a connection of {name}: {', '.join(str(row['parameter']) for row in violations)}.",
            *violations,
        )


def _missing(connector: AnyConnector, credentials: Mapping[str, str] | None) -> list[Detail]:
    """Return violations for missing secrets and for the unknown names given instead of them.

    Nothing is missing if there are no credentials. Unknown names alone are not a violation: a set of secrets may
    contain more than the connector needs.
    """
    names = dict.fromkeys(connector.credentials) if credentials is None else credentials
    missing = [name for name in connector.credentials if name not in names]
    unknown = [name for name in names if name not in connector.credentials] if missing else []
    violations: list[Detail] = [
        *({"parameter": f"credentials.{name}", "message": "Field required"} for name in missing),
        *({"parameter": f"credentials.{truncate(name)}", "message": UNKNOWN} for name in unknown),
    ]
    return with_allowed_names(violations, connector.credentials, "credentials")


def _unsendable(credentials: Mapping[str, str]) -> list[Detail]:
    """Return violations for secrets that no header can carry, without the secrets, which may be almost right."""
    return [
        {
            "parameter": f"credentials.{name}",
            "message": "Should have no control characters or surrounding spaces",
        }
        for name, secret in credentials.items()
        if not secret or secret != secret.strip() or UNSENDABLE.search(secret)
    ]


def _invalid_settings(connector: AnyConnector, settings: Mapping[str, Any]) -> list[Detail]:
    try:
        connector.settings.model_validate(dict(settings))
    except ValidationError as error:
        return with_allowed_names(
            validation_details(error, "settings"), list(connector.settings.model_fields), "settings"
        )
    return []
