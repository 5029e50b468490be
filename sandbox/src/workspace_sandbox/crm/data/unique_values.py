"""The unique property values and their records."""

from collections.abc import Iterable, Iterator, Mapping

from workspace_sandbox.crm.data.records import Record

UniqueValue = tuple[str, str, str]
"""Object type, property and lower-case value."""


class UniqueValues:
    """The unique values of live records. The additional email addresses of a contact count as email addresses."""

    def __init__(
        self, unique: Iterable[tuple[str, str]] = (), holders: Mapping[UniqueValue, int] | None = None
    ) -> None:
        self._unique = dict.fromkeys(unique)
        self._holders = dict(holders or {})

    def copy(self) -> "UniqueValues":
        """Return an independent copy."""
        return UniqueValues(self._unique, self._holders)

    def add_unique_property(self, plural: str, name: str) -> None:
        """Enforce unique values of a property from now on."""
        self._unique[plural, name] = None

    def holder(self, plural: str, name: str, value: str) -> int | None:
        """Return the ID of the record with *value*, or None."""
        return self._holders.get((plural, name, value.strip().lower()))

    def register(self, record: Record) -> None:
        """Register the unique values of *record*."""
        self._holders.update(dict.fromkeys(self._of(record), record.id))

    def release(self, record: Record) -> None:
        """Release the unique values of *record*."""
        for identity in self._of(record):
            if self._holders.get(identity) == record.id:
                del self._holders[identity]

    def find_conflict(self, records: Iterable[Record]) -> tuple[Record, UniqueValue, int] | None:
        """Return the first of *records* with a value of another record, the value and the other record's ID."""
        claimed: dict[UniqueValue, int] = {}
        for record in records:
            for identity in self._of(record):
                holder = claimed.setdefault(identity, self._holders.get(identity, record.id))
                if holder != record.id:
                    return record, identity, holder
        return None

    def _of(self, record: Record) -> Iterator[UniqueValue]:
        plural = record.kind.plural
        for owner, name in self._unique:
            if owner == plural and (value := record.properties.get(name)):
                yield plural, name, value.lower()
        for address in record.properties.get("hs_additional_emails", "").split(";"):
            if address:
                yield plural, "email", address
