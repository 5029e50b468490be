"""Connectors and emulators of installed packages are served like the gateway's own, and cannot harm them."""

import json
import os
import secrets
import shutil
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import EntryPoint, distributions
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner

from connector_gateway.cli import scaffold
from connector_gateway.cli.scaffold.command import new_connector
from connector_gateway.connectors import CONNECTORS, package_loader
from connector_gateway.connectors.package_loader import GROUP, OWN_SETTINGS, InstalledConnectors
from connector_gateway.kit.operation import AnyConnector
from connector_gateway.settings import Settings
from connector_gateway.settings_reader import READ_ELSEWHERE, SettingsReader
from connector_gateway_client import AsyncGateway, Gateway
from harness.gateway_server import OPERATOR
from harness.requirement import requirement
from harness.wait import wait_until

COMMAND = ["-P", "-m", "connector_gateway"]
TEMPLATE = Path(scaffold.__file__).parent / "template"
EXAMPLE = Path(__file__).parents[2] / "examples" / "asana-connector"


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


def run(
    *words: str, env: Mapping[str, str] | None = None, python: Path | str = sys.executable
) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([python, *COMMAND, *words], env=env, capture_output=True, text=True, timeout=60, check=False)


@dataclass(frozen=True)
class Package:
    """A package, and a Python in which its ``make test`` installs it."""

    folder: Path
    python: Path


def create_package(folder: Path, *options: str) -> Package:
    """Create the package ``links`` in *folder*."""
    created = run("new-connector", "links", "--into", str(folder), *options)
    assert 0 == created.returncode, created.stderr
    return Package(folder / "links-connector", create_python(folder))


def create_python(folder: Path) -> Path:
    """Return the Python of a new environment in *folder*, with everything that is installed here, including pip."""
    environment = folder / "venv"
    venv.create(environment, with_pip=False)
    packages = next(environment.glob("lib/python*/site-packages"))
    (packages / "installed.pth").write_text(f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n")
    return environment / "bin" / "python"


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Package:
    """A package with all options."""
    return create_package(tmp_path_factory.mktemp("created"), "--oauth", "--events")


def make(package: Package, target: str) -> "subprocess.CompletedProcess[str]":
    """Run a target of the package's Makefile. pip installs nothing from an index."""
    # The variables of the make that runs these tests would be those of the package's make, too.
    inherited = {
        name: value for name, value in os.environ.items() if name not in {"ARGS", "MAKEFLAGS", "MAKEOVERRIDES"}
    }
    variables = {**inherited, "PIP_NO_INDEX": "1", "PIP_NO_BUILD_ISOLATION": "0"}
    command = ["make", target, f"PYTHON={package.python}"]
    return subprocess.run(
        command, cwd=package.folder, env=variables, capture_output=True, text=True, timeout=280, check=False
    )


@requirement("packages-5")
def test_a_new_package_passes_its_tests(package: Package) -> None:
    tested = make(package, "test")

    assert 0 == tested.returncode, tested.stdout + tested.stderr
    assert "16 passed" in tested.stdout


@requirement("packages-5")
def test_the_tests_of_a_new_package_show_why_the_gateway_does_not_start(package: Package) -> None:
    make(package, ".installed")
    tested = subprocess.run(
        [package.python, "-m", "pytest", "-k", "pages"],
        cwd=package.folder,
        env=environment(GATEWAY_LINKS_BUDGET="none"),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert 0 != tested.returncode
    assert "GATEWAY_LINKS_BUDGET" in tested.stdout


@requirement("packages-5")
def test_a_new_package_without_options_passes_its_tests(tmp_path: Path) -> None:
    tested = make(create_package(tmp_path), "test")

    assert 0 == tested.returncode, tested.stdout + tested.stderr
    assert "12 passed" in tested.stdout


@requirement("packages-5")
@pytest.mark.parametrize(("option", "has_both"), [("--oauth", "True False\n"), ("--events", "False True\n")])
def test_a_new_package_has_only_the_chosen_option(tmp_path: Path, option: str, has_both: str) -> None:
    folder = create_package(tmp_path, option).folder
    code = "from links_connector import LINKS, emulator; print(LINKS.oauth is not None, LINKS.event_source is not None)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], env=environment(folder / "src"), capture_output=True, text=True, check=False
    )
    texts = [path.read_text(encoding="utf-8") for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc"]

    assert has_both == loaded.stdout, loaded.stderr
    assert not any("--oauth" in text or "--events" in text for text in texts)


@requirement("packages-1")
def test_the_example_of_a_package_passes_its_tests(tmp_path: Path) -> None:
    folder = tmp_path / EXAMPLE.name
    shutil.copytree(EXAMPLE, folder)
    tested = make(Package(folder, create_python(tmp_path)), "test")

    assert 0 == tested.returncode, tested.stdout + tested.stderr
    assert "30 passed" in tested.stdout


@requirement("packages-6")
def test_a_new_package_passes_connector_check(package: Package) -> None:
    checked = make(package, "check")

    assert 0 == checked.returncode, checked.stdout + checked.stderr
    assert "written-once\tpassed\t" in checked.stdout


@requirement("packages-5")
@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("notes", "The package connector-gateway has a connector 'notes'."),
        ("My-Tasks", "'My-Tasks' cannot be a connector: its name should be a lower-case letter"),
        ("upstream", "'upstream' cannot be a connector: settings of the gateway itself begin with GATEWAY_UPSTREAM."),
        ("tasks", "tasks-connector already exists. Choose another name, or another folder with --into."),
    ],
)
def test_a_package_that_cannot_be_created_is_reported(tmp_path: Path, name: str, problem: str) -> None:
    (tmp_path / "tasks-connector").mkdir()
    created = CliRunner().invoke(new_connector, [name, "--into", str(tmp_path)])

    assert 2 == created.exit_code
    assert problem in created.output
    assert [tmp_path / "tasks-connector"] == list(tmp_path.iterdir())


