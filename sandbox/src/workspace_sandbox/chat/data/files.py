"""The files of a workspace."""

import mimetypes
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

PRETTY = {"png": "PNG", "jpg": "JPEG", "gif": "GIF", "pdf": "PDF", "text": "Plain Text", "python": "Python"}
EXTENSIONS = {"txt": "text", "py": "python", "jpeg": "jpg", "": "binary"}
"""Names of file types that differ from their extensions."""


@dataclass(slots=True)
class File:
    """A file. ``content`` is None until it is uploaded."""

    id: str
    name: str
    user: str
    created: int
    ticket: str
    title: str = ""
    content: bytes | None = None
    complete: bool = False
    deleted: bool = False
    shares: dict[str, list[str]] = field(default_factory=dict)
    """Message IDs by the conversation in which the file was shared."""

    @property
    def type(self) -> str:
        """The vendor's name of the file type."""
        ending = PurePath(self.name).suffix.lower().removeprefix(".")
        return EXTENSIONS.get(ending, ending)

    @property
    def mimetype(self) -> str:
        """The MIME type, from the extension."""
        return mimetypes.guess_type(self.name)[0] or "application/octet-stream"

    def describe(self, team_id: str, team_url: str, base: str, channels: Iterable[tuple[str, str]]) -> dict[str, Any]:
        """Return the file object. *channels* are the visible conversations that it is shared in, with their types."""
        if self.deleted:
            return {"id": self.id, "mode": "tombstone"}
        private = f"{base}/files-pri/{team_id}-{self.id}"
        shares = list(channels)
        return {
            "id": self.id,
            "created": self.created,
            "timestamp": self.created,
            "name": self.name,
            "title": self.title or self.name,
            "mimetype": self.mimetype,
            "filetype": self.type,
            "pretty_type": PRETTY.get(self.type, self.type.upper()),
            "user": self.user,
            "user_team": team_id,
            "editable": False,
            "size": len(self.content or b""),
            "mode": "hosted",
            "is_external": False,
            "external_type": "",
            "is_public": any(kind == "public_channel" for _, kind in shares),
            "public_url_shared": False,
            "display_as_bot": False,
            "username": "",
            "url_private": f"{private}/{self.name}",
            "url_private_download": f"{private}/download/{self.name}",
            "permalink": f"{team_url}files/{self.user}/{self.id}/{self.name}",
            "comments_count": 0,
            "is_starred": False,
            "channels": [one for one, kind in shares if kind == "public_channel"],
            "groups": [one for one, kind in shares if kind == "private_channel"],
            "ims": [one for one, kind in shares if kind == "im"],
            "has_rich_preview": False,
            "file_access": "visible",
        }
