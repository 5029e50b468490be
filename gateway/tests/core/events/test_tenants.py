"""Hooks of many tenants: in any history, every tenant observes exactly its own events."""

from harness.requirement import requirement
from hostile.tenant_isolation import gateway_on, play

HISTORIES = 150
"""A few tenants. ``make tenants`` simulates twenty thousand."""


@requirement("chat-53", "chat-55", "connections-33")
async def test_no_tenant_sees_the_events_of_another(database_url: str) -> None:
    async with gateway_on(database_url) as app:
        observed = await play(app, range(HISTORIES))

    assert observed > HISTORIES / 2
