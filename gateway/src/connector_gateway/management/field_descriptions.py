"""Descriptions of the fields of declared shapes, for forms, command-line options and help texts."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from connector_gateway.kit.attribute_docstrings import describe_attributes

Kind = Literal["text", "integer", "boolean", "choice", "instant", "list", "object"]

_KINDS: dict[Any, Kind] = {int: "integer", bool: "boolean", datetime: "instant", list: "list", dict: "object"}
_WORDS = {"id": "ID", "url": "URL", "urls": "URLs", "http": "HTTP", "q": "query", "act": "action", "at": "time"}


@dataclass(frozen=True)
class Field:
    """A parameter of a request, or a field of a result."""

    name: str
    kind: Kind
    description: str
    is_required: bool
    default: Any
    """None if there is no default, or if the default is computed."""

    choices: Sequence[str]
    minimum: int | None
    maximum: int | None
    max_length: int | None
    """Characters of a text, or items of a list."""

    is_secret: bool
    """True for values that are never repeated in errors, logs or pages."""

    @property
    def label(self) -> str:
        """The name for people, such as "Last used" for ``last_used_at``."""
        return to_label(self.name)

    @property
    def resource(self) -> str | None:
        """The resource whose identifiers the field accepts, such as ``workspaces`` for ``workspace_id``."""
        if self.name == "connector":
            return "connectors"
        noun, _, ending = self.name.rpartition("_")
        return f"{noun}s" if noun and ending in {"id", "ids"} else None


def to_label(name: str) -> str:
    """Return the name of a field for people, such as "Workspace" for ``workspace_id``."""
    words = name.rpartition(".")[2].split("_")
    words = words[:-1] if len(words) > 1 and words[-1] in {"id", "at"} else words
    words = [f"{words[-2]}s"] if len(words) > 1 and words[-1] == "ids" else words
    first, *others = (_WORDS.get(word, word) for word in words)
    return " ".join([first[0].upper() + first[1:], *others])


def describe_fields(shape: type[BaseModel]) -> Sequence[Field]:
    """Return the fields of *shape*, in the order of their declaration."""
    texts = describe_attributes(shape)
    return [
        _describe_field(declared.alias or name, declared, texts.get(name, ""))
        for name, declared in shape.model_fields.items()
    ]


def _describe_field(name: str, declared: FieldInfo, text: str) -> Field:
    annotation, constraints = _unwrap(declared.annotation)
    constraints += declared.metadata
    choices = [str(choice) for choice in get_args(annotation)] if get_origin(annotation) is Literal else []
    return Field(
        name,
        "choice" if choices else _KINDS.get(get_origin(annotation) or annotation, "text"),
        text,
        declared.is_required(),
        None if declared.is_required() or declared.default_factory else declared.default,
        choices,
        _constraint(constraints, "ge"),
        _constraint(constraints, "le"),
        _constraint(constraints, "max_length"),
        is_secret=not declared.repr,
    )


def _unwrap(annotation: Any) -> tuple[Any, list[Any]]:
    """Return the type below ``Annotated`` and ``| None``, and the constraints on it."""
    origin = get_origin(annotation)
    if origin is Annotated:
        inner, constraints = _unwrap(get_args(annotation)[0])
        return inner, [*constraints, *_flatten(get_args(annotation)[1:])]
    if origin in {Union, UnionType}:
        return _unwrap(next(option for option in get_args(annotation) if option is not type(None)))
    return annotation, []


def _flatten(metadata: Sequence[Any]) -> Iterator[Any]:
    for item in metadata:
        yield from item.metadata if isinstance(item, FieldInfo) else [item]


def _constraint(constraints: Sequence[Any], name: str) -> int | None:
    return next(
        (getattr(constraint, name) for constraint in constraints if getattr(constraint, name, None) is not None), None
    )
