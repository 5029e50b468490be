"""Gathers what the documentation site is built from, and checks what was built (decision 86).

The pages are the Markdown files of the repository, in their folders, so that links lead to the same here and there:
those of the navigation in zensical.toml, and whatever links lead to from them. A folder that a link leads to is shown
as a list of its pages, as code hosts show it.
"""

import re
import shutil
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from html.parser import HTMLParser
from os.path import normpath
from pathlib import Path
from typing import Any

from typing_extensions import override

PROJECT = Path(__file__).parent.parent
CODE = re.compile(r"^ *```.*?^ *```|`[^`\n]+`", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"(?<=\]\()(?![a-z]+:|#)([^)#\s]+)")
REMOTE = re.compile(r"(?:https?:)?//")
IN_STYLES = re.compile(r"""url\(\s*["']?(?:https?:)?//[^)]*|@import\s+["'](?:https?:)?//[^;]*""")
LOADED = {
    "link": "href",
    "script": "src",
    "img": "src",
    "iframe": "src",
    "source": "src",
    "audio": "src",
    "video": "src",
}
"""Where an element names what a browser fetches by itself."""


@dataclass(frozen=True)
class Pages:
    """The pages of the project in a folder; paths are relative to it."""

    project: Path = PROJECT

    def configuration(self) -> Mapping[str, Any]:
        """What zensical.toml says of the project."""
        text = (self.project / "zensical.toml").read_text(encoding="utf-8")
        project: Mapping[str, Any] = tomllib.loads(text)["project"]
        return project

    def in_navigation(self) -> list[str]:
        """The pages that the navigation names, and the folders whose lists it names, in its order."""
        return [self.folder_of(page) for page in named(self.configuration()["nav"])]

    def folder_of(self, page: str) -> str:
        """The folder that a README.md which is not there would list, or *page* itself."""
        missing = page.endswith("/README.md") and not (self.project / page).exists()
        return str(Path(page).parent) if missing else page

    def links(self, page: str) -> Iterator[str]:
        """Where the links of a page lead, but for those to other sites and within itself."""
        text = CODE.sub("", (self.project / page).read_text(encoding="utf-8"))
        for target in LINK.findall(text):
            yield normpath(Path(page).parent / target)

    def listed(self, folder: str) -> list[str]:
        """The pages in a folder; of a file none."""
        return [str(page.relative_to(self.project)) for page in sorted((self.project / folder).glob("*.md"))]

    def reached(self) -> set[str]:
        """Every file and folder that links lead to from the navigation, with the pages there."""
        found, ahead = set[str](), [*self.in_navigation(), *self.configuration().get("extra_css", [])]
        while ahead:
            path = ahead.pop()
            if path not in found and self.has(path):
                found.add(path)
                ahead += self.links(path) if path.endswith(".md") else self.listed(path)
        return found

    def dangling(self, page: str) -> list[str]:
        """The links of a page that lead to no file or folder of the project."""
        return [f"{page}: {link}" for link in self.links(page) if not self.has(link)]

    def has(self, path: str) -> bool:
        """Whether the project has that file or folder."""
        return not path.startswith("..") and (self.project / path).exists()

    def title(self, page: str) -> str:
        """The first heading of a page."""
        lines = (self.project / page).read_text(encoding="utf-8").splitlines()
        return next(line for line in lines if line.startswith("# ")).removeprefix("# ")

    def gather(self, target: Path) -> None:
        """Put all that is reached into *target*."""
        shutil.rmtree(target, ignore_errors=True)
        for path in sorted(self.reached()):
            copy = target / path
            copy.parent.mkdir(parents=True, exist_ok=True)
            if copy.suffix == ".md":
                copy.write_text(self.page(path), encoding="utf-8")
            elif (self.project / path).is_file():
                shutil.copyfile(self.project / path, copy)
            elif not self.has(f"{path}/README.md"):
                copy.mkdir(exist_ok=True)
                (copy / "README.md").write_text(self.listing(path), encoding="utf-8")

    def page(self, path: str) -> str:
        """The text of a page, in which links to folders lead to their lists."""
        folder = (self.project / path).parent

        def link(found: re.Match[str]) -> str:
            return f"{found[0].rstrip('/')}/README.md" if (folder / found[0]).is_dir() else found[0]

        return LINK.sub(link, (self.project / path).read_text(encoding="utf-8"))

    def listing(self, folder: str) -> str:
        """The page of a folder that has none of its own: what is in it, by title."""
        lines = [f"- [{self.title(page)}]({Path(page).name})\n" for page in self.listed(folder)]
        return f"# {Path(folder).name.capitalize()}\n\n" + "".join(lines)


def named(entries: Iterable[Any]) -> Iterator[str]:
    """The pages that entries of a navigation name."""
    for entry in entries:
        for value in entry.values() if isinstance(entry, dict) else [entry]:
            yield from named(value) if isinstance(value, list) else [value]


class Fetched(HTMLParser):
    """Collects what a browser would fetch from another host to show a page."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        address = given.get(LOADED.get(tag, "")) or ""
        if REMOTE.match(address) and given.get("rel") != "canonical":
            self.addresses.append(address)


def fetched(path: Path) -> list[str]:
    """What one file of a built site would have a browser fetch from another host."""
    if path.suffix == ".css":
        return IN_STYLES.findall(path.read_text(encoding="utf-8"))
    page = Fetched()
    if path.suffix == ".html":
        page.feed(path.read_text(encoding="utf-8"))
    return page.addresses


def main(arguments: list[str]) -> int:
    """Gather the pages, or with ``--check`` look for what the built site would fetch from other hosts."""
    pages = Pages()
    configuration = pages.configuration()
    if "--check" not in arguments:
        pages.gather(PROJECT / configuration["docs_dir"])
        return told("This link leads nowhere", [line for page in markdown(pages) for line in pages.dangling(page)])
    site = PROJECT / configuration["site_dir"]
    found = [f"{path}: {address}" for path in sorted(site.rglob("*")) for address in fetched(path)]
    return told("This page needs the network", found)


def markdown(pages: Pages) -> list[str]:
    """The pages of the site that are files."""
    return sorted(path for path in pages.reached() if path.endswith(".md"))


def told(what: str, faults: Iterable[str]) -> int:
    """The exit status, with each of *faults* on standard error."""
    lines = [f"{what}: {fault}" for fault in faults]
    print(*lines, sep="\n", end="\n" if lines else "", file=sys.stderr)  # noqa: T201  # a tool that tells
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
