"""An emulator outside the sandbox's package that uses the standard OAuth server."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from aiohttp import web

from harness.sandbox_server import run_emulators
from workspace_sandbox.kit.emulator import Emulator
from workspace_sandbox.kit.emulator_context import EmulatorContext
from workspace_sandbox.kit.oauth.server import Grant
from workspace_sandbox.kit.oauth.standard import OAUTH_KNOBS, OAuthError, StandardOAuth
from workspace_sandbox.kit.routes import Route, page
from workspace_sandbox.kit.state.pickling import dump_state, restore
from workspace_sandbox.kit.state.seed_file_values import SeedValue
from workspace_sandbox.sandbox import Sandbox
from workspace_sandbox.tables import TablesEmulator, error_responses

BACK = "http://127.0.0.1:9/back"
APP = {"client_id": "app", "client_secret": "secret"}
REQUEST = {"client_id": "app", "redirect_uri": BACK, "response_type": "code", "scope": "read", "state": "s"}


@dataclass(eq=False)
class Account:
    """An account, whose class belongs to no module of the sandbox."""

    name: str


class ExampleOAuth(StandardOAuth):
    vendor = "Example"
    clients: ClassVar = {"app": "secret"}
    scopes: ClassVar = {"read": "Read it", "write": "Write it"}
    rotates_refresh_tokens = True
    revoked_by_refresh = frozenset({"access", "refresh"})

    def __init__(self, context: EmulatorContext) -> None:
        super().__init__(context, {"a1": Account("Juniper"), "a2": Account("Lantern")})

    def account_name(self, account: Account) -> str:
        return account.name


class ExampleEmulator(Emulator):
    knobs = OAUTH_KNOBS
    routes = (
        Route(method="GET", path="/me", handler=None),
        page("GET /authorize", ExampleOAuth.authorize),
        page("POST /authorize", ExampleOAuth.authorize),
        page("POST /token", ExampleOAuth.token),
    )
    errors = error_responses
    oauth: ExampleOAuth

    def create_default_data(self) -> None:
        self.oauth = ExampleOAuth(self.context)

    async def serve(self, route: Any, request: web.Request) -> web.StreamResponse:
        token = self.oauth.authenticate(request, OAuthError("invalid_token", "The token is invalid."))
        return web.json_response({"name": token.grant.account.name, "scopes": token.scopes})

    def credentials(self) -> dict[str, str]:
        return {}

    def examples(self) -> dict[str, Any]:
        return {}

    def apply_seed(self, data: SeedValue) -> dict[str, Any]:
        return {}


class TokenOAuth(ExampleOAuth):
    clients: ClassVar = {}


class TokenEmulator(ExampleEmulator):
    """An emulator of a vendor without OAuth, whose accounts have tokens."""

    def create_default_data(self) -> None:
        self.oauth = TokenOAuth(self.context)
        self.oauth.register("t1", "access", Grant("", self.oauth.accounts["a1"]))


# Their vendors publish no list of routes.
ExampleEmulator.coverage = TokenEmulator.coverage = TablesEmulator.coverage


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with run_emulators(example=ExampleEmulator) as sandbox:
        yield sandbox


@pytest.fixture
def vendor(sandbox: Sandbox) -> Iterator[httpx.Client]:
    httpx.post(f"{sandbox.address}/_control/reset").raise_for_status()
    with httpx.Client(base_url=sandbox.emulators["example"].context.addresses["base"]) as client:
        yield client


def redirected(vendor: httpx.Client, **changes: str) -> dict[str, str]:
    """Return the parameters with which the user returns to the app."""
    response = vendor.post("/authorize", params={**REQUEST, **changes}, data={"decision": "allow", "account": "a2"})
    assert 302 == response.status_code, response.text
    return {name: values[0] for name, values in parse_qs(urlsplit(response.headers["Location"]).query).items()}


def exchange(vendor: httpx.Client, **fields: str) -> httpx.Response:
    return vendor.post("/token", data={**APP, "redirect_uri": BACK, **fields})


def connect(vendor: httpx.Client) -> dict[str, Any]:
    code = redirected(vendor)["code"]
    tokens: dict[str, Any] = exchange(vendor, grant_type="authorization_code", code=code).raise_for_status().json()
    return tokens


def read_account(vendor: httpx.Client, tokens: dict[str, Any]) -> httpx.Response:
    return vendor.get("/me", headers={"Authorization": f"Bearer {tokens['access_token']}"})


def test_the_consent_page_names_accounts_and_scopes(vendor: httpx.Client) -> None:
    text = vendor.get("/authorize", params=REQUEST).text

    assert all(words in text for words in ("Juniper", "Lantern", "Read it"))
    assert "Write it" not in text


def test_a_code_is_exchanged_for_the_tokens_of_the_chosen_account(vendor: httpx.Client) -> None:
    tokens = connect(vendor)

    assert ("bearer", 3600, "read") == (tokens["token_type"], tokens["expires_in"], tokens["scope"])
    assert {"name": "Lantern", "scopes": ["read"]} == read_account(vendor, tokens).json()


def test_a_refresh_replaces_both_tokens(vendor: httpx.Client) -> None:
    tokens = connect(vendor)
    refreshed, repeated = (
        exchange(vendor, grant_type="refresh_token", refresh_token=tokens["refresh_token"]) for _ in range(2)
    )

    assert 400 == read_account(vendor, tokens).status_code
    assert 200 == read_account(vendor, refreshed.json()).status_code
    assert (400, "invalid_grant") == (repeated.status_code, repeated.json()["error"])


def test_a_refresh_can_leave_the_refresh_token_as_it_is(vendor: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ExampleOAuth, "rotates_refresh_tokens", False)
    monkeypatch.setattr(ExampleOAuth, "revoked_by_refresh", frozenset())
    tokens = connect(vendor)
    refreshed = exchange(vendor, grant_type="refresh_token", refresh_token=tokens["refresh_token"])

    assert "refresh_token" not in refreshed.json()
    assert 200 == read_account(vendor, tokens).status_code


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"response_type": "token"}, "unsupported_response_type"),
        ({"scope": "read everything"}, "invalid_scope"),
        ({"scope": ""}, "invalid_scope"),
        ({"code_challenge": "x", "code_challenge_method": "plain"}, "invalid_request"),
    ],
)
def test_the_app_receives_errors_of_its_request(vendor: httpx.Client, changes: dict[str, str], error: str) -> None:
    returned = redirected(vendor, **changes)

    assert (error, "s") == (returned["error"], returned["state"])


@pytest.mark.parametrize("changes", [{"client_id": "other"}, {"redirect_uri": "ftp://example.invalid"}])
def test_the_user_sees_errors_that_must_not_be_redirected(vendor: httpx.Client, changes: dict[str, str]) -> None:
    error_page = vendor.get("/authorize", params={**REQUEST, **changes})

    assert 400 == error_page.status_code
    assert "This request cannot be met" in error_page.text


def test_a_wrong_secret_is_rejected(vendor: httpx.Client) -> None:
    rejected = exchange(vendor, grant_type="refresh_token", client_secret="guess")

    assert (401, "invalid_client") == (rejected.status_code, rejected.json()["error"])


def test_a_state_with_classes_of_the_emulators_own_package_is_restored(sandbox: Sandbox) -> None:
    emulator = sandbox.emulators["example"]
    restore(emulator, dump_state(emulator))

    assert ["Juniper", "Lantern"] == [account.name for account in emulator.oauth.accounts.values()]


def test_an_emulator_without_oauth_client_is_served() -> None:
    with run_emulators(token=TokenEmulator) as sandbox:
        vendor = sandbox.emulators["token"].context.addresses["base"]

        assert {} == sandbox.describe()["clients"]["token"]
        assert 200 == httpx.get(f"{vendor}/me", headers={"Authorization": "Bearer t1"}).status_code
        assert 400 == httpx.get(f"{vendor}/authorize", params=REQUEST).status_code
