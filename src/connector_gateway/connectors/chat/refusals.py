"""What the vendor's refusals mean: the one table, and the error that it leads to."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import TypeVar

from connector_gateway.connectors.chat import wire
from connector_gateway.kit.errors import (
    ChannelArchived,
    ChannelNotFound,
    ConnectionRevoked,
    ConnectionScopeMissing,
    Doubt,
    EmojiNotFound,
    GatewayError,
    InvalidCursor,
    MessageNotFound,
    NotInChannel,
    NotMessageAuthor,
    OutcomeUnknown,
    ThreadNotFound,
    UpstreamError,
    UpstreamForbidden,
    UpstreamRefused,
    UpstreamUnexpected,
)
from connector_gateway.kit.reasons import EXPLAINED, SENTENCES, STATUSES, vendor_reason
from connector_gateway.kit.transport import Answer

W = TypeVar("W")
Refusals = Mapping[str, type[GatewayError]]

FAILURES: Mapping[str, Doubt] = {
    "external_channel_migrating": "failed",
    "fatal_error": "failed",
    "internal_error": "failed",
    "org_login_required": "failed",
    "request_timeout": "edge",
    "service_unavailable": "edge",
    "team_added_to_org": "failed",
    "update_failed": "failed",
}
"""What a failure, which comes with status 200 as well, says of a write.

The vendor says of ``internal_error`` and ``fatal_error`` that part of the work may have been done before they were
raised: nothing comes after them. The two that speak of time or load may be said in front of those who do the work.
Source: docs.slack.dev/reference/methods/chat.postMessage, read 2026-11.
"""

REFUSALS: Refusals = {
    "access_denied": UpstreamForbidden,
    "accesslimited": UpstreamForbidden,
    "account_inactive": ConnectionRevoked,
    "bad_timestamp": MessageNotFound,
    "cannot_dm_bot": ChannelNotFound,
    "cannot_reply_to_message": ThreadNotFound,
    "cant_update_message": NotMessageAuthor,
    "channel_not_found": ChannelNotFound,
    "edit_window_closed": UpstreamForbidden,
    "ekm_access_denied": UpstreamForbidden,
    "enterprise_is_restricted": UpstreamForbidden,
    "invalid_arguments": UpstreamRefused,
    "invalid_auth": ConnectionRevoked,
    "invalid_cursor": InvalidCursor,
    "invalid_name": EmojiNotFound,
    "invalid_thread_ts": ThreadNotFound,
    "invalid_user_combination": ChannelNotFound,
    "is_archived": ChannelArchived,
    "is_inactive": ChannelArchived,
    "message_not_found": MessageNotFound,
    "messages_tab_disabled": UpstreamForbidden,
    "missing_scope": ConnectionScopeMissing,
    "msg_blocks_too_long": UpstreamRefused,
    "msg_too_long": UpstreamRefused,
    "no_access": NotInChannel,
    "no_permission": ConnectionScopeMissing,
    "no_text": UpstreamRefused,
    "not_allowed_token_type": ConnectionScopeMissing,
    "not_authed": ConnectionRevoked,
    "not_in_channel": NotInChannel,
    "not_reactable": UpstreamRefused,
    "restricted_action": UpstreamForbidden,
    "restricted_action_non_threadable_channel": UpstreamForbidden,
    "restricted_action_read_only_channel": UpstreamForbidden,
    "restricted_action_thread_locked": UpstreamForbidden,
    "restricted_action_thread_only_channel": UpstreamForbidden,
    "streaming_state_conflict": UpstreamForbidden,
    "team_access_not_granted": ConnectionScopeMissing,
    "thread_locked": UpstreamForbidden,
    "thread_not_found": ThreadNotFound,
    "token_expired": ConnectionRevoked,
    "token_revoked": ConnectionRevoked,
    "too_many_emoji": UpstreamRefused,
    "too_many_reactions": UpstreamRefused,
    "two_factor_setup_required": UpstreamForbidden,
    "user_disabled": ChannelNotFound,
    "user_not_found": ChannelNotFound,
    "user_not_visible": ChannelNotFound,
}
"""What a refusal means; it comes with status 200."""

BLINDNESS: Refusals = {
    "channel_not_found": OutcomeUnknown,
    "is_archived": OutcomeUnknown,
    "is_inactive": OutcomeUnknown,
    "missing_scope": OutcomeUnknown,
    "no_access": OutcomeUnknown,
    "not_in_channel": OutcomeUnknown,
}
"""What refusals mean where a write in doubt is looked for: a channel may be open to posts and closed to readers."""

MESSAGES: Mapping[type[GatewayError], str] = {
    **SENTENCES,
    ChannelArchived: "The channel is archived.",
    ChannelNotFound: "The channel does not exist, or is private and the app was not invited.",
    ConnectionScopeMissing: "The connection lacks a permission that this needs.",
    EmojiNotFound: "The workspace has no emoji of that name.",
    InvalidCursor: "The application no longer knows this place of the list.",
    MessageNotFound: "The channel holds no such message.",
    NotInChannel: "The app is not a member of the channel.",
    NotMessageAuthor: "The message was not posted through this connection.",
    OutcomeUnknown: "Whether it was done cannot be looked up, since the app may not read the channel.",
    ThreadNotFound: "The channel holds no such thread, or none that can be replied to.",
}

REMEDIES: Mapping[str, str] = {
    "edit_window_closed": "Post a new message; the workspace no longer lets this one be edited.",
    "msg_too_long": "Send a shorter text.",
    "not_reactable": "React to another message.",
    "restricted_action_non_threadable_channel": "Post without thread_ts.",
    "restricted_action_thread_locked": "Post outside of the thread, or have it unlocked.",
    "restricted_action_thread_only_channel": "Reply to a message of the channel with thread_ts.",
    "streaming_state_conflict": "Edit the message once it is complete.",
    "thread_locked": "Have the thread unlocked, or use another message.",
    "too_many_emoji": "Use an emoji that the message already bears.",
    "too_many_reactions": "Remove a reaction of the app from the message first.",
}
"""What to do about single refusals, where it is something else than the usual."""


def verdict_of(answer: Answer) -> wire.Verdict:
    """What the vendor says of a request; nothing where that cannot be read."""
    return answer.glance(wire.Verdict) or wire.Verdict()


def code_of(verdict: wire.Verdict) -> str:
    """The vendor's code of a refusal; empty where there is none, or none that can be read."""
    return verdict.error if isinstance(verdict.error, str) else ""


