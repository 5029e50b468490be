"""Checks that what the service is installed with is licensed permissively, by what the packages say of themselves."""

import re
import sys
from collections.abc import Iterator, Mapping
from email.message import Message
from importlib.metadata import PackageMetadata, PackageNotFoundError, metadata
from pathlib import Path

LOCK = Path(__file__).parent.parent / "requirements" / "tracing.txt"
"""What can be installed in production: the extra, and all that it is added to."""

LOCKED = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)==[^\s;]+ *(;?)", re.MULTILINE)
"""A package, and whether it is only for some platforms."""

PERMISSIVE = frozenset(
    {"0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "MIT-0", "PSF-2.0", "Unlicense", "Zlib"}
)
"""SPDX identifiers of licences that ask for no more than to be named."""

WORDS: Mapping[str, str] = {
    "3-Clause BSD License": "BSD-3-Clause",
    "Apache 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Python Software Foundation License": "PSF-2.0",
    "The Unlicense (Unlicense)": "Unlicense",
}
"""How packages without an SPDX expression call them."""

EXCEPTIONS: Mapping[str, tuple[str, str]] = {
    "psycopg": ("LGPL-3.0-only", "imported unchanged, and whoever installs may replace it: docs/decisions/0028"),
    "psycopg-binary": ("LGPL-3.0-only", "the same"),
    "certifi": (
        "Mozilla Public License 2.0 (MPL 2.0)",
        "certificates, unchanged; with the extra tracing only",
    ),
    "pathspec": ("Mozilla Public License 2.0 (MPL 2.0)", "used by hatchling to build, and not at run time"),
}
"""Packages that may be otherwise licensed: how, and why."""


def locked(lock: str) -> dict[str, bool]:
    """The packages that *lock* pins, and whether each is for all platforms."""
    return {name: not marker for name, marker in LOCKED.findall(lock)}


def licence(described: PackageMetadata | Message) -> str:
    """The licence that a package tells in its metadata, as an SPDX expression where that can be had."""
    expressions, classifiers, texts = (
        [str(line).strip() for line in described.get_all(name) or []]
        for name in ("License-Expression", "Classifier", "License")
    )
    classified = [line.rpartition(" :: ")[2] for line in classifiers if line.startswith("License ::")]
    told = expressions or classified or texts or ["nothing"]
    return " AND ".join(WORDS.get(name, name) for name in told)


def permissive(expression: str) -> bool:
    """Whether *expression* leaves nothing but permissive licences to choose; one that is not understood does not."""
    return all(
        any(choice.strip("() ") in PERMISSIVE for choice in part.split(" OR ")) for part in expression.split(" AND ")
    )


def faults(licences: Mapping[str, str], exceptions: Mapping[str, tuple[str, str]]) -> Iterator[str]:
    """What is wrong with these licences of packages, sentence by sentence."""
    for name, told in licences.items():
        excepted, _ = exceptions.get(name, ("", ""))
        if told != excepted and not permissive(told):
            yield f"{name} is licensed under {told!r}, which is not known to be permissive."
    for name, (excepted, _) in exceptions.items():
        if licences.get(name) != excepted:
            yield f"{name} is an exception for {excepted!r}, but is {licences.get(name)!r}; take it out."


def installed(packages: Mapping[str, bool]) -> Iterator[tuple[str, str]]:
    """Names and licences of packages; those for other platforms are not installed, and left out."""
    for name, everywhere in packages.items():
        try:
            yield name, licence(metadata(name))
        except PackageNotFoundError:
            if everywhere:
                yield name, "not installed"


def main() -> int:
    """Name what is not licensed permissively."""
    packages = locked(LOCK.read_text(encoding="utf-8"))
    wrong = list(faults(dict(installed(packages)), EXCEPTIONS))
    for sentence in wrong:
        print(sentence, file=sys.stderr)  # noqa: T201  # a tool that tells
    return 1 if wrong or not packages else 0


if __name__ == "__main__":
    sys.exit(main())
