"""Who holds which value of the properties that must be unique."""

from collections.abc import Iterable, Iterator, Mapping

from workspace_sandbox.crm.records import Record

Identity = tuple[str, str, str]
"""Object type, property and value, the value in lower case."""


class Identities:
    """The unique values of live records; further addresses of a contact count as addresses too."""

    def __init__(self, unique: Iterable[tuple[str, str]] = (), holders: Mapping[Identity, int] | None = None) -> None:
        self._unique = dict.fromkeys(unique)
        self._holders = dict(holders or {})

    def copy(self) -> "Identities":
        """An independent copy."""
        return Identities(self._unique, self._holders)

    def watch(self, plural: str, name: str) -> None:
        """Keep the values of that property unique from now on."""
        self._unique[plural, name] = None

    def holder(self, plural: str, name: str, value: str) -> int | None:
        """The id of the record that has *value*."""
        return self._holders.get((plural, name, value.strip().lower()))

    def take(self, record: Record) -> None:
        """Register the unique values of *record*."""
        self._holders.update(dict.fromkeys(self._of(record), record.id))

    def release(self, record: Record) -> None:
        """Release the unique values of *record*."""
        for identity in self._of(record):
            if self._holders.get(identity) == record.id:
                del self._holders[identity]

    def clash(self, records: Iterable[Record]) -> tuple[Record, Identity, int] | None:
        """The first of *records* that wants what another one has or wants, what it is, and whose."""
        promised: dict[Identity, int] = {}
        for record in records:
            for identity in self._of(record):
                holder = promised.setdefault(identity, self._holders.get(identity, record.id))
                if holder != record.id:
                    return record, identity, holder
        return None

    def _of(self, record: Record) -> Iterator[Identity]:
        plural = record.kind.plural
        for owner, name in self._unique:
            if owner == plural and (value := record.properties.get(name)):
                yield plural, name, value.lower()
        for address in record.properties.get("hs_additional_emails", "").split(";"):
            if address:
                yield plural, "email", address
