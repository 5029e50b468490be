"""A request to a method, and the services that the method can use."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

from workspace_sandbox.chat.access import Installation, SlackOAuth
from workspace_sandbox.chat.arguments import Arguments
from workspace_sandbox.chat.data.channel import Channel, ChannelType
from workspace_sandbox.chat.data.state import Workspace
from workspace_sandbox.chat.error_responses import ApiError
from workspace_sandbox.chat.rate_limits import RateLimiter

FAMILIES = {"public_channel": "channels", "private_channel": "groups", "im": "im", "mpim": "mpim"}
"""The first part of the scopes for each type of conversation."""


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """An authenticated request to a method."""

    installation: Installation
    oauth: SlackOAuth
    limits: RateLimiter
    knobs: Mapping[str, Any]
    arguments: Arguments
    token: str
    random: Random
    uninstall: Callable[[], None]
    schedule_posting: Callable[[int], None]
    """Schedules the posting of due messages at a time."""
    warnings: list[str] = field(default_factory=list)

    @property
    def workspace(self) -> Workspace:
        """The workspace of the request."""
        return self.installation.workspace

    @property
    def scopes(self) -> list[str]:
        """The scopes of the installation."""
        return self.oauth.scopes(self.installation)

    def require(self, *any_of: str) -> None:
        """Raise an error unless the token has one of these scopes. No scopes mean no restriction."""
        scopes = self.scopes
        if any_of and not any(scope in scopes for scope in any_of):
            raise ApiError("missing_scope", needed=",".join(any_of), provided=",".join(scopes))

    def require_for(self, kind: ChannelType | str, verb: str) -> None:
        """Raise an error unless the token has the *verb* (read, history) scope for conversations of type *kind*."""
        self.require(f"{FAMILIES[kind]}:{verb}")

    def visible(self, verb: str) -> Channel:
        """Return the conversation in the ``channel`` argument, if the token has the *verb* scope for its type."""
        channel = self.workspace.visible(self.arguments.text("channel"))
        self.require_for(channel.type, verb)
        return channel
