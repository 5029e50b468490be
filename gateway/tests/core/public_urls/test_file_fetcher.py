"""Files from public links: allowed and forbidden URLs, and limits on reading."""

import gzip
import itertools
import socket
from collections import defaultdict, deque
from collections.abc import Iterator
from contextlib import suppress

import pytest
from aiohttp.abc import AbstractResolver, ResolveResult

from connector_gateway.core.error_serialization import truncate
from connector_gateway.core.public_urls.allowed_addresses import is_public
from connector_gateway.core.public_urls.file_fetcher import MAX_URL, PublicFileFetcher, filename
from connector_gateway.kit.context import RemoteFile
from connector_gateway.kit.errors import FileEmpty, FileTooLarge, GatewayError, UrlNotAllowed, UrlUnreachable
from harness.file_server import ScriptedResponse, redirect_to, scripted_response, serve_files
from harness.requirement import requirement

MAX_CONTENT_BYTES = 1000
MAX_BYTES = 5000
HERE = "127.0.0.1"


class Names(AbstractResolver):
    """A resolver of some names. A name with several addresses gets the next one at each look-up."""

    def __init__(self, **names: str) -> None:
        self._names = {name.replace("_", "."): deque(addresses.split()) for name, addresses in names.items()}
        self.look_ups: defaultdict[str, int] = defaultdict(int)

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        self.look_ups[host] += 1
        addresses = self._names[host]
        address = addresses[0]
        addresses.rotate(-1)
        kind = socket.AF_INET6 if ":" in address else socket.AF_INET
        flags = socket.AI_NUMERICHOST
        return [{"hostname": host, "host": address, "port": port, "family": kind, "proto": 0, "flags": flags}]

    async def close(self) -> None:
        return None


async def test_files_of_a_trusted_private_origin_are_fetched(site: str) -> None:
    files = PublicFileFetcher(30, MAX_BYTES, trusted=[site])

    fetched = await files.fetch(f"{site}/small.png", MAX_CONTENT_BYTES)

    assert b"x" * 10 == fetched.content
    with pytest.raises(UrlNotAllowed):
        await files.fetch(site.replace("http://", "http://user@") + "/small.png", MAX_CONTENT_BYTES)


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    pages = {
        "/small.png": scripted_response(b"x" * 10),
        "/just-kept.bin": scripted_response(b"x" * MAX_CONTENT_BYTES),
        "/kept-no-more.bin": scripted_response(b"x" * (MAX_CONTENT_BYTES + 1)),
        "/largest.bin": scripted_response(b"x" * MAX_BYTES),
        "/too-large.bin": scripted_response(b"x" * (MAX_BYTES + 1)),
        "/unsaid.bin": ScriptedResponse([b"x" * (MAX_CONTENT_BYTES + 1)], headers={"Content-Type": "video/mp4"}),
        "/endless.bin": ScriptedResponse(itertools.repeat(b"x" * 100)),
        "/breaks-off.png": ScriptedResponse([b"x" * 10], headers={"Content-Length": "11"}),
        "/says-less.png": ScriptedResponse([b"x" * 10], headers={"Content-Length": "9"}),
        "/says-nonsense.png": ScriptedResponse([b"x"], headers={"Content-Length": "many"}),
        "/packed.txt": scripted_response(gzip.compress(b"y" * 900), "text/plain", Content_Encoding="gzip"),
        "/bomb.txt": scripted_response(gzip.compress(b"y" * 1_000_000), "text/plain", Content_Encoding="gzip"),
        "/odd-type": scripted_response(b"x", "whatever; charset"),
        "/": scripted_response(b"x", "image/png", Content_Disposition="inline; filename*=UTF-8''na%C3%AFve.png"),
        "/nothing.txt": scripted_response(b"", "text/plain"),
        "/gone.png": ScriptedResponse(status=404),
        "/failing.png": ScriptedResponse(status=500),
        "/empty": ScriptedResponse(status=204),
        "/moved": redirect_to("/small.png"),
        "/moved/name.png?x=1": redirect_to("../small.png", 308),
        "/to-nowhere": ScriptedResponse(status=302),
        "/to-file": redirect_to("file:///etc/passwd"),
        "/to-userinfo": redirect_to("http://me@example.com/"),
        "/to-private": redirect_to("http://10.0.0.1/"),
        "/to-metadata": redirect_to("http://169.254.169.254/latest/meta-data"),
        "/to-mapped": redirect_to("http://[::ffff:10.0.0.1]/"),
        "/loop": redirect_to("/loop"),
        **{f"/hop{step}": redirect_to(f"/hop{step + 1}") for step in range(5)},
        "/hop5": scripted_response(b"arrived"),
        "/hop-too-many": redirect_to("/hop0"),
    }
    with serve_files(pages) as address:
        yield address


