"""Records, which are immutable: every write creates a new version."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from workspace_sandbox.crm.data.built_in_properties import CREATOR_PROPERTIES
from workspace_sandbox.crm.data.object_types import ObjectType
from workspace_sandbox.kit.clock import format_timestamp

APPLICATION, PERSON = "INTEGRATION", "CRM_UI"
"""The sources of a change."""


@dataclass(frozen=True, slots=True)
class Creator:
    """The creator of a record: an app, a user or the vendor."""

    source: str
    id: str = ""
    user_id: str = ""

    @classmethod
    def application(cls, app_id: object) -> "Creator":
        """Return an app that calls the API."""
        return cls(APPLICATION, str(app_id))

    @classmethod
    def user(cls, user_id: object) -> "Creator":
        """Return a user of the user interface."""
        return cls(PERSON, f"userId:{user_id}", str(user_id))

    @property
    def properties(self) -> dict[str, str]:
        """Return the properties of a record that name its creator."""
        return dict(
            zip(CREATOR_PROPERTIES, (self.source, self.id, self.source, self.user_id, self.user_id), strict=True)
        )


@dataclass(frozen=True)
class Record:
    """A version of a record. Empty properties are missing."""

    kind: ObjectType
    id: int
    properties: Mapping[str, str]
    created_at: float
    updated_at: float
    archived_at: float | None = None

    @property
    def reference(self) -> tuple[str, int]:
        """The reference to the record in associations."""
        return self.kind.plural, self.id

    def to_json(self, names: Iterable[str], portal_id: int) -> dict[str, Any]:
        """Return the vendor's JSON with the properties *names* and those of every response."""
        property_names = dict.fromkeys((*names, *self.kind.always_returned))
        raw: dict[str, Any] = {
            "id": str(self.id),
            "properties": {name: self.properties.get(name) for name in sorted(property_names)},
            "createdAt": format_timestamp(self.created_at),
            "updatedAt": format_timestamp(self.updated_at),
            "archived": self.archived_at is not None,
            "url": f"https://app-eu1.hubspot.com/contacts/{portal_id}/record/{self.kind.type_id}/{self.id}",
        }
        if self.archived_at is not None:
            raw["archivedAt"] = format_timestamp(self.archived_at)
        return raw
