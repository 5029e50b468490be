"""Connectors and emulators of installed packages are served like the gateway's own, and cannot harm them."""

import json
import os
import secrets
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import EntryPoint, distributions
from pathlib import Path
from typing import Any

import httpx
import pytest

from connector_gateway.connectors import CONNECTORS, package_loader
from connector_gateway.connectors.package_loader import GROUP, OWN_SETTINGS, InstalledConnectors
from connector_gateway.kit.operation import AnyConnector
from connector_gateway.settings import Settings
from connector_gateway.settings_reader import READ_ELSEWHERE, SettingsReader
from harness.gateway_server import OPERATOR
from harness.requirement import requirement
from harness.wait import wait_until

PACKAGE = Path(__file__).parent / "links"
COMMAND = [sys.executable, "-P", "-m", "connector_gateway"]


def install(folder: Path, module: str, entry_points: str, name: str = "extra") -> Path:
    """Install the package ``extra`` in *folder*: a module of that *name*, and its entry points."""
    information = folder / "extra-0.3.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: extra\nVersion: 0.3\n")
    (information / "entry_points.txt").write_text(f"[{GROUP}]\n{entry_points}\n")
    (folder / f"{name}.py").write_text(module)
    return folder


def environment(*folders: Path, **settings: str) -> dict[str, str]:
    """The environment of a process in which the packages in *folders* are installed."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, folders)), **settings}


def run(*words: str, env: Mapping[str, str]) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([*COMMAND, *words], env=env, capture_output=True, text=True, timeout=60, check=False)


# One installation with a working package and a broken one


@dataclass
class Installation:
    """A running ``dev``, and its description for tools."""

    described: Mapping[str, Any]
    variables: Mapping[str, str]
    folder: Path

    @property
    def connection_id(self) -> str:
        return str(self.described["connections"]["links"])

    def get(self, path: str, key: str = "write", **query: Any) -> Any:
        token = self.described["operator_token"] if key == "operator" else self.described["keys"][key]
        headers = {"Authorization": f"Bearer {token}"}
        return httpx.get(self.described["base_url"] + path, params=query, headers=headers, timeout=30)

    def create(self, url: str, key: str) -> Any:
        body = {"connection_id": self.connection_id, "url": url, "idempotency_key": key}
        headers = {"Authorization": f"Bearer {self.described['keys']['write']}"}
        address = f"{self.described['base_url']}/v1/connectors/links/links"
        return httpx.post(address, json=body, headers=headers, timeout=30)

    def links(self) -> Sequence[str]:
        """Return the URLs of all links."""
        pages = [self.get("/v1/connectors/links/links", connection_id=self.connection_id).json()]
        while cursor := pages[-1]["next_cursor"]:
            query = {"connection_id": self.connection_id, "cursor": cursor}
            pages.append(self.get("/v1/connectors/links/links", **query).json())
        return [link["url"] for page in pages for link in page["data"]]

    def fault(self, **options: Any) -> None:
        httpx.post(f"{self.described['sandbox_url']}/_control/links/faults", json=options).raise_for_status()


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    folder = tmp_path_factory.mktemp("packages")
    broken = install(tmp_path_factory.mktemp("broken"), "raise RuntimeError('no licence')", "broken = extra:BROKEN")
    # A setting of a connector that is not served is not taken for a typo.
    variables = environment(PACKAGE, broken, GATEWAY_BROKEN_CLIENT_ID="x", GATEWAY_LINKS_BUDGET="1000/1")
    port = secrets.choice(range(10_000, 30_000, 20))
    options = ["--port", str(port), "--sandbox-port", str(port + 1)]
    with (folder / "errors").open("w") as errors, (folder / "output").open("w") as output:
        process = subprocess.Popen([*COMMAND, "dev", *options], cwd=folder, env=variables, stderr=errors, stdout=output)
        described = folder / ".data" / "dev.json"
        try:
            wait_until(lambda: described.exists() or process.poll() is not None, 60)
            yield Installation(json.loads(described.read_text(encoding="utf-8")), variables, folder)
        finally:
            process.terminate()
            process.wait(60)


@requirement("packages-1", "packages-3")
def test_a_package_is_served_although_another_fails_to_load(installation: Installation) -> None:
    problem = "The connector broken of the package extra 0.3 is not served: its import raised RuntimeError"

    assert [f"https://{number}.example" for number in (1, 2, 3)] == installation.links()[:3]
    assert problem in (installation.folder / "errors").read_text()


@requirement("packages-1")
def test_a_lost_response_of_a_package_creates_one_object(installation: Installation) -> None:
    installation.fault(fault="drop_after", method="POST", path="/links", times=1)
    replies = [installation.create("https://once.example", "key-1") for _ in range(2)]

    assert [200, 200] == [reply.status_code for reply in replies]
    assert 1 == installation.links().count("https://once.example")


@requirement("packages-1")
def test_every_surface_has_the_operations_of_a_package(installation: Installation) -> None:
    document = installation.get("/openapi.json").json()
    metrics = installation.get("/metrics").text
    runs = installation.get("/v1/runs", "operator", connector="links").json()["data"]
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    headers = {
        "Authorization": f"Bearer {installation.described['keys']['read']}",
        "Accept": "application/json, text/event-stream",
    }
    tools = httpx.post(f"{installation.described['base_url']}/mcp", json=request, headers=headers, timeout=30).text

    assert {"get", "post"} == document["paths"]["/v1/connectors/links/links"].keys()
    assert 'connector="links",operation="list_links"' in metrics
    assert {"list_links", "create_link"} >= {run["operation"] for run in runs} != set()
    assert "links_list_links" in tools


@requirement("packages-1")
def test_commands_know_the_connector_of_a_package(installation: Installation) -> None:
    data = str(installation.folder / ".data")
    called = run("call", "links", "list-links", "--data", data, "--json", env=installation.variables)
    listed = run("connectors", "list", "--json", env=installation.variables)

    rows = {row["name"]: row for row in json.loads(listed.stdout)}
    assert "https://1.example" in called.stdout, called.stderr
    assert [*CONNECTORS, "broken", "links"] == [*rows]
    assert ("links-connector", "1.2", 2, "") == tuple(
        rows["links"][name] for name in ("origin", "version", "operations", "problem")
    )
    assert "no licence" in rows["broken"]["problem"]


@requirement("packages-3")
def test_a_required_connector_that_is_not_served_prevents_the_start(tmp_path: Path) -> None:
    install(tmp_path, "BROKEN = 1", "broken = extra:BROKEN")
    settings = {
        "GATEWAY_SECRET_KEYS": "Wq7ZkT2mXv9BnLr4Yc5Hd8sJf1Gp6EaU",
        "GATEWAY_OPERATOR_TOKEN": OPERATOR,
        "GATEWAY_DATABASE_URL": f"sqlite:///{tmp_path}/gateway.db",
        "GATEWAY_CONNECTORS": "notes, broken",
    }
    ended = run("serve", "--port", "0", env=environment(tmp_path, **settings))

    assert 0 != ended.returncode
    assert "GATEWAY_CONNECTORS requires broken. The connector broken of the package extra 0.3 is not served" in (
        ended.stderr
    )


# Packages that are not served


@pytest.fixture
def links(monkeypatch: pytest.MonkeyPatch) -> AnyConnector:
    """The connector of the working package."""
    monkeypatch.syspath_prepend(PACKAGE)
    connector: AnyConnector = EntryPoint("links", "links_connector:LINKS", GROUP).load()
    return connector


def problem_of(folder: Path, module: str, name: str = "extra") -> str:
    """Install a package beside the gateway's own connectors, and return why its connector is not served."""
    imported = f"extra_{secrets.token_hex(4)}"
    install(folder, module, f"{name} = {imported}:EXTRA", imported)
    installed = InstalledConnectors()
    for own in CONNECTORS:
        installed.add(EntryPoint(own, f"connector_gateway.connectors.{own}:{own.upper()}", GROUP), built_in=True)
    (package,) = distributions(path=[str(folder)])
    installed.add(next(iter(package.entry_points)))

    assert CONNECTORS == installed.served
    (problem,) = installed.problems
    assert problem.startswith(f"The connector {name} of the package extra 0.3 is not served: ")
    return problem.partition(": ")[2]