def files(timeout_seconds: float = 5, **names: str) -> PublicFileFetcher:
    """A fetcher to which only this machine is public."""
    return PublicFileFetcher(
        timeout_seconds,
        MAX_BYTES,
        resolver=Names(**names) if names else None,
        is_reachable=lambda address: address == HERE,
    )


async def catch_error(fetching: PublicFileFetcher, url: str) -> GatewayError:
    with pytest.raises(GatewayError) as caught:
        await fetching.fetch(url, MAX_CONTENT_BYTES)
    return caught.value


def get_reason(error: GatewayError) -> str:
    """Return the reason in the error's only detail."""
    (detail,) = error.details
    text: str = detail["reason"]
    return text


# Public addresses


@pytest.mark.parametrize(
    "address",
    [
        "1.1.1.1",
        "93.184.216.34",
        "2606:4700:4700::1111",
        "::ffff:1.1.1.1",
        "64:ff9b::1.1.1.1",
        "2002:101:101::1",
    ],
)
def test_addresses_of_the_internet_are_public(address: str) -> None:
    assert is_public(address)


@requirement("tables-25")
@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "127.255.255.254",
        "0.0.0.0",
        "10.1.2.3",
        "172.16.0.1",
        "192.168.1.1",
        "100.64.0.1",
        "100.100.100.200",
        "169.254.169.254",
        "168.63.129.16",
        "192.0.0.8",
        "198.18.0.1",
        "224.0.0.1",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::127.0.0.1",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "::ffff:0:10.0.0.1",
        "64:ff9b::10.0.0.1",
        "64:ff9b::169.254.169.254",
        "64:ff9b:1::1.1.1.1",
        "2002:7f00:1::1",
        "2002:a00:1::",
        "2001::1",
        "2001:db8::1",
        "fe80::1",
        "fe80::1%eth0",
        "fec0::1",
        "fc00::1",
        "fd00:ec2::254",
        "ff02::1",
        "4000::1",
        "127.1",
        "2130706433",
        "localhost",
        "",
    ],
)
def test_all_other_addresses_are_not_public(address: str) -> None:
    assert not is_public(address)


# Allowed targets


@requirement("tables-25", "tables-27")
async def test_a_link_to_this_machine_is_not_followed(site: str) -> None:
    assert isinstance(await catch_error(PublicFileFetcher(5, MAX_BYTES), f"{site}/small.png"), UrlNotAllowed)


@pytest.mark.parametrize(
    "url",
    [
        "http://localhost:{port}/small.png",
        "http://127.1:{port}/",
        "http://2130706433:{port}/",
        "http://0x7f000001:{port}/",
        "http://0177.0.0.1:{port}/",
        "http://[::1]:{port}/",
        "http://[::ffff:127.0.0.1]:{port}/",
        "http://[::ffff:7f00:1]:{port}/",
        "http://0.0.0.0:{port}/",
        "http://169.254.169.254/latest/meta-data",
        "http://192.168.0.1/",
        "http://\uff11\uff12\uff17.0.0.1:{port}/",
    ],
)
async def test_other_spellings_of_private_addresses_are_not_followed(site: str, url: str) -> None:
    error = await catch_error(PublicFileFetcher(5, MAX_BYTES), url.format(port=site.rpartition(":")[2]))

    assert isinstance(error, UrlNotAllowed)
    assert get_reason(error) in {"address_not_public", "url_invalid"}


@requirement("tables-27")
@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("file:///etc/passwd", "scheme_not_allowed"),
        ("ftp://example.com/a", "scheme_not_allowed"),
        ("gopher://example.com/", "scheme_not_allowed"),
        ("data:text/plain,hello", "scheme_not_allowed"),
        ("//example.com/a", "scheme_not_allowed"),
        ("example.com/a", "scheme_not_allowed"),
        ("http://", "url_invalid"),
        ("http:///path", "url_invalid"),
        ("http://[::1", "url_invalid"),
        ("http://me:secret@example.com/", "credentials_in_url"),
        ("http://me@example.com/", "credentials_in_url"),
        ("http://@example.com/", "credentials_in_url"),
        ("http://:secret@example.com/", "credentials_in_url"),
        ("http://example.com/" + "a" * MAX_URL, "url_too_long"),
    ],
)
async def test_a_url_that_is_not_a_plain_web_url_is_rejected_with_the_reason(url: str, expected: str) -> None:
    error = await catch_error(files(), url)

    assert (UrlNotAllowed, [{"parameter": "url", "value": truncate(url), "reason": expected}]) == (
        type(error),
        error.details,
    )


