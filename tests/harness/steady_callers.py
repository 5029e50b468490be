"""Callers that keep calling while the servers are disturbed."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import count

import httpx

CALLERS = 4


@contextmanager
def under_load(base_url: str, key: str, connection_id: str, database_id: object) -> Iterator[list[int]]:
    """Send keyed writes from four callers, two of them on new connections. Yields the statuses of the responses.

    The status is 0 without a response.
    """
    statuses: list[int] = []
    ending = threading.Event()
    url = f"{base_url}/v1/connectors/notes/pages"
    body = {"connection_id": connection_id, "database_id": database_id, "properties": {}}

    def call(http: httpx.Client, headers: Mapping[str, str], idempotency_key: str) -> int:
        try:
            sent = body | {"idempotency_key": idempotency_key}
            return http.post(url, headers=dict(headers), json=sent).status_code
        except httpx.TransportError:
            return 0

    def go_on(number: int) -> None:
        headers = {"Authorization": f"Bearer {key}"} | [{}, {"Connection": "close"}][number % 2]
        numbers = count()
        with httpx.Client(timeout=60) as http:
            while not ending.is_set():
                statuses.append(call(http, headers, f"key-{number}-{next(numbers)}-{id(statuses)}"))

    threads = [threading.Thread(target=go_on, args=(number,)) for number in range(CALLERS)]
    for thread in threads:
        thread.start()
    try:
        yield statuses
    finally:
        ending.set()
        for thread in threads:
            thread.join(60)
