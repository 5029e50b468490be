"""One record; every write makes a new one, so that older copies stay true."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from workspace_sandbox.crm.catalogue import MADE_BY
from workspace_sandbox.crm.kinds import Kind
from workspace_sandbox.crm.values import timestamp

APPLICATION, PERSON = "INTEGRATION", "CRM_UI"
"""Where a change comes from."""


@dataclass(frozen=True, slots=True)
class Maker:
    """Who makes a record: an application, a person in the browser, or the vendor itself."""

    source: str
    id: str = ""
    user_id: str = ""

    @classmethod
    def application(cls, app_id: object) -> "Maker":
        """An application that calls the API."""
        return cls(APPLICATION, str(app_id))

    @classmethod
    def person(cls, user_id: object) -> "Maker":
        """Somebody in the browser."""
        return cls(PERSON, f"userId:{user_id}", str(user_id))

    @property
    def properties(self) -> dict[str, str]:
        """What a record tells of it."""
        return dict(zip(MADE_BY, (self.source, self.id, self.source, self.user_id, self.user_id), strict=True))


@dataclass(frozen=True)
class Record:
    """A contact, company, deal or note as it was at one time; empty properties are absent."""

    kind: Kind
    id: int
    properties: Mapping[str, str]
    created_at: float
    updated_at: float
    archived_at: float | None = None

    @property
    def reference(self) -> tuple[str, int]:
        """What associations know it by."""
        return self.kind.plural, self.id

    def described(self, names: Iterable[str], portal_id: int) -> dict[str, Any]:
        """The vendor's JSON for it, with the properties *names* and those that always come."""
        told = dict.fromkeys((*names, *self.kind.stamped))
        shown: dict[str, Any] = {
            "id": str(self.id),
            "properties": {name: self.properties.get(name) for name in sorted(told)},
            "createdAt": timestamp(self.created_at),
            "updatedAt": timestamp(self.updated_at),
            "archived": self.archived_at is not None,
            "url": f"https://app-eu1.hubspot.com/contacts/{portal_id}/record/{self.kind.type_id}/{self.id}",
        }
        if self.archived_at is not None:
            shown["archivedAt"] = timestamp(self.archived_at)
        return shown
