"""Meaning of the vendor's errors."""

from collections.abc import Collection, Mapping
from typing import TypeVar

from connector_gateway.connectors.chat import vendor_models
from connector_gateway.kit import errors
from connector_gateway.kit.errors.vendor_error_table import ErrorTable, Reason, VendorRejection
from connector_gateway.kit.upstream.pool import UpstreamResponse

W = TypeVar("W")
ErrorMap = Mapping[str, type[errors.GatewayError]]

VENDOR_FAILURES = frozenset(
    {
        "external_channel_migrating",
        "fatal_error",
        "internal_error",
        "org_login_required",
        "request_timeout",
        "service_unavailable",
        "team_added_to_org",
        "update_failed",
    }
)
"""Error codes of vendor failures, which also have status 200."""

ERROR_MAP: ErrorMap = {
    "access_denied": errors.UpstreamForbidden,
    "accesslimited": errors.UpstreamForbidden,
    "account_inactive": errors.ConnectionRevoked,
    "bad_timestamp": errors.MessageNotFound,
    "cannot_dm_bot": errors.ChannelNotFound,
    "cannot_reply_to_message": errors.ThreadNotFound,
    "cant_update_message": errors.NotMessageAuthor,
    "channel_not_found": errors.ChannelNotFound,
    "edit_window_closed": errors.UpstreamForbidden,
    "ekm_access_denied": errors.UpstreamForbidden,
    "enterprise_is_restricted": errors.UpstreamForbidden,
    "invalid_arguments": errors.UpstreamRefused,
    "invalid_auth": errors.ConnectionRevoked,
    "invalid_cursor": errors.InvalidCursor,
    "invalid_name": errors.EmojiNotFound,
    "invalid_thread_ts": errors.ThreadNotFound,
    "invalid_user_combination": errors.ChannelNotFound,
    "is_archived": errors.ChannelArchived,
    "is_inactive": errors.ChannelArchived,
    "message_not_found": errors.MessageNotFound,
    "messages_tab_disabled": errors.UpstreamForbidden,
    "missing_scope": errors.ConnectionScopeMissing,
    "msg_blocks_too_long": errors.UpstreamRefused,
    "msg_too_long": errors.UpstreamRefused,
    "no_access": errors.NotInChannel,
    "no_permission": errors.ConnectionScopeMissing,
    "no_text": errors.UpstreamRefused,
    "not_allowed_token_type": errors.ConnectionScopeMissing,
    "not_authed": errors.ConnectionRevoked,
    "not_in_channel": errors.NotInChannel,
    "not_reactable": errors.UpstreamRefused,
    "restricted_action": errors.UpstreamForbidden,
    "restricted_action_non_threadable_channel": errors.UpstreamForbidden,
    "restricted_action_read_only_channel": errors.UpstreamForbidden,
    "restricted_action_thread_locked": errors.UpstreamForbidden,
    "restricted_action_thread_only_channel": errors.UpstreamForbidden,
    "streaming_state_conflict": errors.UpstreamForbidden,
    "team_access_not_granted": errors.ConnectionScopeMissing,
    "thread_locked": errors.UpstreamForbidden,
    "thread_not_found": errors.ThreadNotFound,
    "token_expired": errors.ConnectionRevoked,
    "token_revoked": errors.ConnectionRevoked,
    "too_many_emoji": errors.UpstreamRefused,
    "too_many_reactions": errors.UpstreamRefused,
    "two_factor_setup_required": errors.UpstreamForbidden,
    "user_disabled": errors.ChannelNotFound,
    "user_not_found": errors.ChannelNotFound,
    "user_not_visible": errors.ChannelNotFound,
}
"""Errors by code. Their responses have status 200."""

UNMAPPED = frozenset(
    {
        "deprecated_endpoint",
        "invalid_arg_name",
        "invalid_array_arg",
        "invalid_charset",
        "invalid_form_data",
        "invalid_json",
        "invalid_metadata_format",
        "invalid_metadata_schema",
        "invalid_post_type",
        "json_not_object",
        "metadata_must_be_sent_from_app",
        "metadata_too_large",
        "method_deprecated",
        "missing_post_type",
        "no_item_specified",
        "too_many_attachments",
        "unknown_method",
        "upgrade_required",
    }
)
"""Documented codes of requests that this connector does not send, which have no specific error."""

EVIDENCE_ERROR_MAP: ErrorMap = {
    "channel_not_found": errors.OutcomeUnknown,
    "is_archived": errors.OutcomeUnknown,
    "is_inactive": errors.OutcomeUnknown,
    "missing_scope": errors.OutcomeUnknown,
    "no_access": errors.OutcomeUnknown,
    "not_in_channel": errors.OutcomeUnknown,
}
"""Errors while searching for an in-doubt message. The app may be allowed to post to a channel that it cannot read."""

THROTTLED = "ratelimited"
THROTTLES = frozenset({"message_limit_exceeded", "rate_limited", THROTTLED})
ALREADY_DONE = "already_reacted"
"""An error for the vendor, but for the caller the requested result."""

