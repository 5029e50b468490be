"""``team.info``, ``bots.info`` and ``api.test``."""

from typing import Any

from workspace_sandbox.chat import object_json
from workspace_sandbox.chat.error_responses import ApiError
from workspace_sandbox.chat.request import ApiRequest

ICONS = (34, 44, 68, 88, 102, 132)


def info(request: ApiRequest) -> dict[str, Any]:
    """``team.info``. Other workspaces are not visible."""
    team, team_id = request.workspace.team, request.arguments.optional("team")
    if team_id not in {None, team.id}:
        raise ApiError("team_not_found")
    icon = {f"image_{size}": f"https://a.slack-edge.com/80588/img/avatars-teams/ava_0001-{size}.png" for size in ICONS}
    team_json = {"id": team.id, "name": team.name, "url": team.url, "domain": team.domain}
    return {"team": team_json | {"email_domain": team.email_domain, "icon": icon | {"image_default": True}}}


def bot_info(request: ApiRequest) -> dict[str, Any]:
    """``bots.info``, whose response is empty without a bot."""
    bot_id = request.arguments.optional("bot")
    if bot_id is None:
        return {}
    if bot_id != request.workspace.team.bot_id:
        raise ApiError("bot_not_found")
    return {"bot": object_json.bot(request.workspace)}


def test(request: ApiRequest) -> dict[str, Any]:
    """``api.test``, which returns the arguments, or an error if there is an ``error`` argument."""
    sent = {name: value for name, value in request.arguments.raw_values.items() if name != "token"}
    error = request.arguments.optional("error")
    if error:
        raise ApiError(error, args=sent)
    return {"args": sent} if sent else {}
