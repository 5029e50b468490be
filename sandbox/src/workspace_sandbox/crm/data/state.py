"""A portal with its records and operations."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Protocol

from workspace_sandbox.crm.arguments import parse_digits, read_list
from workspace_sandbox.crm.data import search
from workspace_sandbox.crm.data.account import MAIN, Owner, PortalAccount
from workspace_sandbox.crm.data.associations import Associations, AssociationType, Reference
from workspace_sandbox.crm.data.built_in_properties import GROUPS
from workspace_sandbox.crm.data.lists import ObjectList
from workspace_sandbox.crm.data.object_types import COMPANIES, CONTACTS, KIND_NAMES, KINDS, ObjectType
from workspace_sandbox.crm.data.pipelines import Audit, Pipeline
from workspace_sandbox.crm.data.property_definitions import Definition, Group, Option
from workspace_sandbox.crm.data.property_rules import Rules
from workspace_sandbox.crm.data.records import APPLICATION, Creator, Record
from workspace_sandbox.crm.data.unique_values import UniqueValues
from workspace_sandbox.crm.error_responses import (
    contact_exists,
    invalid,
    invalid_associations,
    invalid_search,
    malformed,
    not_found,
    unknown_property,
    value_taken,
)
from workspace_sandbox.kit.emulator_context import EmulatorContext
from workspace_sandbox.kit.error_responses import require
from workspace_sandbox.kit.webhook_sender import ignore_event

FREE_MAIL = frozenset({"gmail.com", "outlook.com", "icloud.com", "yahoo.com", "proton.me", "gmx.de"})
"""Email domains that never become companies."""


@dataclass(frozen=True, slots=True)
class Link:
    """An association that is created with a new record."""

    target: Reference
    type: AssociationType


@dataclass(frozen=True, slots=True)
class PendingRecord:
    """A validated write. ``sent`` are the requested properties."""

    record: Record
    sent: tuple[str, ...]
    links: tuple[Link, ...] = ()
    is_new: bool = True


class Emit(Protocol):
    """Receives changes of records: ``creation``, ``propertyChange``, ``deletion`` or ``associationChange``."""

    def __call__(self, portal: "Portal", event_type: str, record: Record, **more: Any) -> None:
        """Handle an event, with *more* fields."""


class Portal:
    """A customer's account. Its clock, random generator and knobs are those of the context."""

    def __init__(self, context: EmulatorContext, account: PortalAccount = MAIN) -> None:
        self.context = context
        self.account = account
        self.owners: dict[int, Owner] = {}
        self.pipelines: dict[str, Pipeline] = {}
        self.definitions: dict[str, dict[str, Definition]] = {kind.plural: {} for kind in KINDS}
        self.records: dict[str, dict[int, Record]] = {kind.plural: {} for kind in KINDS}
        self.edges = Associations()
        self.index = search.SearchIndex()
        self.identities = UniqueValues()
        self.latest = dict.fromkeys(self.records, 0)
        self.groups = {kind.plural: {(name := GROUPS[kind.plural]): Group(name)} for kind in KINDS}
        self.audits: list[Audit] = []
        self.lists: dict[int, ObjectList] = {}
        self.emit: Emit = ignore_event

    def copy_from(self, other: "Portal") -> None:
        """Copy all data of *other*. Later changes affect only one of the two."""
        self.owners = dict(other.owners)
        self.pipelines = dict(other.pipelines)
        self.definitions = {plural: dict(definitions) for plural, definitions in other.definitions.items()}
        self.records = {plural: dict(records) for plural, records in other.records.items()}
        self.edges = other.edges.copy()
        self.index = other.index.copy()
        self.identities = other.identities.copy()
        self.groups = {plural: dict(groups) for plural, groups in other.groups.items()}
        self.lists = {number: one.copy() for number, one in other.lists.items()}
        self.latest = dict(other.latest)

    @property
    def rules(self) -> Rules:
        """The rules for property values, created on each access to avoid a reference cycle."""
        return Rules(self)

    @property
    def now(self) -> float:
        """The current time of the sandbox."""
        return self.context.clock.now()

    def knob(self, name: str) -> Any:
        """Return the value of a knob."""
        return self.context.knobs[name]

    def live_definitions(self, kind: ObjectType) -> dict[str, Definition]:
        """Return the current properties of *kind*."""
        definitions = self.definitions[kind.plural]
        return {name: definition for name, definition in definitions.items() if definition.archived_at is None}

    def options(self, definition: Definition) -> tuple[Option, ...]:
        """Return the options of a property. Those of pipelines and stages are computed."""
        for kind in KINDS:
            if kind.pipeline_properties and definition.name in kind.pipeline_properties:
                pipelines = self.pipelines_of(kind)
                values = (
                    pipelines
                    if definition.name == kind.pipeline_properties[0]
                    else [one for pipeline in pipelines for one in pipeline.stages]
                )
                return tuple(Option(one.id, one.label) for one in values)
        return definition.options

    def pipelines_of(self, kind: ObjectType) -> list[Pipeline]:
        """Return the pipelines of *kind*."""
        return [pipeline for pipeline in self.pipelines.values() if pipeline.plural == kind.plural]

    def define(self, kind: ObjectType, definition: Definition) -> None:
        """Add or replace a property of *kind*."""
        self.definitions[kind.plural][definition.name] = definition
        if definition.unique:
            self.identities.add_unique_property(kind.plural, definition.name)

    def find(
        self, kind: ObjectType, identifier: str, id_property: str | None = None, *, archived: bool = False
    ) -> Record:
        """Return the record with that ID or unique property value. Raises a 404 if there is none."""
        match = self._look_up(kind, identifier, id_property)
        if match is None or (match.archived_at is not None) != archived:
            raise not_found(identifier)
        return match

    def find_live(self, kind: ObjectType, identifier: str, id_property: str | None = None) -> Record | None:
        """Return the live record with that ID or unique property value, or None."""
        match = self._look_up(kind, identifier, id_property)
        return match if match and match.archived_at is None else None

    def list_records(self, kind: ObjectType, after: int, *, archived: bool) -> list[Record]:
        """Return the records with IDs greater than *after*, in order."""
        records = self.records[kind.plural].values()
        return [record for record in records if record.id > after and (record.archived_at is not None) == archived]

    def search(self, kind: ObjectType, query: search.RecordSearch) -> list[Record]:
        """Return all records that match the query, as of the index."""
        documents = self.index.documents(kind.plural, self.now, self.knob("search_lag_seconds"))
        return search.find_records(
            query, documents, self.live_definitions(kind), kind.searched_properties, self._associated
        )

    def associated_records(self, record: Record, target: ObjectType) -> list[tuple[int, list[AssociationType]]]:
        """Return the live records of type *target* that *record* is associated with, in order of their IDs."""
        others = self.records[target.plural]
        linked = self.edges.linked(record.reference, target.plural)
        return [(other, types) for other, types in linked if others[other].archived_at is None]

    def validate_new(
        self, kind: ObjectType, properties: Any, associations: Any = None, maker: Creator | None = None
    ) -> PendingRecord:
        """Validate a new record, by default created by the app.

        Raises an error if a value, an association or a required property is invalid.
        """
        maker = maker or Creator.application(self.account.app_id)
        values = self.rules.validate(kind, properties, None)
        self.rules.require(kind, values)
        links = tuple(self._links(kind, associations))
        record = Record(kind, self._next_id(kind), {}, self.now, self.now)
        completed = self.rules.with_calculated(record, {**values, **maker.properties})
        return PendingRecord(replace(record, properties=completed), tuple(values), links)

    def validate_change(self, record: Record, properties: Any) -> PendingRecord:
        """Validate a change of a record."""
        values = self.rules.validate(record.kind, properties, record)
        changed = replace(record, updated_at=self.now)
        completed = self.rules.with_calculated(changed, {**record.properties, **values})
        return PendingRecord(replace(changed, properties=completed), tuple(properties), is_new=False)

    def commit(self, *drafts: PendingRecord, source: str = APPLICATION) -> None:
        """Write all *drafts*, or none if one has a duplicate unique value. *source* is included in events."""
        self._check_unique(drafts)
        for draft in drafts:
            self.store(draft.record)
            self.index.schedule(draft.record, self.now)
            self._emit_changes(draft, source)
            for link in draft.links:
                self.associate(draft.record, self.by_reference(link.target), link.type, source=source)
            if draft.is_new and draft.record.kind is CONTACTS and self.knob("auto_company"):
                self._add_company(draft.record)

    def by_reference(self, reference: Reference) -> Record:
        """Return the record of *reference*."""
        return self.records[reference[0]][reference[1]]

    def associate(
        self, near: Record, far: Record, kind: AssociationType | None = None, *, source: str = APPLICATION
    ) -> AssociationType:
        """Associate two records, and emit events for new associations."""
        with self._emit_association_changes(near, far, source):
            return self.edges.associate(near.reference, far.reference, kind)

    def dissociate(self, near: Record, far: Record, kind: AssociationType | None = None) -> None:
        """Remove one association between two records, or all of them."""
        with self._emit_association_changes(near, far, APPLICATION):
            if kind is None:
                self.edges.remove(near.reference, far.reference)
            else:
                self.edges.remove_type(near.reference, far.reference, kind)

    @contextmanager
    def _emit_association_changes(self, near: Record, far: Record, source: str) -> Iterator[None]:
        """Emit events for both directions of associations that change within the context, except for labels."""
        ends = ((near, far), (far, near))
        before = [self.edges.types_between(one.reference, other.reference) for one, other in ends]
        yield
        for (one, other), had in zip(ends, before, strict=True):
            has = self.edges.types_between(one.reference, other.reference)
            for kind in self.edges.types.in_order(set(had ^ has)):
                if kind.label is None or kind.primary:
                    type_field = {"associationType": f"{one.kind.singular}_to_{other.kind.singular}".upper()}
                    ids = {"fromObjectId": one.id, "toObjectId": other.id, "associationRemoved": kind in had}
                    event = {**type_field, **ids, "isPrimaryAssociation": kind.primary, "changeSource": source}
                    self.emit(self, "associationChange", one, **event)

    def _emit_changes(self, draft: PendingRecord, source: str) -> None:
        if draft.is_new:
            self.emit(self, "creation", draft.record, changeSource=source, changeFlag="NEW")
        for name in draft.sent:
            change = {"propertyName": name, "propertyValue": draft.record.properties.get(name, "")}
            self.emit(self, "propertyChange", draft.record, changeSource=source, **change)

    def archive(self, record: Record, *, source: str = APPLICATION) -> None:
        """Archive a record, and release its unique values."""
        self.emit(self, "deletion", record, changeSource=source, changeFlag="DELETED")
        archived = replace(record, archived_at=self.now)
        self.store(archived)
        self.index.schedule(archived, self.now)

    def store(self, record: Record) -> None:
        """Store *record*, replacing the previous version."""
        records = self.records[record.kind.plural]
        if before := records.get(record.id):
            self.identities.release(before)
        if record.archived_at is None:
            self.identities.register(record)
        records[record.id] = record
        self.latest[record.kind.plural] = max(record.id, self.latest[record.kind.plural])

    def unique_property(self, kind: ObjectType, name: str) -> bool:
        """Return True if *name* is a unique property of *kind*."""
        definition = self.definitions[kind.plural].get(name)
        return definition is not None and definition.unique and definition.archived_at is None

    def _look_up(self, kind: ObjectType, identifier: str, id_property: str | None) -> Record | None:
        records = self.records[kind.plural]
        if id_property in {None, "", "hs_object_id"}:
            number = parse_digits(identifier)
            return None if number is None else records.get(number)
        name = str(id_property)
        if not self.unique_property(kind, name):
            raise invalid(f"{name} is not a unique identifier property of {kind.type_id}")
        holder = self.identities.holder(kind.plural, name, identifier)
        if holder is None:
            return None
        is_primary = records[holder].properties.get(name, "").lower() == identifier.strip().lower()
        return records[holder] if is_primary or self.knob("secondary_email_lookup") else None

    def _next_id(self, kind: ObjectType) -> int:
        # With gaps, so that a client that assumes consecutive IDs fails.
        random = self.context.random
        self.latest[kind.plural] = max(self.latest[kind.plural], random.offset) + 1 + random.randrange(40)
        return self.latest[kind.plural]

    def _associated(self, record: Record, target: str) -> Iterable[int]:
        kind = require(KIND_NAMES.get(target), invalid_search(unknown_property(search.ASSOCIATED + target)))
        return [other for other, _ in self.associated_records(record, kind)]

    def _links(self, kind: ObjectType, associations: Any) -> Iterator[Link]:
        for raw in read_list({"associations": associations}, "associations"):
            try:
                identifier = str(raw["to"]["id"])
                specs = [(spec["associationCategory"], int(spec["associationTypeId"])) for spec in raw["types"]]
            except (KeyError, TypeError, ValueError):
                raise malformed("Cannot deserialize value of type `PublicAssociationsForObject`") from None
            yield from (self._link(kind, identifier, category, type_id) for category, type_id in specs)

    def _link(self, kind: ObjectType, identifier: str, category: str, type_id: int) -> Link:
        for other in KINDS:
            if kind_of_link := self.edges.types.find(kind.plural, other.plural, category, type_id):
                target = self.find_live(other, identifier)
                if target is None:
                    raise invalid_associations([f"{other.singular.upper()}={identifier} is not valid"])
                return Link(target.reference, kind_of_link)
        raise invalid(f"associationTypeId {type_id} ({category}) is not valid from {kind.type_id}")

    def _add_company(self, contact: Record) -> None:
        domain = contact.properties.get("hs_email_domain", "")
        if not domain or domain in FREE_MAIL:
            return
        companies = self.list_records(COMPANIES, 0, archived=False)
        company = next((one for one in companies if one.properties.get("domain") == domain), None)
        if company is None:
            # The vendor's name as creator is an assumption, because it is not documented.
            draft = self.validate_new(
                COMPANIES, {"domain": domain, "name": domain}, maker=Creator("INTERNAL_PROCESSING")
            )
            self.commit(draft)
            company = draft.record
        self.associate(contact, company)

    def _check_unique(self, drafts: Iterable[PendingRecord]) -> None:
        clash = self.identities.find_conflict(draft.record for draft in drafts)
        if clash is None:
            return
        record, (_, name, value), holder = clash
        if name == "email":
            raise contact_exists(str(holder))
        raise value_taken(
            str(record.id),
            str(holder),
            portalId=self.account.portal_id,
            objectTypeId=record.kind.type_id,
            propertyName=name,
            value=value,
        )
