"""A shared store with TLS: its certificate and name are verified, and counting is the same."""

from pathlib import Path

import pytest

from connector_gateway.kit.clock import MonotonicClock
from connector_gateway.kit.upstream.budget import Budget
from connector_gateway.storage.shared.interface import ResolvedCharge, StoreUnavailable
from connector_gateway.storage.shared.valkey import ValkeyCounters
from harness.requirement import requirement
from harness.tls_proxy import behind_tls, certificate
from harness.valkey import Server

TAKE = ResolvedCharge("key:tls", Budget(3, 60))


@requirement("deployment-4")
async def test_a_store_with_a_verified_certificate_is_used(valkey_of_tests: Server, tmp_path: Path) -> None:
    certified = certificate(tmp_path)
    async with behind_tls(valkey_of_tests.port, certified) as port:
        url = f"rediss://127.0.0.1:{port}/0"
        async with ValkeyCounters(
            f"{url}?ssl_ca_certs={certified}", MonotonicClock(), seconds=20, connectors=["notes"]
        ) as store:
            await store.begin("tls", is_new=True)
            left = [(await store.consume(TAKE)).remaining for _ in range(2)]
        async with ValkeyCounters(url, MonotonicClock(), seconds=20) as without_ca:
            with pytest.raises(StoreUnavailable):
                await without_ca.check()

    assert [2, 1] == left


@requirement("deployment-4")
async def test_a_trusted_certificate_of_another_server_is_rejected(valkey_of_tests: Server, tmp_path: Path) -> None:
    certified = certificate(tmp_path, "127.0.0.2")
    async with behind_tls(valkey_of_tests.port, certified) as port:
        url = f"valkeys://127.0.0.1:{port}/0?ssl_ca_certs={certified}"
        async with ValkeyCounters(url, MonotonicClock(), seconds=20) as store:
            with pytest.raises(StoreUnavailable):
                await store.check()
