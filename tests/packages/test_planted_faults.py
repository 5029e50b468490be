"""The command ``connector-check``: it finds each planted fault."""

from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
from click.testing import CliRunner

from connector_gateway.cli import connector_check as command
from connector_gateway.cli import scaffold
from connector_gateway.connector_check.results import CHECKS
from connector_gateway.connector_check.runner import run_checks
from harness.requirement import requirement
from harness.secret_leaks import LEAKS

TEMPLATE = Path(scaffold.__file__).parent / "template"
EXAMPLE = Path(__file__).parents[2] / "examples" / "asana-connector"
FAULTS = {
    "adopts_strangers": "evidence",
    "compares_too_little": "evidence recovery",
    "searches_one_page": "written-once",
    "writes_twice": "written-once",
    "ends_early": "page-end",
    "never_ends": "page-end",
    "repeats_items": "page-repetition",
    "exceeds_budget": "rate-limit",
    "logs_token": "secrets",
    "releases_keys": "released-keys",
    "overwrites_changes": "later-changes",
    "accepts_any_shape": "response-shapes",
    "has_invalid_example": "declarations",
}
"""The functions of ``planted_faults``, and the checks that find each fault."""


@pytest.fixture
def planted(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The variants of the template's connector."""
    monkeypatch.syspath_prepend(TEMPLATE / "src")
    return import_module("packages.planted_faults")


@requirement("packages-6")
@pytest.mark.parametrize(("fault", "checks"), FAULTS.items(), ids=FAULTS)
def test_each_planted_fault_is_found_by_its_checks_only(planted: ModuleType, fault: str, checks: str) -> None:
    results = run_checks(getattr(planted, fault)(), planted.Emulator)
    # Every test fails in which a secret is logged, and here one is meant to be.
    leaked = bool(LEAKS.collect())

    assert leaked is (checks == "secrets")
    assert checks.split() == [one.check for one in results if not one.passed]


@requirement("packages-6")
@pytest.mark.parametrize("finding", ["by_mark", "by_content"])
def test_nothing_is_found_in_a_connector_without_faults(planted: ModuleType, finding: str) -> None:
    connector = planted.BASE if finding == "by_mark" else planted.finds_by_content()
    results = run_checks(connector, planted.Emulator)

    assert [] == [one for one in results if not one.passed or not one.histories]
    assert list(CHECKS) == [one.check for one in results]


@requirement("packages-6")
def test_nothing_is_found_in_the_example_of_a_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(EXAMPLE / "src")
    connector, emulator = import_module("asana_connector").ASANA, import_module("asana_connector.emulator")

    assert [] == [one for result in run_checks(connector, emulator.AsanaEmulator) for one in result.findings]


@pytest.fixture
def commands(planted: ModuleType, monkeypatch: pytest.MonkeyPatch) -> CliRunner:
    """Runs the command, with two installed connectors, of which one has an emulator."""
    faulty = planted.has_unknown_example()
    monkeypatch.setattr(command, "CONNECTORS", {"acme": faulty, "bare": faulty})
    monkeypatch.setattr("workspace_sandbox.EMULATORS", {"acme": planted.Emulator})
    return CliRunner()


@requirement("packages-6")
def test_a_finding_names_the_operation_the_problem_and_its_reproduction(commands: CliRunner) -> None:
    result = commands.invoke(command.connector_check, ["acme", "--only", "evidence"])

    assert 1 == result.exit_code
    assert "declarations\t2 found\t" in result.stdout
    assert (
        "declarations: rename_item: Its example 1 raised KeyError('nothing'). The emulator's examples are item_id. "
        "To reproduce it: connector-gateway connector-check acme --only declarations\n" in result.stderr
    )


@requirement("packages-6")
@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("nowhere", "No installed package has a connector 'nowhere'. Installed are: acme, bare."),
        ("bare", "No package has an emulator of bare among its entry points workspace_sandbox.applications."),
    ],
)
def test_a_connector_that_cannot_be_checked_is_reported(commands: CliRunner, name: str, reason: str) -> None:
    result = commands.invoke(command.connector_check, [name])

    assert 2 == result.exit_code
    assert reason in " ".join(result.stderr.split())
