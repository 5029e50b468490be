"""Gateways with only the connector of the test's folder, in front of its emulator."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from harness.all_connectors import only
from harness.gateway_server import Gateway, Restarting, run_gateway
from harness.gateway_server import restartable_gateway as run_restartable_gateway
from harness.sandbox_server import run_emulators
from workspace_sandbox import EMULATORS
from workspace_sandbox.sandbox import Sandbox

GatewayStarter = Callable[..., Gateway]
"""Starts another gateway in front of the same emulator, with other settings."""


@pytest.fixture(scope="module")
def sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    name = request.path.parent.name
    with run_emulators(**{name: EMULATORS[name]}) as sandbox:
        yield sandbox


@pytest.fixture(scope="module")
def module_gateway(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    (name,) = sandbox.emulators
    with run_gateway(sandbox, tmp_path_factory.mktemp(name), connectors=only(name)) as gateway:
        yield gateway


@pytest.fixture
def gateway(module_gateway: Gateway) -> Gateway:
    (name,) = module_gateway.connections
    module_gateway.clear(name)
    return module_gateway


@pytest.fixture
def start_gateway(module_gateway: Gateway, tmp_path: Path) -> Iterator[GatewayStarter]:
    (name,) = module_gateway.connections
    with ExitStack() as stack:

        def start(**settings: Any) -> Gateway:
            return stack.enter_context(run_gateway(module_gateway.sandbox, tmp_path, connectors=only(name), **settings))

        yield start


@pytest.fixture
def restartable_gateway(module_gateway: Gateway, tmp_path: Path) -> Restarting:
    """Return a separate, restartable gateway."""
    (name,) = module_gateway.connections
    return run_restartable_gateway(module_gateway.sandbox, tmp_path, connectors=only(name))
