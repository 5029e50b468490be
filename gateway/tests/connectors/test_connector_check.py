"""``connector-check`` finds nothing in the gateway's own connectors."""

import pytest

from connector_gateway.connector_check.runner import run_checks
from connector_gateway.connectors import CONNECTORS
from harness.requirement import requirement
from workspace_sandbox import EMULATORS


@requirement("packages-6")
@pytest.mark.parametrize("name", CONNECTORS)
def test_nothing_is_found_in_the_connectors_of_the_gateway(name: str) -> None:
    assert [] == [one for result in run_checks(CONNECTORS[name], EMULATORS[name]) for one in result.findings]
