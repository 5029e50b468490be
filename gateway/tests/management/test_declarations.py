"""Declarations of management routes, and the commands that they become."""

import subprocess
import sys
from collections.abc import Mapping

import click
import pytest
from click.testing import CliRunner
from pydantic import Field

from connector_gateway.cli.manage.commands import RouteCommand, print_result
from connector_gateway.kit.errors.remedy_placeholders import PHRASES
from connector_gateway.kit.models import Listing, Params, Result
from connector_gateway.management import RESOURCES
from connector_gateway.management.field_descriptions import to_label
from connector_gateway.management.request import ManagementRequest
from connector_gateway.management.route_declaration import CommandDeclaration, ManagementRoute, Resource
from connector_gateway.management.routes import MANAGEMENT

COMMANDS = [(route, command) for route in MANAGEMENT for command in route.commands]
each_command = pytest.mark.parametrize(
    ("route", "command"), COMMANDS, ids=[f"{route.resource.name} {command.name}" for route, command in COMMANDS]
)


def test_every_route_has_a_command() -> None:
    assert [] == [route.name for route in MANAGEMENT if not route.commands]
    assert {*RESOURCES} == {route.resource.name for route in MANAGEMENT}


@each_command
def test_a_command_names_parameters_of_its_route(route: ManagementRoute, command: CommandDeclaration) -> None:
    flags = [flag.parameter for flag in command.flags]
    named = {*command.arguments, *(command.options or ()), *command.required, *command.values, *flags}

    assert named <= {field.name for field in route.fields}


@each_command
def test_a_command_can_set_every_parameter_that_its_route_requires(
    route: ManagementRoute, command: CommandDeclaration
) -> None:
    required = {field.name for field in route.fields if field.is_required}
    options = [field.name for field in route.fields] if command.options is None else command.options

    assert required <= {*command.arguments, *options}


@pytest.mark.parametrize("route", [route for route in MANAGEMENT if route.lists], ids=lambda route: route.name)
def test_every_column_is_a_field_of_the_record(route: ManagementRoute) -> None:
    assert list(route.resource.columns) == [column.name for column in route.columns]


@pytest.mark.parametrize("route", [route for route in MANAGEMENT if route.method == "DELETE"], ids=lambda one: one.name)
def test_a_deletion_is_confirmed_unless_it_only_closes_a_window(route: ManagementRoute) -> None:
    assert bool(route.confirmation) == (route.name != "close_hook")


SECRETS: Mapping[str, list[str]] = {
    "create_key": ["key"],
    "create_agent_code": ["agent_code"],
    "create_operator": ["token"],
    "create_webhook": ["secret"],
    "rotate_webhook_secret": ["secret"],
    "show_hook": ["verification_token"],
    "forget_hook": ["verification_token"],
}


def test_secrets_of_results_are_marked() -> None:
    assert SECRETS == {route.name: route.secrets for route in MANAGEMENT if route.secrets}


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("workspace_id", "Workspace"),
        ("connection_ids", "Connections"),
        ("last_used_at", "Last used"),
        ("return_urls", "Return URLs"),
        ("url", "URL"),
        ("calls_per_minute", "Calls per minute"),
    ],
)
def test_the_label_of_a_field_is_its_name_for_people(name: str, label: str) -> None:
    assert label == to_label(name)


@pytest.mark.parametrize(
    "route", [route for route in MANAGEMENT if route.name in PHRASES], ids=lambda route: route.name
)
def test_remedies_name_routes_and_commands_as_they_are_declared(route: ManagementRoute) -> None:
    http, command, *_ = PHRASES[route.name]

    assert f"{route.method} {route.path}" == http
    assert f"'connector-gateway {route.resource.name} {route.commands[0].name}'" == command


def test_help_of_commands_loads_no_service() -> None:
    program = (
        "import sys; from connector_gateway.cli.manage.commands import management_group; management_group('keys'); "
    )
    loaded = "print([name for name in ('sqlalchemy', 'aiohttp', 'starlette') if name in sys.modules])"

    ended = subprocess.run([sys.executable, "-c", program + loaded], capture_output=True, text=True, check=True)

    assert "[]\n" == ended.stdout


class ListShelves(Params):
    """The shelves to list."""

    workspace_id: str
    labels: list[str] = Field(default_factory=list)
    """Only shelves with one of these labels."""

    archived: bool = False
    """Includes archived shelves."""


class Shelf(Result):
    """A shelf."""

    shelf_id: str
    label: str


SHELVES = Resource("shelves", columns=("shelf_id", "label"))


@SHELVES.route("GET /v1/shelves", "list WORKSPACE_ID")
async def list_shelves(_: ManagementRequest, params: ListShelves) -> Listing[Shelf]:
    """List the ``shelves`` of a workspace."""
    return Listing(items=[Shelf(shelf_id="sh_1", label=name) for name in params.labels])


def test_a_declaration_is_a_command_with_the_texts_of_its_parameters() -> None:
    (declared,) = list_shelves.commands
    command: click.Command = RouteCommand(list_shelves, declared, print_result).build()

    help_text = CliRunner().invoke(command, ["--help"]).stdout

    assert "list [OPTIONS] WORKSPACE_ID" in help_text
    assert "List the shelves of a workspace." in help_text
    assert "--label TEXT  Only shelves with one of these labels. Can be repeated.\n" in help_text
    assert "--archived" in help_text
