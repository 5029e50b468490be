"""Pipelines with their stages, and the history of their changes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


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
