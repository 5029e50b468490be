"""The documentation site: every page is in it, every link leads somewhere, and nothing is fetched from elsewhere."""

from itertools import chain
from pathlib import Path

import pytest
from documentation import PROJECT, Pages, fetched

PAGES = Pages()
FOLDERS = ("*.md", "client/*.md", "sandbox/*.md", "docs/**/*.md", "src/**/*.md")
WRITTEN = sorted(str(page.relative_to(PROJECT)) for page in chain.from_iterable(map(PROJECT.glob, FOLDERS)))


def test_every_page_is_reached_from_the_navigation() -> None:
    assert {*WRITTEN} == {path for path in PAGES.reached() if path.endswith(".md")}


def test_every_link_leads_somewhere() -> None:
    assert [] == list(chain.from_iterable(map(PAGES.dangling, WRITTEN)))


@pytest.mark.parametrize("link", ["nowhere.md", "images/none.png", "../../outside.md"])
def test_a_link_that_leads_nowhere_is_found_out(tmp_path: Path, link: str) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "page.md").write_text(f"# Page\n\n[this](page.md#page), [that]({link})\n", encoding="utf-8")

    (dangling,) = Pages(tmp_path).dangling("docs/page.md")

    assert dangling.endswith(Path(link).name)


def test_a_folder_is_shown_as_a_list_of_its_pages(tmp_path: Path) -> None:
    (tmp_path / "project" / "notes").mkdir(parents=True)
    (tmp_path / "project" / "zensical.toml").write_text('[project]\nnav = [{ "A" = ["page.md"] }]\n')
    (tmp_path / "project" / "page.md").write_text("# Page\n\nSee [all](notes), and `[none](x.md)`.\n")
    (tmp_path / "project" / "notes" / "first.md").write_text("# The first\n")

    Pages(tmp_path / "project").gather(tmp_path / "site")

    assert "See [all](notes/README.md)" in (tmp_path / "site" / "page.md").read_text()
    assert "# Notes\n\n- [The first](first.md)\n" == (tmp_path / "site" / "notes" / "README.md").read_text()
    assert "# The first\n" == (tmp_path / "site" / "notes" / "first.md").read_text()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("page.html", '<script src="https://example.com/x.js">'),
        ("page.html", '<link rel="stylesheet" href="//example.com/x.css">'),
        ("page.html", '<img src="http://example.com/x.png">'),
        ("page.css", "@import 'https://example.com/x.css';"),
        ("page.css", "a { background: url(https://example.com/x.png) }"),
    ],
)
def test_what_a_page_would_fetch_from_elsewhere_is_found_out(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(f"{text}\n", encoding="utf-8")

    (address,) = fetched(tmp_path / name)

    assert "//example.com/x." in address


@pytest.mark.parametrize("text", ['<a href="https://example.com/">', '<img src="x.png">', '<script src="../x.js">'])
def test_what_is_clicked_or_here_is_not_fetched_from_elsewhere(tmp_path: Path, text: str) -> None:
    (tmp_path / "page.html").write_text(text, encoding="utf-8")

    assert [] == fetched(tmp_path / "page.html")
