"""The three ways to upload a message: alone, beside its metadata, and in resumable pieces."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from random import Random

from workspace_sandbox.kit.refusals import require
from workspace_sandbox.mail.methods import Ask
from workspace_sandbox.mail.mime import Part, parameters, read_headers, sections, split_head
from workspace_sandbox.mail.refusals import invalid, not_found, too_large
from workspace_sandbox.mail.wire import Call, Refusal, Reply

MAX_UPLOAD_BYTES = 36_700_160
"""What discovery allows for an uploaded message: 35 MiB."""

PREFIXES = ("/upload", "/resumable/upload")
CHUNK_BYTES = 256 * 1024
"""Every piece but the last has a multiple of this."""

RANGE = re.compile(r"bytes (?:(\d{1,15})-(\d{1,15})|\*)/(\d{1,15}|\*)")
RESUME_INCOMPLETE = 308


@dataclass
class Upload:
    """A resumable upload under way, and what is done once it is complete."""

    ask: Ask
    total: int | None
    content: bytearray = field(default_factory=bytearray)


class Uploads:
    """The resumable uploads by their ids."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._open: dict[str, Upload] = {}

    def begin(self, call: Call, ask: Ask) -> Reply:
        """Open an upload; where to send the pieces is in ``Location``."""
        declared = call.headers.get("x-upload-content-length", "")
        if declared.isdecimal() and int(declared) > MAX_UPLOAD_BYTES:
            raise too_large()
        check_type(call.headers.get("x-upload-content-type", "message/rfc822"))
        upload_id = f"AHVrFx{self._random.getrandbits(320):080x}"
        self._open[upload_id] = Upload(ask, int(declared) if declared.isdecimal() else None)
        # At the address that the caller used: behind a forwarded port, no other one would lead back here.
        location = f"{call.origin}{call.path}?uploadType=resumable&upload_id={upload_id}"
        return Reply(200, b"", {"Location": location, "X-GUploader-UploadID": upload_id})

    def take(self, call: Call) -> Ask | Reply:
        """Take in one piece: an incomplete upload is answered at once, a complete one is to be done."""
        upload_id = call.first("upload_id")
        upload = require(self._open.get(upload_id), not_found())
        start, total = _placed(call, upload)
        if start is not None:
            _append(upload, start, call.body)
        if total is None or len(upload.content) < total:
            _check_chunk(upload, call)
            return Reply(RESUME_INCOMPLETE, b"", {"X-GUploader-UploadID": upload_id, **_received(upload)})
        del self._open[upload_id]
        return with_media(upload.ask, bytes(upload.content))


def with_media(ask: Ask, media: bytes) -> Ask:
    """*ask* with the uploaded message in it."""
    if len(media) > MAX_UPLOAD_BYTES:
        raise too_large()
    return replace(ask, media=media)


def simple(call: Call) -> bytes:
    """The message of an upload that is nothing else."""
    check_type(call.headers.get("content-type", ""))
    return call.body


def related(call: Call) -> tuple[bytes, bytes]:
    """The metadata and the message of a ``multipart/related`` upload."""
    media_type, given = parameters(call.headers.get("content-type", ""))
    found = sections(call.body, 0, len(call.body), given.get("boundary", "").encode("latin-1", "replace"))
    if not media_type.startswith("multipart/") or not given.get("boundary") or len(found) != 2:
        raise invalid("Malformed multipart body.")
    metadata, message = (read_part(call.body, start, end) for start, end in found)
    check_type(message.mime_type)
    return metadata.content, message.content


def read_part(body: bytes, start: int, end: int) -> Part:
    """One part of a multipart body, taken as a leaf whatever it holds."""
    head_end, content = split_head(body, start, end)
    return Part(body, content, end, "", read_headers(body, start, head_end))


def check_type(content_type: str) -> None:
    """Refuse what is not a message."""
    media_type = parameters(content_type)[0]
    if not media_type.startswith("message/"):
        raise invalid(f"Media type '{media_type}' is not supported. Valid media types: [message/*]")


def _placed(call: Call, upload: Upload) -> tuple[int | None, int | None]:
    written = call.headers.get("content-range")
    if written is None:
        return 0, len(call.body)
    found = RANGE.fullmatch(written.strip())
    if not found:
        raise invalid("Failed to parse Content-Range header.")
    total = upload.total if found[3] == "*" else int(found[3])
    if found[1] is None:
        return None, total
    if int(found[2]) - int(found[1]) + 1 != len(call.body):
        raise invalid("Failed to parse Content-Range header.")
    return int(found[1]), total


def _append(upload: Upload, start: int, body: bytes) -> None:
    if start > len(upload.content):
        raise invalid("Invalid request.  There were missing bytes before this range.")
    # A piece may overlap what was received, for a client cannot know how much arrived before the line broke.
    del upload.content[start:]
    upload.content += body
    if len(upload.content) > MAX_UPLOAD_BYTES:
        raise too_large()


def _check_chunk(upload: Upload, call: Call) -> None:
    if len(call.body) % CHUNK_BYTES:
        del upload.content[len(upload.content) - len(call.body) :]
        # The wording, with its double blanks, is what users report from the live service.
        raise Refusal(
            400,
            "INVALID_ARGUMENT",
            "badRequest",
            f"Invalid request.  The number of bytes uploaded is required to be equal or greater than {CHUNK_BYTES}, "
            "except for the final request (it's recommended to be the exact multiple of it).",
        )


def _received(upload: Upload) -> Mapping[str, str]:
    return {"Range": f"bytes=0-{len(upload.content) - 1}"} if upload.content else {}
