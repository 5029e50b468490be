"""The documents of all six vendors: where each lies in a folder, and what an exchange is held against."""

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
"""Files of each application in a folder of documents, the weightier first, and what their paths are below."""

DEFINED = ("components", "definitions", "schemas")


@dataclass(frozen=True)
class Document:
    """One document, ready to be asked."""

    told: Mapping[str, Any]
    base: str

    @cached_property
    def endpoints(self) -> Sequence[Endpoint]:
        """All of them, the plainest paths first."""
        read: Callable[..., Iterator[Endpoint]] = openapi.endpoints if "paths" in self.told else discovery.endpoints
        return sorted(read(self.told, self.base), key=lambda one: one.names)

    def validator(self, schema: Schema) -> Validator:
        """What checks values by *schema*, which may refer to anything in the document."""
        defined = {name: self.told[name] for name in DEFINED if name in self.told}
        kind = Draft202012Validator if str(self.told.get("openapi", "")).startswith("3.1") else Draft4Validator
        return kind({"allOf": [schema], **defined}, format_checker=kind.FORMAT_CHECKER)


def document(told: Mapping[str, Any], base: str = "") -> Document:
    """The document that says *told*, in whichever form; its paths are below *base*."""
    return Document(_closed(openapi.plain(told) if "paths" in told else discovery.plain(told)), base)


def documents(folder: Path) -> Mapping[str, Sequence[Document]]:
    """The documents of each application that has some in *folder*."""
    found = {
        name: [document(_read(path), base) for pattern, base in files for path in sorted(folder.glob(pattern))]
        for name, files in FILES.items()
    }
    return {name: read for name, read in found.items() if read}


def _read(path: Path) -> Mapping[str, Any]:
    text = path.read_text(encoding="utf-8")
    # YAML has times, which are text in JSON.
    told = text if path.suffix == ".json" else json.dumps(yaml.safe_load(text), default=str)
    return json.loads(told)  # type: ignore[no-any-return]


def _closed(value: Any, *, inside: bool = False) -> Any:
    """*value* with objects that have no other fields than those described; parts of a larger whole are left open."""
    if isinstance(value, list):
        return [_closed(one, inside=inside) for one in value]
    if not isinstance(value, dict):
        return value
    made = {name: _closed(one, inside=name == "allOf") for name, one in value.items()}
    properties = value.get("properties")
    is_whole = isinstance(properties, dict) and properties and not inside and "allOf" not in value
    return {"additionalProperties": False, **made} if is_whole else made
