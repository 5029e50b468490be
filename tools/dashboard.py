"""The dashboard for Grafana, from a table of its panels; ``tools/generate.py`` writes it."""

import json
from collections.abc import Iterator
from typing import Any

PER_ROW = 3
WIDTH, HEIGHT = 8, 7

Panel = tuple[str, str, dict[str, str]]
"""Title, unit, and queries by their legend."""


def _legend(labels: tuple[str, ...]) -> str:
    return " ".join(f"{{{{{label}}}}}" for label in labels)


def _rate(title: str, name: str, *labels: str, unit: str = "reqps") -> Panel:
    """How often something happens in a second."""
    return title, unit, {_legend(labels): f"sum by ({', '.join(labels)}) (rate({name}[$__rate_interval]))"}


def _slowest(title: str, name: str, *labels: str) -> Panel:
    """The time within which 99 of 100 were done."""
    by = ", ".join((*labels, "le"))
    query = f"histogram_quantile(0.99, sum by ({by}) (rate({name}_bucket[$__rate_interval])))"
    return title, "s", {_legend(labels): query}


def _value(title: str, query: str, *labels: str, unit: str = "none") -> Panel:
    """What a query gives now."""
    return title, unit, {_legend(labels): query}


def _of_process(name: str) -> str:
    return f'{name}{{job="connector-gateway"}}'


_processor = f"rate({_of_process('process_cpu_seconds_total')}[$__rate_interval])"
_running = f"time() - {_of_process('process_start_time_seconds')}"

ROWS: dict[str, list[Panel]] = {
    "Calls": [
        _rate("Calls by status", "gateway_calls_total", "status"),
        _rate("Calls by operation", "gateway_calls_total", "connector", "operation"),
        _slowest("Time of a call, 99 %", "gateway_call_seconds", "connector"),
        _slowest("Queueing of a call, 99 %", "gateway_queue_seconds", "connector"),
        _value("Calls under way", "gateway_calls_under_way", "instance"),
        _value("Connections of clients", "gateway_client_connections", "instance"),
        _rate("Refused before a call", "gateway_protocol_refusals_total", "reason"),
    ],
    "Applications": [
        _rate("Requests by status", "gateway_upstream_requests_total", "connector", "status"),
        _slowest("Time of a request, 99 %", "gateway_upstream_seconds", "connector"),
        _rate("Throttled by the application", "gateway_upstream_throttled_total", "connector", "budget"),
        _value("Waiting for a budget", "sum by (connector, budget) (gateway_upstream_waiting)", "connector", "budget"),
        _slowest("Waits for a budget, 99 %", "gateway_upstream_wait_seconds", "connector", "budget"),
        _value("Requests in the pool", "gateway_pool_requests", "kind", "instance"),
        _rate("Answers of another shape", "gateway_upstream_unexpected_total", "connector", "place"),
        _rate("Renewals of tokens", "gateway_token_refreshes_total", "connector", "result"),
        _value("Connections", "max by (connector, status) (gateway_connections)", "connector", "status"),
    ],
    "Writes and events": [
        _value("Writes in doubt", "max(gateway_claims_in_doubt)"),
        _value("Oldest write in doubt", "max(gateway_claims_in_doubt_seconds)", unit="s"),
        _value("Lag of watches", "max by (connector) (gateway_watch_lag_seconds)", "connector", unit="s"),
        _rate("Polls", "gateway_polls_total", "connector", "result"),
        _rate("Deliveries", "gateway_hook_deliveries_total", "connector", "result"),
        _rate("Attempts at webhooks", "gateway_webhook_attempts_total", "connector", "result"),
        _value("Lag of webhooks", "max(gateway_webhook_lag_seconds)", unit="s"),
        _value("Longest failure of a webhook", "max(gateway_webhook_failing_seconds)", unit="s"),
        _value("Webhooks", "max by (status) (gateway_webhooks)", "status"),
    ],
    "Storage": [
        _slowest("Time of a commit, 99 %", "gateway_storage_commit_seconds", "instance"),
        _rate("Writes", "gateway_storage_writes_total", "instance", unit="ops"),
        _value("Waiting for the database", "gateway_storage_waiting", "queue", "instance"),
        _value("Database there", "gateway_storage_up", "instance"),
        _value("Shared store away", "gateway_shared_store_away_seconds", "instance", unit="s"),
        _rate("Counted by a share", "gateway_shared_store_local_counts_total", "instance"),
    ],
    "Processes": [
        _value("Processor", _processor, "instance", unit="percentunit"),
        _value("Memory", _of_process("process_resident_memory_bytes"), "instance", unit="bytes"),
        _value("Open files", _of_process("process_open_fds"), "instance"),
        _value("Most open files", _of_process("process_max_fds"), "instance"),
        _value("Running for", _running, "instance", unit="s"),
        _value("Workers that answer", "gateway_worker_up", "worker", "instance"),
        _value("Versions", "count by (version) (gateway_info)", "version"),
    ],
}


def dashboard() -> str:
    """The dashboard as JSON."""
    board = {
        "title": "Connector gateway",
        "uid": "connector-gateway",
        "schemaVersion": 39,
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-3h", "to": "now"},
        "templating": {
            "list": [{"name": "source", "label": "Prometheus", "type": "datasource", "query": "prometheus"}]
        },
        "panels": [panel | {"id": number} for number, panel in enumerate(_panels(), 1)],
    }
    return json.dumps(board, indent=1) + "\n"


def _panels() -> Iterator[dict[str, Any]]:
    y = 0
    for name, panels in ROWS.items():
        yield {"type": "row", "title": name, "gridPos": {"x": 0, "y": y, "w": 24, "h": 1}, "panels": []}
        y += 1
        for at, panel in enumerate(panels):
            yield _panel(panel, at % PER_ROW * WIDTH, y + at // PER_ROW * HEIGHT)
        y += -(-len(panels) // PER_ROW) * HEIGHT


def _panel(panel: Panel, x: int, y: int) -> dict[str, Any]:
    title, unit, queries = panel
    source = {"type": "prometheus", "uid": "${source}"}
    return {
        "type": "timeseries",
        "title": title,
        "datasource": source,
        "gridPos": {"x": x, "y": y, "w": WIDTH, "h": HEIGHT},
        "fieldConfig": {"defaults": {"unit": unit, "min": 0}, "overrides": []},
        "targets": [
            {"refId": chr(ord("A") + at), "datasource": source, "expr": query, "legendFormat": legend}
            for at, (legend, query) in enumerate(queries.items())
        ],
    }
