"""Defaults of limits and times."""

from connector_gateway.connectors import CONNECTORS
from connector_gateway.settings import Settings
from harness.requirement import requirement

REQUIRED = {"GATEWAY_SECRET_KEYS": "a secret that only tests know", "GATEWAY_OPERATOR_TOKEN": "op_0123456789abcdef"}


@requirement("common-35", "common-77", "common-119", "mail-34")
def test_limits_and_times_default_to_the_documented_values() -> None:
    settings = Settings.read(REQUIRED, CONNECTORS)

    assert 1024 * 1024 == settings.max_body_bytes
    assert 15 * 60 == settings.link_seconds
    assert 30 == settings.timeouts.queue_seconds
    assert 30 == settings.keep_runs_days


@requirement("common-35", "common-77", "common-119", "mail-34")
def test_limits_and_times_can_be_set() -> None:
    others = {
        "GATEWAY_MAX_BODY_BYTES": "1000",
        "GATEWAY_LINK_SECONDS": "60",
        "GATEWAY_QUEUE_SECONDS": "5",
        "GATEWAY_KEEP_RUNS_DAYS": "7",
    }
    settings = Settings.read(REQUIRED | others, CONNECTORS)

    assert (1000, 60) == (settings.max_body_bytes, settings.link_seconds)
    assert (5, 7) == (settings.timeouts.queue_seconds, settings.keep_runs_days)
