"""Documents that are the same for everybody, and large."""

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from connector_gateway.http.answers import send_in_parts


class InParts(Response):
    """A large answer that leaves in parts, so that many who do not read it cost others nothing."""

    async def __call__(self, scope: Scope, _: Receive, send: Send) -> None:
        """Send it no faster than it is taken."""
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        await send_in_parts([] if scope["method"] == "HEAD" else [bytes(self.body)], send)
