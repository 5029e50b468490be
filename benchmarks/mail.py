"""Mail: searches against the minimum time by quota, and memory during a large attachment."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx

from benchmarks.pacing import PacingBench, pacing_bench

SEARCHES, PAGE = 5, 100
UNITS_OF_A_SEARCH = 5 + PAGE * 20
UNITS, PER_SECONDS = 6_000, 60
ATTACHMENT_BYTES = 25 * 1024 * 1024
BASE64_BYTES = (ATTACHMENT_BYTES + 2) // 3 * 4
MEBIBYTE = 1024 * 1024


def rows() -> Iterator[tuple[str, str, str, bool]]:
    """Yield each measurement: label, figure, bar, and whether the bar is reached."""
    with pacing_bench() as here:
        yield from _attachments(here)
        yield _searches(here)


def _searches(here: PacingBench) -> tuple[str, str, str, bool]:
    """Measure concurrent searches that need more than a minute's quota."""
    floor = (SEARCHES * UNITS_OF_A_SEARCH - 1) // UNITS * PER_SECONDS
    began = time.perf_counter()
    with ThreadPoolExecutor(SEARCHES) as pool:
        replies = list(pool.map(lambda _: _call(here, "/messages", q="in:anywhere", limit=PAGE), range(SEARCHES)))
    took = time.perf_counter() - began
    complete = all(len(reply["data"]) == PAGE for reply in replies)
    figure = f"{took / floor:.2f}x ({took:.1f} s / {floor} s)"
    return (
        f"mail: {SEARCHES} searches of {PAGE} over the quota's floor",
        figure,
        "<= 1.2x",
        complete and took / floor <= 1.2,
    )


def _attachments(here: PacingBench) -> Iterator[tuple[str, str, str, bool]]:
    """Measure peak memory over idle during an attachment; by link first, since a peak remains."""
    actions_url = f"{here.sandbox['sandbox_url']}/_control/mail/act"
    attachments = [{"filename": "large.bin", "mime_type": "application/octet-stream", "size_bytes": ATTACHMENT_BYTES}]
    message = {"action": "receive", "from": "ana@acme.test", "subject": "Large enough", "body_html": "<p>See below</p>"}
    httpx.post(actions_url, json=message | {"attachments": attachments}, timeout=60).raise_for_status()
    (received,) = _call(here, "/messages", q='subject:"Large enough"', include_body="true")["data"]
    path = f"/attachments/{received['attachments'][0]['attachment_id']}"
    idle = here.gateway.memory_bytes
    link = _call(here, path, message_id=received["message_id"])
    size = _download(link["data"]["download_url"].replace("http://127.0.0.1:8080", here.gateway.url))
    more = (here.gateway.peak_memory_bytes - idle) / MEBIBYTE
    figure = f"{more:.1f} MiB over idle for {size / MEBIBYTE:.0f} MiB"
    yield "mail: peak memory of a download by link", figure, "<= 64 MiB", size == ATTACHMENT_BYTES and more <= 64
    content = _call(here, path, message_id=received["message_id"], **{"as": "base64"})["data"]["content_base64"]
    ratio = (here.gateway.peak_memory_bytes - idle) / BASE64_BYTES
    yield (
        "mail: peak memory of a download as base64",
        f"{ratio:.2f}x the text ({ratio * BASE64_BYTES / MEBIBYTE:.1f} MiB over idle)",
        f"<= 1.5x ({1.5 * BASE64_BYTES / MEBIBYTE:.1f} MiB)",
        len(content) == BASE64_BYTES and ratio <= 1.5,
    )


def _download(url: str) -> int:
    with httpx.stream("GET", url, timeout=120) as response:
        response.raise_for_status()
        return sum(len(piece) for piece in response.iter_bytes())


def _call(here: PacingBench, path: str, **query: Any) -> Any:
    reply = httpx.get(
        f"{here.gateway.url}/v1/connectors/mail{path}",
        params={"connection_id": here.connections["mail"], **query},
        headers={"Authorization": f"Bearer {here.key}"},
        timeout=600,
    )
    return reply.raise_for_status().json()
