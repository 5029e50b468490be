"""Calls per second of one process: 32 callers by ``wrk`` (a Debian package), which uses little CPU itself.

``benchmarks.load_generator`` records the latency of every call, which takes a third of two cores.
"""

import json
import re
import statistics
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks import stub_vendor
from benchmarks.overhead import Running, gateway
from benchmarks.processes import asgi

CALLERS = 32
SECONDS = 8
ROUNDS = 5
"""Kinds of calls alternate, and the median of each counts."""

SCRIPT = """
local sent = 0
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
wrk.headers["Authorization"] = {authorization}
wrk.body = {body}
request = function()
  sent = sent + 1
  {key}
  return wrk.format()
end
"""

KEY = 'wrk.headers["Idempotency-Key"] = "{number}-" .. sent'


def rows() -> Iterator[tuple[str, str, str, bool]]:
    """Yield each measurement: label, figure, bar, and whether the bar is reached."""
    with asgi("benchmarks.stub_vendor:app") as upstream, gateway(upstream) as running:
        common = {"connection_id": running.connection_id, "database_id": stub_vendor.DATABASE_ID}
        search = common | {"property": "Name", "value": "Acme"}
        create = common | {"properties": {"Name": "Acme", "Value": 12.5}}
        rounds = [
            (
                rate(running, "/search", search),
                rate(running, "", create),
                rate(running, "", create, KEY.format(number=number)),
            )
            for number in range(ROUNDS)
        ]
    reads, writes, keyed = zip(*rounds, strict=True)
    yield _row("reads", reads, 4500)
    yield _row("writes", writes, 0)
    yield _row("writes with a key", keyed, 3000)


def rate(running: Running, path: str, arguments: Any, key: str = "") -> float:
    """Return calls per second, all of which succeed. *key* is the line that adds a key to each."""
    url = f"{running.server.url}/v1/connectors/notes/pages{path}"
    text = SCRIPT.format(
        authorization=json.dumps(running.headers["Authorization"]), body=json.dumps(json.dumps(arguments)), key=key
    )
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "calls.lua"
        script.write_text(text)
        command = ("wrk", "--threads", "1", "--connections", str(CALLERS), "--duration", str(SECONDS))
        output = subprocess.run([*command, "--script", script, url], capture_output=True, text=True, check=True).stdout
    if failed := re.search(r"(Non-2xx|Socket errors).*", output):
        raise RuntimeError(f"not every call succeeded: {failed[0]}")
    match = re.search(r"Requests/sec:\s*([\d.]+)", output)
    return float(match[1]) if match else 0.0


def _row(kind: str, rates: tuple[float, ...], least: int) -> tuple[str, str, str, bool]:
    median = statistics.median(rates)
    figure = f"{median:.0f} a second ({min(rates):.0f} to {max(rates):.0f})"
    return f"{kind}, 32 callers, one process", figure, f">= {least}" if least else "", median >= least