async def test_a_host_that_resolves_to_a_private_address_is_not_followed() -> None:
    assert isinstance(await catch_error(files(intra_test="10.0.0.1"), "http://intra.test/"), UrlNotAllowed)


@requirement("tables-25")
async def test_a_host_that_resolves_differently_the_second_time_is_not_followed(site: str) -> None:
    port = site.rpartition(":")[2]
    fetching = files(twice_test=f"{HERE} 10.0.0.1")

    assert isinstance(await catch_error(fetching, f"http://twice.test:{port}/moved"), UrlNotAllowed)


@requirement("tables-25")
async def test_the_address_that_was_checked_is_the_one_connected_to(site: str) -> None:
    names = Names(twice_test=f"{HERE} 10.0.0.1")
    fetching = PublicFileFetcher(5, MAX_BYTES, resolver=names, is_reachable=lambda address: address == HERE)
    file = await fetching.fetch(f"http://twice.test:{site.rpartition(':')[2]}/small.png", MAX_CONTENT_BYTES)

    assert 10 == file.size_bytes
    assert {"twice.test": 1} == names.look_ups


@requirement("tables-26")
@pytest.mark.parametrize("path", ["/to-private", "/to-metadata", "/to-mapped", "/to-file", "/to-userinfo"])
async def test_a_redirect_has_the_same_restrictions_as_a_link(site: str, path: str) -> None:
    assert isinstance(await catch_error(files(), site + path), UrlNotAllowed)


@requirement("tables-26")
@pytest.mark.parametrize("path", ["/moved", "/moved/name.png?x=1", "/hop0"])
async def test_absolute_and_relative_redirects_are_followed(site: str, path: str) -> None:
    assert (await files().fetch(site + path, MAX_CONTENT_BYTES)).content in {b"x" * 10, b"arrived"}


@requirement("tables-26")
@pytest.mark.parametrize("path", ["/hop-too-many", "/loop"])
async def test_more_than_five_redirects_are_not_followed(site: str, path: str) -> None:
    error = await catch_error(files(), site + path)

    assert isinstance(error, UrlUnreachable)
    assert "5" in error.message


# Failures


@requirement("tables-28")
@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/gone.png", "status_404"),
        ("/failing.png", "status_500"),
        ("/empty", "status_204"),
        ("/to-nowhere", "status_302"),
        ("/breaks-off.png", "connection_lost"),
        ("/says-nonsense.png", "connection_failed"),
        ("/loop", "too_many_redirects"),
    ],
)
async def test_a_file_that_cannot_be_fetched_is_reported_with_the_reason(site: str, path: str, expected: str) -> None:
    error = await catch_error(files(), site + path)

    assert (UrlUnreachable, [{"parameter": "url", "value": site + path, "reason": expected}]) == (
        type(error),
        error.details,
    )


async def test_a_server_that_does_not_listen_is_reported() -> None:
    with socket.create_server((HERE, 0)) as closed:
        port = closed.getsockname()[1]

    assert "connection_refused" == get_reason(await catch_error(files(), f"http://{HERE}:{port}/"))


async def test_a_host_that_does_not_exist_is_reported() -> None:
    assert "host_not_found" == get_reason(await catch_error(PublicFileFetcher(5, MAX_BYTES), "http://nobody.invalid/"))


async def test_a_server_that_does_not_speak_tls_fails(site: str) -> None:
    assert "tls_failed" == get_reason(await catch_error(files(), site.replace("http:", "https:") + "/small.png"))


async def test_a_silent_server_times_out() -> None:
    with socket.create_server((HERE, 0)) as silent:
        url = f"http://{HERE}:{silent.getsockname()[1]}/"
        error = await catch_error(files(timeout_seconds=0.05), url)

    assert "timeout" == get_reason(error)


@requirement("tables-43")
async def test_an_empty_file_is_rejected(site: str) -> None:
    error = await catch_error(files(), f"{site}/nothing.txt")

    assert (FileEmpty, [{"parameter": "url", "value": f"{site}/nothing.txt"}]) == (type(error), error.details)


