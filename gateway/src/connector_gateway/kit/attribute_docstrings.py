"""Descriptions of the fields of models: the docstrings below them.

They are read from the source when a schema, a form or a help text needs them. Pydantic would read them while it creates
the class, which was a tenth of the time in which a server starts.
"""

import ast
import inspect
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import pairwise
from typing import Any

from pydantic import BaseModel, GetJsonSchemaHandler
from pydantic_core import CoreSchema

Docstrings = Mapping[str, str]
"""Docstrings by the names of the attributes."""


class Described(BaseModel):
    """A model whose schema publishes attribute docstrings as descriptions."""

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Return the JSON schema with the descriptions of fields."""
        published = handler(schema)
        properties = handler.resolve_ref_schema(published).get("properties", {})
        for name, text in describe_attributes(cls).items():
            properties.get(cls.model_fields[name].alias or name, {})["description"] = text
        return published


@cache
def describe_attributes(shape: type[BaseModel]) -> Docstrings:
    """Return the descriptions of the fields of *shape* by name: the declared ones, or the docstrings below the fields.

    Fields without a description are missing, as are the docstrings of a class without source code.
    """
    described = {name: declared.description or _docstring(shape, name) for name, declared in shape.model_fields.items()}
    return {name: text for name, text in described.items() if text}


def _docstring(shape: type, name: str) -> str:
    owner = next((base for base in shape.__mro__ if name in inspect.get_annotations(base)), shape)
    return _docstrings_by_class(owner.__module__).get(owner.__qualname__, {}).get(name, "")


@cache
def _docstrings_by_class(module: str) -> Mapping[str, Docstrings]:
    """Return the docstrings of all classes in *module*, by their qualified names."""
    try:
        source = inspect.getsource(sys.modules[module])
    except (KeyError, OSError, TypeError):
        return {}
    return dict(_find_classes(ast.parse(source), ""))


def _find_classes(parent: ast.AST, prefix: str) -> Iterator[tuple[str, Docstrings]]:
    for node in ast.iter_child_nodes(parent):
        match node:
            case ast.ClassDef(name=name, body=body):
                yield prefix + name, dict(_find_docstrings(body))
                yield from _find_classes(node, f"{prefix}{name}.")
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield from _find_classes(node, f"{prefix}{name}.<locals>.")
            case ast.stmt():
                yield from _find_classes(node, prefix)


def _find_docstrings(body: list[ast.stmt]) -> Iterator[tuple[str, str]]:
    for attribute, following in pairwise(body):
        match attribute, following:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                yield name, inspect.cleandoc(text)