METHODS = (
    "docs.slack.dev/reference/methods/chat.postMessage, chat.update and reactions.add, each under Errors, read 2026-11"
)
LIMITS = "docs.slack.dev/apis/web-api/rate-limits, read 2026-11"


def response_status(response: UpstreamResponse) -> vendor_models.ResponseStatus:
    """Return the status fields of a response, which are empty if they cannot be decoded."""
    return response.try_decode(vendor_models.ResponseStatus) or vendor_models.ResponseStatus()


def get_error_code(status: vendor_models.ResponseStatus) -> str:
    """Return the vendor's error code, or an empty string if there is none or it cannot be decoded."""
    return status.error if isinstance(status.error, str) else ""


def read_reason(response: UpstreamResponse) -> Reason | None:
    """Return code and warnings of an error in the vendor's shape, or of a throttled request, which needs no body."""
    if response.status == 429 and "Retry-After" in response.headers:
        return Reason(THROTTLED)
    status = response_status(response)
    code = get_error_code(status)
    return Reason(code, response_warnings(response)) if status.ok is False and code else None


def read_warnings(response: UpstreamResponse) -> Collection[str]:
    """Return the codes of warnings. Few responses have any, so the body is searched before it is decoded."""
    if b'"warning' not in response.body:
        return ()
    body = response.try_decode(vendor_models.WithWarnings) or vendor_models.WithWarnings()
    return {*filter(None, body.warning.split(",")), *body.response_metadata.warnings}


def response_warnings(response: UpstreamResponse) -> str:
    """Return the vendor's warnings on a request as one text."""
    body = response.try_decode(vendor_models.ErrorWithWarnings)
    return "" if body is None else "; ".join(body.response_metadata.messages)


ERRORS = ErrorTable(
    read_reason,
    by_code=ERROR_MAP,
    messages={
        errors.ChannelArchived: "The channel is archived.",
        errors.ChannelNotFound: "The channel does not exist, or is private and the app was not invited.",
        errors.ConnectionScopeMissing: "The connection lacks a permission that this operation needs.",
        errors.EmojiNotFound: "The workspace has no emoji of that name.",
        errors.InvalidCursor: "The vendor no longer recognises this position in the list.",
        errors.MessageNotFound: "The channel has no such message.",
        errors.NotInChannel: "The app is not a member of the channel.",
        errors.NotMessageAuthor: "The message was not posted through this connection.",
        errors.OutcomeUnknown: "The outcome of the write cannot be checked, because the app may not read the channel.",
        errors.ThreadNotFound: "The channel has no such thread, or the message cannot have replies.",
    },
    remedies={
        "edit_window_closed": "Post a new message; the workspace no longer lets this one be edited.",
        "msg_too_long": "Send a shorter text.",
        "not_reactable": "React to another message.",
        "restricted_action_non_threadable_channel": "Post without {thread_ts}.",
        "restricted_action_thread_locked": "Post outside of the thread, or ask an administrator to unlock it.",
        "restricted_action_thread_only_channel": "Reply to a message of the channel with {thread_ts}.",
        "streaming_state_conflict": "Edit the message once it is complete.",
        "thread_locked": "Ask an administrator to unlock the thread, or use another message.",
        "too_many_emoji": "Use an emoji that the message already has.",
        "too_many_reactions": "Remove a reaction of the app from the message first.",
    },
    rejections=(
        VendorRejection({200}, METHODS, "|".join([*ERROR_MAP, *UNMAPPED, ALREADY_DONE])),
        VendorRejection({200, 429}, LIMITS, "|".join(THROTTLES)),
        # Part of the work may have been done before these errors, and nothing follows them. Errors about time or load
        # may come from a proxy before the work is done, so they are excluded.
        VendorRejection(
            {200, 500}, METHODS, "|".join(VENDOR_FAILURES - {"request_timeout", "service_unavailable"}), only_ended=True
        ),
    ),
)


def unwrap(response: UpstreamResponse, shape: type[W], error_map: ErrorMap | None = None) -> W:
    """Return the body of a successful response, or raise its error, preferring the codes of *error_map*."""
    check_accepted(response, error_map)
    return response.decode(shape)


def check_accepted(response: UpstreamResponse, error_map: ErrorMap | None = None) -> None:
    """Raise the error of a failed request, preferring the codes of *error_map*."""
    status = response_status(response)
    if status.ok is True:
        return
    if get_error_code(status) in VENDOR_FAILURES:
        raise errors.UpstreamError("The vendor failed to process the request.", private=response.text)
    # Neither accepted nor rejected with a known code. After a write, this must not count as a rejection.
    if response.is_success and (status.ok is not False or not status.error):
        raise errors.UpstreamError(
            "The vendor's response cannot be decoded.", private=response.text, doubt=response.doubt
        )
    raise ERRORS.create_error(response, ERRORS.classify(response, codes=error_map))
