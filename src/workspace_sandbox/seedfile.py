"""A file of seeds, in JSON or YAML: what it holds, and the line of everything in it."""

import json
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from workspace_sandbox.kit.asking import suggested
from workspace_sandbox.kit.sowing import InvalidSeed
from workspace_sandbox.kit.sowing import Path as Way

BLANK = " \t\r\n"
DECODER = json.JSONDecoder()


class UnreadableSeed(Exception):
    """A file cannot be sown; the text names the file and the line."""


class SeedFile:
    """What a file tells of each application."""

    def __init__(self, path: Path, applications: tuple[str, ...]) -> None:
        self._path = path
        try:
            self._text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as fault:
            raise UnreadableSeed(f"{path} cannot be read: {fault}") from fault
        self.told = self._read()
        for name in self.told:
            if name not in applications:
                raise self.with_location(
                    InvalidSeed((name,), f"There is no {name!r}; {suggested(str(name), applications)}")
                )

    def with_location(self, fault: InvalidSeed) -> UnreadableSeed:
        """*fault* with the file and the line that it is about."""
        way = ".".join(str(step) for step in fault.path)
        return UnreadableSeed(f"{self._path}:{self._line(fault.path)}: {way}: {fault}")

    @property
    def _is_yaml(self) -> bool:
        return self._path.suffix in {".yaml", ".yml"}

    def _read(self) -> Mapping[str, Any]:
        told = self._read_yaml() if self._is_yaml else self._read_json()
        if not isinstance(told, dict):
            raise UnreadableSeed(f"{self._path}:1: A seed is an object of applications.")
        return told

    def _read_json(self) -> Any:
        try:
            return json.loads(self._text)
        except json.JSONDecodeError as fault:
            raise UnreadableSeed(f"{self._path}:{fault.lineno}: {fault.msg}.") from fault
        except RecursionError as fault:
            raise UnreadableSeed(f"{self._path}:1: This is nested too deeply.") from fault

    def _read_yaml(self) -> Any:
        yaml = _yaml(self._path)
        try:
            return yaml.load(self._text, Loader=_loader(yaml)) or {}
        except yaml.YAMLError as fault:
            mark = getattr(fault, "problem_mark", None)
            line = mark.line + 1 if mark else 1
            raise UnreadableSeed(f"{self._path}:{line}: {getattr(fault, 'problem', None) or fault}.") from fault

    def _line(self, way: Way) -> int:
        if self._is_yaml:
            # Read once more, as lines are wanted only where something is wrong.
            yaml = _yaml(self._path)
            return _line_in_yaml(yaml.compose(self._text, Loader=yaml.SafeLoader), way)
        return self._text.count("\n", 0, _place_in_json(self._text, 0, way)) + 1


def _yaml(path: Path) -> Any:
    try:
        # Not among what the package needs, since most seeds are JSON or made by a test.
        return import_module("yaml")
    except ImportError:
        raise UnreadableSeed(f"{path} is YAML, which needs the package PyYAML; JSON needs nothing.") from None


def _loader(yaml: Any) -> Any:
    """Reads dates as the texts that they are written as: applications take texts."""
    # The functions of the class are shared with the whole process, so a copy of its table is changed.
    resolvers = {
        first: [pair for pair in pairs if pair[0] != "tag:yaml.org,2002:timestamp"]
        for first, pairs in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    return type("SeedLoader", (yaml.SafeLoader,), {"yaml_implicit_resolvers": resolvers})


def _line_in_yaml(node: Any, way: Way) -> int:
    line: int = node.start_mark.line + 1
    if not way:
        return line
    if isinstance(way[0], int) and node.id == "sequence":
        return _line_in_yaml(node.value[way[0]], way[1:])
    pairs = node.value if node.id == "mapping" else ()
    found = next(((key, value) for key, value in pairs if key.value == str(way[0])), None)
    if found is None:
        return line
    return _line_in_yaml(found[1], way[1:]) if way[1:] else int(found[0].start_mark.line) + 1


def _place_in_json(text: str, at: int, way: Way) -> int:
    """Where the value at the end of *way* stands in *text*, which is known to be JSON; where the way ends, else."""
    at = _past_blank(text, at)
    if not way or text[at] not in "{[":
        return at
    members, here = text[at] == "{", _past_blank(text, at + 1)
    index = 0
    while text[here] not in "}]":
        name: str | int = index
        start = here
        if members:
            name, here = DECODER.raw_decode(text, here)
            here = _past_blank(text, _past_blank(text, here) + 1)
        if name == way[0]:
            return _place_in_json(text, here, way[1:]) if way[1:] else start
        _, here = DECODER.raw_decode(text, here)
        here = _past_blank(text, here)
        here = _past_blank(text, here + 1) if text[here] == "," else here
        index += 1
    return at


def _past_blank(text: str, at: int) -> int:
    while text[at] in BLANK:
        at += 1
    return at
