"""Conversion of HTML to plain text, for mail readers without HTML."""

import time

import pytest

from connector_gateway.connectors.mail.html_text import NO_TEXT, html_to_text
from harness.requirement import requirement


@requirement("mail-13")
@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<p>One</p><p>Two</p>", "One\n\nTwo"),
        ("One<br>Two", "One\nTwo"),
        ("<h1>Title</h1><p>Text</p>", "Title\n\nText"),
        ("<b>bold</b> <i>italic</i> <code>code</code> <s>gone</s>", "bold italic code gone"),
        ("<a href='https://x.test/a'>here</a>.", "here (https://x.test/a)."),
        ("<a href='https://x.test/'>https://x.test</a>", "https://x.test"),
        ("<a href='https://www.x.test'>x.test</a>", "x.test"),
        ("<a href='mailto:a@x.test?subject=Hi'>a@x.test</a>", "a@x.test"),
        ("<a href='mailto:a@x.test'>Ana</a>", "Ana (mailto:a@x.test)"),
        ("<a href='https://x.test'><img src='a.png'></a>", "https://x.test"),
        ("<a href='#top'>up</a> <a href='javascript:x()'>run</a> <a>bare</a>", "up run bare"),
        ("<img src='a.png' alt='Our ship'>", "Our ship"),
        ("<ul><li>one<li>two<ul><li>deep</ul></ul>", "  - one\n  - two\n    - deep"),
        ("<ol><li>one</li><li>two</li></ol>", "  1. one\n  2. two"),
        ("<table><tr><th>Item</th><th>Price</th></tr><tr><td>Rope</td> <td>12</td></tr></table>",
         "Item | Price\nRope | 12"),
        ("<blockquote>said<br>so</blockquote>", "> said\n> so"),
        ("<pre>a  b\n  c</pre>", "    a  b\n      c"),
        ("1. no list\n- _as_ * it [is] \\", "1. no list - _as_ * it [is] \\"),
        ("&auml; &#8364; &nbsp;| &lt;p&gt; &unknown;", "ä €  | <p> &unknown;"),
        ("<script>if (a < b) { x() }</script><style>p{}</style><!-- no --><title>no</title>Yes", "Yes"),
        ("Before<script>never closed", "Before"),
        ("<![if !mso]>Visible<![endif]><?xml?>", "Visible"),
        ("a < b > c", "a < b > c"),
        ("<div>Hi,</div><div><br></div><div>one</div><div>two</div>", "Hi,\n\none\ntwo"),
        ("<blockquote>said<p>so<blockquote>earlier</blockquote></blockquote>now",
         "> said\n>\n> so\n>\n>> earlier\n\nnow"),
        ("<ol start=3><li>x<ul><li>y</ul><li>z<br>z</ol>after", "  3. x\n    - y\n  4. z\n    z\n\nafter"),
        ("<li>alone", "  - alone"),
        ("<p title='a > b'>x <a title=\"1 > 0\" href=https://x.test>y</a>", "x y (https://x.test)"),
        ("<a href='https://x.test'>one <a href='https://y.test'>two", "one (https://x.test) two (https://y.test)"),
        ("<a href='https://x.test'><p>one</p></a><p>two</p>", "one (https://x.test)\n\ntwo"),
        ("<a href='https://x.test/?a=1&amp;b=2'>x</a>", "x (https://x.test/?a=1&b=2)"),
        ("<dl><dt>Word<dd>Meaning</dl>", "Word\nMeaning"),
        ("a<hr>b<q>c</q>", 'a\n\n* * *\n\nb"c"'),
        ("<SCRIPT>x</SCRIPT ><p>Yes<script></scripts></script>!", "Yes!"),
        ("Before <!-- never closed", "Before"),
        ("a <b title='never closed>c</b> d", "a c d"),
        ("a <b title='never closed", "a <b title='never closed"),
        ("<td>a</td><td></td><td>c", "a | | c"),
        ("", NO_TEXT),
        ("<p> </p>", NO_TEXT),
        ("&#99999999999999999999;", "\ufffd"),
    ],
)  # fmt: skip
def test_html_is_converted_to_plain_text(html: str, text: str) -> None:
    assert text == html_to_text(html)


def measure_cpu_seconds(html: str) -> float:
    """Return the CPU seconds that the conversion of *html* takes."""
    started_at = time.thread_time()
    assert html_to_text(html)
    return time.thread_time() - started_at


@pytest.mark.parametrize(
    "piece",
    [
        "<",
        "<!--",
        "<![CDATA[>",
        "<script",
        "</script",
        "<script></script",
        "<a href='https://x.test'>x",
        "<ul><li>",
        "<ol><li>",
        "<blockquote>",
        "<div>",
        "<font><p>x",
        "<td>",
        "<br>",
        "<pre>\n",
        "&",
        "&#1",
        '<a b=">',
        "<a b='\"",
        "<a b=",
        " ",
        "\xa0",
    ],
)
def test_hostile_html_takes_linear_time(piece: str) -> None:
    short, long = piece * (60_000 // len(piece)), piece * (480_000 // len(piece))

    assert measure_cpu_seconds(long) < 24 * max(measure_cpu_seconds(short), 0.02)


def test_unterminated_attributes_take_linear_time() -> None:
    assert measure_cpu_seconds("<img " + "alt='\" " * 60_000 + ">") < 1
    assert measure_cpu_seconds("<img" + " " * 480_000 + "alt" + " " * 480_000 + ">") < 1


def test_40_000_script_ends_take_less_than_a_second() -> None:
    assert measure_cpu_seconds("<script>" + "</script" * 40_000) < 1
