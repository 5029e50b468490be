"""``files.*``: files and their uploads in three steps."""

import math
from collections.abc import Callable
from typing import Any

from aiohttp import web

from workspace_sandbox.chat import object_json
from workspace_sandbox.chat.access import SlackOAuth
from workspace_sandbox.chat.api.messages import escape, find_destination, parse_thread
from workspace_sandbox.chat.data.channel import Channel
from workspace_sandbox.chat.data.files import File
from workspace_sandbox.chat.data.state import Workspace
from workspace_sandbox.chat.error_responses import ApiError, invalid_arguments
from workspace_sandbox.chat.request import ApiRequest
from workspace_sandbox.kit.oauth.server import read_bearer_token

MAX_CHANNELS = 100
MAX_PAGE_SIZE = 1000
KINDS = frozenset({"all", "spaces", "snippets", "images", "gdocs", "zips", "pdfs"})


def get_upload_url(request: ApiRequest) -> dict[str, Any]:
    """``files.getUploadURLExternal``, which returns the URL for the content."""
    name = request.arguments.text("filename")
    length = str(request.arguments.raw("length") or "")
    if not length.isdecimal() or int(length) == 0:
        raise invalid_arguments("must be more than 0 [json-pointer:/length]")
    workspace = request.workspace
    identifier = workspace.new_file_id()
    ticket = f"{request.random.getrandbits(160):040x}"
    file = File(identifier, name, workspace.team.bot_user_id, int(workspace.now()), ticket)
    workspace.files[identifier] = file
    return {"upload_url": f"{workspace.base}/upload/v1/{ticket}", "file_id": identifier}


async def receive_content(oauth: SlackOAuth, request: web.Request) -> web.Response:
    """Receive the content, as a raw body or a form. The URL needs no token."""
    announced = (one for installation in oauth.accounts.values() for one in installation.workspace.files.values())
    file = next((one for one in announced if one.ticket == request.match_info["ticket"]), None)
    if file is None or file.complete:
        return web.Response(status=404, text="Not Found")
    file.content = await _content(request)
    return web.Response(text=f"OK - {len(file.content)}")


async def _content(request: web.Request) -> bytes:
    if request.content_type != "multipart/form-data":
        return await request.read()
    parts = [value for value in (await request.post()).values() if isinstance(value, web.FileField)]
    return parts[0].file.read() if parts else b""


def complete_upload(request: ApiRequest) -> dict[str, Any]:
    """``files.completeUploadExternal``, which completes the files and shares them."""
    files = _announced_files(request)
    channels = [_target(request, one) for one in _target_channels(request)]
    thread = parse_thread(request, channels[0]) if len(channels) == 1 else {}
    for one in files:
        one.complete = True
        event = {"type": "file_created", "file_id": one.id, "user_id": one.user, "file": {"id": one.id}}
        request.workspace.emit_event(None, event)
    text = escape(request.arguments.optional("initial_comment") or "")
    for channel in channels:
        _share(request, files, channel, text, thread)
    return {"files": [{"id": one.id, "title": one.title or one.name} for one in files]}


def _announced_files(request: ApiRequest) -> list[File]:
    specs = request.arguments.structure("files", "invalid_arguments")
    if not isinstance(specs, list) or not specs or not all(isinstance(one, dict) for one in specs):
        raise invalid_arguments("missing required field: files")
    matches = [request.workspace.files.get(str(one.get("id"))) for one in specs]
    # Possible once only: completed files are no longer found.
    files = [one for one in matches if one is not None and one.content is not None and not one.complete]
    if len(files) < len(specs):
        raise ApiError("file_not_found")
    for one, spec in zip(files, specs, strict=True):
        one.title = str(spec.get("title") or one.name)
    return files


def _target_channels(request: ApiRequest) -> list[str]:
    channels = [*filter(None, [request.arguments.optional("channel_id")]), *request.arguments.words("channels")]
    if len(channels) > MAX_CHANNELS:
        raise ApiError("channels_limit_exceeded")
    return list(dict.fromkeys(channels))


def _target(request: ApiRequest, named: str) -> Channel:
    """Return the channel to share a file in. Unlike for messages, the bot must be in it."""
    channel = find_destination(request, named)
    return request.workspace.joined(channel.id)


def _share(request: ApiRequest, files: list[File], channel: Channel, text: str, thread: dict[str, Any]) -> None:
    subtype = {"subtype": "file_share", "files": [one.id for one in files]}
    message = request.workspace.post_as_bot(channel, text, **thread | subtype)
    for one in files:
        request.workspace.share(channel, message, one)


