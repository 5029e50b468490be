"""What is refused before it can do harm: credentials that no header carries, and guesses at the operator token."""

from typing import Any

import pytest

from connector_gateway.core.guesses import FREE
from harness.requirement import requirement
from harness.serving import Gateway, Reply

SECRET = "ntn_sesame_open_sesame"


def connect(gateway: Gateway, credentials: Any) -> Reply:
    """What is answered to a connection with *credentials*."""
    body = {"workspace_id": gateway.workspace_id, "connector": "notes", "credentials": credentials, "verify": False}
    return gateway.operator("POST", "/v1/connections", json=body)


@requirement("doors:credentials")
@pytest.mark.parametrize(
    "token",
    [
        "",
        f"{SECRET}\r\nX-Other: 1",
        f"{SECRET}\x00",
        f"{SECRET}\n",
        f" {SECRET}",
        f"{SECRET}\x7f",
        f"{SECRET}\x85",
        f"{SECRET}\u2028",
    ],
    ids=["empty", "two lines", "null", "line end", "space", "delete", "next line", "line separator"],
)
def test_credentials_that_no_header_carries_are_refused_when_they_are_set(gateway: Gateway, token: str) -> None:
    reply = connect(gateway, {"token": token})

    assert (422, ["credentials.token"]) == (reply.status, [detail["parameter"] for detail in reply.details])
    assert SECRET not in str(reply.body)


@requirement("doors:credentials")
def test_credentials_that_replace_others_are_refused_as_well(gateway: Gateway) -> None:
    made = connect(gateway, {"token": SECRET}).data["connection_id"]
    reply = gateway.operator("PATCH", f"/v1/connections/{made}", json={"credentials": {"token": "two\nlines"}})

    assert (422, ["credentials.token"]) == (reply.status, [detail["parameter"] for detail in reply.details])


@requirement("doors:credentials")
@pytest.mark.parametrize("credentials", [SECRET, [SECRET], {"token": [SECRET]}, {"token": {"token": SECRET}}, 5])
def test_credentials_of_another_type_are_not_repeated(gateway: Gateway, credentials: Any) -> None:
    reply = connect(gateway, credentials)

    assert (422, "invalid_parameters") == (reply.status, reply.code)
    assert SECRET not in str(reply.body)


@requirement("doors:operator-guesses")
def test_guesses_at_the_operator_token_are_slowed_down(gateway: Gateway) -> None:
    headers = [{"Authorization": f"Bearer guess-{number}"} for number in range(FREE + 1)]
    slept = gateway.app._steady.now()
    codes = {gateway.request("GET", "/v1/workspaces", headers=one).code for one in headers}

    assert {"invalid_api_key"} == codes
    assert gateway.app._steady.now() - slept > 1
