"""The client address behind trusted proxies, for any value of the header."""

from ipaddress import ip_network

import pytest
from starlette.types import Receive, Scope, Send

from connector_gateway.http.server.client_ip import ForwardedClient, parse_node
from harness.requirement import requirement

PROXY, CLIENT, INVENTED = "10.0.0.1", "203.0.113.9", "198.51.100.66"
PROXIES = [ip_network(one) for one in ("10.0.0.0/8", "fd00::/8")]


class Application:
    """Stores the client of the last request."""

    shutdown = clients = lifespan = None
    fixed_segments: frozenset[str] = frozenset()

    async def __call__(self, scope: Scope, _: Receive, __: Send) -> None:
        self.client = scope["client"]


async def get_client(header: str, *values: str, peer: str = PROXY) -> str:
    """Return the client of a request from *peer* with these values of *header*."""
    application = Application()
    headers = [(header.encode(), value.encode("latin-1")) for value in values]
    scope = {"type": "http", "client": (peer, 5000), "headers": headers}
    await ForwardedClient(application, PROXIES, header)(scope, None, None)  # type: ignore[arg-type]  # as far as used
    return str(application.client[0])


@requirement("limits-5")
@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([CLIENT], CLIENT),
        ([f"{CLIENT}:4711"], CLIENT),
        ([f"{INVENTED}, {CLIENT}"], CLIENT),
        ([f"{INVENTED}, {CLIENT}, 10.9.9.9"], CLIENT),
        ([INVENTED, CLIENT], CLIENT),
        ([f"{INVENTED},{CLIENT}", "10.1.1.1", "10.2.2.2"], CLIENT),
        (["2001:db8::7"], "2001:db8::7"),
        (["[2001:db8::7]:443"], "2001:db8::7"),
        (['"[2001:db8::7]:443"'], "2001:db8::7"),
        ([f"::ffff:{CLIENT}"], CLIENT),
        ([f"{CLIENT}, fd00::2"], CLIENT),
        (["10.3.3.3, 10.4.4.4"], "10.3.3.3"),
        ([f"{CLIENT}, unknown"], PROXY),
        ([f"{CLIENT}, unknown, 10.5.5.5"], "10.5.5.5"),
        ([f"{CLIENT}, _hidden"], PROXY),
        ([f"{CLIENT}, 10.0.0.300"], PROXY),
        ([f"{CLIENT}, "], PROXY),
        ([""], PROXY),
        ([], PROXY),
        (["\xff\xfe"], PROXY),
        ([f"{CLIENT}:"], PROXY),
        ([f"[{CLIENT}"], PROXY),
        (["9" * 60_000], PROXY),
        ([f"{CLIENT}," + "10.0.0.2," * 40 + "10.0.0.2"], "10.0.0.2"),
    ],
)
async def test_x_forwarded_for_is_read_from_the_right(values: list[str], expected: str) -> None:
    assert expected == await get_client("x-forwarded-for", *values)


@requirement("limits-5")
@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([f"for={CLIENT}"], CLIENT),
        ([f"For={CLIENT};proto=https;by=10.0.0.1"], CLIENT),
        ([f"proto=https; for={CLIENT}"], CLIENT),
        ([f'for="{CLIENT}:4711"'], CLIENT),
        (['for="[2001:db8::7]:80"'], "2001:db8::7"),
        (['for="[::ffff:203.0.113.9]"'], CLIENT),
        (['for="[2001:db8::7]:_port"'], "2001:db8::7"),
        ([f"for={INVENTED}, for={CLIENT}"], CLIENT),
        ([f"for={INVENTED}", f"for={CLIENT}, for=10.2.2.2"], CLIENT),
        ([f'for={CLIENT};host="a,b"'], CLIENT),
        ([f'for={CLIENT};host="a, for={INVENTED};x=\\"b"'], CLIENT),
        ([f'for="{INVENTED}, for={CLIENT}'], CLIENT),
        ([f'for="{INVENTED}\\", for={CLIENT}'], CLIENT),
        ([f'for="{INVENTED}, for=10.2.2.2'], "10.2.2.2"),
        ([f"for={CLIENT}, for=unknown"], PROXY),
        ([f"for={CLIENT}, for=_hidden, for=10.5.5.5"], "10.5.5.5"),
        ([f"for={CLIENT}, proto=https"], PROXY),
        ([f"for={INVENTED};for={CLIENT}"], PROXY),
        ([f"for={CLIENT} {INVENTED}"], PROXY),
        (["for="], PROXY),
        (["for"], PROXY),
        ([",,,"], PROXY),
        (['"' * 60_000], PROXY),
        (["\\" * 60_000 + '"'], PROXY),
        (['for="' + "\\a" * 30_000], PROXY),
    ],
)
async def test_forwarded_is_read_from_the_right(values: list[str], expected: str) -> None:
    assert expected == await get_client("forwarded", *values)


@requirement("limits-5")
@pytest.mark.parametrize("header", ["x-forwarded-for", "forwarded"])
@pytest.mark.parametrize("value", [CLIENT, f"for={CLIENT}"])
async def test_an_untrusted_proxy_cannot_name_another_client(header: str, value: str) -> None:
    assert "192.0.2.50" == await get_client(header, value, peer="192.0.2.50")


async def test_an_unconfigured_header_is_ignored() -> None:
    application = Application()
    headers = [(b"forwarded", f"for={INVENTED}".encode()), (b"x-forwarded-for", CLIENT.encode())]
    scope = {"type": "http", "client": (PROXY, 5000), "headers": headers}
    await ForwardedClient(application, PROXIES, "x-forwarded-for")(scope, None, None)  # type: ignore[arg-type]  # as above

    assert (CLIENT, 0) == application.client


@pytest.mark.parametrize(
    "node", ["1.2.3", "1.2.3.04", "[1.2.3.4]x", "::1]", "localhost", "1.2.3.4:123456", "\uff10.0.0.0"]
)
def test_an_invalid_address_is_ignored(node: str) -> None:
    assert parse_node(node) is None
