"""The reference of the kit, generated from its public modules."""

import inspect
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType

from connector_gateway.kit import PUBLIC_MODULES, VERSION

KIT = "connector_gateway.kit"

INTRODUCTION = """\
Connectors import only these modules of `{kit}`. This is version {version}, which a package states as `kit_version` of
its `Connector`. The version rises when a name is removed, or changes so that a connector may stop working; the
changelog says so."""


def kit_reference() -> str:
    """Return the public modules of the kit, with their classes and functions."""
    head = [
        "# The kit",
        "Generated from the modules; do not edit.",
        INTRODUCTION.format(kit=KIT, version=VERSION),
    ]
    sections = [section for name in PUBLIC_MODULES for section in _sections(import_module(f"{KIT}.{name}"))]
    return "\n\n".join([*head, *sections]) + "\n"


def _sections(module: ModuleType) -> Iterator[str]:
    yield f"## {module.__name__.removeprefix(f'{KIT}.')}"
    yield _first_line(module)
    rows = [
        f"| `{name}` | {_first_line(value)} |"
        for name, value in vars(module).items()
        if _is_public(name, value, module) and inspect.getdoc(value)
    ]
    if module.__name__ == f"{KIT}.errors":
        yield "All errors: [the catalogue](errors.md)."
    elif rows:
        yield "\n".join(["| Name | Meaning |", "|---|---|", *rows])


def _is_public(name: str, value: object, module: ModuleType) -> bool:
    is_defined_here = getattr(value, "__module__", None) == module.__name__
    return not name.startswith("_") and is_defined_here and (inspect.isclass(value) or inspect.isfunction(value))


def _first_line(value: object) -> str:
    return (inspect.getdoc(value) or "").partition("\n")[0].replace("``", "`").replace("*", "").replace("|", "\\|")
