"""Classification of the vendor's errors."""

import json
from typing import Any

import pytest

from connector_gateway.connectors.chat import vendor_models
from connector_gateway.connectors.chat.vendor_errors import unwrap
from connector_gateway.kit.errors import (
    ChannelArchived,
    ChannelNotFound,
    ConnectionRevoked,
    ConnectionScopeMissing,
    GatewayError,
    NotInChannel,
    NotMessageAuthor,
    ThreadNotFound,
    UpstreamForbidden,
    UpstreamRefused,
    UpstreamUnexpected,
)
from connector_gateway.kit.upstream.pool import UpstreamResponse


def vendor_error(code: str, **more: Any) -> GatewayError:
    with pytest.raises(GatewayError) as error:
        unwrap(
            UpstreamResponse(200, {}, json.dumps({"ok": False, "error": code, **more}).encode()), vendor_models.Posted
        )
    return error.value


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("missing_scope", ConnectionScopeMissing),
        ("not_allowed_token_type", ConnectionScopeMissing),
        ("access_denied", UpstreamForbidden),
        ("messages_tab_disabled", UpstreamForbidden),
        ("not_in_channel", NotInChannel),
        ("channel_not_found", ChannelNotFound),
        ("cannot_reply_to_message", ThreadNotFound),
        ("is_archived", ChannelArchived),
        ("is_inactive", ChannelArchived),
        ("cant_update_message", NotMessageAuthor),
        ("invalid_arguments", UpstreamRefused),
        ("not_reactable", UpstreamRefused),
        ("something_new", UpstreamUnexpected),
        *[(code, ConnectionRevoked) for code in ("account_inactive", "token_revoked", "token_expired", "not_authed")],
    ],
)
def test_an_error_with_status_200_is_classified_by_its_code(code: str, error: type[GatewayError]) -> None:
    raised = vendor_error(code)

    assert error is type(raised)
    assert code not in raised.message


@pytest.mark.parametrize("remarks", ["odd", {"messages": "odd"}, {"messages": [{"odd": 1}]}])
def test_malformed_warnings_are_omitted(remarks: Any) -> None:
    assert [{"vendor_code": "no_text"}] == vendor_error("no_text", response_metadata=remarks).details


@pytest.mark.parametrize(
    ("code", "remedy"),
    [("edit_window_closed", "Post a new message"), ("restricted_action_thread_locked", "Post outside of the thread")],
)
def test_an_error_has_a_specific_remedy(code: str, remedy: str) -> None:
    assert vendor_error(code).remedy.startswith(remedy)
