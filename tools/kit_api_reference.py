"""The references of the kits for connectors and emulators, generated from the source of their public modules."""

import ast
import inspect
from collections.abc import Iterable, Iterator
from importlib import import_module
from itertools import pairwise
from types import ModuleType
from typing import TypeGuard

from connector_gateway import kit
from workspace_sandbox import kit as emulator_kit

Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
Attribute = ast.Assign | ast.AnnAssign

INTRODUCTION = """\
Connectors import only these modules of `{kit}`. This is version {version}, which a package states as `kit_version` of
its `Connector`. The version rises when a name is removed, or changes so that a connector may stop working; the
changelog says so."""

EMULATOR_INTRODUCTION = """\
Emulators of packages import only these modules of `{kit}`. The others can change in any release."""

SPECIAL_METHODS = {"__init__", "__call__"}
"""Special methods that are part of an interface."""

SOURCES = {f"{kit.__name__}.errors": f"{kit.__name__}.errors.base"}
"""The modules whose definitions represent a package."""


def kit_reference() -> str:
    """Return the public modules of the kit for connectors."""
    introduction = INTRODUCTION.format(kit=kit.__name__, version=kit.VERSION)
    return _page("The kit", introduction, kit, kit.PUBLIC_MODULES)


def emulator_kit_reference() -> str:
    """Return the public modules of the kit for emulators."""
    introduction = EMULATOR_INTRODUCTION.format(kit=emulator_kit.__name__)
    return _page("The kit of emulators", introduction, emulator_kit, emulator_kit.PUBLIC_MODULES)


def _page(title: str, introduction: str, package: ModuleType, names: Iterable[str]) -> str:
    head = [f"# {title}", "Generated from the modules; do not edit.", introduction]
    modules = [import_module(f"{package.__name__}.{name}") for name in names]
    sections = [section for module in modules for section in _sections(package, module)]
    return "\n\n".join([*head, *sections]) + "\n"


def _sections(package: ModuleType, module: ModuleType) -> Iterator[str]:
    """Yield a module: its classes with their fields and methods, then its other names."""
    yield f"## {module.__name__.removeprefix(f'{package.__name__}.')}"
    source_module = import_module(SOURCES.get(module.__name__, module.__name__))
    yield _prose(inspect.getdoc(source_module) or "")
    if source_module is not module:
        yield "All errors: [the catalogue](errors.md)."
    source = _Source(source_module)
    for definition in source.classes:
        yield f"### {definition.name}"
        yield _prose(ast.get_docstring(definition) or "")
        yield _block(source.outline(definition))
    if names := [*source.documented_values(), *source.functions()]:
        if source.classes:
            yield "### Functions and values"
        yield _block("\n\n".join(names))


class _Source:
    """The source of a module, and its public definitions."""

    def __init__(self, module: ModuleType) -> None:
        text = inspect.getsource(module)
        self._lines = text.splitlines()
        self._body = ast.parse(text).body
        self.classes = [node for node in self._body if isinstance(node, ast.ClassDef) and _is_public(node.name)]

    def functions(self) -> Iterator[str]:
        """Yield the signatures of functions, with their docstrings."""
        for node in self._body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and _is_public(node.name):
                yield self._signature(node)

    def documented_values(self) -> Iterator[str]:
        """Yield the values and types of the module that have a docstring."""
        for node, following in pairwise(self._body):
            if _is_public_attribute(node) and _is_text(following):
                yield self._text(node.lineno, following.end_lineno)

    def outline(self, definition: ast.ClassDef) -> str:
        """Return a class with its fields and the signatures of its methods, without its own docstring."""
        members = list(self._members(definition))
        header = self._text(_first_line(definition), definition.body[0].lineno - 1).rstrip()
        return "\n".join([header, *members]).rstrip() if members else f"{header} ..."

    def _members(self, definition: ast.ClassDef) -> Iterator[str]:
        body = [*definition.body, ast.Pass()]
        for node, following in pairwise(body):
            if _is_interface(node):
                yield self._signature(node) + "\n"
            elif _is_public_attribute(node):
                documented = following if _is_text(following) else node
                is_followed = documented is node and _is_public_attribute(following)
                yield self._text(node.lineno, documented.end_lineno) + ("" if is_followed else "\n")

    def _signature(self, function: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
        first, *_ = function.body
        if _is_text(first):
            return self._text(_first_line(function), first.end_lineno)
        return self._text(_first_line(function), first.lineno - 1).rstrip() + " ..."

    def _text(self, first: int, last: int | None) -> str:
        return "\n".join(self._lines[first - 1 : last])


def _first_line(definition: Definition) -> int:
    return min([definition.lineno, *(decorator.lineno for decorator in definition.decorator_list)])


def _is_interface(node: ast.stmt) -> TypeGuard[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Return True if *node* is a public method or a special one."""
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    return _is_public(node.name) or node.name in SPECIAL_METHODS


def _is_public(name: str) -> bool:
    return not name.startswith("_")


def _is_public_attribute(node: ast.stmt) -> bool:
    """Return True if *node* assigns to a public name, other than a model's configuration."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    names = [target.id for target in targets if isinstance(target, ast.Name)]
    return bool(names) and all(_is_public(name) and name != "model_config" for name in names)


def _is_text(node: ast.stmt) -> bool:
    """Return True if *node* is a docstring."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _prose(docstring: str) -> str:
    return docstring.replace("``", "`").replace("*", "")


def _block(code: str) -> str:
    return f"<!-- not run: declarations without bodies -->\n```python\n{code}\n```"
