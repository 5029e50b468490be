"""Guides: the Markdown pages of the documentation, rendered by the gateway so that they can be read offline."""

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
FOLDERS = (PACKAGE / "docs", PACKAGE.parents[2] / "docs")
"""The documentation folders of an installed package and of a source checkout."""

SERVED = ("guide/**/*.md", "contract/*.md", "vendors/*.md", "explanation/*.md", "tutorial.md")
ROOT = "/docs"
INDEX = f"{ROOT}/guide"
GENERATED = {"reference/errors.md": f"{ROOT}/errors", "reference": ROOT}
"""Paths of pages that are generated for the documentation site, by the prefixes of their files."""

MOVED = {
    f"{ROOT}/doubt": f"{ROOT}/explanation/in-doubt-writes",
    f"{ROOT}/glossary": f"{ROOT}/explanation/glossary",
    **{
        f"{ROOT}/applications{page}": f"{ROOT}/vendors{page}"
        for page in ("", "/boards", "/chat", "/crm", "/mail", "/notes", "/tables")
    },
}
"""Current paths of moved pages, by their former paths."""

EXTERNAL = re.compile(r"https?:|mailto:")


@cache
def guides() -> Mapping[str, Path]:
    """Return the files of all pages by path, such as ``guide/events.md``. Empty if there is no documentation."""
    folder = next((folder for folder in FOLDERS if folder.is_dir()), None)
    if folder is None:
        return {}
    files = sorted({file for pattern in SERVED for file in folder.glob(pattern)})
    return {file.relative_to(folder).as_posix(): file for file in files}


def guide_path(path: str) -> str:
    """Return the URL path of a page."""
    return f"{ROOT}/{path.removesuffix('.md').removesuffix('/README')}"


def guide_page(pages: Pages, path: str) -> HTMLResponse:
    """Return one page as HTML."""
    text = guides()[path].read_text(encoding="utf-8")
    return pages.show("guide.html", title=title(text), content=render(text, path, pages.root))


def guides_page(pages: Pages) -> HTMLResponse:
    """Return the list of all guides."""
    links = [
        (pages.root + guide_path(path), title(file.read_text(encoding="utf-8")))
        for path, file in guides().items()
        if guide_path(path).startswith(INDEX)
    ]
    return pages.show("guides.html", guides=sorted(links, key=lambda one: one[1].casefold()))


def title(text: str) -> str:
    """Return the first heading of a page."""
    return text.partition("\n")[0].lstrip("# ").replace("`", "")


def render(text: str, path: str, root: str = "") -> str:
    """Return the page *path* as HTML, with links below *root* to the pages that are served."""
    # Imported with the first page, like jinja2, since it would slow down every start.
    parser: MarkdownIt = import_module("markdown_it").MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = parser.parse(_remove_comments(text))
    for heading, inline in pairwise(tokens):
        if heading.type == "heading_open":
            heading.attrSet("id", _slug(inline.content))
    _label_cells(tokens)
    for token in tokens:
        token.children = list(_rewrite_links(token.children, path, root)) if token.children else token.children
    rendered: str = parser.renderer.render(tokens, parser.options, {})
    return rendered


def _remove_comments(text: str) -> str:
    return "".join(part.partition("<!--")[0] for part in text.split("-->\n"))


def _label_cells(tokens: Iterable["Token"]) -> None:
    """Name each table cell after the heading of its column, for narrow windows where cells stand below each other."""
    headings: list[str] = []
    column = 0
    previous = ""
    for token in tokens:
        if token.type == "table_open":
            token.attrSet("class", "list")
            headings = []
        elif token.type == "tr_open":
            column = 0
        elif token.type == "inline" and previous == "th_open":
            headings.append(token.content.replace("`", ""))
        elif token.type == "td_open":
            token.attrSet("data-label", headings[column])
            column += 1
        previous = token.type


def _slug(heading: str) -> str:
    return re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", heading.lower())).strip("-")


def _rewrite_links(tokens: Iterable["Token"], path: str, root: str) -> Iterator["Token"]:
    """Yield *tokens* with links to served pages, and without images and links to pages that are not served."""
    is_served = True
    for token in tokens:
        if token.type == "link_open":
            target = _target(str(token.attrGet("href")), path, root)
            is_served = target is not None
            token.attrSet("href", target or "")
        if token.type == "image" or (token.type in {"link_open", "link_close"} and not is_served):
            continue
        yield token


def _target(href: str, path: str, root: str) -> str | None:
    """Return the URL for a link of the page *path*, or None if its target is not served."""
    if EXTERNAL.match(href) or href.startswith("#"):
        return href
    file, mark, fragment = href.partition("#")
    linked_path = posixpath.normpath(posixpath.join(posixpath.dirname(path), file))
    if linked_path in guides():
        return f"{root}{guide_path(linked_path)}{mark}{fragment}"
    return next((root + url for prefix, url in GENERATED.items() if linked_path.startswith(prefix)), None)