# One installation with a working package and a broken one


@dataclass
class Installation:
    """A running ``dev``, and its description for tools."""

    described: Mapping[str, Any]
    variables: Mapping[str, str]
    folder: Path
    python: Path

    @property
    def connection_id(self) -> str:
        return str(self.described["connections"]["links"])

    def get(self, path: str, key: str = "write", **query: Any) -> Any:
        token = self.described["operator_token"] if key == "operator" else self.described["keys"][key]
        headers = {"Authorization": f"Bearer {token}"}
        return httpx.get(self.described["base_url"] + path, params=query, headers=headers, timeout=30)

    def create(self, title: str, key: str) -> Any:
        body = {"connection_id": self.connection_id, "title": title, "idempotency_key": key}
        headers = {"Authorization": f"Bearer {self.described['keys']['write']}"}
        address = f"{self.described['base_url']}/v1/connectors/links/items"
        return httpx.post(address, json=body, headers=headers, timeout=30)

    def titles(self) -> Sequence[str]:
        """Return the titles of all items."""
        pages = [self.get("/v1/connectors/links/items", connection_id=self.connection_id, limit=2).json()]
        while cursor := pages[-1]["next_cursor"]:
            query = {"connection_id": self.connection_id, "limit": 2, "cursor": cursor}
            pages.append(self.get("/v1/connectors/links/items", **query).json())
        return [item["title"] for page in pages for item in page["data"]]

    def run(self, *words: str) -> "subprocess.CompletedProcess[str]":
        return run(*words, env=self.variables, python=self.python)

    def fault(self, **options: Any) -> None:
        httpx.post(f"{self.described['sandbox_url']}/_control/links/faults", json=options).raise_for_status()


