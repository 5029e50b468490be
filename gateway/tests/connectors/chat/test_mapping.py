"""Conversions between the vendor's JSON and public shapes."""

from datetime import UTC, datetime
from typing import Any

import pytest

from connector_gateway.connectors.chat import mapping, vendor_models
from connector_gateway.kit.errors import ChannelListTooLong, ChannelNotFound
from connector_gateway.kit.vendor_model import convert
from harness.requirement import requirement

ANYWHERE = {"chat:write", "chat:write.public"}
MEMBERS_ONLY = {"chat:write"}


def channel(**fields: Any) -> vendor_models.Conversation:
    expected = {"id": "C1", "name": "ops", "is_private": False, "is_member": False, "num_members": 4}
    return convert(expected | fields, vendor_models.Conversation)


def conversation(**fields: Any) -> vendor_models.Conversation:
    return vendor_models.Conversation(id="D1", is_im=True, user="U1", **fields)


def message(**fields: Any) -> vendor_models.Message:
    return convert({"ts": "1790000001.000200"} | fields, vendor_models.Message)


@requirement("chat-2")
@pytest.mark.parametrize(
    ("named", "is_channel", "is_user"),
    [
        ("C04GENERAL1", True, False),
        ("G04WARROOM2", True, False),
        ("D04IM000001", True, False),
        ("U04NW000002", False, True),
        ("W04NW000002", False, True),
        ("general", False, False),
        ("#C04GENERAL1", False, False),
        ("C04general1", False, False),
        ("CORE", False, False),
        ("GENERAL", False, False),
        ("UPDATES", False, False),
    ],
)
def test_identifiers_are_distinguished_from_names(named: str, *, is_channel: bool, is_user: bool) -> None:
    assert (is_channel, is_user) == (mapping.channels.is_channel_id(named), mapping.channels.is_user_id(named))


@pytest.mark.parametrize("name", ["büro", "#büro", "BÜRO", "bu\u0308ro"])
def test_a_name_matches_in_any_notation(name: str) -> None:
    known = mapping.channels.names([channel(id="C7", name="büro")])

    assert "C7" == mapping.channels.named(known, name)


@pytest.mark.parametrize("complete", [True, False])
def test_capitals_are_an_identifier_if_no_channel_has_the_name(*, complete: bool) -> None:
    known = mapping.channels.names([channel(id="C7", name="general")], complete=complete)

    assert ("C7", "CGENERAL", "UPDATES") == tuple(
        mapping.channels.named(known, name) for name in ("GENERAL", "CGENERAL", "UPDATES")
    )


@pytest.mark.parametrize(
    ("matches", "expected"), [("UPDATES", True), ("W04NW000002", True), ("C1", False), ("", False)]
)
def test_people_are_distinguished_from_channels(matches: str, *, expected: bool) -> None:
    assert expected is mapping.channels.is_person(matches)


def test_a_channel_listed_twice_counts_once() -> None:
    assert {"ops": ["C1"]} == mapping.channels.names([channel(), channel()]).ids


def test_an_active_channel_is_preferred_to_an_archived_one() -> None:
    assert {"ops": ["C2"]} == mapping.channels.names([channel(id="C1", is_archived=True), channel(id="C2")]).ids


def test_an_archived_channel_with_a_unique_name_matches() -> None:
    assert {"ops": ["C1"]} == mapping.channels.names([channel(id="C1", is_archived=True)]).ids


def test_a_name_missing_in_an_incomplete_list_is_not_reported_as_unknown() -> None:
    known = mapping.channels.names([channel(id="C1", name="dev")], complete=False)

    with pytest.raises(ChannelListTooLong) as error:
        mapping.channels.named(known, "#ops")

    assert "C1" == mapping.channels.named(known, "dev")
    assert [{"parameter": "channel", "value": "#ops"}] == error.value.details


