"""Conversion of HTML to plain text, for mail readers without HTML.

Its time is linear in the length of the HTML. Libraries that parse HTML as browsers do take a second for 64 KB of
nested elements, or fail.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from html import unescape

TAG = re.compile(r"<(?:(?P<comment>!--)|[!?]|(?P<end>/?)(?P<name>[a-z][^\s/>]*))", re.IGNORECASE)
QUOTE_OR_END = re.compile(r"[\"'>]")
ATTRIBUTE = re.compile(r"""([^\s=/"'>]+)(?:\s*=\s*("[^"]*"|'[^']*'|[^\s>]+))?""")
ENDLESS_CHARACTER = re.compile(r"&#(?:x[0-9a-f]{8,}|[0-9]{8,});?", re.IGNORECASE)
"""A character reference whose number has more digits than any character."""

SPACES = re.compile(r"[ \t\n\r\f]+")
"""HTML white space that collapses to one space. A no-break space is a normal character."""

PRINTED_LINK = re.compile(r"(?:https?|ftp|mailto|tel):\S", re.IGNORECASE)
HIDDEN_ELEMENTS = {name: re.compile(f"</{name}(?![a-z0-9])", re.IGNORECASE) for name in ("script", "style", "title")}
"""The end tags of elements that are not displayed."""

LINES = frozenset(
    {"address", "article", "aside", "caption", "center", "dd", "details", "div", "dt", "figcaption", "figure", "footer"}
    | {"form", "header", "legend", "main", "nav", "section", "summary"}
)
"""Elements that start and end lines."""

PARAGRAPHS = frozenset({"dl", "fieldset", "h1", "h2", "h3", "h4", "h5", "h6", "p", "table"})
"""Elements with an empty line before and after them."""

WITH_ATTRIBUTES = frozenset({"a", "img", "ol"})
RULE = "* * *"
INDENT = "  "
UNNUMBERED = -1
MAX_DEPTH = 20
"""Depth from which nested lists and quotations are no longer indented."""

NO_TEXT = "(This message has no text.)"


def html_to_text(body_html: str) -> str:
    """Return the text of *body_html*. It is never empty, because filters would take an empty text for spam."""
    writer = _Writer()
    for piece in _pieces(body_html):
        if isinstance(piece, str):
            writer.text(unescape(ENDLESS_CHARACTER.sub("\ufffd", piece)))
        else:
            writer.tag(piece)
    return writer.get_text() or NO_TEXT


@dataclass(frozen=True, slots=True)
class _Tag:
    """The start or end of an element."""

    name: str
    starts: bool
    attributes: Mapping[str, str]


def _pieces(markup: str) -> Iterator[str | _Tag]:
    """Yield texts and tags in order. An element that is never closed hides the rest, as in browsers."""
    at, quoting = 0, True
    while match := TAG.search(markup, at):
        yield markup[at : match.start()]
        if match["comment"]:
            at = _index_after(markup, "-->", match.end() - 2)
            continue
        end = _end_of_tag(markup, match.end()) if quoting and match["name"] else markup.find(">", match.end())
        if end < 0:
            # From an unmatched quotation mark on, quotation marks have no meaning.
            quoting, end = False, markup.find(">", match.end())
        if end < 0:
            yield markup[match.start() :]
            return
        at = end + 1
        if match["name"]:
            tag = _tag(match, markup[match.end() : end])
            yield tag
            if tag.starts and tag.name in HIDDEN_ELEMENTS:
                at = _after_element(markup, tag.name, at)
    yield markup[at:]


def _end_of_tag(markup: str, at: int) -> int:
    """Return the end of the tag around *at*, or -1 if a quotation or the tag never ends."""
    while match := QUOTE_OR_END.search(markup, at):
        if match[0] == ">":
            return match.start()
        at = markup.find(match[0], match.end()) + 1
        if not at:
            return -1
    return -1


def _index_after(markup: str, sign: str, at: int) -> int:
    index = markup.find(sign, at)
    return len(markup) if index < 0 else index + len(sign)


def _after_element(markup: str, name: str, at: int) -> int:
    closed = HIDDEN_ELEMENTS[name].search(markup, at)
    return _index_after(markup, ">", closed.end()) if closed else len(markup)


def _tag(match: re.Match[str], rest: str) -> _Tag:
    name = match["name"].lower()
    attributes: dict[str, str] = {}
    if name in WITH_ATTRIBUTES:
        for attribute, value in ATTRIBUTE.findall(rest):
            # Browsers use the first of two attributes with one name.
            attributes.setdefault(attribute.lower(), unescape(ENDLESS_CHARACTER.sub("\ufffd", value.strip("\"'"))))
    return _Tag(name, not match["end"], attributes)


class _Writer:
    """Writes texts and elements line by line, in the style of plain mail."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._line: list[str] = []
        """The current line, empty before its first character."""

        self._breaks = 0
        """Pending line breaks before the next output."""

        self._space = False
        """Whether a space is pending before the next output on the same line."""

        self._bullet = ""
        self._lists: list[int] = []
        """The number of the last item of each open list, or ``UNNUMBERED``."""

        self._quotes = 0
        self._line_quotes = 0
        self._preformatted = 0
        self._cells = 0
        self._link: tuple[str, list[str]] | None = None
        """The URL of the open link, and the text written since."""

    def get_text(self) -> str:
        """Return the complete text without surrounding empty lines. It is empty if nothing is visible."""
        self._end_link()
        lines = "\n".join(line.rstrip() for line in [*self._lines, "".join(self._line).replace("\xa0", " ")])
        text = re.sub(r"\n{3,}", "\n\n", lines).strip("\n")
        return text if text.strip() else ""

    def text(self, text: str) -> None:
        """Write text, with spaces and line breaks collapsed as in HTML."""
        if self._preformatted:
            self._put_preformatted(text)
            return
        # A text may end in the middle of a line, so spaces at its edges are recorded for the next output.
        words = SPACES.sub(" ", text)
        if words.startswith(" "):
            self._space = True
        if words.strip(" "):
            self._put(words.strip(" "))
            self._space = words.endswith(" ")

    def tag(self, tag: _Tag) -> None:
        """Write the plain-text form of the start or end of an element."""
        if tag.name in LINES:
            self._break(1)
        elif tag.name in PARAGRAPHS:
            self._break(2)
        elif tag.name in ELEMENT_WRITERS:
            ELEMENT_WRITERS[tag.name](self, tag)

    def line_break(self, _: _Tag) -> None:
        """Start a new line, even after another."""
        self._break(self._breaks + 1)

    def rule(self, _: _Tag) -> None:
        """Draw a line."""
        self._break(2)
        self._put(RULE)
        self._break(2)

    def image(self, tag: _Tag) -> None:
        """Write the alternative text of a picture."""
        self.text(tag.attributes.get("alt", ""))

    def quotation_mark(self, _: _Tag) -> None:
        """Write the quotation mark of an inline quotation."""
        self.text('"')

    def anchor(self, tag: _Tag) -> None:
        """Start a link, or write the URL of the one that ends."""
        self._end_link()
        href = tag.attributes.get("href", "").strip()
        self._link = (href, []) if tag.starts and PRINTED_LINK.match(href) else None

    def row(self, _: _Tag) -> None:
        """Start a row of a table on its own line."""
        self._break(1)
        self._cells = 0

    def cell(self, tag: _Tag) -> None:
        """Start a cell, with a bar before all but the first."""
        if tag.starts:
            self._cells += 1
            if self._cells > 1:
                self._space = True
                self._put("|")
                self._space = True

    def preformatted(self, tag: _Tag) -> None:
        """Start or end preformatted text."""
        self._break(2)
        self._preformatted = max(0, self._preformatted + (1 if tag.starts else -1))

    def quotation(self, tag: _Tag) -> None:
        """Start or end a quotation, whose lines have a mark."""
        self._break(2)
        if tag.starts:
            self._quotes += self._quotes < MAX_DEPTH
        elif self._quotes:
            self._quotes -= 1

    def enumeration(self, tag: _Tag) -> None:
        """Start or end a list. Nested lists have no empty lines around them."""
        if not tag.starts:
            del self._lists[-1:]
        self._break(1 if self._lists else 2)
        if tag.starts and len(self._lists) < MAX_DEPTH:
            self._lists.append(_number(tag.attributes.get("start", "")) - 1 if tag.name == "ol" else UNNUMBERED)

    def item(self, tag: _Tag) -> None:
        """Start an item of a list, with its number or a dash."""
        self._break(1)
        if tag.starts:
            self._bullet = "- "
            if self._lists and self._lists[-1] != UNNUMBERED:
                self._lists[-1] += 1
                self._bullet = f"{self._lists[-1]}. "

    def _put_preformatted(self, text: str) -> None:
        first, *rest = text.replace("\r\n", "\n").split("\n")
        self._put(first)
        for line in rest:
            self._break(self._breaks + 1)
            self._put(line)

    def _break(self, count: int) -> None:
        self._breaks = max(self._breaks, count)
        self._space = False

    def _put(self, text: str) -> None:
        """Write *text* after the pending line breaks or space."""
        if not text:
            return
        if self._breaks:
            self._end_line()
        if not self._line:
            self._line.append(self._line_prefix())
        elif self._space:
            text = f" {text}"
        self._space = False
        self._line.append(text)
        if self._link is not None:
            self._link[1].append(text)

    def _end_line(self) -> None:
        if self._line:
            self._lines.append("".join(self._line).replace("\xa0", " "))
            between = ">" * min(self._quotes, self._line_quotes)
            self._lines += [between] * (min(self._breaks, 2) - 1)
        self._line, self._breaks = [], 0

    def _line_prefix(self) -> str:
        """Return the prefix of a line: quotation marks and list indentation."""
        depth = len(self._lists) + (1 if self._bullet and not self._lists else 0)
        bullet, self._bullet = self._bullet or (INDENT if depth else ""), ""
        self._line_quotes = self._quotes
        quotes = ">" * self._quotes + " " if self._quotes else ""
        return quotes + INDENT * depth + bullet + ("    " if self._preformatted else "")

    def _end_link(self) -> None:
        """Write the URL after the link's text, unless they are equal."""
        if self._link is None:
            return
        (href, pieces), self._link = self._link, None
        label = "".join(pieces).strip()
        if not label:
            self._put(href)
        elif label.rstrip("/") not in _equivalent_labels(href):
            breaks, space = self._breaks, self._space
            self._breaks, self._space = 0, True
            self._put(f"({href})")
            self._breaks, self._space = breaks, space


ELEMENT_WRITERS: Mapping[str, Callable[[_Writer, _Tag], None]] = {
    "a": _Writer.anchor,
    "blockquote": _Writer.quotation,
    "br": _Writer.line_break,
    "hr": _Writer.rule,
    "img": _Writer.image,
    "li": _Writer.item,
    "ol": _Writer.enumeration,
    "pre": _Writer.preformatted,
    "q": _Writer.quotation_mark,
    "td": _Writer.cell,
    "th": _Writer.cell,
    "tr": _Writer.row,
    "ul": _Writer.enumeration,
}
"""Writer methods of the elements with their own handling."""


def _number(text: str) -> int:
    return int(text) if re.fullmatch(r"[0-9]{1,6}", text) else 1


def _equivalent_labels(href: str) -> set[str]:
    """Return the link texts that already contain the URL."""
    bare = re.sub(r"^(?:https?://|mailto:|tel:)", "", href, flags=re.IGNORECASE)
    return {text.rstrip("/") for text in (href, bare, bare.partition("?")[0], bare.removeprefix("www."))}
