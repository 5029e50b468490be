"""Keyword matches in messages of any script."""

from typing import Any

import pytest

from connector_gateway.connectors.chat import mapping, vendor_models
from connector_gateway.kit.vendor_model import convert
from harness.requirement import requirement

STATE = {"team_id": "T1", "user_id": "U0", "bot_id": "B0", "names": {"ops": "C1", "gone": None}}


def build_message(**fields: Any) -> vendor_models.Message:
    expected = {"type": "message", "ts": "1790000000.000100", "user": "U7", "text": "deploy now"}
    return convert(expected | fields, vendor_models.Message)


@requirement("chat-42")
@pytest.mark.parametrize(
    ("keyword", "text"),
    [
        ("deploy", "deploy"),
        ("deploy", "Ready? DEPLOY!"),
        ("deploy", "*deploy* _now_"),
        ("deploy", "`deploy`, said she"),
        ("Deploy", "re-deploy"),
        ("deploy now", "please deploy \n\t now, or never"),
        ("  deploy   now ", "deploy now"),
        ("R&D", "our R&amp;D people"),
        ("a < b", "if a &lt; b"),
        ("&lt;", "write &amp;lt; for it"),
        ("C++", "written in C++."),
        ("C++", "C++11"),
        ("#deploy", "see #deploy"),
        ("#general", "see <#C04GENERAL1|general>"),
        ("@here", "<!here> lunch"),
        ("@here", "<!here|here> lunch"),
        ("@ops", "<!subteam^S1|@ops> help"),
        ("@ada", "<@U7|ada> help"),
        ("<@U7>", "ask <@U7>, please"),
        ("status page", "the <https://status.example/a|status page> says"),
        ("example.com", "<https://example.com/deploy>"),
        ("ada@example.com", "<mailto:ada@example.com|ada@example.com>"),
        ("🎉", "done🎉🎉"),
        ("⚠", "⚠️ careful"),
        ("👍", "👍🏽"),
        (":tada:", "done:tada:"),
        ("straße", "HAUPTSTRASSE, STRASSE"),
        ("STRASSE", "die straße"),
        ("café", "cafe\u0301 at nine"),
        ("istanbul", "İSTANBUL"),
        ("ΟΔΟΣ", "η οδός οδος"),
        ("Привет", "ПРИВЕТ!"),
        ("שלום", "(שלום)"),
        ("سلام", "«سلام»"),
        ("नमस्ते", "नमस्ते दुनिया"),
        ("\uff21\uff22\uff23", "abc"),
        ("ﬁx", "fix"),
        ("東京", "東京都に行く"),
        ("デプロイ", "本番デプロイ完了"),
        ("API", "このAPIは"),
        ("ｶﾞ", "ガス"),
        ("배포", "배포를 시작"),
        ("ประเทศ", "ประเทศไทย"),
        ("ລາວ", "ປະເທດລາວ"),
        ("ខ្មែរ", "ភាសាខ្មែរ"),
        ("မြန်မာ", "မြန်မာစာ"),
        ("deploy", "de\u00adploy"),
    ],
)
def test_a_keyword_matches_complete_words_as_displayed(keyword: str, text: str) -> None:
    assert [keyword] == mapping.keyword_matching.matching_keywords(text, [keyword])


@requirement("chat-42")
@pytest.mark.parametrize(
    ("keyword", "text"),
    [
        ("deploy", "deployment"),
        ("deploy", "redeploy"),
        ("deploy", "deploy2"),
        ("404", "4040"),
        ("deploy now", "deploynow"),
        ("deploy now", "deploy, now"),
        ("hidden", "<https://example.com/hidden|label>"),
        ("U7", "<@U77>"),
        ("amp", "R&amp;D"),
        ("cafe", "café"),
        ("cafe", "cafe\u0301"),
        ("привет", "приветы"),
        ("नम", "नमस्ते"),
        ("कि", "किताब"),
        ("سلام", "السلام"),
        ("東京", "京都"),
        ("\u200b", "anything"),
        ("deploy", ""),
    ],
)
def test_a_part_of_a_word_is_no_keyword(keyword: str, text: str) -> None:
    assert [] == mapping.keyword_matching.matching_keywords(text, [keyword])


def test_equally_displayed_keywords_count_once() -> None:
    assert ["Deploy", "now"] == mapping.keyword_matching.matching_keywords(
        "deploy now", ["Deploy", "DEPLOY", "now", "never"]
    )


@pytest.mark.parametrize(
    ("text", "visible"),
    [
        ("a <b> &amp; c", "a b & c"),
        ("<#C1> and <@U1>", "<#C1> and <@U1>"),
        ("<!channel>", "@channel"),
        ("<!subteam^S1>", "<!subteam^S1>"),
        ("<!date^1790000000^{date}|Friday>", "Friday"),
        ("<#C1|ops> <https://example.com>", "#ops https://example.com"),
        ("1 &lt; 2 &gt; 0 &amp;gt;", "1 < 2 > 0 &gt;"),
    ],
)
def test_markup_is_read_as_it_is_displayed(text: str, visible: str) -> None:
    assert visible == mapping.message_text.plain_text(text)


