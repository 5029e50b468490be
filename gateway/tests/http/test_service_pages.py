"""Pages about the service: health, metrics, the OpenAPI document and the reference."""

import re
import threading
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from prometheus_client.parser import text_string_to_metric_families
from schemathesis.core.result import Ok

from connector_gateway.kit.errors import UpstreamUnexpected, all_errors
from harness.core_fixture import Failure, FakeUpstream
from harness.gateway_server import OPERATOR, Gateway, run_gateway
from harness.requirement import requirement
from workspace_sandbox.sandbox import Sandbox

OPEN = ["/healthz", "/readyz", "/metrics", "/openapi.json", "/docs", "/docs/reference.js", "/docs/viewer.js"]


@pytest.mark.parametrize("path", OPEN)
def test_service_pages_require_no_key(gateway: Gateway, path: str) -> None:
    response = gateway.http.get(gateway.base_url + path)
    head = gateway.http.head(gateway.base_url + path)

    assert (200, 200, b"") == (response.status_code, head.status_code, head.content)


@requirement("common-129")
def test_healthz_reports_alive(gateway: Gateway) -> None:
    assert {"status": "alive"} == gateway.request("GET", "/healthz").body


@requirement("common-130")
def test_readyz_reports_readiness_and_its_checks(gateway: Gateway) -> None:
    assert {"status": "ready", "checks": {"database": "ok"}, "shared_store": "memory"} == gateway.request(
        "GET", "/readyz"
    ).body


def get_metric(gateway: Gateway, name: str = "gateway_calls_total", **labels: str) -> float:
    """Return the current value of a metric, by default of the calls."""
    text = gateway.http.get(f"{gateway.base_url}/metrics").text
    samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    return sum(sample.value for sample in samples if sample.name == name and labels == sample.labels)


@requirement("common-131")
def test_calls_are_counted_by_operation_and_status(gateway: Gateway) -> None:
    labels = {"connector": "shelf", "operation": "list_things", "status": "200"}
    before = get_metric(gateway, **labels)
    gateway.get("/shelf/things")
    gateway.get("/shelf/things", limit="x")

    assert 1 == get_metric(gateway, **labels) - before
    assert 1 <= get_metric(gateway, **(labels | {"status": "422"}))


def test_responses_of_an_unexpected_shape_are_counted_by_location(gateway: Gateway, shelf: FakeUpstream) -> None:
    locations = ["items[3].id", "items[4].id"]
    shelf.troubles += [Failure(UpstreamUnexpected("Unknown.", {"place": location})) for location in locations]
    gateway.post("/shelf/things", name="one")
    gateway.post("/shelf/things", name="another")

    labels = {"connector": "shelf", "kind": "shape", "endpoint": "", "place": "items[].id"}
    assert 2 == get_metric(gateway, "gateway_upstream_unexpected_total", **labels)


def test_durations_are_counted_in_buckets_with_their_sum(module_gateway: Gateway) -> None:
    module_gateway.get("/shelf/things")
    text = module_gateway.http.get(f"{module_gateway.base_url}/metrics").text
    (family,) = [one for one in text_string_to_metric_families(text) if one.name == "gateway_call_seconds"]
    seen = [sample for sample in family.samples if sample.labels["operation"] == "list_things"]
    counts = [sample.value for sample in seen if sample.name.endswith("_bucket")]
    (total,) = [sample.value for sample in seen if sample.name.endswith("_sum")]

    assert sorted(counts) == counts
    assert [counts[-1]] == [sample.value for sample in seen if sample.name.endswith("_count")]
    assert 0 < total < 30 * counts[-1]
    assert ["0.005", "30.0", "+Inf"] == [seen[index].labels["le"] for index in (0, 11, 12)]


@pytest.fixture(scope="module")
def document(module_gateway: Gateway) -> dict[str, Any]:
    described: dict[str, Any] = module_gateway.http.get(f"{module_gateway.base_url}/openapi.json").json()
    return described