def info(request: ApiRequest) -> dict[str, Any]:
    """``files.info``."""
    file = _file(request)
    return {"file": _describe(request, file), "comments": [], "response_metadata": {"next_cursor": ""}}


def list_all(request: ApiRequest) -> dict[str, Any]:
    """``files.list``: the visible files, newest first, on numbered pages."""
    is_match = _parse_filter(request)
    matches = [one for one in reversed(request.workspace.files.values()) if is_match(one)]
    count, page = _number(request, "count", 100), _number(request, "page", 1)
    rows = [_describe(request, one) for one in matches[(page - 1) * count : page * count]]
    paging = {"count": count, "total": len(matches), "page": page, "pages": math.ceil(len(matches) / count)}
    return {"files": rows, "paging": paging}


def delete(request: ApiRequest) -> dict[str, Any]:
    """``files.delete``. Messages show a placeholder for the file."""
    file = _file(request)
    if file.user != request.workspace.team.bot_user_id:
        raise ApiError("cant_delete_file")
    file.deleted, file.content = True, b""
    request.workspace.emit_event(None, {"type": "file_deleted", "file_id": file.id})
    return {}


def reject_old_upload(_: ApiRequest) -> dict[str, Any]:
    """``files.upload``, which Slack has discontinued."""
    raise ApiError("method_deprecated")


async def download(oauth: SlackOAuth, request: web.Request) -> web.StreamResponse:
    """Return the content of a file if the token can read files. Other requests are redirected to the sign-in page."""
    team_id, _, identifier = request.match_info["file"].partition("-")
    installation = oauth.accounts.get(team_id)
    file = installation.workspace.files.get(identifier) if installation else None
    if installation is None or file is None or file.deleted or not can_see(installation.workspace, file):
        return web.Response(status=404, text="Not Found")
    token = oauth.find_valid(read_bearer_token(request), "access")
    if token is None or token.grant.account is not installation or "files:read" not in oauth.scopes(installation):
        # Neither a 401 nor a 403: a client that does not check stores an HTML page as its file.
        return web.Response(status=302, headers={"Location": f"{installation.workspace.team.url}?redir={request.path}"})
    return web.Response(body=file.content, content_type=file.mimetype)


def can_see(workspace: Workspace, file: File) -> bool:
    """Return True if the bot can see a file, which is its own or shared in a visible channel."""
    if not file.complete:
        return False
    shared = (workspace.channels[channel_id] for channel_id in file.shares)
    return file.user == workspace.team.bot_user_id or any(workspace.can_see(channel) for channel in shared)


def _file(request: ApiRequest) -> File:
    file = request.workspace.files.get(request.arguments.text("file"))
    if file is None or not can_see(request.workspace, file):
        raise ApiError("file_not_found")
    if file.deleted:
        raise ApiError("file_deleted")
    return file


def _describe(request: ApiRequest, file: File) -> dict[str, Any]:
    workspace = request.workspace
    shares: dict[str, dict[str, Any]] = {}
    for channel_id, posts in file.shares.items():
        channel = workspace.channels[channel_id]
        if workspace.can_see(channel):
            posts_json = [{"ts": ts, "channel_name": channel.name, "team_id": workspace.team.id} for ts in posts]
            shares.setdefault("private" if channel.is_private else "public", {})[channel_id] = posts_json
    return object_json.file(workspace, file) | {"shares": shares}


def _parse_filter(request: ApiRequest) -> Callable[[File], bool]:
    """Return a test for the requested files."""
    channel, user = request.arguments.optional("channel"), request.arguments.optional("user")
    kinds = set(request.arguments.words("types")) or {"all"}
    if not kinds <= KINDS:
        raise ApiError("unknown_type")
    since, until = _instant(request, "ts_from", 0.0), _instant(request, "ts_to", math.inf)

    def is_match(file: File) -> bool:
        kind = {"pdf": "pdfs", "zip": "zips"}.get(file.type, f"{file.mimetype.partition('/')[0]}s")
        return (
            can_see(request.workspace, file)
            and not file.deleted
            and (channel is None or channel in file.shares)
            and (user is None or user == file.user)
            and not kinds.isdisjoint({"all", kind})
            and since <= file.created <= until
        )

    return is_match


def _instant(request: ApiRequest, name: str, usual: float) -> float:
    try:
        return float(request.arguments.raw(name) or usual)
    except (TypeError, ValueError):
        raise invalid_arguments(f"must be a number [json-pointer:/{name}]") from None


def _number(request: ApiRequest, name: str, usual: int) -> int:
    value = str(request.arguments.raw(name) or usual)
    return min(int(value), MAX_PAGE_SIZE) if value.isdecimal() and int(value) else usual
