"""``python -m benchmarks.flames TREE KIND FILE``: what a call does all the time, as a flame graph.

The sources of TREE serve calls of one KIND (``read``, ``write``, ``write with a key``), 48 at a time, and are sampled
by ``py-spy``, which has to be installed. What waits is left out.
"""

import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from xml.sax.saxutils import escape

from benchmarks.compare import WARM_UP, kinds
from benchmarks.load import loading
from benchmarks.overhead import CALLS, Calls
from benchmarks.processes import asgi

SECONDS = 20
PER_SECOND = 500
WIDTH, ROW, LETTER = 1200.0, 15, 6.1
"""Of the drawing, in pixels; a letter is so wide on average."""

LEAST = 0.0025
"""What takes a smaller share of the time is left out."""

THREADS = {"MainThread": "event loop", "database-write": "writing thread of the database"}
BEGINNINGS = ("Runner.run (", "_WorkItem.run (")
"""Below these functions a thread does its work."""

COLOURS = {
    "connector_gateway/http": "#f2b36b",
    "connector_gateway/core": "#ee8866",
    "connector_gateway/kit": "#e8a0a0",
    "connector_gateway/connectors": "#d9c26a",
    "connector_gateway/storage": "#c69cc9",
    "": "#a9c4dd",
}
"""By where a function stands; the last is for libraries."""

Stack = tuple[str, ...]


@dataclass
class Frame:
    """One function, called the same way each time, and what it calls."""

    samples: int = 0
    callees: dict[str, "Frame"] = field(default_factory=dict)

    def add(self, stack: Stack, samples: int) -> None:
        self.samples += samples
        if stack:
            self.callees.setdefault(stack[0], Frame()).add(stack[1:], samples)

    @property
    def depth(self) -> int:
        return 1 + max((callee.depth for callee in self.callees.values()), default=0)


def sampled(calls: Calls) -> Frame:
    """The calls of one server, by thread."""
    with tempfile.TemporaryDirectory() as folder:
        raw = Path(folder) / "stacks"
        options = ("--format", "raw", "--threads", "--rate", str(PER_SECOND), "--duration", str(SECONDS))
        command = ("py-spy", "record", *options, "--output", str(raw), "--pid", str(calls.server.pid))
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as sampling:
            while sampling.poll() is None:
                calls(CALLS)
        return folded(raw.read_text().splitlines())


def folded(lines: Iterable[str]) -> Frame:
    """The samples in ``lines``, each of which is a stack, separated by semicolons, and how often it was seen."""
    all_threads, stacks = Frame(), Counter[Stack]()
    for line in lines:
        text, _, count = line.rpartition(" ")
        stacks[tuple(_stack(text.split(";")))] += int(count)
    for stack, samples in stacks.items():
        if stack:
            all_threads.add(stack, samples)
    return all_threads


def _stack(frames: list[str]) -> Iterator[str]:
    """The thread and its functions, without lines, and without those that only begin it; nothing where it waits."""
    thread = next((name for part, name in THREADS.items() if part in frames[0]), None)
    begins = [number for number, frame in enumerate(frames) if frame.startswith(BEGINNINGS)]
    if thread is None or not begins:
        return
    yield thread
    yield from (re.sub(r":\d+\)$", ")", frame) for frame in frames[begins[0] + 1 :])


def drawn(all_threads: Frame, title: str) -> str:
    """The flame graph as SVG; what is called stands below what calls it."""
    shown = _pruned(all_threads, all_threads.samples * LEAST)
    height = ROW * (shown.depth + 1)
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH:.0f} {height}" font-family="sans-serif">'
    style = "<style>text{font-size:10px;pointer-events:none}rect{stroke:#fff;stroke-width:.5}</style>"
    named = f'<text x="3" y="11">{escape(title)}</text>'
    return "\n".join([head, style, named, *_rectangles(shown, all_threads.samples, 0.0, 1), "</svg>\n"])


def _pruned(frame: Frame, least: float) -> Frame:
    """*frame* without what has fewer samples than *least*."""
    kept = {name: _pruned(callee, least) for name, callee in frame.callees.items() if callee.samples >= least}
    return Frame(frame.samples, kept)


def _rectangles(frame: Frame, all_samples: int, left: float, row: int) -> Iterator[str]:
    for name, callee in sorted(frame.callees.items(), key=lambda named: -named[1].samples):
        width = WIDTH * callee.samples / all_samples
        share = f"{100 * callee.samples / all_samples:.1f} %"
        yield (
            f'<g><title>{escape(name)}: {share}</title><rect x="{left:.1f}" y="{row * ROW}" width="{width:.1f}" '
            f'height="{ROW}" fill="{_colour(name)}"/>{_label(name, width, left, row)}</g>'
        )
        yield from _rectangles(callee, all_samples, left, row + 1)
        left += width


def _label(name: str, width: float, left: float, row: int) -> str:
    letters = int(width / LETTER)
    if letters < 3:
        return ""
    return f'<text x="{left + 2:.1f}" y="{row * ROW + 11}">{escape(name.partition(" (")[0][:letters])}</text>'


def _colour(name: str) -> str:
    return next(colour for place, colour in COLOURS.items() if place in name)


def main(tree: str, kind: str, file: str) -> None:
    with ExitStack() as stack:
        upstream = stack.enter_context(asgi("benchmarks.stub:app"))
        # Else it takes the processor from whoever sends it something, which would seem to take long.
        os.setpriority(os.PRIO_PROCESS, upstream.pid, 15)
        load = stack.enter_context(loading())
        calls = next(found for _, named, found in kinds(tree, load, upstream, stack) if named == kind)
        calls(WARM_UP)
        all_threads = sampled(calls)
    title = f"A {kind}: share of the time of both threads. {all_threads.samples} samples; names and shares by pointing."
    Path(file).write_text(drawn(all_threads, title))


if __name__ == "__main__":
    main(*sys.argv[1:])
