"""The register of vendor facts: ``facts.toml`` in the package of each connector.

Code, clauses and emulators cite a fact by its identifier, such as ``notes.minute-times``.
"""

import tomllib
from collections.abc import Mapping
from importlib.resources import files
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

FILE = "facts.toml"


class Fact(BaseModel):
    """A statement about a vendor's service, and its source."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    says: str = Field(pattern=r"\.$")
    """One or two sentences."""

    source: str
    """The page, thread or recording."""

    read: str = Field(default="2026-11", pattern=r"^\d{4}-\d{2}$")
    """The month in which the source was read."""

    confidence: Literal["documented", "recorded", "reported", "assumed"] = "documented"
    """``recorded``: seen in traffic or a vendor's library. ``reported``: stated by users. ``assumed``: no source."""

    not_checkable: str = ""
    """Why ``verify`` cannot check it. Empty if it has a check."""


FACTS = TypeAdapter(dict[str, Fact])


def load_facts(connector: str) -> Mapping[str, Fact]:
    """Return the facts of a connector of this package, by name without the connector."""
    file = files("connector_gateway.connectors") / connector / FILE
    return FACTS.validate_python(tomllib.loads(file.read_text(encoding="utf-8"))) if file.is_file() else {}
