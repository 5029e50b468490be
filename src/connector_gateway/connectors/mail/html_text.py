"""HTML as plain text, for readers of mail who see no HTML.

Written here, in time that grows with the length of the HTML: libraries that read HTML as browsers do take a second for
64 KB of nested elements, or stop reading there (docs/decisions/0028).
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from html import unescape

TAG = re.compile(r"<(?:(?P<comment>!--)|[!?]|(?P<end>/?)(?P<name>[a-z][^\s/>]*))", re.IGNORECASE)
QUOTE_OR_END = re.compile(r"[\"'>]")
ATTRIBUTE = re.compile(r"""([^\s=/"'>]+)(?:\s*=\s*("[^"]*"|'[^']*'|[^\s>]+))?""")
ENDLESS_CHARACTER = re.compile(r"&#(?:x[0-9a-f]{8,}|[0-9]{8,});?", re.IGNORECASE)
"""A character whose number has more digits than there are characters."""

SPACES = re.compile(r"[ \t\n\r\f]+")
"""What HTML takes for one space; a no-break space is a character like others."""

SHOWN_LINK = re.compile(r"(?:https?|ftp|mailto|tel):\S", re.IGNORECASE)
UNSEEN = {name: re.compile(f"</{name}(?![a-z0-9])", re.IGNORECASE) for name in ("script", "style", "title")}
"""Elements that are not shown, by what ends them."""

LINES = frozenset(
    {"address", "article", "aside", "caption", "center", "dd", "details", "div", "dt", "figcaption", "figure", "footer"}
    | {"form", "header", "legend", "main", "nav", "section", "summary"}
)
"""Elements that begin and end lines."""

PARAGRAPHS = frozenset({"dl", "fieldset", "h1", "h2", "h3", "h4", "h5", "h6", "p", "table"})
"""Elements with an empty line before and after them."""

WITH_ATTRIBUTES = frozenset({"a", "img", "ol"})
RULE = "* * *"
INDENT = "  "
UNNUMBERED = -1
MAX_DEPTH = 20
"""Lists and quotations nested deeper are written as if they were not."""

NO_TEXT = "(This message has no text.)"


def html_to_text(body_html: str) -> str:
    """What *body_html* says; never empty, which filters would take for spam."""
    writer = _Writer()
    for piece in _pieces(body_html):
        if isinstance(piece, str):
            writer.text(unescape(ENDLESS_CHARACTER.sub("\ufffd", piece)))
        else:
            writer.tag(piece)
    return writer.written() or NO_TEXT


@dataclass(frozen=True, slots=True)
class _Tag:
    """The start or end of an element."""

    name: str
    starts: bool
    attributes: Mapping[str, str]


def _pieces(markup: str) -> Iterator[str | _Tag]:
    """Texts and tags in order; an element that is never closed hides all the rest, as in browsers."""
    at, quoting = 0, True
    while found := TAG.search(markup, at):
        yield markup[at : found.start()]
        if found["comment"]:
            at = _after(markup, "-->", found.end() - 2)
            continue
        end = _end_of_tag(markup, found.end()) if quoting and found["name"] else markup.find(">", found.end())
        if end < 0:
            # A quotation mark without its like: from here on they mean nothing.
            quoting, end = False, markup.find(">", found.end())
        if end < 0:
            yield markup[found.start() :]
            return
        at = end + 1
        if found["name"]:
            tag = _tag(found, markup[found.end() : end])
            yield tag
            if tag.starts and tag.name in UNSEEN:
                at = _after_element(markup, tag.name, at)
    yield markup[at:]


def _end_of_tag(markup: str, at: int) -> int:
    """Where the tag ends, of which *at* is inside; -1 if a quotation or the tag never does."""
    while found := QUOTE_OR_END.search(markup, at):
        if found[0] == ">":
            return found.start()
        at = markup.find(found[0], found.end()) + 1
        if not at:
            return -1
    return -1


def _after(markup: str, sign: str, at: int) -> int:
    found = markup.find(sign, at)
    return len(markup) if found < 0 else found + len(sign)


def _after_element(markup: str, name: str, at: int) -> int:
    closed = UNSEEN[name].search(markup, at)
    return _after(markup, ">", closed.end()) if closed else len(markup)


def _tag(found: re.Match[str], rest: str) -> _Tag:
    name = found["name"].lower()
    attributes: dict[str, str] = {}
    if name in WITH_ATTRIBUTES:
        for attribute, value in ATTRIBUTE.findall(rest):
            # Of an attribute that stands twice, browsers take the first.
            attributes.setdefault(attribute.lower(), unescape(ENDLESS_CHARACTER.sub("\ufffd", value.strip("\"'"))))
    return _Tag(name, not found["end"], attributes)


class _Writer:
    """Writes texts and elements as people write plain mail, line by line."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._line: list[str] = []
        """The line that is being written; empty before its first character."""

        self._breaks = 0
        """Line breaks to be written before what comes next."""

        self._space = False
        """Whether a space is to be written before what comes next, on the same line."""

        self._bullet = ""
        self._lists: list[int] = []
        """The number of the last item of each open list, or ``UNNUMBERED``."""

        self._quotes = 0
        self._quotes_of_line = 0
        self._preformatted = 0
        self._cells = 0
        self._link: tuple[str, list[str]] | None = None
        """The address of the open link, and what was written since."""

    def written(self) -> str:
        """All of it, without empty lines around it; empty if there is nothing to see."""
        self._end_link()
        lines = "\n".join(line.rstrip() for line in [*self._lines, "".join(self._line).replace("\xa0", " ")])
        said = re.sub(r"\n{3,}", "\n\n", lines).strip("\n")
        return said if said.strip() else ""

    def text(self, text: str) -> None:
        """Write text, with its spaces and line breaks as HTML takes them."""
        if self._preformatted:
            self._as_it_is(text)
            return
        # A text may end in the middle of a line, so whether a space stands at its edges is kept for what comes next.
        words = SPACES.sub(" ", text)
        if words.startswith(" "):
            self._space = True
        if words.strip(" "):
            self._put(words.strip(" "))
            self._space = words.endswith(" ")

    def tag(self, tag: _Tag) -> None:
        """Write what the start or end of an element means to readers."""
        if tag.name in LINES:
            self._break(1)
        elif tag.name in PARAGRAPHS:
            self._break(2)
        elif tag.name in OTHERS:
            OTHERS[tag.name](self, tag)

    def line_break(self, _: _Tag) -> None:
        """Begin a new line, even after another."""
        self._break(self._breaks + 1)

    def rule(self, _: _Tag) -> None:
        """Draw a line."""
        self._break(2)
        self._put(RULE)
        self._break(2)

    def image(self, tag: _Tag) -> None:
        """Write what stands for a picture."""
        self.text(tag.attributes.get("alt", ""))

    def quotation_mark(self, _: _Tag) -> None:
        """Write what stands around a quotation within a line."""
        self.text('"')

    def anchor(self, tag: _Tag) -> None:
        """Begin a link, or write the address of the one that ends."""
        self._end_link()
        href = tag.attributes.get("href", "").strip()
        self._link = (href, []) if tag.starts and SHOWN_LINK.match(href) else None

    def row(self, _: _Tag) -> None:
        """Begin a row of a table, on a line of its own."""
        self._break(1)
        self._cells = 0

    def cell(self, tag: _Tag) -> None:
        """Begin a cell, with a bar before all but the first."""
        if tag.starts:
            self._cells += 1
            if self._cells > 1:
                self._space = True
                self._put("|")
                self._space = True

    def preformatted(self, tag: _Tag) -> None:
        """Begin or end what is written as it is."""
        self._break(2)
        self._preformatted = max(0, self._preformatted + (1 if tag.starts else -1))

    def quotation(self, tag: _Tag) -> None:
        """Begin or end lines with a mark before each."""
        self._break(2)
        if tag.starts:
            self._quotes += self._quotes < MAX_DEPTH
        elif self._quotes:
            self._quotes -= 1

    def enumeration(self, tag: _Tag) -> None:
        """Begin or end a list; lists within lists stand closer."""
        if not tag.starts:
            del self._lists[-1:]
        self._break(1 if self._lists else 2)
        if tag.starts and len(self._lists) < MAX_DEPTH:
            self._lists.append(_number(tag.attributes.get("start", "")) - 1 if tag.name == "ol" else UNNUMBERED)

    def item(self, tag: _Tag) -> None:
        """Begin an item of a list, with its number or a dash."""
        self._break(1)
        if tag.starts:
            self._bullet = "- "
            if self._lists and self._lists[-1] != UNNUMBERED:
                self._lists[-1] += 1
                self._bullet = f"{self._lists[-1]}. "

    def _as_it_is(self, text: str) -> None:
        first, *rest = text.replace("\r\n", "\n").split("\n")
        self._put(first)
        for line in rest:
            self._break(self._breaks + 1)
            self._put(line)

    def _break(self, least: int) -> None:
        self._breaks = max(self._breaks, least)
        self._space = False

    def _put(self, text: str) -> None:
        """Write *text*, after the line breaks or the space that are owed before it."""
        if not text:
            return
        if self._breaks:
            self._end_line()
        if not self._line:
            self._line.append(self._beginning())
        elif self._space:
            text = f" {text}"
        self._space = False
        self._line.append(text)
        if self._link is not None:
            self._link[1].append(text)

    def _end_line(self) -> None:
        if self._line:
            self._lines.append("".join(self._line).replace("\xa0", " "))
            between = ">" * min(self._quotes, self._quotes_of_line)
            self._lines += [between] * (min(self._breaks, 2) - 1)
        self._line, self._breaks = [], 0

    def _beginning(self) -> str:
        """What stands at the beginning of a line: marks of quotations, and the place in lists."""
        depth = len(self._lists) + (1 if self._bullet and not self._lists else 0)
        bullet, self._bullet = self._bullet or (INDENT if depth else ""), ""
        self._quotes_of_line = self._quotes
        quotes = ">" * self._quotes + " " if self._quotes else ""
        return quotes + INDENT * depth + bullet + ("    " if self._preformatted else "")

    def _end_link(self) -> None:
        """Write the address behind what the link is called, unless it is called just that."""
        if self._link is None:
            return
        (href, pieces), self._link = self._link, None
        called = "".join(pieces).strip()
        if not called:
            self._put(href)
        elif called.rstrip("/") not in _ways_to_write(href):
            breaks, space = self._breaks, self._space
            self._breaks, self._space = 0, True
            self._put(f"({href})")
            self._breaks, self._space = breaks, space


OTHERS: Mapping[str, Callable[[_Writer, _Tag], None]] = {
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
"""Elements with a meaning of their own, and what writes it."""


def _number(text: str) -> int:
    return int(text) if re.fullmatch(r"[0-9]{1,6}", text) else 1


def _ways_to_write(href: str) -> set[str]:
    bare = re.sub(r"^(?:https?://|mailto:|tel:)", "", href, flags=re.IGNORECASE)
    return {way.rstrip("/") for way in (href, bare, bare.partition("?")[0], bare.removeprefix("www."))}
