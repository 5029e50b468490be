"""One call of a method, and what the method may use while it is served."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

from workspace_sandbox.chat.access import Installations, WorkspaceInstallation
from workspace_sandbox.chat.arguments import Arguments
from workspace_sandbox.chat.channel import Channel, ChannelType
from workspace_sandbox.chat.state import Workspace
from workspace_sandbox.chat.throttle import Limits
from workspace_sandbox.chat.wire import SlackError

FAMILIES = {"public_channel": "channels", "private_channel": "groups", "im": "im", "mpim": "mpim"}
"""The first word of the scopes that open each type of conversation."""


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """A request that was let in."""

    home: WorkspaceInstallation
    oauth: Installations
    limits: Limits
    knobs: Mapping[str, Any]
    arguments: Arguments
    token: str
    chance: Random
    uninstall: Callable[[], None]
    wake_at: Callable[[int], None]
    """Posts what has waited, once it is that time."""
    warnings: list[str] = field(default_factory=list)

    @property
    def workspace(self) -> Workspace:
        """The workspace that it is about."""
        return self.home.workspace

    @property
    def scopes(self) -> list[str]:
        """The scopes of the installation."""
        return self.oauth.scopes(self.home)

    def require(self, *any_of: str) -> None:
        """Refuse a token that has none of these scopes; none asked for is always enough."""
        scopes = self.scopes
        if any_of and not any(scope in scopes for scope in any_of):
            raise SlackError("missing_scope", needed=",".join(any_of), provided=",".join(scopes))

    def require_for(self, kind: ChannelType | str, verb: str) -> None:
        """Refuse a token that may not *verb* (read, history) conversations of that type."""
        self.require(f"{FAMILIES[kind]}:{verb}")

    def visible(self, verb: str) -> Channel:
        """The conversation the call names by id, if the token may *verb* its like."""
        channel = self.workspace.visible(self.arguments.text("channel"))
        self.require_for(channel.type, verb)
        return channel
