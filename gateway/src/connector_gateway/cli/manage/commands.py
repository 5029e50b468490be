"""Management commands, built from the declarations of management routes."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from connector_gateway.cli.command_groups import Command, Group
from connector_gateway.cli.field_options import FieldOption, Instant, Json, to_param_type, to_single_line
from connector_gateway.cli.gateway_url_and_key import data_folder
from connector_gateway.cli.manage.credential_prompts import read_credentials
from connector_gateway.cli.output import as_json, exit_with_error, is_interactive, print_sentence, print_to_stderr, show
from connector_gateway.cli.serve.gc_control import gc_disabled
from connector_gateway.cli.text_tables import ENCODER
from connector_gateway.core.calls.arguments import Arguments, Body
from connector_gateway.core.calls.response_envelope import error_payload
from connector_gateway.kit.errors import InvalidParameters
from connector_gateway.kit.models import Page, Params
from connector_gateway.management import RESOURCES, load_routes
from connector_gateway.management.field_descriptions import Field, describe_fields
from connector_gateway.management.route_declaration import CommandDeclaration, ManagementRoute

Printer = Callable[[ManagementRoute, Any], None]
"""Prints the result of a route for people."""

MAX_ITEMS = 1000
"""The maximum of ``--limit``. Several pages are read if needed."""

INVALID = 2
"""The exit status of click for invalid options and arguments."""

SETTINGS = "settings"
SECRETS_HELP = "Prompted for on a terminal, otherwise read from standard input as a JSON object."

confirmed = click.option("--yes", is_flag=True, help="Do not ask for confirmation on a terminal.")


def management_group(name: str, printers: Mapping[str, Printer] | None = None) -> Group:
    """Return the commands of a resource. *printers* replace the default output of some of them."""
    special = printers or {}
    commands = [
        RouteCommand(route, declared, special.get(declared.name, print_result)).build()
        for route in load_routes(name)
        for declared in route.commands
    ]
    return Group(name, {command.name or "": command for command in commands}, help=RESOURCES[name])


@dataclass(frozen=True)
class RouteCommand:
    """A command that performs a management route."""

    route: ManagementRoute
    declared: CommandDeclaration
    printer: Printer

    def build(self) -> click.Command:
        """Return the command for click."""

        def run(data: Path | None, *, as_json: bool, yes: bool = False, **options: Any) -> None:
            self._run(data, options, json=as_json, yes=yes)

        text = to_single_line(self.declared.description or self.route.summary)
        command = Command(self.declared.name, params=[*self._parameters()], callback=run, help=text)
        return data_folder(as_json(confirmed(command) if self.route.confirmation else command))

    # Parameters

    @cached_property
    def _fields(self) -> Mapping[str, Field]:
        return {field.name: field for field in self.route.fields}

    @property
    def _option_fields(self) -> Sequence[Field]:
        """The fields with an option."""
        names = self.declared.options
        fields = self._fields.values() if names is None else [self._fields[name] for name in names]
        return [field for field in fields if field.name not in self.declared.arguments]

    def _parameters(self) -> Iterator[click.Parameter]:
        for name in self.declared.arguments:
            yield build_argument(self._fields[name])
        for field in self._option_fields:
            yield build_option(field, self.route.suggested.get(field.name))
        for field in self._settings_fields:
            yield build_option(field, prefix=SETTINGS)
        for flag in self.declared.flags:
            yield click.Option([flag.option, f"flag_{flag.parameter}"], is_flag=True, help=flag.description)

    @cached_property
    def _settings_fields(self) -> Sequence[Field]:
        connectors = _connectors().values() if self.declared.has_settings else ()
        fields = (field for connector in connectors for field in describe_fields(connector.settings))
        return [*{field.name: field for field in fields}.values()]

    # Execution

    def _run(self, data: Path | None, options: Mapping[str, Any], *, json: bool, yes: bool) -> None:
        values = self._values(options)
        limit, cursor = values.pop("limit", None) or self._default_limit, values.pop("cursor", None)
        secrets = [field.name for field in self._fields.values() if self._is_read(field, values)]
        params = read_params(
            self.route, {name: value for name, value in values.items() if name not in secrets}, json=json
        )
        if self.route.confirmation and not yes and is_interactive():
            click.confirm(f"{self.route.confirmation}\n{self.route.title}?", abort=True, err=True)
        if secrets:
            credentials = read_credentials(self._credential_names(data, params, json=json))
            params = read_params(self.route, {**values, **dict.fromkeys(secrets, credentials)}, json=json)
        result = _management_without_server().perform_route(
            data, self.route, params, limit=limit, cursor=cursor, json=json
        )
        self._print(result, json=json)

    @property
    def _default_limit(self) -> int:
        return self._fields["limit"].default if self.route.pages else 0

    def _values(self, options: Mapping[str, Any]) -> dict[str, Any]:
        values = {name: value for name, value in options.items() if value is not None and value != ()}
        lists = {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}
        flags = {
            flag.parameter: flag.value for flag in self.declared.flags if lists.pop(f"flag_{flag.parameter}", False)
        }
        settings = {
            name.removeprefix(f"{SETTINGS}_"): value for name, value in lists.items() if name.startswith(f"{SETTINGS}_")
        }
        own = {name.removeprefix("p_"): value for name, value in lists.items() if name.startswith("p_")}
        built = {SETTINGS: settings} if self.declared.has_settings else {}
        return {**self.route.suggested, **own, **flags, **built, **self.declared.values}

    def _is_read(self, field: Field, values: Mapping[str, Any]) -> bool:
        """Return True for secrets that are read from a prompt or from standard input."""
        return field.is_secret and (field.name in self.declared.required or bool(values.get(field.name)))

    def _credential_names(self, data: Path | None, params: Params, *, json: bool) -> Sequence[str]:
        values = vars(params)
        connector = values.get("connector") or _management_without_server().find_connector(
            data, values["connection_id"], json=json
        )
        names: Sequence[str] = _connectors()[connector].credentials
        return names

    def _print(self, result: Any, *, json: bool) -> None:
        if json:
            show(to_plain_data(result), json=True)
        else:
            self.printer(self.route, result)
        if isinstance(result, Page):
            print_cursor(result)
        elif not json:
            _print_outcome(self.route, result)


# Options and arguments


def read_params(route: ManagementRoute, values: Mapping[str, Any], *, json: bool) -> Params:
    """Return *values* as parameters of *route*. Invalid values end the command."""
    try:
        return Arguments(path={}, body=Body(ENCODER.encode(values))).read(route.params, connection=False)
    except InvalidParameters as error:
        exit_with_error({"run_id": None, "error": error_payload(error)}, json=json, status=INVALID)


def build_argument(field: Field) -> click.Argument:
    """Return the positional argument for *field*."""
    choices = f"One of {', '.join(_connectors())}." if field.resource == "connectors" else None
    text = to_single_line(field.description) or choices
    return click.Argument([f"p_{field.name}"], metavar=field.name.upper(), type=_type(field), help=text)


def build_option(field: Field, suggested: Any = None, prefix: str = "p") -> click.Option:
    """Return the option for *field*."""
    name = option_name(field)
    names = [f"--{name}/--no-{name}" if field.default is True else f"--{name}", f"{prefix}_{field.name}"]
    if field.kind == "boolean":
        return FieldOption(field, names, is_flag=True, default=None)
    if field.is_secret:
        return FieldOption(field, names, SECRETS_HELP, is_flag=True, default=None)
    if field.kind == "list":
        return FieldOption(field, names, type=_type(field), multiple=True)
    return FieldOption(field, names, type=_type(field), default=suggested, show_default=True)


def option_name(field: Field) -> str:
    """Return the name of an option, without suffix and in the singular: ``connection`` for ``connection_ids``."""
    name = field.name.removesuffix("_ids").removesuffix("_id")
    singular = name.removesuffix("s") if field.kind == "list" and name == field.name else name
    return singular.replace("_", "-")


def _type(field: Field) -> click.ParamType[Any]:
    if field.name == "limit":
        return click.IntRange(1, MAX_ITEMS)
    if field.resource == "connectors":
        return click.Choice(list(_connectors()))
    by_kind: dict[str, click.ParamType[Any]] = {"instant": Instant(), "object": Json(), "list": click.STRING}
    return by_kind.get(field.kind) or to_param_type(field)


# Output


def to_plain_data(result: Any) -> Any:
    """Return a result as plain data."""
    if isinstance(result, Page):
        return [item.model_dump() for item in result.items]
    return result.model_dump()


def print_result(route: ManagementRoute, result: Any) -> None:
    """Print a list as a table, and an object as lines of its fields."""
    show(to_plain_data(result), json=False, columns=[column.name for column in route.columns] if route.lists else ())


def print_cursor(page: Page[Any]) -> None:
    """Print the cursor of the next page, if there is one."""
    if page.position is not None:
        print_to_stderr("next_cursor", f"{page.position['before']} (repeat with --cursor for more)")


def _print_outcome(route: ManagementRoute, result: Any) -> None:
    """Print that a change succeeded, and which secret has to be copied now."""
    names = [name for name in route.secrets if route.method == "POST" and getattr(result, name)]
    if names:
        print_sentence(f"Copy {names[0]} now. It will not be shown again.")
    if route.done:
        print_sentence(route.done)


# Imported when a command needs them, since that takes most of a second


def _connectors() -> Mapping[str, Any]:
    connectors: Mapping[str, Any] = import_module("connector_gateway.connectors").CONNECTORS
    return connectors


def _management_without_server() -> Any:
    with gc_disabled():
        return import_module("connector_gateway.cli.manage.management_without_server")
