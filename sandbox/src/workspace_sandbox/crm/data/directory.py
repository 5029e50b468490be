"""The account, owners and pipelines of a portal."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta, timezone
from typing import Any


@dataclass(frozen=True, slots=True)
class Account:
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


MAIN = Account()


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


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage of a pipeline. Its metadata contains numbers and booleans as strings."""

    id: str
    label: str
    metadata: Mapping[str, str]
    order: int | None = None
    archived: bool = False
    created: str = "2024-01-08T09:00:00.000Z"
    updated: str = "2024-01-08T09:00:00.000Z"

    @property
    def closed(self) -> bool:
        """Whether the stage is a final one."""
        return self.metadata.get("isClosed") == "true"

    @property
    def won(self) -> bool:
        """Whether deals in the stage are won, which means closed with probability 1."""
        return self.closed and self.metadata.get("probability") == "1.0"

    def to_json(self, position: int) -> dict[str, Any]:
        """Return the vendor's JSON."""
        return {
            "label": self.label,
            "displayOrder": position if self.order is None else self.order,
            "metadata": dict(self.metadata),
            "id": self.id,
            "createdAt": self.created,
            "updatedAt": self.updated,
            "archived": self.archived,
            "writePermissions": "CRM_PERMISSIONS_ENFORCEMENT",
        }


def deal_stage(identifier: str, label: str, probability: str, *, closed: bool = False) -> Stage:
    """Return a stage of deals."""
    return Stage(identifier, label, {"isClosed": str(closed).lower(), "probability": probability})


def ticket_stage(identifier: str, label: str, *, closed: bool = False) -> Stage:
    """Return a stage of tickets."""
    state = "CLOSED" if closed else "OPEN"
    return Stage(identifier, label, {"ticketState": state, "isClosed": str(closed).lower()})


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A pipeline of records of one type."""

    id: str
    label: str
    stages: tuple[Stage, ...]
    plural: str = "deals"
    order: int | None = None
    archived: bool = False
    created: str = "2024-01-08T09:00:00.000Z"
    updated: str = "2024-01-08T09:00:00.000Z"

    def find_stage(self, identifier: str | None) -> Stage | None:
        """Return the stage with that ID, or None."""
        return next((stage for stage in self.stages if stage.id == identifier), None)

    def to_json(self, position: int) -> dict[str, Any]:
        """Return the vendor's JSON."""
        return {
            "label": self.label,
            "displayOrder": position if self.order is None else self.order,
            "id": self.id,
            "stages": [stage.to_json(order) for order, stage in enumerate(self.stages)],
            "createdAt": self.created,
            "updatedAt": self.updated,
            "archived": self.archived,
        }


@dataclass(frozen=True, slots=True)
class Audit:
    """A change of a pipeline or a stage, with its time and user."""

    identifier: str
    action: str
    at: str
    user_id: int

    def to_json(self, portal_id: int) -> dict[str, Any]:
        """Return the vendor's JSON."""
        raw = {"portalId": portal_id, "identifier": self.identifier, "action": self.action}
        return raw | {"timestamp": self.at, "fromUserId": self.user_id}