@pytest.mark.parametrize(("count", "listed"), [(1, 1), (50, 50), (200, 50)])
def test_an_unknown_channel_is_rejected_with_the_closest_matches(count: int, listed: int) -> None:
    known = mapping.channels.names([channel(id=f"C{number}", name=f"ops-{number}") for number in range(count)])
    with pytest.raises(ChannelNotFound) as error:
        mapping.channels.named(known, "opps-0")

    assert (listed, "ops-0") == (len(error.value.details[0]["allowed"]), error.value.details[0]["allowed"][0])


@requirement("chat-17")
@pytest.mark.parametrize(
    ("types", "expected"),
    [
        ("public", "public_channel"),
        ("public,private", "public_channel,private_channel"),
        (" im , public ", "im,public_channel"),
        ("im,im", "im"),
    ],
)
def test_types_are_converted_to_vendor_types(types: str, expected: str) -> None:
    assert expected == mapping.channels.vendor_types(types)


@requirement("chat-15")
@pytest.mark.parametrize(
    ("seen", "scopes", "listed"),
    [
        (channel(is_member=True), MEMBERS_ONLY, True),
        (channel(is_member=False), MEMBERS_ONLY, False),
        (channel(is_member=False), ANYWHERE, True),
        (channel(is_member=False, is_private=True), ANYWHERE, False),
        (channel(is_member=True, is_private=True), MEMBERS_ONLY, True),
        (channel(is_member=True, is_archived=True), ANYWHERE, False),
        (conversation(is_user_deleted=False), MEMBERS_ONLY, True),
        (conversation(is_user_deleted=True), MEMBERS_ONLY, False),
    ],
)
def test_only_channels_that_accept_posts_are_listed(
    seen: vendor_models.Conversation, scopes: set[str], *, listed: bool
) -> None:
    assert listed == bool(mapping.channels.channels([seen], scopes))


@pytest.mark.parametrize(
    ("ts", "expected"),
    [
        ("1790000001.000200", datetime(2026, 9, 21, 14, 13, 21, 200, UTC)),
        ("1790000001.999999", datetime(2026, 9, 21, 14, 13, 21, 999_999, UTC)),
        ("1790000001", datetime(2026, 9, 21, 14, 13, 21, 0, UTC)),
    ],
)
def test_a_message_identifier_is_converted_to_microseconds(ts: str, expected: datetime) -> None:
    assert expected == mapping.messages.parse_ts(ts)


def test_an_edit_without_a_vendor_time_has_the_current_time() -> None:
    now = datetime(2026, 11, 2, tzinfo=UTC)

    stored = mapping.messages.stored_edit("C1", "1790000001.000200", None, now.timestamp())

    assert mapping.messages.edited_message(stored).edited_at == now


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ({"event_type": "mark", "event_payload": {"k": "m1"}}, True),
        ({"event_type": "mark", "event_payload": {"k": "m2"}}, False),
        ({"event_type": "other", "event_payload": {"k": "m1"}}, False),
        ({"event_type": "mark"}, False),
        (None, False),
    ],
)
def test_a_message_is_ours_by_its_marker(metadata: Any, *, expected: bool) -> None:
    assert expected == mapping.in_doubt_matching.has_marker(message(metadata=metadata), "mark", "m1")


@pytest.mark.parametrize(
    ("name", "user_id", "expected"), [("eyes", "U1", True), ("eyes", "U3", False), ("tada", "U1", False)]
)
def test_a_reaction_is_ours_by_name_and_user(name: str, user_id: str, *, expected: bool) -> None:
    seen = message(reactions=[{"name": "eyes", "users": ["U2", "U1"], "count": 2}])

    assert expected == mapping.reactions.has_reaction(seen, name, user_id)


@pytest.mark.parametrize(
    ("stored", "text", "expected"),
    [
        ("hello", "hello", True),
        ("a &amp; b &lt;c&gt;", "a & b <c>", True),
        ("a &amp; b", "a &amp; b", True),
        ("see <https://example.com/a>", "see https://example.com/a", True),
        ("hello", "hello!", False),
        (None, "hello", False),
    ],
)
def test_a_body_is_recognised_through_the_vendors_escaping(stored: str | None, text: str, *, expected: bool) -> None:
    assert expected == mapping.in_doubt_matching.has_text(message(text=stored), text)
