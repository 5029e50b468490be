"""Association types, and the associations between records in both directions."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workspace_sandbox.kit.error_responses import require

HUBSPOT_DEFINED = "HUBSPOT_DEFINED"
USER_DEFINED = "USER_DEFINED"

Reference = tuple[str, int]
"""A reference to a record: the plural name of its type, and its ID."""


@dataclass(frozen=True, slots=True, eq=False)
class AssociationType:
    """One direction of a relation between two object types. Instances are compared by identity."""

    type_id: int
    source: str
    target: str
    inverse_id: int
    name: str
    label: str | None = None
    category: str = HUBSPOT_DEFINED

    @property
    def primary(self) -> bool:
        """Whether a record can have only one association of this type."""
        return self.label == "Primary" and self.target == "companies"

    @property
    def spec(self) -> dict[str, Any]:
        """Return the fields that identify the type in requests and in default associations."""
        return {"associationCategory": self.category, "associationTypeId": self.type_id}

    @property
    def labelled(self) -> dict[str, Any]:
        """Return the fields that identify the type in lists of associations."""
        return {"category": self.category, "typeId": self.type_id, "label": self.label}


def pair(
    forward_id: int, inverse_id: int, source: str, target: str, *names: str, **more: Any
) -> Iterator[AssociationType]:
    """Return both directions of a relation."""
    yield AssociationType(forward_id, source, target, inverse_id, names[0], **more)
    yield AssociationType(inverse_id, target, source, forward_id, names[1], **more)


def _of_activity(singular: str, *numbers: int) -> Iterator[AssociationType]:
    """Return the types from an activity to contacts, companies, deals and tickets.

    The inverse has the preceding number.
    """
    others = (("contact", "contacts"), ("company", "companies"), ("deal", "deals"), ("ticket", "tickets"))
    for number, (other, plural) in zip(numbers, others, strict=True):
        names = f"{singular}_to_{other}", f"{other}_to_{singular}"
        yield from pair(number, number - 1, f"{singular}s", plural, *names)


TYPES: tuple[AssociationType, ...] = (
    *pair(279, 280, "contacts", "companies", "contact_to_company_unlabeled", "company_to_contact_unlabeled"),
    *pair(1, 2, "contacts", "companies", "contact_to_company", "company_to_contact", label="Primary"),
    *pair(3, 4, "deals", "contacts", "deal_to_contact", "contact_to_deal"),
    *pair(341, 342, "deals", "companies", "deal_to_company_unlabeled", "company_to_deal_unlabeled"),
    *pair(5, 6, "deals", "companies", "deal_to_company", "company_to_deal", label="Primary"),
    *pair(202, 201, "notes", "contacts", "note_to_contact", "contact_to_note"),
    *pair(190, 189, "notes", "companies", "note_to_company", "company_to_note"),
    *pair(214, 213, "notes", "deals", "note_to_deal", "deal_to_note"),
    *pair(16, 15, "tickets", "contacts", "ticket_to_contact", "contact_to_ticket"),
    *pair(339, 340, "tickets", "companies", "ticket_to_company_unlabeled", "company_to_ticket_unlabeled"),
    *pair(26, 25, "tickets", "companies", "ticket_to_company", "company_to_ticket", label="Primary"),
    *pair(28, 27, "tickets", "deals", "ticket_to_deal", "deal_to_ticket"),
    *pair(228, 227, "notes", "tickets", "note_to_ticket", "ticket_to_note"),
    *pair(20, 19, "line_items", "deals", "line_item_to_deal", "deal_to_line_item"),
    *_of_activity("task", 204, 192, 216, 230),
    *_of_activity("meeting", 200, 188, 212, 226),
    *_of_activity("call", 194, 182, 206, 220),
    *_of_activity("email", 198, 186, 210, 224),
    *pair(
        *(36, 35, "deals", "contacts", "decision_maker_of_deal", "deal_with_decision_maker"),
        label="Decision maker",
        category=USER_DEFINED,
    ),
    *pair(
        *(38, 37, "contacts", "companies", "billing_contact_of", "company_with_billing_contact"),
        label="Billing contact",
        category=USER_DEFINED,
    ),
)
"""The built-in types. The first one of each pair of object types has no label."""


class AssociationTypes:
    """The association types of a portal: the built-in ones and its own labels."""

    def __init__(self, own: Iterable[AssociationType] = ()) -> None:
        self._own = list(own)
        self._arrange()

    def copy(self) -> "AssociationTypes":
        """Return an independent copy."""
        return AssociationTypes(self._own)

    def add(self, *types: AssociationType) -> None:
        """Add types."""
        self._own += types
        self._arrange()

    def remove(self, *types: AssociationType) -> None:
        """Remove types."""
        self._own = [kind for kind in self._own if kind not in types]
        self._arrange()

    def list_all(self) -> list[AssociationType]:
        """Return all types in the vendor's order."""
        return [*TYPES, *self._own]

    def between(self, source: str, target: str) -> list[AssociationType]:
        """Return all types in that direction, starting with the unlabelled one."""
        return [kind for kind in self.list_all() if (kind.source, kind.target) == (source, target)]

    def unlabelled(self, source: str, target: str) -> AssociationType | None:
        """Return the unlabelled type in that direction, or None."""
        return self._plain.get((source, target))

    def primary(self, source: str, target: str) -> AssociationType | None:
        """Return the type in that direction that a record can have only once, or None."""
        return self._primary.get((source, target))

    def find(self, source: str, target: str, category: str, type_id: int) -> AssociationType | None:
        """Return the type with that ID if it has that direction, or None."""
        return self._named.get((source, target, category, type_id))

    def inverse(self, kind: AssociationType) -> AssociationType:
        """Return the type of the opposite direction."""
        return self._named[kind.target, kind.source, kind.category, kind.inverse_id]

    def in_order(self, kinds: set[AssociationType]) -> list[AssociationType]:
        """Return the types in the vendor's order."""
        return sorted(kinds, key=self._positions.__getitem__)

    def _arrange(self) -> None:
        every = self.list_all()
        self._named = {(kind.source, kind.target, kind.category, kind.type_id): kind for kind in every}
        self._plain = {(kind.source, kind.target): kind for kind in reversed(every)}
        self._primary = {(kind.source, kind.target): kind for kind in every if kind.primary}
        self._positions = {kind: position for position, kind in enumerate(every)}


