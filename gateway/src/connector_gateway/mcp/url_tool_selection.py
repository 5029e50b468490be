"""The tools that the URL of the server selects, such as ``/mcp?connectors=notes,mail&read_only=true``."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Self
from urllib.parse import parse_qsl

from connector_gateway.core.error_serialization import truncate
from connector_gateway.kit.errors import Detail, InvalidParameters
from connector_gateway.mcp.tools import Tool

BOOLEANS = ("true", "false")

MAX_REPORTED = 3
"""Maximum violations in the message. The details have all of them."""


@dataclass(frozen=True)
class ToolSelection:
    """A selection of tools. Empty collections select all."""

    connectors: Collection[str] = ()
    operations: Collection[str] = ()
    """Names of tools, or patterns such as ``notes_*``."""

    read_only: bool = False
    find: bool = False
    """Whether two tools find and call the selected ones, instead of being listed."""

    @classmethod
    def parse(cls, query: bytes, tools: Mapping[str, Tool]) -> Self:
        """Return the selection of a query string.

        Raises ``InvalidParameters`` with all violations, and if no tool is left.
        """
        values = parse_qsl(query.decode("latin-1"), keep_blank_values=True)
        names = [(name, one.strip()) for name, value in values for one in value.split(",")]
        violations = [detail for name, value in names for detail in _violations(name, value, tools)]
        if violations:
            raise InvalidParameters(_message(violations), *violations)
        selection = cls(
            connectors=[value for name, value in names if name == "connectors"],
            operations=[value for name, value in names if name == "operations"],
            read_only=("read_only", "true") in names,
            find=("find", "true") in names,
        )
        if not selection.apply(tools):
            raise InvalidParameters(
                "The URL selects no tool: no operation matches all of connectors, operations and read_only.",
                {"parameter": "operations", "value": ",".join(selection.operations)},
            )
        return selection

    def apply(self, tools: Mapping[str, Tool]) -> Mapping[str, Tool]:
        """Return the selected ones of *tools*."""
        return {name: tool for name, tool in tools.items() if self._selects(name, tool)}

    def _selects(self, name: str, tool: Tool) -> bool:
        return (
            (not self.connectors or tool.connector.name in self.connectors)
            and (not self.operations or any(fnmatchcase(name, pattern) for pattern in self.operations))
            and (not self.read_only or tool.operation.scope == "read")
        )


PARAMETERS = tuple(ToolSelection.__dataclass_fields__)


def _violations(name: str, value: str, tools: Mapping[str, Tool]) -> Iterator[Detail]:
    """Yield the violation of one value of the parameter *name*, if there is one."""
    if name not in PARAMETERS:
        yield {"parameter": name, "allowed": list(PARAMETERS)}
        return
    connectors = dict.fromkeys(tool.connector.name for tool in tools.values())
    allowed = list({"connectors": connectors, "operations": tools}.get(name, BOOLEANS))
    if not (any(fnmatchcase(one, value) for one in allowed) if name == "operations" else value in allowed):
        yield {"parameter": name, "value": value, "allowed": allowed}


def _message(violations: Sequence[Detail]) -> str:
    """Return a sentence per violation, which names the allowed values."""
    return " ".join(
        f"{one['parameter']} cannot be {truncate(one['value']) or 'empty'}. Allowed: {', '.join(one['allowed'])}."
        if "value" in one
        else f"Unknown parameter {truncate(one['parameter'])} in the URL. Allowed: {', '.join(one['allowed'])}."
        for one in violations[:MAX_REPORTED]
    )
