"""Gateways with only the connector of the test's folder, in front of its emulator."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from harness.all_connectors import only
from harness.gateway_server import Gateway, Restarting, run_gateway
from harness.gateway_server import restartable_gateway as serving_again
from harness.sandbox_server import run_emulators
from workspace_sandbox import EMULATORS
from workspace_sandbox.sandbox import Sandbox

Beside = Callable[..., Gateway]
"""Starts another gateway in front of the same emulator, with other settings."""


@pytest.fixture(scope="module")
def sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    name = request.path.parent.name
    with run_emulators(**{name: EMULATORS[name]}) as sandbox:
        yield sandbox


@pytest.fixture(scope="module")
def room(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    (name,) = sandbox.emulators
    with run_gateway(sandbox, tmp_path_factory.mktemp(name), connectors=only(name)) as gateway:
        yield gateway


@pytest.fixture
def gateway(room: Gateway) -> Gateway:
    (name,) = room.connections
    room.clear(name)
    return room


@pytest.fixture
def beside(room: Gateway, tmp_path: Path) -> Iterator[Beside]:
    (name,) = room.connections
    with ExitStack() as stack:

        def start(**settings: Any) -> Gateway:
            return stack.enter_context(run_gateway(room.sandbox, tmp_path, connectors=only(name), **settings))

        yield start


@pytest.fixture
def restarting(room: Gateway, tmp_path: Path) -> Restarting:
    """Return a separate, restartable gateway."""
    (name,) = room.connections
    return serving_again(room.sandbox, tmp_path, connectors=only(name))
