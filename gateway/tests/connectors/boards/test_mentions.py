"""Mentions in comments: neutralised where the key or the call demands it."""

from functools import partial

import pytest

from connector_gateway.connectors.boards.models import CommentOnCard
from connector_gateway.core.calls.arguments import Arguments, Body
from gateway.tests.connectors.boards.desk import Desk
from harness.requirement import requirement

ASKED = {"Prefer": "mentions=neutralise"}


@requirement("connections-38")
@pytest.mark.parametrize(
    ("text", "neutral"),
    [
        ("@anna please", "@\u200banna please"),
        ("(@board, @card)", "(@\u200bboard, @\u200bcard)"),
        ("write to anna@example.com @ noon", "write to anna@example.com @ noon"),
    ],
)
def test_no_name_follows_the_sign_of_a_mention(text: str, neutral: str) -> None:
    body = Body(f'{{"connection_id": "conn_1", "card_id": "A1b2C3d4", "text": "{text}"}}'.encode())
    params = Arguments(path={}, body=body, neutralises_mentions=True).read(CommentOnCard)

    assert neutral == params.text


@requirement("connections-38")
def test_a_comment_that_was_cut_is_found_by_what_was_written(desk: Desk) -> None:
    desk.gateway.fault("boards", path=f"/1/cards/{desk.card_id}/actions/comments", fault="drop_after")
    comment = partial(desk.comment, "@anna, once", idempotency_key="mention", headers=ASKED)
    comment()
    repeated = comment()

    assert 200 == repeated.status
    assert ["@\u200banna, once"] == desk.comments()


@requirement("connections-38")
def test_the_comment_of_a_move_notifies_nobody_either(desk: Desk) -> None:
    desk.gateway.post(
        f"/boards/cards/{desk.card_id}/move",
        list_id=desk.gateway.examples("boards")["list_ids"][1],
        comment="@anna, moved",
        headers=ASKED,
    )

    assert ["@\u200banna, moved"] == desk.comments()
