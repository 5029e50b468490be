"""A view of the emulator's portal."""

from collections.abc import Iterator
from dataclasses import dataclass

from workspace_sandbox.crm import CrmEmulator
from workspace_sandbox.crm.data.records import Record


@dataclass(frozen=True)
class VendorInspector:
    """Reads the emulator's portal directly."""

    emulator: CrmEmulator

    def contact(self, email: str) -> dict[str, str]:
        """Return the properties of the contact with that email address, or an empty dictionary."""
        return next((dict(one.properties) for one in self._live("contacts") if self._has(one, email=email)), {})

    def count(self, plural: str, **properties: str) -> int:
        """Return the number of live records with these values."""
        return sum(self._has(one, **properties) for one in self._live(plural))

    def deal(self, deal_id: str) -> dict[str, str]:
        """Return the properties of a deal."""
        return dict(self.emulator.portal.records["deals"][int(deal_id)].properties)

    def list_associations(self, plural: str, record_id: str, other: str) -> list[int]:
        """Return the ids of the *other* records that a record is associated with."""
        return [linked for linked, _ in self.emulator.portal.edges.linked((plural, int(record_id)), other)]

    def notes(self, deal_id: str, body: str) -> list[dict[str, str]]:
        """Return the notes on a deal with that body."""
        notes = self.emulator.portal.records["notes"]
        matches = [notes[note_id].properties for note_id in self.list_associations("deals", deal_id, "notes")]
        return [dict(properties) for properties in matches if properties.get("hs_note_body") == body]

    def live_ids(self, plural: str) -> list[str]:
        """Return the ids of all live records."""
        return [str(record.id) for record in self._live(plural)]

    def company_id(self, domain: str) -> int:
        """Return the oldest company with that domain."""
        return min(record.id for record in self._live("companies") if self._has(record, domain=domain))

    def _live(self, plural: str) -> Iterator[Record]:
        # An abandoned call can still be adding records.
        records = list(self.emulator.portal.records[plural].values())
        return (record for record in records if record.archived_at is None)

    def _has(self, record: Record, **properties: str) -> bool:
        return all(record.properties.get(name) == value for name, value in properties.items())