class Associations:
    """The associations between records."""

    def __init__(
        self,
        edges: Mapping[Reference, Mapping[Reference, set[AssociationType]]] | None = None,
        types: AssociationTypes | None = None,
    ) -> None:
        self.types = types or AssociationTypes()
        self._edges: dict[Reference, dict[Reference, set[AssociationType]]] = defaultdict(dict)
        for source, targets in (edges or {}).items():
            self._edges[source] = {target: set(kinds) for target, kinds in targets.items()}

    def copy(self) -> "Associations":
        """Return an independent copy."""
        return Associations(self._edges, self.types.copy())

    def associate(self, source: Reference, target: Reference, kind: AssociationType | None = None) -> AssociationType:
        """Associate two records, by default without a label, and return the type.

        A label adds the unlabelled type too. The first company of a record becomes its primary one, and a new primary
        company replaces the old one.
        """
        plain = self._plain_of(source[0], target[0])
        self._add(source, target, plain)
        if kind is not None and kind != plain:
            self._add(source, target, kind)
        self._choose_primary(source, target)
        return kind or plain

    def remove(self, source: Reference, target: Reference) -> None:
        """Remove all associations between two records."""
        self._edges[source].pop(target, None)
        self._edges[target].pop(source, None)

    def remove_type(self, source: Reference, target: Reference, kind: AssociationType) -> None:
        """Remove one association between two records. Without the unlabelled type, all others are removed too."""
        if kind == self._plain_of(kind.source, kind.target):
            self.remove(source, target)
            return
        self._edges[source].get(target, set()).discard(kind)
        self._edges[target].get(source, set()).discard(self.types.inverse(kind))

    def relabel(self, old: AssociationType, new: AssociationType) -> None:
        """Replace the type *old* with *new* in all associations."""
        self.types.remove(old)
        self.types.add(new)
        for targets in self._edges.values():
            for kinds in targets.values():
                if old in kinds:
                    kinds.remove(old)
                    kinds.add(new)

    def remove_all_of_type(self, kind: AssociationType) -> None:
        """Remove all associations of a type."""
        for targets in self._edges.values():
            for kinds in targets.values():
                kinds.discard(kind)

    def types_between(self, source: Reference, target: Reference) -> frozenset[AssociationType]:
        """Return the types of the associations from *source* to *target*."""
        return frozenset(self._edges[source].get(target, ()))

    def linked(self, source: Reference, target: str) -> list[tuple[int, list[AssociationType]]]:
        """Return the records of type *target* that *source* is associated with, in order of their IDs."""
        matches = [
            (far[1], self.types.in_order(kinds)) for far, kinds in self._edges[source].items() if far[0] == target
        ]
        return sorted(matches, key=lambda link: link[0])

    def _plain_of(self, source: str, target: str) -> AssociationType:
        return require(self.types.unlabelled(source, target), KeyError(source, target))

    def _add(self, source: Reference, target: Reference, kind: AssociationType) -> None:
        inverse = self.types.inverse(kind)
        for near, exclusive in ((source, kind), (target, inverse)):
            if exclusive.primary:
                self._displace(near, exclusive)
        self._edges[source].setdefault(target, set()).add(kind)
        self._edges[target].setdefault(source, set()).add(inverse)

    def _choose_primary(self, source: Reference, target: Reference) -> None:
        for near, far in ((source, target), (target, source)):
            primary = self.types.primary(near[0], far[0])
            if primary and not self._with(near, primary):
                self._add(near, far, primary)

    def _displace(self, source: Reference, kind: AssociationType) -> None:
        for target in self._with(source, kind):
            self._edges[source][target].discard(kind)
            self._edges[target][source].discard(self.types.inverse(kind))

    def _with(self, source: Reference, kind: AssociationType) -> Sequence[Reference]:
        return [target for target, kinds in self._edges[source].items() if kind in kinds]