def unwrap(answer: Answer, shape: type[W], refusals: Refusals = MappingProxyType({})) -> W:
    """What an accepted request was answered with; a refused one raises its catalogue error, first by *refusals*."""
    require_accepted(answer, refusals)
    return answer.read(shape)


def require_accepted(answer: Answer, refusals: Refusals = MappingProxyType({})) -> None:
    """Raise the catalogue error of a request that failed or was refused, first by *refusals*."""
    verdict = verdict_of(answer)
    if verdict.ok is True:
        return
    code = code_of(verdict)
    if code in FAILURES:
        doubt = None if answer.doubt is None else FAILURES[code]
        raise UpstreamError("The application failed over the request.", private=answer.text, doubt=doubt)
    # Neither accepted nor refused in words that are known: after a write, this must not pass for a refusal.
    unclear = not verdict.error or (verdict.ok is not False and not code)
    if answer.accepted and unclear:
        raise UpstreamError("The application answered something unreadable.", private=answer.text, doubt=answer.doubt)
    known = refusals.get(code) or REFUSALS.get(code)
    raise refused(answer, code, known or STATUSES.get(answer.status, UpstreamUnexpected))


def refused(answer: Answer, code: str, refusal: type[GatewayError]) -> GatewayError:
    """The error of a refusal; where it is one of many causes, the vendor's own reason tells which."""
    details = vendor_reason(code, remarks_of(answer)) if refusal in EXPLAINED else []
    return refusal(MESSAGES[refusal], *details, private=answer.text, remedy=REMEDIES.get(code))


def remarks_of(answer: Answer) -> str:
    """What the vendor remarks on a request, in one sentence after the other."""
    told = answer.glance(wire.Remarked)
    return "" if told is None else "; ".join(told.response_metadata.messages)
