"""Settings for commands: what is wrong with them ends the command with a sentence."""

from collections.abc import Mapping

import click

from connector_gateway.connectors import CONNECTORS
from connector_gateway.environment import SettingsError
from connector_gateway.settings import Settings


def settings_of(environment: Mapping[str, str], *, starting: bool = False) -> Settings:
    """Read settings; ``ClickException`` if one is missing, does not fit or, when *starting*, is a weak secret."""
    try:
        settings = Settings.read(environment, CONNECTORS)
        if starting:
            settings.check_strength()
    except SettingsError as fault:
        raise click.ClickException(str(fault)) from fault
    return settings
