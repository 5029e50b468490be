"""The definitions of properties."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

FIELD_TYPES = {
    "string": "text",
    "number": "number",
    "date": "date",
    "datetime": "date",
    "enumeration": "select",
    "bool": "booleancheckbox",
    "phone_number": "phonenumber",
}
"""The default field types by property type."""

ACCEPTED_FIELD_TYPES = frozenset(
    (
        *("booleancheckbox", "calculation_equation", "checkbox", "date", "file", "html"),
        *("number", "phonenumber", "radio", "select", "text", "textarea"),
    )
)


@dataclass(frozen=True, slots=True)
class Option:
    """An option of an enumeration. The value is stored, and the label is displayed."""

    value: str
    label: str
    hidden: bool = False

    def to_json(self, position: int) -> dict[str, Any]:
        """Return the vendor's JSON."""
        return {"label": self.label, "value": self.value, "displayOrder": position, "hidden": self.hidden}


@dataclass(frozen=True)
class Definition:
    """A property of an object type."""

    name: str
    label: str
    type: str = "string"
    field_type: str = ""
    group: str = ""
    description: str = ""
    options: tuple[Option, ...] = ()
    built_in: bool = True
    read_only: bool = False
    calculated: bool = False
    hidden: bool = False
    unique: bool = False
    refers_to: str | None = None
    sensitivity: str = "non_sensitive"
    created: str = "2019-08-06T02:41:08.029Z"
    updated: str = "2019-08-06T02:41:08.029Z"
    archived_at: str | None = None

    @property
    def many(self) -> bool:
        """Whether the property can have several options."""
        return self.type == "enumeration" and self.field_type == "checkbox"

    def to_json(self, options: Sequence[Option]) -> dict[str, Any]:
        """Return the vendor's JSON with the current *options*."""
        raw = {
            "updatedAt": self.updated,
            "createdAt": self.created,
            "name": self.name,
            "label": self.label,
            "type": self.type,
            "fieldType": self.field_type or FIELD_TYPES[self.type],
            "description": self.description,
            "groupName": self.group,
            "options": [option.to_json(position) for position, option in enumerate(options)],
            "displayOrder": -1,
            "calculated": self.calculated,
            "externalOptions": self.refers_to is not None,
            "hasUniqueValue": self.unique,
            "hidden": self.hidden,
            "modificationMetadata": self._modification(),
            "formField": not (self.read_only or self.hidden),
            "dataSensitivity": self.sensitivity,
            "archived": self.archived_at is not None,
        }
        optional = {
            "hubspotDefined": self.built_in or None,
            "referencedObjectType": self.refers_to,
            "archivedAt": self.archived_at,
        }
        return raw | {name: value for name, value in optional.items() if value is not None}

    def archived(self, at: str) -> "Definition":
        """Return an archived copy."""
        return replace(self, archived_at=at, updated=at)

    def _modification(self) -> dict[str, bool]:
        return {
            "archivable": not self.built_in,
            "readOnlyDefinition": self.built_in,
            "readOnlyOptions": self.built_in and self.name != "lifecyclestage",
            "readOnlyValue": self.read_only,
        }


@dataclass(frozen=True, slots=True)
class Group:
    """A group of properties. Its default name is its label without spaces."""

    name: str
    label: str = ""
    order: int = -1
    archived: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the vendor's JSON."""
        raw = {"name": self.name, "label": self.label or self.name, "displayOrder": self.order}
        return raw | {"archived": self.archived}


def options(*pairs: str) -> tuple[Option, ...]:
    """Return options from ``value=Label``. The default label is the value."""
    split = [pair.partition("=") for pair in pairs]
    return tuple(Option(value, label or value) for value, _, label in split)


def definitions_for(kind: str, *names: str, **more: Any) -> tuple[Definition, ...]:
    """Return definitions of one type from ``name=Label``."""
    return tuple(replace(Definition(option.value, option.label, kind), **more) for option in options(*names))


def choice(name: str, label: str, choices: tuple[Option, ...], field_type: str = "select") -> Definition:
    """Return the definition of an enumeration."""
    return Definition(name, label, "enumeration", field_type, options=choices)


def is_valid_custom_name(name: str) -> bool:
    """Return True if *name* has only lower-case letters, digits and underscores and begins with a letter."""
    return name[:1].isalpha() and name == name.lower() and name.replace("_", "a").isalnum() and name.isascii()
