"""The metrics, the guide about them, the dashboard and the alerts have the same names."""

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from connector_gateway.connectors.notes import NOTES
from harness.gateway_server import run_gateway
from harness.sandbox_server import run_emulators
from workspace_sandbox.notes import NotesEmulator

ROOT = Path(__file__).parent.parent.parent
GUIDE = "".join(
    (ROOT / "docs" / "guide" / "operate" / page).read_text("utf-8") for page in ("metrics.md", "monitor.md")
)
ALERTS: dict[str, Any] = yaml.safe_load((ROOT / "deploy" / "alerts.yaml").read_text(encoding="utf-8"))
RULES: list[dict[str, Any]] = ALERTS["groups"][0]["rules"]
DASHBOARD: dict[str, Any] = json.loads((ROOT / "deploy" / "dashboard.json").read_text(encoding="utf-8"))
NAME = re.compile(r"\b(?:gateway|process)_[a-z_]+")
OF_WORKERS = {"gateway_worker_up": {"worker"}}
"""Metrics that only workers of a supervisor have; tests/cli covers them."""

KINDS = {"counter": "_total", "histogram": "", "gauge": ""}
"""Suffixes of metric names in queries."""


@pytest.fixture(scope="module")
def metrics(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """Return every metric of a gateway under load by its name in queries, with the labels of its samples."""
    with (
        run_emulators(notes=NotesEmulator) as sandbox,
        run_gateway(sandbox, tmp_path_factory.mktemp("monitored"), connectors={"notes": NOTES}) as gateway,
    ):
        gateway.get("/notes/databases", limit=1)
        text = gateway.request("GET", "/metrics").body.decode()
    return OF_WORKERS | {
        family.name + KINDS[family.type]: {label for sample in family.samples for label in sample.labels} - {"le"}
        for family in text_string_to_metric_families(text)
    }


def used(queries: Iterable[str]) -> set[str]:
    """Return the metrics in *queries*, with histograms reduced to their base names."""
    return {re.sub(r"_(bucket|sum|count)$", "", name) for query in queries for name in NAME.findall(query)}


def exposed_labels() -> dict[str, set[str]]:
    """Return the metrics in the guide's table, with their labels."""
    rows = [line.split("|")[1:3] for line in GUIDE.splitlines() if re.match(r"\| `(gateway|process)_", line)]
    return {name: set(re.findall(r"\w+", labels)) for names, labels in rows for name in NAME.findall(names)}


def expressions() -> list[str]:
    return [target["expr"] for panel in DASHBOARD["panels"] for target in panel.get("targets", [])]


def test_the_guide_names_every_metric_and_no_other(metrics: dict[str, set[str]]) -> None:
    assert sorted(metrics) == sorted(exposed_labels())


def test_the_guide_names_every_exposed_label(metrics: dict[str, set[str]]) -> None:
    unnamed = {name: labels - exposed_labels()[name] for name, labels in metrics.items()}

    assert {} == {name: labels for name, labels in unnamed.items() if labels}


def test_the_dashboard_plots_every_gateway_metric_and_no_unknown_one(metrics: dict[str, set[str]]) -> None:
    plotted = used(expressions())

    assert {name for name in metrics if name.startswith("gateway_")} == {
        name for name in plotted if name.startswith("gateway_")
    }
    assert plotted <= set(metrics)


def test_alerts_use_existing_metrics(metrics: dict[str, set[str]]) -> None:
    queries = [rule["expr"] for rule in RULES]

    assert used(queries) <= set(metrics)
    assert [] == [query for query in queries if not used([query]) and not query.startswith("up{")]


def test_the_guide_explains_every_alert_and_no_other() -> None:
    explained = re.findall(r"^\| `([A-Z]\w+)` \| [^|]+ \| [^|]+ \|$", GUIDE, re.MULTILINE)

    assert [rule["alert"] for rule in RULES] == explained


@pytest.mark.parametrize("query", [*expressions(), *(rule["expr"] for rule in RULES)])
def test_queries_use_only_labels_of_their_metrics(query: str) -> None:
    named = {label for group in re.findall(r"by \(([^)]*)\)", query) for label in re.findall(r"\w+", group)}
    matched = set(re.findall(r"(\w+)(?:=~|!=|=|!~)\"", query))
    known = {label for name in used([query]) for label in exposed_labels()[name]} | {"instance", "job", "worker", "le"}

    assert named | matched <= known


def test_queries_retain_the_labels_of_alert_and_legend_placeholders() -> None:
    annotated = [(rule["expr"], rule["annotations"]["summary"]) for rule in RULES]
    pairs = [(query, re.findall(r"\$labels\.(\w+)", text)) for query, text in annotated]

    assert [] == [(query, label) for query, labels in pairs for label in labels if label not in query]
