"""``team.info``, ``bots.info`` and ``api.test``: the workspace, and the application in it."""

from typing import Any

from workspace_sandbox.chat import wire
from workspace_sandbox.chat.call import ApiRequest
from workspace_sandbox.chat.wire import SlackError

ICONS = (34, 44, 68, 88, 102, 132)


def info(call: ApiRequest) -> dict[str, Any]:
    """``team.info``; of another workspace nothing is told."""
    team, asked = call.workspace.team, call.arguments.optional("team")
    if asked not in {None, team.id}:
        raise SlackError("team_not_found")
    icon = {f"image_{size}": f"https://a.slack-edge.com/80588/img/avatars-teams/ava_0001-{size}.png" for size in ICONS}
    about = {"id": team.id, "name": team.name, "url": team.url, "domain": team.domain}
    return {"team": about | {"email_domain": team.email_domain, "icon": icon | {"image_default": True}}}


def bot_info(call: ApiRequest) -> dict[str, Any]:
    """``bots.info``; without a bot nothing but an empty answer."""
    asked = call.arguments.optional("bot")
    if asked is None:
        return {}
    if asked != call.workspace.team.bot_id:
        raise SlackError("bot_not_found")
    return {"bot": wire.bot(call.workspace)}


def test(call: ApiRequest) -> dict[str, Any]:
    """``api.test``: what was sent comes back, as a refusal if an ``error`` is asked for."""
    sent = {name: value for name, value in call.arguments.everything.items() if name != "token"}
    error = call.arguments.optional("error")
    if error:
        raise SlackError(error, args=sent)
    return {"args": sent} if sent else {}
