"""A web server on loopback with scripted responses, which can be malformed in any way."""

import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True)
class ScriptedResponse:
    """The response at one path: only the given headers, then the pieces of the body."""

    pieces: Iterable[bytes] = ()
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


def scripted_response(content: bytes, mime_type: str = "image/png", **headers: str) -> ScriptedResponse:
    """Return a valid response with a file."""
    about = {"Content-Type": mime_type, "Content-Length": str(len(content))}
    return ScriptedResponse(
        [content], headers=about | {name.replace("_", "-"): value for name, value in headers.items()}
    )


def redirect_to(target: str, status: int = 302) -> ScriptedResponse:
    """Return a redirect."""
    return ScriptedResponse(status=status, headers={"Location": target, "Content-Length": "0"})


@contextmanager
def serve_files(pages: Mapping[str, ScriptedResponse]) -> Iterator[str]:
    """Serve *pages* by their paths and yield the base URL. Other paths return 404."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            page = pages.get(self.path, ScriptedResponse(status=404))
            self.send_response_only(page.status)
            for name, value in page.headers.items():
                self.send_header(name, value)
            self.send_header("Connection", "close")
            self.end_headers()
            with suppress(OSError):
                for piece in page.pieces:
                    self.wfile.write(piece)

        def log_message(self, *_: object) -> None:
            return None

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join(60)