@pytest.fixture(scope="module")
def installation(package: Package, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    make(package, ".installed")
    folder = tmp_path_factory.mktemp("packages")
    broken = install(tmp_path_factory.mktemp("broken"), "raise RuntimeError('no licence')", "broken = extra:BROKEN")
    # A setting of a connector that is not served is not taken for a typo.
    variables = environment(broken, GATEWAY_BROKEN_CLIENT_ID="x", GATEWAY_LINKS_BUDGET="1000/1")
    port = secrets.choice(range(10_000, 30_000, 20))
    options = ["--port", str(port), "--sandbox-port", str(port + 1)]
    with (folder / "errors").open("w") as errors, (folder / "output").open("w") as output:
        command = [str(package.python), *COMMAND, "dev", *options]
        process = subprocess.Popen(command, cwd=folder, env=variables, stderr=errors, stdout=output)
        described = folder / ".data" / "dev.json"
        try:
            wait_until(lambda: described.exists() or process.poll() is not None, 120)
            yield Installation(json.loads(described.read_text(encoding="utf-8")), variables, folder, package.python)
        finally:
            process.terminate()
            process.wait(60)


@requirement("packages-1", "packages-3")
def test_a_package_is_served_although_another_fails_to_load(installation: Installation) -> None:
    problem = "The connector broken of the package extra 0.3 is not served: its import raised RuntimeError"

    assert ["First", "Second", "Third"] == installation.titles()[:3]
    assert problem in (installation.folder / "errors").read_text()


@requirement("packages-1")
def test_a_lost_response_of_a_package_creates_one_object(installation: Installation) -> None:
    installation.fault(fault="drop_after", method="POST", path="/items", times=1)
    replies = [installation.create("Once", "key-1") for _ in range(2)]

    assert [200, 200] == [reply.status_code for reply in replies]
    assert 1 == installation.titles().count("Once")


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

    assert {"get", "post"} == document["paths"]["/v1/connectors/links/items"].keys()
    assert 'connector="links",operation="list_items"' in metrics
    assert {"list_items", "create_item"} >= {run["operation"] for run in runs} != set()
    assert "links_list_items" in tools


@requirement("packages-1")
def test_the_python_client_calls_operations_of_a_package_by_their_names(installation: Installation) -> None:
    installation.fault(fault="drop_after", method="POST", path="/items", times=1)
    with Gateway(installation.described["base_url"], installation.described["keys"]["write"]) as gateway:
        created = gateway.call("links", "create_item", connection_id=installation.connection_id, title="Called")
        listed = list(gateway.pages("links", "list_items", connection_id=installation.connection_id, limit=2))
        with pytest.raises(ValueError, match=r"no operation 'remove_item' of 'links'\. It has list_items, create_item"):
            gateway.call("links", "remove_item")
        with pytest.raises(ValueError, match="no connector 'lynx'"):
            gateway.call("lynx", "list_items")

    assert [created.data] == [item for item in listed if item["title"] == "Called"]


@requirement("packages-1")
async def test_the_asynchronous_client_calls_operations_of_a_package(installation: Installation) -> None:
    async with AsyncGateway(installation.described["base_url"], installation.described["keys"]["write"]) as gateway:
        connection = {"connection_id": installation.connection_id}
        planned = await gateway.call("links", "create_item", **connection, title="Never", dry_run=True)
        listed = [item["title"] async for item in await gateway.pages("links", "list_items", **connection)]

    assert [("POST", "/items")] == [(one["method"], one["path"]) for one in planned.plan["requests"]]
    assert "First" in listed
    assert "Never" not in listed


@requirement("packages-1")
def test_commands_know_the_connector_of_a_package(installation: Installation) -> None:
    data = str(installation.folder / ".data")
    called = run(
        "call", "links", "list-items", "--data", data, "--json", env=installation.variables, python=installation.python
    )
    listed = run("connectors", "list", "--json", env=installation.variables, python=installation.python)

    rows = {row["name"]: row for row in json.loads(listed.stdout)}
    assert "First" in called.stdout, called.stderr
    assert [*CONNECTORS, "broken", "links"] == [*rows]
    assert ("links-connector", "0.1.0", 3, "") == tuple(
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
def acme(monkeypatch: pytest.MonkeyPatch) -> AnyConnector:
    """The connector of the template."""
    monkeypatch.syspath_prepend(TEMPLATE / "src")
    connector: AnyConnector = EntryPoint("acme", "acme_connector:ACME", GROUP).load()
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
        ("operations=(ACME.operations[1],)", "its sample calls an operation that it does not declare."),
        ("operations=(*ACME.operations, same_route)", "2 operations have the route GET /items."),
        ("operations=(*ACME.operations, ACME.operations[1])", "2 operations have the route POST /items."),
        ("operations=(*ACME.operations, unknown_path)", "unknown_path has no parameter item_id"),
        ("operations=(*ACME.operations, outside)", "the route of outside, GET /../keys, is invalid."),
        ("operations=(*ACME.operations, request)", "the name request is reserved."),
        ("operations=ACME.operations[:2]", "it observes events, but has no operation read_events."),
        ("operations=(*ACME.operations[:2], read_events)", "read_events has no parameter type, a Literal of the types"),
        ("operations=(*ACME.operations, shadow)", "its model CreateCard has the name of a model of boards."),
    ],
)
def test_an_invalid_declaration_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, acme: AnyConnector, change: str, problem: str
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    assert "acme" == acme.name

    module = f"{DECLARATIONS}\nEXTRA = replace(ACME, **{{'name': 'extra'}} | dict({change}))"

    assert problem_of(tmp_path, module).startswith(problem)


DECLARATIONS = """
from dataclasses import replace

from connector_gateway.kit.operation import reads
from acme_connector import ACME
from acme_connector.operations import AcmeContext, AcmeItem, CreateAcmeItem, ListAcmeItems


class CreateCard(CreateAcmeItem):
    pass


async def read(ctx: AcmeContext, params: ListAcmeItems) -> AcmeItem:
    raise NotImplementedError


async def write(ctx: AcmeContext, params: CreateCard) -> AcmeItem:
    raise NotImplementedError


def named(name, route, perform=read):
    return replace(reads(route)(perform), name=name)


same_route = named("same_route", "GET /items")
unknown_path = named("unknown_path", "GET /items/{item_id}")
outside = named("outside", "GET /../keys")
request = named("request", "GET /requests")
shadow = named("shadow", "POST /cards", write)
read_events = named("read_events", "GET /events")
"""


@requirement("packages-2")
def test_a_package_cannot_replace_a_connector(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)

    assert "another connector has this name." == problem_of(tmp_path, "EXTRA = None", "notes")


@pytest.mark.parametrize("name", ["Links", "my-links", "a", "1links", "max", "base"])
def test_a_name_that_cannot_be_a_path_and_a_setting_is_rejected(acme: AnyConnector, name: str) -> None:
    assert [] != list(package_loader._find_problems(name, replace(acme, name=name), []))


def test_the_first_words_of_own_settings_are_reserved() -> None:
    reader = SettingsReader({"GATEWAY_SECRET_KEYS": "x" * 32, "GATEWAY_OPERATOR_TOKEN": OPERATOR})
    Settings.read_from(reader, {})
    words = {name.removeprefix("GATEWAY_").partition("_")[0].lower() for name in {*reader.names, *READ_ELSEWHERE}}

    assert OWN_SETTINGS == {*words, "port", "service"}