def iterate_references(value: Any) -> set[str]:
    """Return every reference in a document."""
    if isinstance(value, dict):
        own = {value["$ref"]} if isinstance(value.get("$ref"), str) else set()
        return own.union(*map(iterate_references, value.values()))
    return set().union(*map(iterate_references, value)) if isinstance(value, list) else set()


def resolve(document: Any, reference: str) -> Any:
    """Return the target of a reference."""
    for part in reference.removeprefix("#/").split("/"):
        document = document[part]
    return document


@requirement("common-132")
def test_the_document_is_openapi_3_1(document: dict[str, Any]) -> None:
    assert "3.1.0" == document["openapi"]
    assert all(resolve(document, reference) for reference in iterate_references(document))


def test_the_document_is_readable_by_openapi_tools(document: dict[str, Any]) -> None:
    schema = schemathesis.openapi.from_dict(document)
    read = [result for result in schema.get_all_operations() if isinstance(result, Ok)]

    assert sum(len(methods) for methods in document["paths"].values()) == len(read)


def test_operation_ids_are_unique(document: dict[str, Any]) -> None:
    names = [described["operationId"] for methods in document["paths"].values() for described in methods.values()]

    assert sorted(set(names)) == sorted(names)


@requirement("common-56")
def test_every_documented_route_exists(gateway: Gateway, document: dict[str, Any]) -> None:
    replies = [
        gateway.request(method.upper(), re.sub(r"{\w+}", "x", path), headers={"Authorization": ""})
        for path, methods in document["paths"].items()
        for method in methods
    ]

    assert {401} == {reply.status for reply in replies}


@requirement("common-45")
def test_every_error_has_a_unique_code_a_status_and_a_remedy() -> None:
    errors = list(all_errors())

    assert len(errors) == len({error.code for error in errors})
    assert all(400 <= error.status <= 504 for error in errors)
    assert all(error.remedy.endswith(".") and (error.__doc__ or "").endswith(".") for error in errors)


LOADED = re.compile(r"""(?:src|srcset|action|poster|data)\s*=\s*["']([^"']+)|url\(([^)]+)\)|@import""")


def test_the_reference_loads_nothing_from_other_hosts(gateway: Gateway) -> None:
    response = gateway.http.get(f"{gateway.base_url}/docs")
    loaded = [address for address, _ in LOADED.findall(response.text)]
    links = re.findall(r"""<link[^>]*href\s*=\s*["']([^"']+)""", response.text)
    scripts = [gateway.http.get(f"{gateway.base_url}/{address}") for address in loaded]

    assert ["docs/viewer.js", "docs/reference.js"] == [address.partition("?")[0] for address in loaded]
    assert [(200, "text/javascript")] * 2 == [
        (script.status_code, script.headers["content-type"].partition(";")[0]) for script in scripts
    ]
    assert ["/assets/icon.svg", "/assets/style.css"] == [address.partition("?")[0] for address in links]


def test_the_reference_policy_allows_only_its_own_origin(gateway: Gateway) -> None:
    policy = gateway.http.get(f"{gateway.base_url}/docs").headers["content-security-policy"]
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))

    assert "'none'" == rules.pop("default-src")
    assert ("'self'", "'self'") == (rules["script-src"], rules["connect-src"])
    assert {"'self'", "'none'", "'unsafe-inline'", "data:"} == set(" ".join(rules.values()).split())
    assert "'self' 'unsafe-inline'" == rules["style-src"]


def test_the_viewer_is_compressed_if_the_client_accepts_it(gateway: Gateway) -> None:
    address = f"{gateway.base_url}/docs/viewer.js"
    plain = gateway.http.get(address, headers={"Accept-Encoding": "identity"})
    packed = gateway.http.get(address, headers={"Accept-Encoding": "gzip"})

    assert (None, "gzip") == (plain.headers.get("content-encoding"), packed.headers["content-encoding"])
    assert int(packed.headers["content-length"]) < int(plain.headers["content-length"]) / 3
    assert plain.content == packed.content


