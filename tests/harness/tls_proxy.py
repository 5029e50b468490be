"""TLS in front of test servers without TLS, and certificates for it."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing, suppress
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

NAME = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "a server of tests")])
SSL_REQUEST = bytes.fromhex("0000000804d2162f")
"""The request for TLS of a PostgreSQL client. TLS begins after the response ``S``.
Source: postgresql.org/docs/current/protocol-message-formats.html, "SSLRequest".
"""


def certificate(folder: Path, address: str = "127.0.0.1") -> Path:
    """Create a file with a new key and a self-signed certificate for *address*."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    here = x509.SubjectAlternativeName([x509.IPAddress(ip_address(address))])
    lasting = x509.CertificateBuilder(NAME, NAME, key.public_key(), x509.random_serial_number())
    lasting = lasting.not_valid_before(now - timedelta(hours=1)).not_valid_after(now + timedelta(hours=1))
    signed = lasting.add_extension(here, critical=False).sign(key, SHA256())
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    path = folder / f"server-{address}.pem"
    path.write_bytes(private + signed.public_bytes(Encoding.PEM))
    return path


@asynccontextmanager
async def behind_tls(server: int | Path, certified: Path, *, postgres: bool = False) -> AsyncIterator[int]:
    """Run a TLS proxy for *server*, a port or a Unix socket, and yield its port; *postgres* negotiates TLS."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certified)

    connections: set[asyncio.Task[None]] = set()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = asyncio.create_task(pass_on(reader, writer))
        connections.add(connection)
        connection.add_done_callback(connections.discard)

    async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with closing(writer), suppress(OSError, asyncio.IncompleteReadError):
            if postgres:
                await _begin_tls(reader, writer, context)
            server_reader, server_writer = await _connected(server)
            with closing(server_writer):
                await asyncio.gather(
                    _carry(reader, server_writer), _carry(server_reader, writer), return_exceptions=True
                )

    own = None if postgres else context
    async with await asyncio.start_server(accept, "127.0.0.1", 0, ssl=own) as listening:
        try:
            yield listening.sockets[0].getsockname()[1]
        finally:
            remaining = list(connections)
            for connection in remaining:
                connection.cancel()
            await asyncio.gather(*remaining, return_exceptions=True)


async def _begin_tls(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, context: ssl.SSLContext) -> None:
    """Negotiate TLS as PostgreSQL does. Raises ``ConnectionError`` if the client does not request it."""
    if await reader.readexactly(len(SSL_REQUEST)) != SSL_REQUEST:
        raise ConnectionError
    writer.write(b"S")
    await writer.start_tls(context)


async def _connected(server: int | Path) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    if isinstance(server, Path):
        return await asyncio.open_unix_connection(server)
    return await asyncio.open_connection("127.0.0.1", server)


async def _carry(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    while piece := await source.read(65_536):
        sink.write(piece)
    sink.close()