@requirement("packages-2")
@pytest.mark.parametrize(
    ("module", "problem"),
    [
        ("import nowhere", "its import raised ModuleNotFoundError (No module named 'nowhere')."),
        ("import sys; sys.exit(3)", "its import raised SystemExit (3)."),
        ("EXTRA = (", "its import raised SyntaxError ('(' was never closed"),
        ("OTHER = 1", "its import raised AttributeError ("),
        ("EXTRA = 1", "EXTRA is not a Connector."),
        ("import threading; threading.Event().wait(60)", "its import did not end within 0.2 seconds."),
    ],
)
def test_a_package_that_cannot_be_imported_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str, problem: str
) -> None:
    monkeypatch.setattr(package_loader, "IMPORT_SECONDS", 0.2)
    monkeypatch.syspath_prepend(tmp_path)

    assert problem in problem_of(tmp_path, module)


@requirement("packages-2")
@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ("name='notes'", "its entry point is named extra, and its Connector notes."),
        ("kit_version=None", "it does not state its kit_version, which is 1 in this gateway."),
        ("kit_version=2", "it was written for kit version 2, and this gateway has 1."),
        ("base_urls={}", "the first of its base_urls should be base."),
        ("budgets={}", "it declares no budget."),
        ("operations=()", "it declares no operation."),
        ("operations=(LINKS.operations[1],)", "its sample calls an operation that it does not declare."),
        ("operations=(*LINKS.operations, same_route)", "2 operations have the route GET /links."),
        ("operations=(*LINKS.operations, LINKS.operations[1])", "2 operations have the route POST /links."),
        ("operations=(*LINKS.operations, unknown_path)", "unknown_path has no parameter link_id"),
        ("operations=(*LINKS.operations, outside)", "the route of outside, GET /../keys, is invalid."),
        ("operations=(*LINKS.operations, request)", "the name request is reserved."),
        ("operations=(*LINKS.operations, shadow)", "its model CreateCard has the name of a model of boards."),
    ],
)
def test_an_invalid_declaration_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: AnyConnector, change: str, problem: str
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    assert "links" == links.name

    module = f"{DECLARATIONS}\nEXTRA = replace(LINKS, **{{'name': 'extra'}} | dict({change}))"

    assert problem_of(tmp_path, module).startswith(problem)


