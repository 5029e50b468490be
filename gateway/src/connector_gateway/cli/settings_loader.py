"""Settings for commands. Invalid settings end the command with an error message."""

from collections.abc import Mapping

import click

from connector_gateway.connectors import CONNECTORS
from connector_gateway.environment import SettingsError
from connector_gateway.settings import Settings


def load_settings(environment: Mapping[str, str], *, starting: bool = False) -> Settings:
    """Read settings. Raises ``ClickException`` if one is missing, invalid or, when *starting*, a weak secret."""
    try:
        settings = Settings.read(environment, CONNECTORS)
        if starting:
            settings.check_strength()
    except SettingsError as error:
        raise click.ClickException(str(error)) from error
    return settings