def test_the_viewer_calls_its_own_origin_and_sends_no_telemetry(gateway: Gateway) -> None:
    script = gateway.http.get(f"{gateway.base_url}/docs/reference.js").text

    assert 'servers: [{ url: new URL(".", location.href)' in script
    assert "withDefaultFonts: false" in script
    assert "telemetry: false" in script
    assert "http" not in script.replace("defaultHttpClient", "")


@requirement("common-133")
def test_the_reference_names_every_operation(gateway: Gateway, document: dict[str, Any]) -> None:
    page = gateway.http.get(f"{gateway.base_url}/docs").text

    assert [] == [path for path in document["paths"] if path not in page]


def test_threads_do_not_accumulate(gateway: Gateway) -> None:
    before = threading.active_count()
    gateway.together(*[lambda: gateway.get("/shelf/things")] * 20)

    assert threading.active_count() <= before + 5


# Permissions


@requirement("common-179")
@pytest.mark.parametrize("path", ["/docs", "/docs/errors", "/docs/errors/invalid_json"])
def test_pages_load_no_foreign_content_and_cannot_be_framed(gateway: Gateway, path: str) -> None:
    headers = gateway.http.get(gateway.base_url + path).headers
    policy = headers["content-security-policy"].split("; ")

    assert {"default-src 'none'", "base-uri 'none'", "frame-ancestors 'none'"} <= set(policy)
    assert "nosniff" == headers["x-content-type-options"]


@requirement("common-178")
def test_metrics_require_the_configured_token(tmp_path: Path) -> None:
    with run_gateway(Sandbox({}), tmp_path, connectors={}, GATEWAY_METRICS_TOKEN="m" * 32) as gateway:
        metrics = gateway.request("GET", "/metrics", headers={"Authorization": "Bearer " + "m" * 32})
        rejected = [
            gateway.http.get(f"{gateway.base_url}/metrics", headers=headers)
            for headers in ({}, {"Authorization": f"Bearer {gateway.key}"}, {"Authorization": f"Bearer {OPERATOR}"})
        ]

    assert 200 == metrics.status
    assert [401] * 3 == [response.status_code for response in rejected]
    assert ["missing_api_key", "invalid_api_key", "invalid_api_key"] == [
        response.json()["error"]["code"] for response in rejected
    ]


# Unknown paths


@requirement("common-193")
@pytest.mark.parametrize("path", ["/console/nope", "/docs/errors/nope", "/nowhere"])
def test_a_browser_gets_an_error_page_at_an_unknown_path(gateway: Gateway, path: str) -> None:
    response = gateway.http.get(gateway.base_url + path, headers={"Accept": "text/html,*/*;q=0.8"})

    assert (404, "text/html; charset=utf-8") == (response.status_code, response.headers["content-type"])
    assert "Page not found" in response.text
    assert "frame-ancestors 'none'" in response.headers["content-security-policy"]


@requirement("common-193")
def test_the_404_page_links_to_the_closest_match(gateway: Gateway) -> None:
    url = f"{gateway.base_url}/docs/errors/ratelimited"
    response = gateway.http.get(url, headers={"Accept": "text/html"})

    assert 'href="/docs/errors/rate_limited"' in response.text


@requirement("common-193")
@pytest.mark.parametrize(
    ("method", "path"), [("GET", "/v1/nope"), ("POST", "/console/nope"), ("GET", "/v1/connectors/x")]
)
def test_api_clients_get_the_error_shape_at_an_unknown_path(gateway: Gateway, method: str, path: str) -> None:
    response = gateway.http.request(method, gateway.base_url + path, headers={"Accept": "text/html"})

    assert (404, "route_not_found") == (response.status_code, response.json()["error"]["code"])
