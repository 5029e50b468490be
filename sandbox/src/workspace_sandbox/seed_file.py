"""Reading of seed files in JSON or YAML, and the line number of every value in them."""

import json
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from workspace_sandbox.kit.input_validation import suggest
from workspace_sandbox.kit.state.seed_file_values import InvalidSeed
from workspace_sandbox.kit.state.seed_file_values import Path as SeedPath

BLANK = " \t\r\n"
DECODER = json.JSONDecoder()


class UnreadableSeed(Exception):
    """A seed file cannot be read or applied. The message includes the file and the line."""


class SeedFile:
    """A seed file, with the data of each emulator."""

    def __init__(self, path: Path, applications: Sequence[str]) -> None:
        self._path = path
        try:
            self._text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UnreadableSeed(f"{path} cannot be read: {error}") from error
        self.data = self._read()
        for name in self.data:
            if name not in applications:
                raise self.with_location(
                    InvalidSeed((name,), f"Unknown emulator {name!r}; {suggest(str(name), applications)}")
                )

    def with_location(self, error: InvalidSeed) -> UnreadableSeed:
        """Return *error* as an error with the file and the line of its value."""
        seed_path = ".".join(str(step) for step in error.path)
        return UnreadableSeed(f"{self._path}:{self._line(error.path)}: {seed_path}: {error}")

    @property
    def _is_yaml(self) -> bool:
        return self._path.suffix in {".yaml", ".yml"}

    def _read(self) -> Mapping[str, Any]:
        data = self._read_yaml() if self._is_yaml else self._read_json()
        if not isinstance(data, dict):
            raise UnreadableSeed(f"{self._path}:1: A seed must be an object with a key per emulator.")
        return data

    def _read_json(self) -> Any:
        try:
            return json.loads(self._text)
        except json.JSONDecodeError as error:
            raise UnreadableSeed(f"{self._path}:{error.lineno}: {error.msg}.") from error
        except RecursionError as error:
            raise UnreadableSeed(f"{self._path}:1: This is nested too deeply.") from error

    def _read_yaml(self) -> Any:
        yaml = _yaml(self._path)
        try:
            return yaml.load(self._text, Loader=_loader(yaml)) or {}
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            line = mark.line + 1 if mark else 1
            raise UnreadableSeed(f"{self._path}:{line}: {getattr(error, 'problem', None) or error}.") from error

    def _line(self, seed_path: SeedPath) -> int:
        if self._is_yaml:
            # Composed only after an error, because line numbers are needed for nothing else.
            yaml = _yaml(self._path)
            return _line_in_yaml(yaml.compose(self._text, Loader=yaml.SafeLoader), seed_path)
        return self._text.count("\n", 0, _offset_in_json(self._text, 0, seed_path)) + 1


def _yaml(path: Path) -> Any:
    try:
        # PyYAML is not a dependency, because most seeds are JSON or created by a test.
        return import_module("yaml")
    except ImportError:
        raise UnreadableSeed(f"{path} is YAML, which needs the package PyYAML. JSON needs no package.") from None


def _loader(yaml: Any) -> Any:
    """Return a YAML loader that leaves dates as strings, which the emulators expect."""
    # The class is shared by the whole process, so a copy of its resolver table is changed.
    resolvers = {
        first: [pair for pair in pairs if pair[0] != "tag:yaml.org,2002:timestamp"]
        for first, pairs in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    return type("SeedLoader", (yaml.SafeLoader,), {"yaml_implicit_resolvers": resolvers})


def _line_in_yaml(node: Any, seed_path: SeedPath) -> int:
    line: int = node.start_mark.line + 1
    if not seed_path:
        return line
    if isinstance(seed_path[0], int) and node.id == "sequence":
        return _line_in_yaml(node.value[seed_path[0]], seed_path[1:])
    pairs = node.value if node.id == "mapping" else ()
    pair = next(((key, value) for key, value in pairs if key.value == str(seed_path[0])), None)
    if pair is None:
        return line
    return _line_in_yaml(pair[1], seed_path[1:]) if seed_path[1:] else int(pair[0].start_mark.line) + 1


def _offset_in_json(text: str, at: int, seed_path: SeedPath) -> int:
    """Return the offset of the value at *seed_path* in the JSON *text*, or of its last existing parent."""
    at = _skip_blank(text, at)
    if not seed_path or text[at] not in "{[":
        return at
    members, position = text[at] == "{", _skip_blank(text, at + 1)
    index = 0
    while text[position] not in "}]":
        name: str | int = index
        start = position
        if members:
            name, position = DECODER.raw_decode(text, position)
            position = _skip_blank(text, _skip_blank(text, position) + 1)
        if name == seed_path[0]:
            return _offset_in_json(text, position, seed_path[1:]) if seed_path[1:] else start
        _, position = DECODER.raw_decode(text, position)
        position = _skip_blank(text, position)
        position = _skip_blank(text, position + 1) if text[position] == "," else position
        index += 1
    return at


def _skip_blank(text: str, at: int) -> int:
    while text[at] in BLANK:
        at += 1
    return at