DECLARATIONS = """
from dataclasses import replace

from connector_gateway.kit.operation import reads
from links_connector import LINKS, CreateLink, Link, LinksCall, ListLinks


class CreateCard(CreateLink):
    pass


async def read(ctx: LinksCall, params: ListLinks) -> Link:
    raise NotImplementedError


async def write(ctx: LinksCall, params: CreateCard) -> Link:
    raise NotImplementedError


def named(name, route, perform=read):
    return replace(reads(route)(perform), name=name)


same_route = named("same_route", "GET /links")
unknown_path = named("unknown_path", "GET /links/{link_id}")
outside = named("outside", "GET /../keys")
request = named("request", "GET /requests")
shadow = named("shadow", "POST /cards", write)
"""


@requirement("packages-2")
def test_a_package_cannot_replace_a_connector(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)

    assert "another connector has this name." == problem_of(tmp_path, "EXTRA = None", "notes")


@pytest.mark.parametrize("name", ["Links", "my-links", "a", "1links", "max", "base"])
def test_a_name_that_cannot_be_a_path_and_a_setting_is_rejected(links: AnyConnector, name: str) -> None:
    assert [] != list(package_loader._find_problems(name, replace(links, name=name), []))


def test_the_first_words_of_own_settings_are_reserved() -> None:
    reader = SettingsReader({"GATEWAY_SECRET_KEYS": "x" * 32, "GATEWAY_OPERATOR_TOKEN": OPERATOR})
    Settings.read_from(reader, {})
    words = {name.removeprefix("GATEWAY_").partition("_")[0].lower() for name in {*reader.names, *READ_ELSEWHERE}}

    assert OWN_SETTINGS == {*words, "port", "service"}