@pytest.mark.parametrize(
    "text",
    [
        "deploy " * 5700,
        "a" * 40_000,
        "<" * 40_000,
        "<a|" * 13_000,
        "漢字" * 20_000,
        "a" + "\u0345\u0300" * 20_000,
        "&amp;" * 8_000,
    ],
    ids=["words", "letters", "brackets", "labels", "ideographs", "marks", "entities"],
)
def test_the_searched_text_grows_linearly_with_the_message(text: str) -> None:
    keywords = ["a" * 99 + "b", "<a|" * 33, *(f"deploy deploy {number}" for number in range(98))]

    assert "deploy deploy 7" not in mapping.keyword_matching.matching_keywords(text, keywords)
    assert (
        len(
            mapping.keyword_matching._within_edges(
                mapping.keyword_matching.folded_text(mapping.message_text.plain_text(text))
            )
        )
        <= 3 * len(text) + 2
    )


@requirement("chat-30", "chat-41")
def test_without_keywords_a_message_is_one_observation() -> None:
    (seen,) = mapping.message_events.observe(build_message(text="R&amp;D <@U1>"), "C1", {}, STATE)

    assert ("message.posted", "C1") == (seen.type, seen.channel)
    assert {"channel_id": "C1", "author": "U7", "text": "R&amp;D <@U1>", "matched_keyword": None} == seen.data


def test_each_keyword_is_a_separate_observation() -> None:
    seen = mapping.message_events.observe(build_message(), "C1", {"keywords": ["now", "deploy", "never"]}, STATE)

    assert ["now", "deploy"] == [one.data["matched_keyword"] for one in seen]
    assert {"message.keyword"} == {one.type for one in seen}
    assert 2 == len({one.identity for one in seen})


def test_a_respelt_keyword_is_the_same_observation() -> None:
    (before,) = mapping.message_events.observe(build_message(), "C1", {"keywords": ["Deploy"]}, STATE)
    (after,) = mapping.message_events.observe(build_message(team="T2"), "C1", {"keywords": ["DEPLOY "]}, STATE)

    assert before.identity == after.identity


@pytest.mark.parametrize("subtype", [None, "bot_message", "file_share", "me_message", "thread_broadcast"])
def test_messages_of_people_and_apps_are_observed(subtype: str | None) -> None:
    assert mapping.message_events.observe(build_message(subtype=subtype), "C1", {}, STATE)


@pytest.mark.parametrize(
    "fields",
    [
        {"subtype": "message_changed"},
        {"subtype": "message_deleted"},
        {"subtype": "channel_join"},
        {"subtype": "tombstone"},
        {"subtype": "something_new"},
        {"hidden": True},
        {"user": "U0"},
        {"user": None, "bot_id": "B0"},
        {"text": None},
    ],
    ids=str,
)
def test_other_events_are_not_observed(fields: dict[str, Any]) -> None:
    assert [] == mapping.message_events.observe(build_message(**fields), "C1", {}, STATE)


def test_the_author_of_a_bot_message_is_the_bot() -> None:
    (seen,) = mapping.message_events.observe(
        build_message(user=None, bot_id="B9", subtype="bot_message"), "C1", {}, STATE
    )

    assert "B9" == seen.data["author"]


@pytest.mark.parametrize(
    ("channels", "watched"),
    [
        ([], True),
        (["C1"], True),
        (["ops"], True),
        (["C2", "#ops"], False),
        (["gone"], False),
        (["unheard-of"], False),
    ],
    ids=str,
)
def test_channels_are_watched_by_identifier_or_by_resolved_name(channels: list[str], *, watched: bool) -> None:
    assert watched is mapping.message_events.is_watched("C1", {"channels": channels}, STATE)


@pytest.mark.parametrize(
    ("scopes", "types"),
    [
        ({"channels:read", "channels:history"}, "public_channel"),
        ({"channels:read", "groups:read", "groups:history", "im:history"}, "private_channel"),
        ({"im:read", "im:history", "mpim:read", "mpim:history"}, "im,mpim"),
        (set(), ""),
    ],
    ids=["public", "private", "direct", "none"],
)
def test_conversations_are_read_if_both_permissions_are_granted(scopes: set[str], types: str) -> None:
    assert types == mapping.message_events.readable_types(scopes)


def test_threads_with_new_replies_are_read() -> None:
    messages = [
        vendor_models.Message(ts="1.000000"),
        vendor_models.Message(ts="2.000000", reply_count=1, latest_reply="5.000000"),
        vendor_models.Message(ts="3.000000", reply_count=1, latest_reply="4.000000"),
        vendor_models.Message(ts="4.000000", reply_count=1),
    ]

    assert ["2.000000", "4.000000"] == mapping.message_events.threads(messages, "4.500000")


@pytest.mark.parametrize(("seconds", "ts"), [(1_790_000_000.5, "1790000000.500000"), (0.0, "0000000000.000000")])
def test_timestamps_sort_as_text(seconds: float, ts: str) -> None:
    assert ts == mapping.messages.message_ts(seconds)
