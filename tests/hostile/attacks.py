"""Attempts of one client, with or without a key, to stall or exhaust the process."""

import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any
from urllib.parse import urlsplit

import httpx

from harness.gateway_process import Installation
from harness.raw_http import RawHttpClient, open_raw_connection

KIB = 1024
MIB = 1024 * KIB
STALLED_SECONDS = 2.0
"""The time for which waiting clients persist; more would only prolong the measurement."""

Attack = Callable[[Installation], None]


def _body(installation: Installation, body: bytes, path: str = "/v1/connectors/tables/records") -> None:
    headers = {"Authorization": f"Bearer {installation.key}", "Content-Type": "application/json"}
    installation.http.post(installation.base_url + path, content=body, headers=headers)


def duplicate_names(installation: Installation) -> None:
    """Return a body of 316 KB whose names are all different except for the last."""
    names = ",".join(f'"k{number}":1' for number in range(30_000))
    _body(installation, f'{{{names},"k29999":1}}'.encode())


def many_values(installation: Installation) -> None:
    """Send as many values as fit into a body, all of them invalid."""
    _body(installation, b'{"records":[' + b",".join([b"1"] * 500_000) + b"]}")


def many_errors(installation: Installation) -> None:
    """Send as many errors as a body can have."""
    _body(installation, ("{" + ",".join(f'"n{number}":1' for number in range(9_900)) + "}").encode())


def long_names(installation: Installation) -> None:
    """Send a name of 60 KB above many errors, whose paths all contain it."""
    _body(installation, b'{"records":[{"fields":{"' + b"x" * 60_000 + b'":[' + b'"\\u0001",' * 3_000 + b"1]}}]}")


def deep_values(installation: Installation) -> None:
    """Send a mebibyte of brackets."""
    _body(installation, b'{"records":' + b"[" * (MIB - 100))


def many_parameters(installation: Installation) -> None:
    """Send a query of thirty thousand parameters."""
    headers = {"Authorization": f"Bearer {installation.key}"}
    query = "&".join(["a"] * 30_000)
    installation.http.get(f"{installation.base_url}/v1/connectors/mail/messages?{query}", headers=headers)


def long_connections(installation: Installation) -> None:
    """Send a hundred connection names of 50 KB each."""
    headers = {"Authorization": f"Bearer {installation.key}"}
    for number in range(100):
        named = {"connection_id": f"{number}{'c' * 50_000}"}
        installation.http.get(f"{installation.base_url}/v1/connectors/mail/messages", params=named, headers=headers)


def endless_headers(installation: Installation) -> None:
    """Send headers of 40 MB without a key."""
    _pour(installation, b"GET /healthz HTTP/1.1\r\n", b"X-More: " + b"x" * 8000 + b"\r\n", 40 * MIB)


def endless_header(installation: Installation) -> None:
    """Send one header of 40 MB."""
    _pour(installation, b"GET /healthz HTTP/1.1\r\nX-More: ", b"x" * 64 * KIB, 40 * MIB)


def endless_trailers(installation: Installation) -> None:
    """Send trailers of 40 MB after a short body."""
    begin = b"POST /v1/connectors/notes/pages HTTP/1.1\r\nTransfer-Encoding: chunked\r\n"
    begin += b"Authorization: Bearer " + installation.key.encode() + b"\r\nContent-Type: application/json\r\n\r\n"
    _pour(installation, begin + b"2\r\n{}\r\n0\r\n", b"X-More: " + b"x" * 8000 + b"\r\n", 40 * MIB)


def requests_ahead(installation: Installation) -> None:
    """Pipeline two hundred thousand requests, and read no response."""
    _pour(installation, b"", b"GET /healthz HTTP/1.1\r\n\r\n" * 1000, 5 * MIB)


def half_requests(installation: Installation) -> None:
    """Open five hundred connections that never complete their headers."""
    _hold_open(installation, 500, lambda speaker: speaker.say("GET /healthz HTTP/1.1\r\nX-Slow: " + "x" * 60_000))


def half_bodies(installation: Installation) -> None:
    """Send a hundred bodies of a mebibyte that stop before their end."""
    headers = [f"Authorization: Bearer {installation.key}", "Content-Type: application/json"]

    def begin(speaker: RawHttpClient) -> None:
        length = f"Content-Length: {MIB}"
        speaker.send_request("POST", "/v1/connectors/notes/pages", *headers, length, body=b"x" * (MIB - 10))

    _hold_open(installation, 100, begin)


def first_document(installation: Installation) -> None:
    """Request the OpenAPI document for the first time, which builds it."""
    installation.http.get(f"{installation.base_url}/openapi.json")


