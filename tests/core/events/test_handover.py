"""Windows for handing over a secret."""

from urllib.parse import urlsplit

import pytest

from connector_gateway.core.events.handover import WINDOW_SECONDS, Handover
from connector_gateway.core.secrets import SecretKeys
from connector_gateway.kit.clock import instant
from connector_gateway.kit.errors import InvalidSignature
from harness.clocks import HandClock
from harness.requirement import requirement

SECRETS = SecretKeys(["a secret of this installation"])


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def handover(clock: HandClock) -> Handover:
    return Handover(SECRETS, "https://gateway.example", clock)


def address_in(opened: dict[str, str]) -> str:
    return urlsplit(opened["url"]).path.removeprefix("/hooks/notes/")


def test_a_window_has_an_address_of_its_own_and_an_end(handover: Handover, clock: HandClock) -> None:
    opened = handover.open("notes")

    assert opened["url"].startswith("https://gateway.example/hooks/notes/")
    assert instant(clock.now() + WINDOW_SECONDS) == opened["closes_at"]


@requirement("notes:hooks:handshake")
def test_a_secret_is_let_in_until_the_window_closes(handover: Handover, clock: HandClock) -> None:
    address = address_in(handover.open("notes"))
    clock.at += WINDOW_SECONDS - 1
    handover.require("notes", address)
    clock.at += 1

    with pytest.raises(InvalidSignature, match="time for handing over"):
        handover.require("notes", address)


@requirement("notes:hooks:handshake")
@pytest.mark.parametrize("address", ["", "x", "A" * 60, "ä", "../..", "\ud800"])
def test_a_guessed_address_lets_nothing_in(handover: Handover, address: str) -> None:
    with pytest.raises(InvalidSignature, match="No secret is taken"):
        handover.require("notes", address)


def test_the_address_of_one_connector_lets_nothing_in_for_another(handover: Handover) -> None:
    with pytest.raises(InvalidSignature):
        handover.require("chat", address_in(handover.open("notes")))


def test_the_address_of_another_installation_lets_nothing_in(clock: HandClock, handover: Handover) -> None:
    other = Handover(SecretKeys(["a secret of another one"]), "https://gateway.example", clock)

    with pytest.raises(InvalidSignature):
        handover.require("notes", address_in(other.open("notes")))