async def test_texts_of_the_server_are_not_exposed_to_the_caller() -> None:
    error = await catch_error(PublicFileFetcher(5, MAX_BYTES), "http://nobody.invalid/")

    assert "nobody.invalid" in error.private
    assert "nobody.invalid" not in error.message


# Limits on reading


@requirement("tables-31")
async def test_a_file_has_the_name_and_type_that_its_server_sends(site: str) -> None:
    assert RemoteFile("small.png", "image/png", 10, b"x" * 10) == await files().fetch(
        f"{site}/small.png", MAX_CONTENT_BYTES
    )


@pytest.mark.parametrize(
    ("path", "size_bytes"),
    [("/kept-no-more.bin", MAX_CONTENT_BYTES + 1), ("/largest.bin", MAX_BYTES), ("/unsaid.bin", MAX_CONTENT_BYTES + 1)],
)
async def test_files_above_the_requested_size_are_only_measured(site: str, path: str, size_bytes: int) -> None:
    file = await files().fetch(site + path, MAX_CONTENT_BYTES)

    assert (size_bytes, None) == (file.size_bytes, file.content)


async def test_a_file_of_the_requested_size_is_returned(site: str) -> None:
    file = await files().fetch(site + "/just-kept.bin", MAX_CONTENT_BYTES)

    assert (MAX_CONTENT_BYTES, b"x" * MAX_CONTENT_BYTES) == (file.size_bytes, file.content)


async def test_bytes_after_the_declared_length_are_ignored(site: str) -> None:
    """The surplus is noticed depending on how it arrives: the file is rejected, or ends as declared."""
    with suppress(UrlUnreachable):
        file = await files().fetch(site + "/says-less.png", MAX_CONTENT_BYTES)

        assert (9, b"x" * 9) == (file.size_bytes, file.content)


@requirement("tables-29")
@pytest.mark.parametrize("path", ["/too-large.bin", "/endless.bin", "/bomb.txt"])
async def test_a_body_above_the_limit_is_rejected_despite_its_headers(site: str, path: str) -> None:
    error = await catch_error(files(), site + path)

    assert isinstance(error, FileTooLarge)
    assert [{"parameter": "url", "value": site + path, "max_bytes": MAX_BYTES}] == error.details


async def test_a_compressed_response_is_decompressed(site: str) -> None:
    file = await files().fetch(f"{site}/packed.txt", MAX_CONTENT_BYTES)

    assert (900, b"y" * 900) == (file.size_bytes, file.content)


async def test_an_invalid_type_becomes_the_generic_type(site: str) -> None:
    assert "application/octet-stream" == (await files().fetch(f"{site}/odd-type", MAX_CONTENT_BYTES)).mime_type


# Names


async def test_a_file_is_named_after_its_link_and_not_after_redirects(site: str) -> None:
    assert "name.png" == (await files().fetch(f"{site}/moved/name.png?x=1", MAX_CONTENT_BYTES)).name


async def test_the_server_names_the_file_of_a_link_without_a_file_name(site: str) -> None:
    assert "naïve.png" == (await files().fetch(f"{site}/", MAX_CONTENT_BYTES)).name


@pytest.mark.parametrize(
    ("url", "disposition", "mime_type", "expected"),
    [
        ("http://a.test/b/c.pdf?d=e#f", "", "application/pdf", "c.pdf"),
        ("http://a.test/B%C3%BCro%20%231.jpg", "", "image/jpeg", "Büro #1.jpg"),
        ("http://a.test/..%2F..%2Fetc%2Fpasswd", "", "text/plain", "passwd"),
        ("http://a.test/a%5Cb.txt", "", "text/plain", "b.txt"),
        ("http://a.test/a%00%0Ab.txt", "", "text/plain", "ab.txt"),
        ("http://a.test/%FF.txt", "", "text/plain", ".txt"),
        ("http://a.test/c.pdf", 'attachment; filename="other.pdf"', "application/pdf", "c.pdf"),
        ("http://a.test/", 'attachment; filename="other.pdf"', "application/pdf", "other.pdf"),
        ("http://a.test", "", "image/png", "file.png"),
        ("http://a.test/..", "", "text/plain", "file.txt"),
        ("http://a.test/", "", "no/such", "file"),
        ("http://a.test/" + "a" * 300 + ".png", "", "image/png", "a" * 251 + ".png"),
    ],
)
def test_names_contain_no_folders(url: str, disposition: str, mime_type: str, expected: str) -> None:
    assert expected == filename(url, disposition, mime_type)
