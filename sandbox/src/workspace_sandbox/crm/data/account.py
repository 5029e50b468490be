"""The account of a portal, and its owners."""

from dataclasses import dataclass
from datetime import timedelta, timezone
from typing import Any


@dataclass(frozen=True, slots=True)
class PortalAccount:
    """A portal's account."""

    portal_id: int = 4_471_120
    time_zone: str = "Africa/Algiers"
    """A time zone without daylight saving time, so that the offset is constant."""
    offset: timedelta = timedelta(hours=1)
    currency: str = "EUR"
    domain: str = "fjordlicht.example"
    user_id: int = 88_123
    user: str = "rita.poe@fjordlicht.example"
    app_id: int = 2_204_117

    @property
    def zone(self) -> timezone:
        """The time zone in which the day of the daily budget ends."""
        return timezone(self.offset)

    def to_json(self) -> dict[str, Any]:
        """Return the vendor's JSON."""
        return {
            "portalId": self.portal_id,
            "accountType": "STANDARD",
            "timeZone": self.time_zone,
            "companyCurrency": self.currency,
            "additionalCurrencies": ["USD", "GBP"],
            "utcOffset": "+01:00",
            "utcOffsetMilliseconds": int(self.offset.total_seconds() * 1000),
            "uiDomain": "app-eu1.hubspot.com",
            "dataHostingLocation": "eu1",
        }


MAIN = PortalAccount()


@dataclass(frozen=True, slots=True)
class Owner:
    """A user or a queue that can own records."""

    id: int
    user_id: int | None
    email: str | None
    first_name: str
    last_name: str
    type: str = "PERSON"
    archived: bool = False
    created: str = "2024-01-08T09:00:00.000Z"

    def to_json(self) -> dict[str, Any]:
        """Return the vendor's JSON. Deactivated users have their user ID only in the field for inactive users."""
        raw = {
            "id": str(self.id),
            "email": self.email,
            "type": self.type,
            "firstName": self.first_name,
            "lastName": self.last_name,
            "userId": None if self.archived else self.user_id,
            "userIdIncludingInactive": self.user_id,
            "createdAt": self.created,
            "updatedAt": self.created,
            "archived": self.archived,
        }
        if self.email is None:
            del raw["email"]
        return raw
