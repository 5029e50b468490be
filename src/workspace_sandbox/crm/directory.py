"""What a portal has beside records: its account, its owners and its pipelines."""

from dataclasses import dataclass
from datetime import timedelta, timezone
from typing import Any


@dataclass(frozen=True, slots=True)
class Account:
    """The portal itself."""

    portal_id: int = 4_471_120
    time_zone: str = "Africa/Algiers"
    """Without summer time, so that the offset always holds."""
    offset: timedelta = timedelta(hours=1)
    currency: str = "EUR"
    domain: str = "fjordlicht.example"
    user_id: int = 88_123
    user: str = "rita.poe@fjordlicht.example"
    app_id: int = 2_204_117

    @property
    def zone(self) -> timezone:
        """Where midnight, and with it the daily budget, is counted."""
        return timezone(self.offset)

    def described(self) -> dict[str, Any]:
        """The vendor's JSON for it."""
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


@dataclass(frozen=True, slots=True)
class Owner:
    """Somebody, or a queue, that records can belong to."""

    id: int
    user_id: int | None
    email: str | None
    first_name: str
    last_name: str
    type: str = "PERSON"
    archived: bool = False
    created: str = "2024-01-08T09:00:00.000Z"

    def described(self) -> dict[str, Any]:
        """The vendor's JSON for it; people who left keep their user only under the name that says so."""
        shown = {
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
            del shown["email"]
        return shown


@dataclass(frozen=True, slots=True)
class DealStage:
    """One stage of a pipeline; a closed one is won at probability 1."""

    id: str
    label: str
    probability: str
    closed: bool = False
    created: str = "2024-01-08T09:00:00.000Z"

    @property
    def won(self) -> bool:
        """Whether deals in it are won."""
        return self.closed and self.probability == "1.0"

    def described(self, position: int) -> dict[str, Any]:
        """The vendor's JSON for it; even numbers and booleans of the metadata are text."""
        return {
            "label": self.label,
            "displayOrder": position,
            "metadata": {"isClosed": str(self.closed).lower(), "probability": self.probability},
            "id": self.id,
            "createdAt": self.created,
            "updatedAt": self.created,
            "archived": False,
            "writePermissions": "CRM_PERMISSIONS_ENFORCEMENT",
        }


@dataclass(frozen=True, slots=True)
class Pipeline:
    """The way deals of one sort go."""

    id: str
    label: str
    stages: tuple[DealStage, ...]
    archived: bool = False
    created: str = "2024-01-08T09:00:00.000Z"

    def stage(self, identifier: str | None) -> DealStage | None:
        """The stage of that id, if it is one of this pipeline."""
        return next((stage for stage in self.stages if stage.id == identifier), None)

    def described(self, position: int) -> dict[str, Any]:
        """The vendor's JSON for it."""
        return {
            "label": self.label,
            "displayOrder": position,
            "id": self.id,
            "stages": [stage.described(order) for order, stage in enumerate(self.stages)],
            "createdAt": self.created,
            "updatedAt": self.created,
            "archived": self.archived,
        }
