"""Authentication and scopes of the HubSpot emulator."""

import pytest

from sandbox.tests.crm.hubspot_client import OBJECTS, Api


@pytest.mark.parametrize("header", [{}, {"Authorization": "Bearer nonsense"}, {"Authorization": "Basic cGF0"}])
def test_call_without_a_valid_token_is_rejected(crm: Api, header: dict[str, str]) -> None:
    response = crm.session.get(f"{crm.base}{OBJECTS}/contacts", headers=header, timeout=60)

    assert 401 == response.status_code
    assert "INVALID_AUTHENTICATION" == response.json()["category"]
    assert response.json()["message"].startswith("Authentication credentials not found.")
    assert "x-hubspot-auth-failure" in response.headers


@pytest.mark.parametrize(
    ("method", "path", "granted", "needed"),
    [
        ("GET", f"{OBJECTS}/notes", "crm.objects.deals.read", "crm.objects.contacts.read"),
        ("POST", f"{OBJECTS}/deals", "crm.objects.deals.read", "crm.objects.deals.write"),
        ("POST", f"{OBJECTS}/deals/search", "crm.objects.deals.write", "crm.objects.deals.read"),
        ("GET", "/crm/owners/2026-09", "crm.objects.deals.read", "crm.objects.owners.read"),
        ("GET", "/crm/pipelines/2026-09/deals", "oauth", "crm.objects.contacts.read"),
    ],
)
def test_error_names_the_missing_scope(crm: Api, method: str, path: str, granted: str, needed: str) -> None:
    crm.knobs(scopes=[granted])
    response = crm(method, path, {} if method == "POST" else None)

    assert 403 == response.status_code
    assert "MISSING_SCOPES" == response.json()["category"]
    assert needed in response.json()["errors"][0]["context"]["requiredGranularScopes"]
    assert "scopes" in response.json()["links"]
