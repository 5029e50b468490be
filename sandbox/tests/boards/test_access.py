"""The boards emulator, byte for byte where the vendor's bytes are known: authentication."""

import pytest

from sandbox.tests.boards.boards_client import JSON, TEXT, UNKNOWN, Trello, status_type_and_text


def test_the_header_takes_precedence_over_query_and_body(trello: Trello) -> None:
    response = trello.request("GET", "/1/members/me", params={"key": "wrong", "token": "wrong"})

    assert 200 == response.status_code


def test_key_and_token_are_taken_from_the_query(trello: Trello) -> None:
    response = trello.request("GET", "/1/members/me", auth=None, params={"key": trello.key, "token": trello.token})

    assert "gatewaybot" == response.json()["username"]


@pytest.mark.parametrize("form", ["json", "data"])
def test_key_and_token_are_taken_from_the_body(trello: Trello, form: str) -> None:
    body = {"key": trello.key, "token": trello.token, "text": "hi"}

    response = trello.request(
        "POST", f"/1/cards/{trello.examples['card_id']}/actions/comments", auth=None, **{form: body}
    )

    assert "hi" == response.json()["data"]["text"]


def test_an_oauth_1_header_is_accepted_by_key_and_token(trello: Trello) -> None:
    header = (
        'OAuth oauth_nonce="1", oauth_timestamp="2", oauth_version="1.0", oauth_signature_method="HMAC-SHA1", '
        f'oauth_consumer_key="{trello.key}", oauth_token="{trello.token}", oauth_signature="a%2Bb%3D"'
    )

    assert 200 == trello.request("GET", "/1/members/me", auth=header).status_code


@pytest.mark.parametrize(
    ("method", "credentials", "expected"),
    [
        ("GET", (), (401, TEXT, "unauthorized card permission requested")),
        ("GET", ("key",), (401, JSON, '{"message":"missing scopes"}')),
        ("GET", ("token",), (401, TEXT, "invalid key")),
        ("PUT", (), (401, JSON, '{"message":"missing scopes"}')),
        ("PUT", ("key",), (401, JSON, '{"message":"missing scopes"}')),
        ("PUT", ("token",), (401, TEXT, "invalid key")),
    ],
)
def test_missing_credentials_are_rejected_with_the_vendors_texts(
    trello: Trello, method: str, credentials: tuple[str, ...], expected: tuple[int, str, str]
) -> None:
    params = {name: trello.emulator.credentials()[name] for name in credentials}

    response = trello.request(method, f"/1/cards/{trello.examples['card_id']}", auth=None, params=params)

    assert expected == status_type_and_text(response)


def test_a_wrong_token_and_a_wrong_key_have_different_errors(trello: Trello) -> None:
    wrong_token = trello.request("GET", "/1/members/me", auth=None, params={"key": trello.key, "token": "ATTAwrong"})
    wrong_key = trello.request("GET", "/1/members/me", auth=None, params={"key": "0" * 32, "token": trello.token})

    assert (401, TEXT, "invalid token") == status_type_and_text(wrong_token)
    assert (401, TEXT, "invalid key") == status_type_and_text(wrong_key)


def test_a_malformed_id_is_reported_before_wrong_credentials(trello: Trello) -> None:
    response = trello.request("GET", "/1/boards/not-an-id", auth=None)

    assert (400, TEXT, "invalid id") == status_type_and_text(response)


def test_the_token_is_checked_before_permission_and_existence(trello: Trello) -> None:
    trello.emulator.revoke()

    responses = [trello.request("GET", f"/1/boards/{one}") for one in (trello.examples["hidden_board_id"], UNKNOWN)]

    assert [status_type_and_text(response) for response in responses] == [(401, TEXT, "invalid token")] * 2


def test_a_token_describes_and_deletes_itself(trello: Trello) -> None:
    me = trello.get("/members/me", fields="username")

    described = trello.get(f"/tokens/{trello.token}", fields="identifier,idMember,dateCreated,dateExpires,permissions")
    member = trello.get(f"/tokens/{trello.token}/member")
    gone = trello.request("DELETE", f"/1/tokens/{trello.token}")

    assert ("Connector Gateway", me["id"], None) == (
        described["identifier"],
        described["idMember"],
        described["dateExpires"],
    )
    assert {"idModel": "*", "modelType": "Board", "read": True, "write": True} in described["permissions"]
    assert (me["id"], 200) == (member["id"], gone.status_code)
    assert (401, TEXT, "invalid token") == status_type_and_text(trello.request("GET", "/1/members/me"))
    trello.control("/boards/authorise")
    assert 200 == trello.request("GET", "/1/members/me").status_code
