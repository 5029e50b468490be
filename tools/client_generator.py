"""The source of the Python client, generated from the declarations: a method for every operation, sync and async."""

import keyword
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from connector_gateway.core.calls.passthrough import REQUEST
from connector_gateway.http.api.routes import PREFIX
from connector_gateway.http.openapi import openapi
from connector_gateway.kit.errors import CallerError, ServiceFailure, UpstreamFailure, all_errors
from connector_gateway.kit.models import IDEMPOTENCY_FIELD, Listing
from connector_gateway.kit.operation import AnyConnector, AnyOperation

Schema = Mapping[str, Any]

GENERATED = "Generated from the declarations; do not edit."
FAMILIES = (CallerError, UpstreamFailure, ServiceFailure)
PLAIN = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}


def errors_module() -> str:
    """Return ``errors.py``: a class for every code, named after it."""
    rows = [
        f'class {error.__name__}({_family(error)}):\n    """{_first_line(error.__doc__)}"""\n' for error in all_errors()
    ]
    head = f'"""An exception for every code of the service. {GENERATED}"""\n\n'
    imports = "from connector_gateway_client.base_errors import CallerError, ServiceFailure, UpstreamFailure\n"
    return f"{head}{imports}\n\n" + "\n\n".join(rows)


def _family(error: type) -> str:
    return next(family.__name__ for family in FAMILIES if issubclass(error, family))


def _first_line(text: str | None) -> str:
    return (text or "").strip().partition("\n")[0].replace("``", "`").replace("*", "")


