"""The installation of locked packages, with uv or else with pip, and what is installed."""

import re
import tomllib
from collections.abc import Iterator
from importlib.metadata import distribution

import install_packages
import pytest
from packaging.requirements import Requirement
from packaging.utils import NormalizedName, canonicalize_name

CONFIGURED = """\
:env:.index-url='https://mirror.example/simple'
global.cert='/etc/ssl/certs/ca-certificates.crt'
global.extra-index-url='\\nfile:///more/simple\\nfile:///third/simple'
global.index-url='https://global.example/simple'
global.no-cache-dir='1'
"""


class Commands(list[str]):
    """The commands that an installation runs. Those with the text of ``failing`` fail."""

    failing = "nothing"

    def run(self, *command: str, **_: str) -> str:
        self.append(" ".join(command))
        if self.failing in self[-1]:
            raise install_packages.InstallationError("it is broken")
        return CONFIGURED if "config" in command else ""

    def programs(self) -> list[str]:
        return [line.split()[2] for line in self if "install" in line.split()]


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> Commands:
    commands = Commands()
    monkeypatch.setattr(install_packages, "run", commands.run)
    for name in install_packages.SETTINGS.values():
        monkeypatch.delenv(name, raising=False)
    return commands


@pytest.mark.usefixtures("commands")
def test_uv_uses_the_indexes_of_pip() -> None:
    assert install_packages.uv_environment() == {
        "UV_INDEX_STRATEGY": "unsafe-best-match",
        "UV_DEFAULT_INDEX": "https://mirror.example/simple",
        "UV_INDEX": "file:///more/simple file:///third/simple",
        "SSL_CERT_FILE": "/etc/ssl/certs/ca-certificates.crt",
    }


@pytest.mark.usefixtures("commands")
def test_variables_for_uv_take_precedence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UV_DEFAULT_INDEX", "https://uv.example/simple")

    assert "UV_DEFAULT_INDEX" not in install_packages.uv_environment()


def test_packages_are_installed_with_uv(commands: Commands, capsys: pytest.CaptureFixture[str]) -> None:
    install_packages.main(["run"])

    assert commands.programs() == ["pip", "uv", "uv"]
    assert all("--require-hashes" in line or "--no-deps" in line for line in commands if " install " in line)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("failing", ["uv.txt", "-m uv"], ids=["missing or rejected by the index", "broken"])
def test_pip_installs_if_uv_fails(failing: str, commands: Commands, capsys: pytest.CaptureFixture[str]) -> None:
    commands.failing = failing

    install_packages.main(["run"])

    assert commands.programs()[-2:] == ["pip", "pip"]
    assert capsys.readouterr().out == "uv is not usable (it is broken); pip installs instead, which takes longer.\n"


@pytest.mark.parametrize(
    ("printed", "message"),
    [
        ("python: No module named uv\n", "python: No module named uv"),
        (
            "ERROR: THESE PACKAGES DO NOT MATCH. If you updated them, …\n  Expected sha256 1\n  Got 2\n",
            "THESE PACKAGES DO NOT MATCH",
        ),
        ("WARNING: slow\nerror: Failed to fetch: `uv`\n  Caused by: timeout\n", "Failed to fetch: `uv`"),
        ("", "no message"),
    ],
)
def test_the_message_of_a_failed_command_is_one_line(printed: str, message: str) -> None:
    assert message == install_packages.error_message(printed)


def test_a_failed_command_reports_its_error() -> None:
    with pytest.raises(install_packages.InstallationError, match=r"^Invalid requirement.*"):
        install_packages.run(*install_packages.PIP, "install", "--no-index", "--no-deps", "a b c")


def test_every_package_of_the_repository_is_installed() -> None:
    assert {f"{name}/pyproject.toml" for name in install_packages.PACKAGES} == {
        str(path.relative_to(install_packages.PROJECT)) for path in install_packages.PROJECT.glob("*/pyproject.toml")
    }


def test_each_direct_package_has_a_reason() -> None:
    contributing = (install_packages.PROJECT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (table,) = re.findall(r"\| Package \| Used for \|\n\|---\|---\|\n((?:\|.*\|\n)+)", contributing)
    declared = tomllib.loads((install_packages.PROJECT / "gateway" / "pyproject.toml").read_text(encoding="utf-8"))

    assert [Requirement(text).name for text in declared["project"]["dependencies"]] == re.findall(
        r"(?m)^\| (\S+) \| \S", table
    )


def test_an_installation_has_at_most_60_packages() -> None:
    installed: dict[NormalizedName, Requirement] = {}
    unread = [Requirement("connector-gateway")]
    while unread:
        found = {canonicalize_name(one.name): one for one in requirements_of(unread.pop())}
        unread += [one for name, one in found.items() if name not in installed]
        installed |= found

    assert len(installed) <= 60, sorted(installed)


def requirements_of(package: Requirement) -> Iterator[Requirement]:
    """Yield what an installed package requires on this platform."""
    for requirement in map(Requirement, distribution(package.name).requires or []):
        if requirement.marker is None or any(
            requirement.marker.evaluate({"extra": extra}) for extra in {"", *package.extras}
        ):
            yield requirement
