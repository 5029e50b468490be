"""Actions on resources in the console: the commands of the declared routes, each with a form."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from connector_gateway.http.console.forms import leaf_fields
from connector_gateway.kit.operation import AnyConnector
from connector_gateway.management.field_descriptions import Field
from connector_gateway.management.route_declaration import CommandDeclaration, ManagementRoute
from connector_gateway.management.routes import MANAGEMENT

COMMANDS: Mapping[str, Sequence[CommandDeclaration]] = {
    "create_connection": (
        CommandDeclaration("connect WORKSPACE_ID CONNECTOR", options=("name", "return_url")),
        CommandDeclaration("create WORKSPACE_ID CONNECTOR", options=("name", "verify"), required=("credentials",)),
    ),
    "change_connection": (
        CommandDeclaration("change CONNECTION_ID", options=("name", "settings")),
        CommandDeclaration("credentials CONNECTION_ID", options=("allow_other_account",), required=("credentials",)),
    ),
}
"""Commands of routes that the console divides differently from the CLI."""

LABELS = {
    "connect": "Create a connect link",
    "create_connection": "Connect",
    "reconnect": "Connect again",
    "credentials": "Replace the credentials",
    "rotate": "Replace the secret",
    "replay": "Deliver again",
}
"""Labels of buttons by command or route. Others use the name of the command."""


@dataclass(frozen=True, slots=True)
class ResourceAction:
    """One command of a route that changes something."""

    route: ManagementRoute
    command: CommandDeclaration

    @property
    def name(self) -> str:
        """The last segment of the page's path."""
        return self.command.name

    @property
    def path_parameter(self) -> str:
        """The path parameter that identifies the object. Empty if the action creates it."""
        match = re.search(r"\{(\w+)\}", self.route.path)
        return match[1] if match else ""

    @property
    def creates(self) -> bool:
        """Whether the action creates an object."""
        return not self.path_parameter

    @property
    def replaces(self) -> bool:
        """Whether the form starts with the current values of the object."""
        return self.route.method == "PATCH"

    @property
    def label(self) -> str:
        """The label of the button."""
        words = LABELS.get(self.name) or LABELS.get(self.route.name)
        return words or (self.route.title if self.creates else self.name.capitalize())

    @property
    def title(self) -> str:
        """The heading of the form, and the label of its button."""
        if self.route.confirmation:
            return self.route.title
        return "Save" if self.name == "change" else self.label

    @property
    def is_direct(self) -> bool:
        """Whether the action needs neither input nor confirmation."""
        return not (self.creates or self.route.confirmation or self.fields(None))

    def fields(self, connector: AnyConnector | None) -> Sequence[Field]:
        """Return the fields of the form. Credentials and settings are those of *connector*."""
        return list(leaf_fields(list(self._parameters()), connector))

    def _parameters(self) -> Iterator[Field]:
        command = self.command
        for field in self.route.fields:
            if field.name in command.required:
                yield replace(field, is_required=True)
            elif field.name != self.path_parameter and self._is_entered(field.name):
                yield field

    def _is_entered(self, name: str) -> bool:
        command = self.command
        if name in command.values:
            return False
        return command.options is None or name in command.options or name in command.arguments


def list_actions(resource: str) -> Sequence[ResourceAction]:
    """Return all actions of a resource."""
    return [
        ResourceAction(route, command)
        for route in MANAGEMENT
        if route.resource.name == resource and route.changes
        for command in COMMANDS.get(route.name, route.commands)
    ]


def is_possible(act: ResourceAction, record: Any) -> bool:
    """Return True if an action applies to an object in its current state."""
    if getattr(record, "revoked_at", None) is not None or getattr(record, "status", "") == "removed":
        return False
    if act.name == "test" and record.status == "pending":
        return False
    if act.name == "reconnect" and record.status != "active":
        # The page offers reconnection next to the problem.
        return False
    if act.name == "enable" and record.failing_since is not None:
        return True
    values = act.command.values
    return not values or any(getattr(record, name) != value for name, value in values.items())
