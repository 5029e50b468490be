"""The three upload types of messages: simple, multipart with metadata, and resumable."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from random import Random

from workspace_sandbox.kit.error_responses import require
from workspace_sandbox.mail.data.mime_parser import Part, parse_parameters, read_headers, split_head, split_sections
from workspace_sandbox.mail.error_responses import ApiError, invalid, not_found, too_large
from workspace_sandbox.mail.raw_http import HttpRequest, Reply
from workspace_sandbox.mail.request import ApiRequest

MAX_UPLOAD_BYTES = 36_700_160
"""The maximum size of an uploaded message in the discovery document: 35 MiB."""

PREFIXES = ("/upload", "/resumable/upload")
CHUNK_BYTES = 256 * 1024
"""Every piece except the last is a multiple of this."""

RANGE = re.compile(r"bytes (?:(\d{1,15})-(\d{1,15})|\*)/(\d{1,15}|\*)")
RESUME_INCOMPLETE = 308


@dataclass
class ResumableUpload:
    """A resumable upload in progress, and the request to perform once it is complete."""

    request: ApiRequest
    total: int | None
    content: bytearray = field(default_factory=bytearray)


class Uploads:
    """The resumable uploads by id."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._open: dict[str, ResumableUpload] = {}

    def start(self, http_request: HttpRequest, request: ApiRequest) -> Reply:
        """Start an upload. ``Location`` is the URL for the pieces."""
        declared = http_request.headers.get("x-upload-content-length", "")
        if declared.isdecimal() and int(declared) > MAX_UPLOAD_BYTES:
            raise too_large()
        check_type(http_request.headers.get("x-upload-content-type", "message/rfc822"))
        upload_id = f"AHVrFx{self._random.getrandbits(320):080x}"
        self._open[upload_id] = ResumableUpload(request, int(declared) if declared.isdecimal() else None)
        # Use the URL of the caller: behind a forwarded port, no other URL is reachable.
        location = f"{http_request.origin}{http_request.path}?uploadType=resumable&upload_id={upload_id}"
        return Reply(200, b"", {"Location": location, "X-GUploader-UploadID": upload_id})

    def append_piece(self, http_request: HttpRequest) -> ApiRequest | Reply:
        """Append a piece. Returns a response while the upload is incomplete, otherwise the request to perform."""
        upload_id = http_request.first("upload_id")
        upload = require(self._open.get(upload_id), not_found())
        start, total = _parse_range(http_request, upload)
        if start is not None:
            _append(upload, start, http_request.body)
        if total is None or len(upload.content) < total:
            _check_chunk(upload, http_request)
            return Reply(RESUME_INCOMPLETE, b"", {"X-GUploader-UploadID": upload_id, **_range_header(upload)})
        del self._open[upload_id]
        return with_media(upload.request, bytes(upload.content))


def with_media(request: ApiRequest, media: bytes) -> ApiRequest:
    """Return *request* with the uploaded message."""
    if len(media) > MAX_UPLOAD_BYTES:
        raise too_large()
    return replace(request, media=media)


def read_simple_upload(http_request: HttpRequest) -> bytes:
    """Return the message of a simple upload."""
    check_type(http_request.headers.get("content-type", ""))
    return http_request.body


def read_multipart_upload(http_request: HttpRequest) -> tuple[bytes, bytes]:
    """Return the metadata and the message of a ``multipart/related`` upload."""
    media_type, options = parse_parameters(http_request.headers.get("content-type", ""))
    spans = split_sections(
        http_request.body, 0, len(http_request.body), options.get("boundary", "").encode("latin-1", "replace")
    )
    if not media_type.startswith("multipart/") or not options.get("boundary") or len(spans) != 2:
        raise invalid("Malformed multipart body.")
    metadata, message = (read_part(http_request.body, start, end) for start, end in spans)
    check_type(message.mime_type)
    return metadata.content, message.content


def read_part(body: bytes, start: int, end: int) -> Part:
    """Parse one part of a multipart body, without parsing nested parts."""
    head_end, content = split_head(body, start, end)
    return Part(body, content, end, "", read_headers(body, start, head_end))


def check_type(content_type: str) -> None:
    """Reject content that is not a message."""
    media_type = parse_parameters(content_type)[0]
    if not media_type.startswith("message/"):
        raise invalid(f"Media type '{media_type}' is not supported. Valid media types: [message/*]")


def _parse_range(http_request: HttpRequest, upload: ResumableUpload) -> tuple[int | None, int | None]:
    header = http_request.headers.get("content-range")
    if header is None:
        return 0, len(http_request.body)
    match = RANGE.fullmatch(header.strip())
    if not match:
        raise invalid("Failed to parse Content-Range header.")
    total = upload.total if match[3] == "*" else int(match[3])
    if match[1] is None:
        return None, total
    if int(match[2]) - int(match[1]) + 1 != len(http_request.body):
        raise invalid("Failed to parse Content-Range header.")
    return int(match[1]), total


def _append(upload: ResumableUpload, start: int, body: bytes) -> None:
    if start > len(upload.content):
        raise invalid("Invalid request.  There were missing bytes before this range.")
    # A piece may overlap received bytes: a client cannot know how much arrived before the connection broke.
    del upload.content[start:]
    upload.content += body
    if len(upload.content) > MAX_UPLOAD_BYTES:
        raise too_large()


def _check_chunk(upload: ResumableUpload, http_request: HttpRequest) -> None:
    if len(http_request.body) % CHUNK_BYTES:
        del upload.content[len(upload.content) - len(http_request.body) :]
        # The text, with its double spaces, is what users report from the live service.
        raise ApiError(
            400,
            "INVALID_ARGUMENT",
            "badRequest",
            f"Invalid request.  The number of bytes uploaded is required to be equal or greater than {CHUNK_BYTES}, "
            "except for the final request (it's recommended to be the exact multiple of it).",
        )


def _range_header(upload: ResumableUpload) -> Mapping[str, str]:
    return {"Range": f"bytes=0-{len(upload.content) - 1}"} if upload.content else {}
