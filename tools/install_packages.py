"""Installs locked packages and the packages of this repository into the environment that runs this program.

Packages are installed with uv, or with pip if uv cannot be installed or fails. Both use pip's configuration of indexes.
In a new environment, pip runs from the wheel that Python contains, because ``venv`` takes three seconds to install it.
"""

import ast
import ensurepip
import os
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

PROJECT = Path(__file__).parent.parent
LOCKS = PROJECT / "requirements"
PACKAGES = ("gateway", "sandbox", "client")

PIP = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "--no-input")
UV = (sys.executable, "-m", "uv", "--quiet", "--no-config", "pip", "install", "--python", sys.executable)

SETTINGS = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "no-index": "UV_NO_INDEX",
    "trusted-host": "UV_INSECURE_HOST",
    "cert": "SSL_CERT_FILE",
    "timeout": "UV_HTTP_TIMEOUT",
    "proxy": "ALL_PROXY",
}
"""Options of pip, and the variables by which uv gets the same."""


class InstallationError(Exception):
    """A command failed; the message is its own."""


def main(names: Sequence[str]) -> None:
    """Install the locks *names* and the packages of this repository."""
    pip = bundled_pip()
    locked = ["--require-hashes", *(f"--requirement={LOCKS / name}.txt" for name in names)]
    own = ["--no-build-isolation", "--no-deps", *(f"--editable={PROJECT / name}" for name in PACKAGES), *pip]
    path = {"PYTHONPATH": pip[0]} if pip else {}
    try:
        with ThreadPoolExecutor() as threads:
            configured = threads.submit(uv_environment, **path)
            run(*PIP, "install", "--require-hashes", f"--requirement={LOCKS / 'uv.txt'}", **path)
        run(*UV, "--compile-bytecode", *locked, **configured.result())
        run(*UV, *own, **configured.result())
    except InstallationError as error:
        print(f"uv is not usable ({error}); pip installs instead, which takes longer.", flush=True)
        for arguments in (locked, own):
            run(*PIP, "install", *arguments, **path)


def bundled_pip() -> Sequence[str]:
    """Return the wheel of pip that Python contains, or nothing if pip is installed."""
    if find_spec("pip") is not None:
        return []
    folder = sysconfig.get_config_var("WHEEL_PKG_DIR") or Path(ensurepip.__file__).parent / "_bundled"
    wheels = sorted(Path(folder).glob("pip-*.whl"))
    if not wheels:
        raise InstallationError(f"{folder} contains no wheel of pip")
    return [str(wheels[-1])]


def run(*command: str, **environment: str) -> str:
    """Return the output of *command*. Raises ``InstallationError`` if it fails."""
    finished = subprocess.run(
        command, env={**os.environ, **environment}, capture_output=True, text=True, encoding="utf-8", check=False
    )
    if finished.returncode:
        raise InstallationError(error_message(finished.stderr))
    return finished.stdout


def error_message(stderr: str) -> str:
    """Return the first sentence of the last error that a command has printed, or its last line."""
    lines = [line.strip() for line in stderr.strip().splitlines()] or ["no message"]
    errors = [line[len("error: ") :].partition(". ")[0] for line in lines if line.lower().startswith("error: ")]
    return [*lines, *errors][-1]


def uv_environment(**environment: str) -> dict[str, str]:
    """Return pip's configuration as variables for uv, except those that are set for uv already.

    pip runs with the variables in *environment*.
    """
    # pip takes the best version of all indexes. The hashes of the locks decide which file is accepted.
    variables = {"UV_INDEX_STRATEGY": "unsafe-best-match"}
    for option, value in pip_options(run(*PIP, "config", "list", **environment)):
        if option in SETTINGS:
            variables[SETTINGS[option]] = " ".join(value.split())
    return {name: value for name, value in variables.items() if name not in os.environ}


def pip_options(listed: str) -> Iterator[tuple[str, str]]:
    """Yield the options that ``pip config list`` prints, those with precedence last."""
    options = [line.partition("=")[::2] for line in listed.splitlines()]
    for name, value in sorted(options, key=lambda option: option[0].startswith(":env:")):
        yield name.rpartition(".")[2].removeprefix("default-"), ast.literal_eval(value)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except InstallationError as error:
        sys.exit(f"The installation failed: {error}")
