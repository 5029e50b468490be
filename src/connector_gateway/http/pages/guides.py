"""Guides: the Markdown pages of the documentation, rendered here so that they can be read without a network."""

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.responses import HTMLResponse

from connector_gateway.http.pages import Pages

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

PACKAGE = Path(__file__).parents[2]
FOLDERS = (PACKAGE / "docs", PACKAGE.parents[1] / "docs")
"""The pages of an installed package, and of a copy of the sources."""

SERVED = ("guide/**/*.md", "contract/*.md", "applications/*.md", "doubt.md", "glossary.md", "tutorial.md")
ROOT = "/docs"
INDEX = f"{ROOT}/guide"
GENERATED = {"reference/errors.md": f"{ROOT}/errors", "reference": ROOT}
"""Addresses for pages that are generated for the documentation site, by the beginnings of their paths."""

EXTERNAL = re.compile(r"https?:|mailto:")


@cache
def guides() -> Mapping[str, Path]:
    """Return the files of all pages by their paths, such as ``guide/events.md``; none if there is no documentation."""
    folder = next((folder for folder in FOLDERS if folder.is_dir()), None)
    if folder is None:
        return {}
    files = sorted({file for pattern in SERVED for file in folder.glob(pattern)})
    return {file.relative_to(folder).as_posix(): file for file in files}


def guide_address(path: str) -> str:
    """Return the address of a page."""
    return f"{ROOT}/{path.removesuffix('.md').removesuffix('/README')}"


def guide_page(pages: Pages, path: str) -> HTMLResponse:
    """Return one page as HTML."""
    text = guides()[path].read_text(encoding="utf-8")
    return pages.show("guide.html", title=title(text), content=render(text, path, pages.root))


def guides_page(pages: Pages) -> HTMLResponse:
    """Return the list of all guides."""
    listed = [
        (pages.root + guide_address(path), title(file.read_text(encoding="utf-8")))
        for path, file in guides().items()
        if guide_address(path).startswith(INDEX)
    ]
    return pages.show("guides.html", guides=sorted(listed, key=lambda one: one[1].casefold()))


def title(text: str) -> str:
    """Return the first heading of a page."""
    return text.partition("\n")[0].lstrip("# ").replace("`", "")


def render(text: str, path: str, root: str = "") -> str:
    """Return the page *path* as HTML, with links below *root* to the pages that are served."""
    # Loaded with the first page, as jinja2 is, since it would delay every start.
    parser: MarkdownIt = import_module("markdown_it").MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = parser.parse(_without_comments(text))
    for heading, inline in pairwise(tokens):
        if heading.type == "heading_open":
            heading.attrSet("id", _slug(inline.content))
    for token in tokens:
        token.children = list(_linked(token.children, path, root)) if token.children else token.children
    rendered: str = parser.renderer.render(tokens, parser.options, {})
    return rendered


def _without_comments(text: str) -> str:
    return "".join(part.partition("<!--")[0] for part in text.split("-->\n"))


def _slug(heading: str) -> str:
    return re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", heading.lower())).strip("-")


def _linked(tokens: Iterable["Token"], path: str, root: str) -> Iterator["Token"]:
    """Yield *tokens* with the addresses of served pages, and without links and images that lead nowhere here."""
    leads = True
    for token in tokens:
        if token.type == "link_open":
            target = _target(str(token.attrGet("href")), path, root)
            leads = target is not None
            token.attrSet("href", target or "")
        if token.type == "image" or (token.type in {"link_open", "link_close"} and not leads):
            continue
        yield token


def _target(href: str, path: str, root: str) -> str | None:
    """Return the address for a link of the page *path*; None if nothing here answers at it."""
    if EXTERNAL.match(href) or href.startswith("#"):
        return href
    file, mark, fragment = href.partition("#")
    found = posixpath.normpath(posixpath.join(posixpath.dirname(path), file))
    if found in guides():
        return f"{root}{guide_address(found)}{mark}{fragment}"
    return next((root + known for start, known in GENERATED.items() if found.startswith(start)), None)
