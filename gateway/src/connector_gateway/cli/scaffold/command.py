"""The command ``new-connector``, which creates the package of a connector from the template."""

import re
from collections.abc import Collection, Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

import click

from connector_gateway.cli.command_groups import Command
from connector_gateway.cli.output import print_sentence
from connector_gateway.connectors import INSTALLED
from connector_gateway.connectors.package_loader import find_name_problem

OPTIONS = frozenset({"oauth", "events"})
"""The optional parts of the template. A part's files are named after it, and so are their tests."""

MARKER = re.compile(r"(?:#|<!--) (begin |end |)--(\w+)(?: -->)?$")
"""The end of a line that only an option includes, or a line around others that only it includes."""

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
@click.option("--oauth", is_flag=True, help="Add accounts that users connect in a browser.")
@click.option("--events", is_flag=True, help="Add changes that are polled, and an operation that reads them.")
def new_connector(name: str, into: Path, *, oauth: bool, events: bool) -> None:
    """Create the package of a connector, with two operations, an emulator and tests that pass.

    Example: connector-gateway new-connector tasks --oauth
    """
    _check_name(name)
    folder = into / f"{name}-connector"
    try:
        folder.mkdir()
    except FileExistsError:
        raise click.BadParameter(
            f"{folder} already exists. Choose another name, or another folder with --into.", param_hint="NAME"
        ) from None
    excluded = {option for option, is_included in (("oauth", oauth), ("events", events)) if not is_included}
    _copy(files(__package__).joinpath("template"), folder, name, excluded)
    print_sentence(f"Created {folder}. To install and test it: cd {folder}; make test. To call it: make dev.")


def _check_name(name: str) -> None:
    """Check that a connector of this *name* could be served alongside the installed ones."""
    existing = next((one for one in INSTALLED.found if one.name == name), None)
    if existing is not None:
        raise click.BadParameter(f"The package {existing.origin} has a connector {name!r}.", param_hint="NAME")
    if problem := find_name_problem(name):
        raise click.BadParameter(f"{name!r} cannot be a connector: {problem}.", param_hint="NAME")


def _copy(source: Traversable, target: Path, name: str, excluded: Collection[str]) -> None:
    """Copy the contents of *source* to *target*, with *name* for the placeholder and without the *excluded* options."""
    for entry in source.iterdir():
        path = target / _rename(entry.name, name)
        if entry.name == "__pycache__" or path.stem.removeprefix("test_") in excluded:
            continue
        if entry.is_dir():
            path.mkdir()
            _copy(entry, path, name, excluded)
        else:
            lines = _select_lines(entry.read_text(encoding="utf-8"), excluded)
            path.write_text(_rename("".join(lines), name), encoding="utf-8")


def _select_lines(text: str, excluded: Collection[str]) -> Iterator[str]:
    """Yield the lines of a file without its markers, and without the parts of *excluded* options."""
    skipping = False
    for line in text.splitlines(keepends=True):
        marker = MARKER.search(line)
        if marker is None or marker[2] not in OPTIONS:
            if not skipping:
                yield line
        elif marker[1]:
            skipping = marker[1] == "begin " and marker[2] in excluded
        elif marker[2] not in excluded:
            yield f"{line[: marker.start()].rstrip()}\n"


def _rename(text: str, name: str) -> str:
    forms = {"acme": name, "Acme": name.capitalize(), "ACME": name.upper()}
    return PLACEHOLDER.sub(lambda match: forms[match[0]], text)
