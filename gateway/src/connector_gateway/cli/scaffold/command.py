"""The command ``new-connector``, which creates the package of a connector from the template."""

import re
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

import click

from connector_gateway.cli.command_groups import Command
from connector_gateway.cli.output import print_sentence
from connector_gateway.connectors import INSTALLED
from connector_gateway.connectors.package_loader import find_name_problem

PLACEHOLDER = re.compile("acme", re.IGNORECASE)
"""The template's name, in the case of each occurrence: ``acme_connector``, ``AcmeClient``, ``ACME``."""


@click.command(cls=Command)
@click.argument("name")
@click.option(
    "--into",
    default=".",
    show_default=True,
    type=click.Path(exists=True, file_okay=False, writable=True, path_type=Path),
    help="The folder in which the package is created.",
)
def new_connector(name: str, into: Path) -> None:
    """Create the package of a connector, with two operations, an emulator and tests that pass.

    Example: connector-gateway new-connector tasks
    """
    _check_name(name)
    folder = into / f"{name}-connector"
    try:
        folder.mkdir()
    except FileExistsError:
        raise click.BadParameter(
            f"{folder} already exists. Choose another name, or another folder with --into.", param_hint="NAME"
        ) from None
    _copy(files(__package__).joinpath("template"), folder, name)
    print_sentence(f"Created {folder}. To install and test it: cd {folder}; make test. To call it: make dev.")


def _check_name(name: str) -> None:
    """Check that a connector of this *name* could be served alongside the installed ones."""
    existing = next((one for one in INSTALLED.found if one.name == name), None)
    if existing is not None:
        raise click.BadParameter(f"The package {existing.origin} has a connector {name!r}.", param_hint="NAME")
    if problem := find_name_problem(name):
        raise click.BadParameter(f"{name!r} cannot be a connector: {problem}.", param_hint="NAME")


def _copy(source: Traversable, target: Path, name: str) -> None:
    """Copy the contents of *source* to *target*, with *name* instead of the placeholder."""
    for entry in source.iterdir():
        path = target / _rename(entry.name, name)
        if entry.name == "__pycache__":
            continue
        if entry.is_dir():
            path.mkdir()
            _copy(entry, path, name)
        else:
            path.write_text(_rename(entry.read_text(encoding="utf-8"), name), encoding="utf-8")


def _rename(text: str, name: str) -> str:
    forms = {"acme": name, "Acme": name.capitalize(), "ACME": name.upper()}
    return PLACEHOLDER.sub(lambda match: forms[match[0]], text)
