"""Mentions in comments: neutralised if the key or the call demands it."""

from functools import partial

import pytest

from connector_gateway.connectors.boards.models import CommentOnCard
from connector_gateway.core.calls.arguments import Arguments, Body
from gateway.tests.connectors.boards.card_client import CardClient
from harness.requirement import requirement

NEUTRALISE = {"Prefer": "mentions=neutralise"}


@requirement("connections-38")
@pytest.mark.parametrize(
    ("text", "neutral"),
    [
        ("@anna please", "@\u200banna please"),
        ("(@board, @card)", "(@\u200bboard, @\u200bcard)"),
        ("write to anna@example.com @ noon", "write to anna@example.com @ noon"),
    ],
)
def test_mentions_are_neutralised(text: str, neutral: str) -> None:
    body = Body(f'{{"connection_id": "conn_1", "card_id": "A1b2C3d4", "text": "{text}"}}'.encode())
    params = Arguments(path={}, body=body, neutralises_mentions=True).read(CommentOnCard)

    assert neutral == params.text


@requirement("connections-38")
def test_comment_with_a_lost_response_is_found_by_its_neutralised_text(client: CardClient) -> None:
    client.gateway.fault("boards", path=f"/1/cards/{client.card_id}/actions/comments", fault="drop_after")
    comment = partial(client.comment, "@anna, once", idempotency_key="mention", headers=NEUTRALISE)
    comment()
    repeated = comment()

    assert 200 == repeated.status
    assert ["@\u200banna, once"] == client.comments()


@requirement("connections-38")
def test_comment_of_a_move_is_neutralised(client: CardClient) -> None:
    client.gateway.post(
        f"/boards/cards/{client.card_id}/move",
        list_id=client.gateway.examples("boards")["list_ids"][1],
        comment="@anna, moved",
        headers=NEUTRALISE,
    )

    assert ["@\u200banna, moved"] == client.comments()
