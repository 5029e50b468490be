"""Settings for commands: what is wrong with them ends the command with a sentence."""

from collections.abc import Mapping

import click

from connector_gateway.connectors import CONNECTORS
from connector_gateway.environment import SettingsError
from connector_gateway.settings import Settings


def settings_of(environment: Mapping[str, str]) -> Settings:
    """The settings of *environment*; ``ClickException`` if one is missing or does not fit."""
    try:
        return Settings.read(environment, CONNECTORS)
    except SettingsError as fault:
        raise click.ClickException(str(fault)) from fault
