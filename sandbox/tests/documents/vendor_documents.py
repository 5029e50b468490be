"""Loading of the API documents of all six vendors."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft4Validator, Draft202012Validator
from jsonschema.protocols import Validator

from sandbox.tests.documents import discovery, openapi
from sandbox.tests.documents.endpoint import Endpoint, Schema

FILES: Mapping[str, Sequence[tuple[str, str]]] = {
    "notes": [("notion/notion-openapi-2025-09-03.json", ""), ("notion/notion-openapi-2022-06-28.yml", "/v1")],
    "boards": [("trello/trello-openapi.json", "/1")],
    "mail": [("gmail/gmail.v1.discovery.json", "")],
    "chat": [("slack/slack_web_openapi_v2.json", "/api")],
    "crm": [("hubspot/*.json", "")],
    "tables": [("airtable/airtable-api-openapi.yml", "/v0"), ("airtable/airtable-metadata-api-openapi.yml", "/v0")],
}
"""Files of each application in a folder of documents, by precedence, with the base of their paths."""

DEFINED = ("components", "definitions", "schemas")


@dataclass(frozen=True)
class Document:
    """A parsed document."""

    content: Mapping[str, Any]
    base: str

    @cached_property
    def endpoints(self) -> Sequence[Endpoint]:
        """All endpoints, those with the fewest path parameters first."""
        read: Callable[..., Iterator[Endpoint]] = openapi.endpoints if "paths" in self.content else discovery.endpoints
        return sorted(read(self.content, self.base), key=lambda one: one.path_params)

    def validator(self, schema: Schema) -> Validator:
        """Return a validator of *schema*, which may refer to any definition of the document."""
        defined = {name: self.content[name] for name in DEFINED if name in self.content}
        kind = Draft202012Validator if str(self.content.get("openapi", "")).startswith("3.1") else Draft4Validator
        return kind({"allOf": [schema], **defined}, format_checker=kind.FORMAT_CHECKER)


def document(content: Mapping[str, Any], base: str = "") -> Document:
    """Return the document with *content* of any format, whose paths are below *base*."""
    return Document(_close_objects(openapi.plain(content) if "paths" in content else discovery.plain(content)), base)


def documents(folder: Path) -> Mapping[str, Sequence[Document]]:
    """Return the documents in *folder* by application."""
    documents_by_app = {
        name: [document(_read(path), base) for pattern, base in files for path in sorted(folder.glob(pattern))]
        for name, files in FILES.items()
    }
    return {name: read for name, read in documents_by_app.items() if read}


def _read(path: Path) -> Mapping[str, Any]:
    text = path.read_text(encoding="utf-8")
    # YAML parses times, which are strings in JSON.
    json_text = text if path.suffix == ".json" else json.dumps(yaml.safe_load(text), default=str)
    return json.loads(json_text)  # type: ignore[no-any-return]


def _close_objects(value: Any, *, inside: bool = False) -> Any:
    """Return *value* with all described objects closed to other fields, except parts of an ``allOf``."""
    if isinstance(value, list):
        return [_close_objects(one, inside=inside) for one in value]
    if not isinstance(value, dict):
        return value
    fields = {name: _close_objects(one, inside=name == "allOf") for name, one in value.items()}
    properties = value.get("properties")
    is_complete = isinstance(properties, dict) and properties and not inside and "allOf" not in value
    return {"additionalProperties": False, **fields} if is_complete else fields