class ClientSource:
    """Return the modules generated from the connectors."""

    def __init__(self, connectors: Iterable[AnyConnector]) -> None:
        self._connectors = list(connectors)
        document = openapi(self._connectors, "http://127.0.0.1:8080")
        self._paths, self._schemas = document["paths"], document["components"]["schemas"]
        self._shapes: dict[str, str] = {}

    def models_module(self) -> str:
        """Return ``models.py``: the return types of operations, and the objects in parameters."""
        for path, operation in self._operations():
            self._answer(operation)
            for schema in self._parameters(path, operation).values():
                self._type(schema)
        bodies = "\n\n".join(self._shapes.values())
        imports = "from typing import Any, Literal, NotRequired, TypedDict\n"
        about = "The request and response bodies of the service, as JSON."
        why = "It repeats the connectors' models on purpose: the package is installed without the service."
        return f'"""{about} {GENERATED}\n\n{why}\n"""\n\n{imports}\n\n{bodies}'

    def operations_module(self) -> str:
        """Return ``operations.py``: a class for every connector, and one more for each with async methods."""
        classes = [
            self._class(connector, asynchronous=asynchronous)
            for connector in self._connectors
            for asynchronous in (False, True)
        ]
        sync, waiting = (self._gateway(asynchronous=asynchronous) for asynchronous in (False, True))
        code = "\n\n".join([*classes, sync, waiting])
        used = [name for name in sorted(self._shapes) if f"{name}]" in code or f"{name} " in code]
        imports = (
            "from collections.abc import Mapping, Sequence\n"
            "from typing import Any, Literal\n\n"
            "from connector_gateway_client.responses import AsyncEvents, AsyncPages, Events, Pages, Response\n"
            "from connector_gateway_client.http_encoding import RequestSpec\n"
            "from connector_gateway_client.transport import AsyncTransport, SyncTransport\n"
            "from connector_gateway_client.models import (\n" + "".join(f"    {name},\n" for name in used) + ")\n"
        )
        return f'"""A method for every operation. {GENERATED}"""\n\n{imports}\n\n{code}'

    def _operations(self) -> Iterator[tuple[str, AnyOperation]]:
        """Yield every operation with its path."""
        for connector in self._connectors:
            for operation in connector.operations:
                yield _path(connector, operation), operation
        yield REQUEST.path, REQUEST

    def _parameters(self, path: str, operation: AnyOperation) -> dict[str, Schema]:
        """Return the schemas of the parameters, the required ones first; optional ones allow null."""
        schema = operation.params.model_json_schema()
        described = self._paths[path][operation.method.lower()]
        fields = {one["name"]: one["schema"] for one in described["parameters"] if one["in"] in {"path", "query"}}
        fields |= (
            self._schemas.get(operation.params.__name__, {}).get("properties", {}) if operation.method != "GET" else {}
        )
        required = {"connection_id", *schema.get("required", [])}
        selected = {name: field for name, field in fields.items() if name not in {IDEMPOTENCY_FIELD, "cursor"}}
        first = {name: field for name, field in selected.items() if name in required}
        return first | {
            name: {"anyOf": [field, {"type": "null"}]} for name, field in selected.items() if name not in required
        }

    def _answer(self, operation: AnyOperation) -> str:
        item = self._type({"$ref": f"#/components/schemas/{operation.item.__name__}"})
        return f"list[{item}]" if issubclass(operation.result, Listing) else item

    def _type(self, schema: Schema, *, taken: bool = False) -> str:
        """Return the Python type of *schema*; a *taken* one can be any sequence or mapping."""
        if "$ref" in schema:
            name: str = schema["$ref"].rpartition("/")[2]
            self._define(name, self._schemas[name])
            return name
        if "anyOf" in schema:
            options = dict.fromkeys(self._type(option, taken=taken) for option in schema["anyOf"])
            flat = dict.fromkeys(part for option in options for part in option.split(" | "))
            return "Any" if "Any" in flat else " | ".join(flat)
        if "enum" in schema or "const" in schema:
            return f"Literal[{', '.join(map(repr, schema.get('enum', [schema.get('const')])))}]".replace("'", '"')
        if schema.get("type") == "array":
            return f"{'Sequence' if taken else 'list'}[{self._type(schema.get('items', {}), taken=taken)}]"
        if schema.get("type") == "object":
            return self._object(schema, taken=taken)
        return PLAIN.get(schema.get("type", ""), "Any")

    def _object(self, schema: Schema, *, taken: bool) -> str:
        if "title" in schema and "properties" in schema:
            self._define(schema["title"], schema)
            return str(schema["title"])
        return "Mapping[str, Any]" if taken else "dict[str, Any]"

    def _define(self, name: str, schema: Schema) -> None:
        if name in self._shapes:
            return
        self._shapes[name] = ""
        required = set(schema.get("required", []))
        fields = {field: self._type(described) for field, described in schema["properties"].items()}
        typed = {field: kind if field in required else f"NotRequired[{kind}]" for field, kind in fields.items()}
        about = _first_line(schema.get("description")) or f"{name}."
        # After its parts, which are defined by now.
        del self._shapes[name]
        if any(keyword.iskeyword(field) for field in typed):
            members = "".join(f'        "{field}": {kind},\n' for field, kind in typed.items())
            self._shapes[name] = f'{name} = TypedDict(\n    "{name}",\n    {{\n{members}    }},\n)\n"""{about}"""\n'
        else:
            members = "".join(f"    {field}: {kind}\n" for field, kind in typed.items())
            self._shapes[name] = f'class {name}(TypedDict):\n    """{about}"""\n\n{members}'

    def _class(self, connector: AnyConnector, *, asynchronous: bool) -> str:
        name = ("Async" if asynchronous else "") + connector.name.capitalize()
        sending = "AsyncTransport" if asynchronous else "SyncTransport"
        methods = [self._method(_path(connector, one), one, asynchronous=asynchronous) for one in connector.operations]
        head = f'class {name}:\n    """{connector.vendor}: {_first_line(connector.summary)}"""\n\n'
        init = f"    def __init__(self, sending: {sending}) -> None:\n        self._sending = sending\n"
        return f"{head}{init}\n" + "\n".join(methods)

    def _gateway(self, *, asynchronous: bool) -> str:
        prefix = "Async" if asynchronous else ""
        names = [connector.name for connector in self._connectors]
        members = "".join(f"        self.{name} = {prefix}{name.capitalize()}(sending)\n" for name in names)
        members += "        self._sending = sending\n"
        request = self._method(REQUEST.path, REQUEST, asynchronous=asynchronous)
        about = "Every operation, by connector, and requests to the vendors' APIs."
        init = f"    def __init__(self, sending: {'Async' if asynchronous else 'Sync'}Transport) -> None:\n{members}"
        return f'class {prefix}Operations:\n    """{about}"""\n\n{init}\n{request}'

    def _method(self, path: str, operation: AnyOperation, *, asynchronous: bool) -> str:
        parameters = self._parameters(path, operation)
        typed = {name: self._type(schema, taken=True) for name, schema in parameters.items()}
        optional = [name for name, schema in parameters.items() if {"type": "null"} in schema.get("anyOf", ())]
        params = [f"{_python(name)}: {kind}{' = None' if name in optional else ''}" for name, kind in typed.items()]
        call = self._call(path, operation, typed)
        about = f'        """{_first_line(operation.description)}"""\n'
        if operation.is_paged:
            return self._paged(operation, params, call, about, asynchronous=asynchronous)
        return self._plain(operation, params, call, about, asynchronous=asynchronous)

    def _call(self, path: str, operation: AnyOperation, typed: Mapping[str, str]) -> str:
        path = "/".join(map(_segment, path.split("/")))
        values = ", ".join(f'"{name}": {_python(name)}' for name in typed if name not in operation.path_names)
        prefixed = 'f"' if "{" in path else '"'
        writes = operation.scope == "write" and operation.keyed
        more = ", key=idempotency_key, dry_run=dry_run" if writes else ""
        more += ", once=True, dry_run=dry_run" if not operation.keyed else ""
        return f'RequestSpec("{operation.method}", {prefixed}{path}", {{{values}}}, writes={writes}{more})'

    def _paged(self, operation: AnyOperation, params: list[str], call: str, about: str, *, asynchronous: bool) -> str:
        item, prefix = self._answer(operation), "Async" if asynchronous else ""
        signature = ", ".join(["self", "*", *params, "cursor: str | None = None"])
        method = (
            f"    def {operation.name}({signature}) -> {prefix}Pages[{item}]:\n{about}"
            f"        return {prefix}Pages(self._sending, {call}, cursor)\n"
        )
        if operation.name != "read_events":
            return method
        following = [one for one in params if not one.startswith("limit:")]
        call = call.replace(', "limit": limit', "")
        signature = ", ".join(["self", "*", *following, "poll_seconds: float = 5.0"])
        return (
            f"{method}\n    def follow_events({signature}) -> {prefix}Events[{item}]:\n"
            f'        """Yield events as they are observed, without an end; each once."""\n'
            f"        return {prefix}Events(self._sending, {call}, poll_seconds)\n"
        )

    def _plain(self, operation: AnyOperation, params: list[str], call: str, about: str, *, asynchronous: bool) -> str:
        word, wait = ("async def", "await ") if asynchronous else ("def", "")
        keyed = ["idempotency_key: str | None = None"] if operation.scope == "write" and operation.keyed else []
        dry = ["dry_run: bool = False"] if operation.scope == "write" else []
        signature = ", ".join(["self", "*", *params, *keyed, *dry])
        head = f"    {word} {operation.name}({signature}) -> Response[{self._answer(operation)}]:"
        return f"{head}\n{about}        return {wait}self._sending.send({call})\n"


def _path(connector: AnyConnector, operation: AnyOperation) -> str:
    return f"{PREFIX}/{connector.name}{operation.path}"


def _python(name: str) -> str:
    """Return *name* as a parameter, which cannot be a reserved word."""
    return f"{name}_" if keyword.iskeyword(name) else name


def _segment(part: str) -> str:
    return f"{{RequestSpec.segment({part[1:-1]})}}" if part.startswith("{") else part
