"""The page on which a person lets the application into the workspace."""

from html import escape

from aiohttp import web
from yarl import URL

from workspace_sandbox.chat.access import CLIENT_ID, Access
from workspace_sandbox.kit.server import Refused

PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title><h1>{title}</h1>{body}</html>"""
FORM = """<p>It asks for: {scopes}</p><form method="get">{fields}
<button name="decision" value="allow">Allow</button> <button name="decision" value="deny">Cancel</button></form>"""


def authorize(access: Access, request: web.Request, team_name: str, *, automatic: bool) -> web.StreamResponse:
    """Ask, or take the decision and send the person back to the application."""
    query = request.query
    back = _checked(query.get("client_id", ""), query.get("scope", ""), query.get("redirect_uri", ""))
    decision = query.get("decision", "allow" if automatic or query.get("auto_approve") else "")
    state = {"state": query.get("state", "")}
    if decision == "allow":
        return _back(back, {"code": access.consent(query)} | state)
    if decision:
        return _back(back, {"error": "access_denied"} | state)
    hidden = "".join(f'<input type="hidden" name="{escape(n)}" value="{escape(v)}">' for n, v in query.items())
    body = FORM.format(scopes=escape(query["scope"]), fields=hidden)
    return _page(200, f"Let it into {team_name}?", body)


def _checked(client_id: str, scope: str, redirect_uri: str) -> URL:
    if client_id != CLIENT_ID:
        raise Refused(_page(200, "Invalid client_id parameter", "<p>invalid_client_id</p>"))
    if not scope:
        raise Refused(_page(200, "No scopes requested", "<p>no_scopes</p>"))
    try:
        back = URL(redirect_uri)
    except ValueError:
        back = URL()
    if back.scheme not in {"http", "https"} or back.fragment:
        message = "redirect_uri did not match any configured URIs"
        raise Refused(_page(200, message, "<p>bad_redirect_uri</p>"))
    return back


def _back(address: URL, answer: dict[str, str]) -> web.Response:
    return web.Response(status=302, headers={"Location": str(address.update_query(answer))})


def _page(status: int, title: str, body: str) -> web.Response:
    text = PAGE.format(title=escape(title), body=body)
    return web.Response(status=status, text=text, content_type="text/html")