def unread_documents(installation: Installation) -> None:
    """Request the document repeatedly on three hundred connections, and read nothing."""
    requests = "GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n" * 20
    _hold_open(installation, 300, lambda speaker: speaker.say(requests))


def unread_answer(installation: Installation) -> None:
    """Request an attachment of 12 MB as base64, and read nothing."""
    path = _attachment(installation)
    _hold_open(
        installation, 1, lambda speaker: speaker.send_request("GET", f"{path}&as=base64", _authorised(installation))
    )


def large_messages(installation: Installation) -> None:
    """Search for ten messages with two megabytes of HTML each."""
    html = "<p>" + "<b>large</b> &amp; wide<br>" * 80_000
    for number in range(10):
        action = {"action": "receive", "from": "a@b.test", "subject": f"Wide {number}", "body_html": html}
        assert (
            200 == installation.http.post(f"{installation.sandbox.address}/_control/mail/act", json=action).status_code
        )
    assert 200 == _search(installation, limit=10, include_body="true").status_code


def unread_answers(installation: Installation) -> None:
    """Request an attachment of 12 MB as base64 on forty connections, and read nothing."""
    path = _attachment(installation)
    _hold_open(
        installation, 40, lambda speaker: speaker.send_request("GET", f"{path}&as=base64", _authorised(installation))
    )


def unread_downloads(installation: Installation) -> None:
    """Download 12 MB from one link on forty connections without reading; other calls of the connector still succeed."""
    response = installation.http.get(
        installation.base_url + _attachment(installation), headers={"Authorization": f"Bearer {installation.key}"}
    )
    link = urlsplit(response.json()["data"]["download_url"]).path
    _hold_open(installation, 40, lambda speaker: speaker.send_request("GET", link))
    assert 200 == _search(installation).status_code


def _authorised(installation: Installation) -> str:
    return f"Authorization: Bearer {installation.key}"


def _search(installation: Installation, **query: Any) -> httpx.Response:
    params = {"connection_id": installation.connections["mail"], "limit": 1, "q": "in:inbox", **query}
    url = f"{installation.base_url}/v1/connectors/mail/messages"
    return installation.http.get(url, params=params, headers={"Authorization": f"Bearer {installation.key}"})


def _attachment(installation: Installation) -> str:
    """Return the path of an attachment of 12 MB in a new message."""
    file = {"filename": "long.bin", "size_bytes": 12 * MIB}
    action = {"action": "receive", "from": "a@b.test", "subject": "Large", "body_html": "x", "attachments": [file]}
    received = installation.http.post(f"{installation.sandbox.address}/_control/mail/act", json=action)
    assert 200 == received.status_code, received.text
    response = _search(installation, include_body="true")
    assert 200 == response.status_code, response.text
    (message,) = response.json()["data"]
    attachment_id = message["attachments"][0]["attachment_id"]
    query = f"connection_id={installation.connections['mail']}&message_id={message['message_id']}"
    return f"/v1/connectors/mail/attachments/{attachment_id}?{query}"


def _pour(installation: Installation, begin: bytes, more: bytes, size: int) -> None:
    """Send *begin*, then *more* repeatedly, until the size is reached or the server disconnects."""
    with open_raw_connection(installation.base_url) as speaker:
        try:
            speaker.say(begin)
            for _ in range(size // len(more)):
                speaker.say(more)
        except OSError:
            return


def _hold_open(installation: Installation, many: int, begin: Callable[[RawHttpClient], None]) -> None:
    """Send a request on many connections, and then neither read nor write."""
    with ExitStack() as stack, ThreadPoolExecutor(20) as pool:
        clients = [
            stack.enter_context(open_raw_connection(installation.base_url, buffer_bytes=4096)) for _ in range(many)
        ]
        for begun in [pool.submit(_unless_cut, begin, speaker) for speaker in clients]:
            begun.result()
        time.sleep(STALLED_SECONDS)


def _unless_cut(begin: Callable[[RawHttpClient], None], speaker: RawHttpClient) -> None:
    try:
        begin(speaker)
    except OSError:
        return


ATTACKS: Mapping[str, Attack] = {
    attack.__name__: attack
    for attack in (
        duplicate_names,
        many_values,
        many_errors,
        long_names,
        deep_values,
        many_parameters,
        long_connections,
        endless_headers,
        endless_header,
        endless_trailers,
        requests_ahead,
        half_requests,
        half_bodies,
        first_document,
        unread_documents,
        unread_answer,
        large_messages,
        unread_answers,
        unread_downloads,
    )
}
