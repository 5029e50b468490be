"""A shared store behind TLS: its certificate is checked, and what counts is the same."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from connector_gateway.kit.budget import Budget
from connector_gateway.kit.clock import SteadyClock
from connector_gateway.storage.shared import StoreAway, Take
from connector_gateway.storage.valkey import Valkey
from harness.valkey import Server

TAKE = Take("key:tls", Budget(3, 60))
NAME = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "a store of tests")])


def certificate(folder: Path) -> Path:
    """A file with a new key and its certificate for this machine."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    here = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
    lasting = x509.CertificateBuilder(NAME, NAME, key.public_key(), x509.random_serial_number())
    lasting = lasting.not_valid_before(now - timedelta(hours=1)).not_valid_after(now + timedelta(hours=1))
    signed = lasting.add_extension(here, critical=False).sign(key, SHA256())
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    path = folder / "store.pem"
    path.write_bytes(private + signed.public_bytes(Encoding.PEM))
    return path


@asynccontextmanager
async def behind_tls(server: Server, certified: Path) -> AsyncIterator[int]:
    """The port at which *server* is reached by TLS only."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certified)

    async def carry(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        while piece := await source.read(65_536):
            sink.write(piece)
        sink.close()

    async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        answers, questions = await asyncio.open_connection("127.0.0.1", server.port)
        await asyncio.gather(carry(reader, questions), carry(answers, writer), return_exceptions=True)

    async with await asyncio.start_server(pass_on, "127.0.0.1", 0, ssl=context) as listening:
        yield listening.sockets[0].getsockname()[1]


async def test_what_is_behind_tls_is_counted_once_its_certificate_was_checked(
    valkey_of_tests: Server, tmp_path: Path
) -> None:
    certified = certificate(tmp_path)
    async with behind_tls(valkey_of_tests, certified) as port:
        url = f"valkeys://127.0.0.1:{port}/0"
        async with Valkey(f"{url}?ssl_ca_certs={certified}", SteadyClock(), seconds=20, connectors=["notes"]) as store:
            await store.begin("tls", fresh=True)
            left = [(await store.spend(TAKE)).remaining for _ in range(2)]
        async with Valkey(url, SteadyClock(), seconds=20) as trusting_nobody:
            with pytest.raises(StoreAway):
                await trusting_nobody.check()

    assert [2, 1] == left
